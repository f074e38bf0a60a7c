"""The Booking environment: connects tasks, database, user, tools and rewards."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from slmagent.envs.base import ChatEnv, UserTurn
from slmagent.envs.booking.dialogue import judge_proposal, refuses_for
from slmagent.envs.booking.episode import Episode
from slmagent.envs.booking.expert import Expert
from slmagent.envs.booking.tools import TOOLS_BY_LEVEL, BookFlight, BookHotel, CancelBooking, ChangeBooking, Desk
from slmagent.envs.tools import Tool, ToolBox
from slmagent.rewards.booking import COMPONENTS, DEFAULT_WEIGHTS, BookingOutcome
from slmagent.rewards.composite import Composite
from slmagent.rewards.style import style_match
from slmagent.scenarios.booking.database import BookingDatabase, Write
from slmagent.scenarios.booking.inventory import INVENTORIES, Family
from slmagent.scenarios.booking.phrasing import LEXICON
from slmagent.scenarios.booking.policy import Case
from slmagent.scenarios.booking.tasks import Task, kind_of, make_task, scenario_ids
from slmagent.scenarios.personas import PERSONAS
from slmagent.scenarios.understanding import understand
from slmagent.scenarios.users import Agenda, Proposal, Slot, Twist, UserSimulator
from slmagent.types import ParsedAction

MAX_IDLE = 4
"""Actions in a row that bring nothing new before any user leaves."""
LONGEST_EXPERT = {0: 2, 1: 3, 2: 3, 3: 4, 4: 6, 5: 9}
"""Actions of the expert in the longest task of a level."""
FAREWELL = "I have waited long enough. Goodbye."


def step_budget(expert_turns: int) -> int:
    """Actions that a task is worth: half as many again as the expert needs, and one."""
    return math.ceil(1.5 * expert_turns) + 1


class BookingEnv(ChatEnv):
    """Booking desk (docstring to follow)."""

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
        self.state = Episode(task, database, user)
        self._desk = Desk(database, task.family)
        self._composite = Composite(COMPONENTS, self.weights)
        rules = f"\n{task.policy.text(task.family)}" if task.policy else ""
        return f"You work at a travel desk. Use the tools for the customer, then finish.{rules}", user.opening()

    def task_kind(self, scenario_id: str) -> str:
        """Kinds are listed by `slmagent.scenarios.booking.tasks.kinds_of`."""
        return kind_of(scenario_id)

    def _hear(self, text: str) -> UserTurn:
        episode = self.state
        told = episode.told()
        proposal, consents = self._note(text)
        progress = episode.progress()
        moved = progress > episode.heard_progress
        episode.satisfied = episode.goal_met()
        reply = episode.user.reply(text, progressed=moved, proposal=proposal, satisfied=episode.satisfied)
        pushed = int(episode.user.state()["pushed"])
        if pushed > episode.pushed:
            episode.firm = False
            episode.pushed = pushed
        if reply.twist:
            episode.twisted = True
            episode.consents.clear()
        agreed = reply.confirmed and not episode.consents.issuperset(consents)
        if reply.confirmed:
            episode.consents |= consents
        fruitful = moved or agreed or reply.twist or episode.told() != told
        episode.idle = 0 if fruitful else episode.idle + 1
        episode.heard_progress = max(progress, episode.progress())
        left = reply.left or episode.idle >= MAX_IDLE
        if left:
            episode.ended = "user_left"
        return UserTurn(reply.text if reply.left or not left else FAREWELL, asked=bool(reply.asked), left=left)

    def _note(self, text: str) -> tuple[Proposal, frozenset[Write]]:
        """Takes a message to the user into the state; what it asks agreement for."""
        episode = self.state
        refusal = episode.task.refusal
        episode.hear(text, refuses=refusal is not None and refuses_for(text, refusal))
        return judge_proposal(episode, text) if understand(text, LEXICON).proposes else ("none", frozenset())

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

    def _await(self) -> str | None:
        episode = self.state
        fresh = {
            f"{event['name']} {event['arguments']}" for event in self._events if event["type"] == "tool_call"
        } - episode.calls
        episode.calls |= fresh
        episode.idle = 0 if fresh else episode.idle + 1
        if episode.idle < MAX_IDLE:
            return None
        episode.ended = "user_left"
        return FAREWELL

    def _finish(self, message: str) -> None:
        self._note(message)
        self.state.ended = "finished"

    def _score(self, action: ParsedAction, *, done: bool) -> dict[str, float]:
        if not done:
            return {}
        episode = self.state
        return self._composite(
            BookingOutcome(
                success=self._success(),
                steps=self.turn,
                budget=step_budget(episode.task.expert_turns),
                mood=episode.user.mood,
                rules=episode.task.policy is not None,
                style=style_match(episode.said, episode.user.persona),
            )
        )

    def _potential(self) -> float:
        return self.state.progress()

    def _success(self) -> bool:
        episode = self.state
        closed = episode.ended == "finished" or (episode.ended == "user_left" and episode.satisfied)
        return closed and episode.goal_met()

    def _canonical_state(self) -> Any:
        episode = self.state
        return {
            "writes": sorted([list(write), count] for write, count in episode.database.writes().items()),
            "reads": sorted(list(read) for read in episode.reads),
            "user": episode.user.state(),
            "idle": episode.idle,
            "stated": episode.stated,
            "contradicted": episode.contradicted,
            "consents": sorted(list(consent) for consent in episode.consents),
            "pushed": [episode.pushed, episode.firm],
        }

    def expert(self, *, evidence: bool = True) -> str:
        """The scripted expert's next action; it reads the state that the agent has to find out."""
        return Expert(self.state, self.toolbox, evidence=evidence).act()


@functools.cache
def _toolbox(level: int, family: Family) -> ToolBox:
    return ToolBox(TOOLS_BY_LEVEL[level], INVENTORIES[family].tool_names)


def _agenda(task: Task) -> Agenda:
    slots = tuple(Slot(wish.name, wish.value, wish.hidden) for wish in task.wishes)
    twist = None if task.twist is None else Twist(*task.twist)
    return Agenda(task.openings, slots, LEXICON, task.pushbacks, twist)
