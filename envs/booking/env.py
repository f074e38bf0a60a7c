"""The Booking environment: connects tasks, database, user, tools and rewards."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from slmagent.envs.booking.dialogue import judge, refuses_for
from slmagent.envs.booking.episode import Episode
from slmagent.envs.booking.expert import Expert
from slmagent.envs.booking.tools import TOOLS_BY_LEVEL, BookFlight, BookHotel, CancelBooking, ChangeBooking, Desk
from slmagent.envs.desk import DeskEnv, Judgement, step_budget
from slmagent.envs.tools import Tool, ToolBox
from slmagent.rewards.booking import COMPONENTS, DEFAULT_WEIGHTS, BookingOutcome
from slmagent.rewards.composite import Composite
from slmagent.rewards.style import style_match
from slmagent.scenarios.booking.database import BookingDatabase
from slmagent.scenarios.booking.inventory import INVENTORIES
from slmagent.scenarios.booking.policy import Case
from slmagent.scenarios.booking.tasks import Task, kind_of, make_task, scenario_ids
from slmagent.scenarios.booking_lexicon import BOOKING_LEXICON
from slmagent.scenarios.personas import PERSONAS
from slmagent.scenarios.splits import Family
from slmagent.scenarios.users import Agenda, Slot, Twist, UserSimulator
from slmagent.types import ParsedAction

LONGEST_EXPERT = {0: 2, 1: 3, 2: 3, 3: 4, 4: 6, 5: 9}
"""Actions of the expert in the longest task of a level."""


class BookingEnv(DeskEnv[Episode]):
    """The booking desk of a travel agency: look things up, book, change and cancel for the customer in the chat.

    ## Description
    A customer is logged in and wants something. Behind the tools lies an SQLite database, one per episode, with
    flights, hotels, weather, users, bookings and notifications. Whether an episode succeeds is judged on the final
    state of that database: exactly the changes that the customer asked for, as a solver derives them from the wishes,
    and no others. Where the goal is information (level 0) the value has to be said to the customer after its evidence
    was read, and no other value of the kind besides. Where the request has to be refused (a fifth of level 4) nothing
    may change, and the reason has to be given and upheld.

    ## Observation
    The conversation so far, a tuple of `{"role", "content"}` dicts: a system message with the rules and the tools,
    then user and assistant in turn. Tool results are user messages in `<tool_response>` tags, one short line a row,
    identifier last, as in `14:30 EUR 456 non-stop FL337`.

    ## Action
    The assistant's text, any string. `<tool_call>{"name": "book_flight", "arguments": {"flight_id":
    "FL337"}}</tool_call>` calls a tool; words beside a call are a note that nobody hears. Text without a call is said
    to the customer. `finish` says a last message and ends the episode. A call that cannot be read or carried out is
    answered by an error that names the problem.

    Tools (levels show those that their tasks need; the `ood` split renames them): `search_flights`, `search_hotels`,
    `get_weather`, `get_user`, `book_flight`, `book_hotel`, `change_booking`, `cancel_booking`, `notify_user`,
    `finish`. Tools obey: keeping to the written rules is the agent's duty.

    ## Rewards
    Paid at the end, but for `progress`; the weight of each can be changed with `reward_weights`.

    | component | weight | value |
    |---|---|---|
    | `goal` | 0.4 | 5 on success, else 0 |
    | `efficiency` | 0.15 | 2 - steps/budget within the step budget, -1 past it; 0 without success |
    | `feedback` | 0.2 | the customer's: +3 on success, 0 on success in a foul mood, -3 without success |
    | `compliance` | 0.05 | 1 when rules applied and were kept; absent at levels without rules |
    | `style` | 0.2 | 0 to 2, match with the customer's way of writing; absent when nothing was said |
    | `progress` | 1.0 | potential-based shaping by the share of the task done, less unwanted changes |
    | `veto` | -10 | a broken rule ends the episode and fixes its total |

    The step budget is 1.5 times what the expert needs for the task, rounded up, and one more. The share of the task
    done counts the look-ups, questions, agreements and changes that the goal needs. With the default weights a
    success totals at least 1.85 and a failure at most -0.15 (at `shaping_gamma` 1).

    ## Levels
    * 0: one factual question, one look-up.
    * 1: book exactly the flight that is described (by time, price, stops, part of the day).
    * 2: book the flight that meets the constraints best (cheapest, earliest, latest, non-stop, budget, part of the
      day).
    * 3: as 1 and 2, but origin, date or preference are told only when asked for.
    * 4: change or cancel a booking under written rules (fares, notice, fees, consent). Two tasks in ten have to be
      refused; customers argue, and haggle over fees.
    * 5: a trip of flight and hotel on a day that depends on the weather; the customer changes its mind once, both
      have to be agreed to before they are booked, and a text with both references goes out at the end.

    ## Episode End
    Terminates when the agent calls `finish`, when the customer leaves (its patience is gone, or four actions in a row
    brought nothing new; if it had got all it wanted before, that still is a success) and when a rule is broken.
    Truncates after `max_turns` actions: twice the step budget of the level's longest task, and two.
    `info["stop_reason"]` says which; `info["success"]` and `info["task_kind"]` come with the end.

    ## Arguments
    See `ChatEnv`: `level` (0 to 5), `split` (`train`, `val`, `test`, `ood`), `prompt_style`, `max_turns`,
    `reward_weights`, `shaping_gamma`, `user_llm`, `render_mode`.

    ## Version History
    * v0: first version.
    """

    levels: ClassVar[Mapping[int, str]] = {
        0: "one factual question, one look-up",
        1: "book exactly the flight that is described",
        2: "book the flight that meets the constraints best",
        3: "the user holds back details until asked",
        4: "change or cancel under a written policy; the user argues",
        5: "a trip of flight and hotel that depends on the weather; the user changes its mind and is asked first",
    }
    default_weights: ClassVar[Mapping[str, float]] = DEFAULT_WEIGHTS

    def _default_max_turns(self) -> int:
        return 2 * step_budget(LONGEST_EXPERT[self.level]) + 2

    def _list_scenarios(self) -> Sequence[str]:
        return scenario_ids(self.level, self.split)

    def _begin(self, scenario_id: str, user_rng: np.random.Generator) -> tuple[str, str]:
        task = make_task(scenario_id)
        database = BookingDatabase(
            task.family,
            task.customer,
            flights=task.flights,
            hotels=task.hotels,
            weather=task.weather,
            bookings=task.bookings,
            first_reference=task.first_reference,
        )
        self.toolbox = _toolbox(task.level, task.family)
        user = UserSimulator(_agenda(task), PERSONAS[task.persona], user_rng)
        self.state = Episode(user, task=task, database=database)
        self._desk = Desk(database, task.family)
        self._composite = Composite(COMPONENTS, self.weights)
        rules = f"\n{task.policy.text(task.family)}" if task.policy else ""
        return f"You work at a travel desk. Use the tools for the customer, then finish.{rules}", user.opening()

    def task_kind(self, scenario_id: str) -> str:
        """Kinds are listed by `slmagent.scenarios.booking.tasks.kinds_of`."""
        return kind_of(scenario_id)

    def _note(self, text: str) -> None:
        refusal = self.state.task.refusal
        self.state.hear(text, refuses=refusal is not None and refuses_for(text, refusal))

    def _judge(self, text: str) -> Judgement:
        return judge(self.state, text)

    def _call(self, tool: Tool) -> str:
        broken = self._broken_clauses(tool)
        text, read = self._desk.carry_out(tool)
        if read is not None:
            self.state.reads.add(read)
        for clause in broken:
            self._violate(clause)
        return text

    def _broken_clauses(self, tool: Tool) -> list[str]:
        """Policy clauses that a change breaks; the tools themselves obey."""
        episode = self.state
        policy, database = episode.task.policy, episode.database
        if policy is None:
            return []
        tier, consents = episode.task.customer.tier, episode.consents
        if isinstance(tool, BookFlight | BookHotel):
            item = tool.flight_id if isinstance(tool, BookFlight) else tool.hotel_id
            return policy.broken(Case("new", tier, ("new", item) in consents))
        if isinstance(tool, ChangeBooking):
            write = ("change", tool.reference, tool.flight_id, 100 * tool.fee)
            return policy.broken(Case("change", tier, write in consents, database.booking(tool.reference), 100 * tool.fee))
        if isinstance(tool, CancelBooking):
            write = ("cancel", tool.reference, 100 * tool.fee)
            return policy.broken(Case("cancel", tier, write in consents, database.booking(tool.reference), 100 * tool.fee))
        return []

    def _score(self, action: ParsedAction, *, done: bool) -> dict[str, float]:
        if not done:
            return {}
        episode = self.state
        return self._composite(
            BookingOutcome(
                success=self._success(),
                steps=self.turn - self.lost_turns,
                budget=step_budget(episode.task.expert_turns),
                mood=episode.user.mood,
                rules=episode.task.policy is not None,
                style=style_match(episode.said, episode.user.persona),
            )
        )

    def expert(self, *, evidence: bool = True) -> str:
        """The scripted expert's next action; it reads the state that the agent has to find out."""
        return Expert(self.state, self.toolbox, evidence=evidence).act()


@functools.cache
def _toolbox(level: int, family: Family) -> ToolBox:
    return ToolBox(TOOLS_BY_LEVEL[level], INVENTORIES[family].tool_names)


def _agenda(task: Task) -> Agenda:
    slots = tuple(Slot(wish.name, wish.value, wish.hidden) for wish in task.wishes)
    twist = None if task.twist is None else Twist(*task.twist)
    return Agenda(task.openings, slots, BOOKING_LEXICON, task.pushbacks, twist)
