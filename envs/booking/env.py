"""The Booking environment: connects tasks, database, user, tools and rewards."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from slmagent.envs.base import ChatEnv, UserTurn
from slmagent.envs.booking.episode import Episode
from slmagent.envs.booking.expert import Expert
from slmagent.envs.booking.tools import TOOLS_BY_LEVEL, Desk
from slmagent.envs.tools import Tool, ToolBox
from slmagent.rewards.booking import COMPONENTS, DEFAULT_WEIGHTS, BookingOutcome
from slmagent.rewards.composite import Composite
from slmagent.rewards.style import style_match
from slmagent.scenarios.booking.database import BookingDatabase
from slmagent.scenarios.booking.inventory import INVENTORIES, Family
from slmagent.scenarios.booking.tasks import Task, make_task, scenario_ids
from slmagent.scenarios.booking_lexicon import BOOKING_LEXICON
from slmagent.scenarios.personas import PERSONAS
from slmagent.scenarios.users import Agenda, Slot, UserSimulator
from slmagent.types import ParsedAction

MAX_IDLE = 4
"""Actions in a row that bring nothing new before any user leaves."""
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
    }
    default_weights: ClassVar[Mapping[str, float]] = DEFAULT_WEIGHTS

    def _default_max_turns(self) -> int:
        return 2 * step_budget({0: 2, 1: 3, 2: 3}[self.level]) + 2

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
        return "You work at a travel desk. Use the tools for the customer, then finish.", user.opening()

    def _hear(self, text: str) -> UserTurn:
        episode = self.state
        before = episode.progress()
        episode.hear(text)
        episode.satisfied = episode.goal_met()
        moved = episode.progress() > before
        reply = episode.user.reply(text, progressed=moved, satisfied=episode.satisfied)
        episode.idle = 0 if moved or reply.asked or reply.confirmed or reply.twist else episode.idle + 1
        left = reply.left or episode.idle >= MAX_IDLE
        if left:
            episode.ended = "user_left"
        return UserTurn(reply.text if reply.left or not left else FAREWELL, asked=bool(reply.asked), left=left)

    def _call(self, tool: Tool) -> str:
        text, read = self._desk.carry_out(tool)
        if read is not None:
            self.state.reads.add(read)
        return text

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
        self.state.hear(message)
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
                rules=False,
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
        }

    def expert(self, *, evidence: bool = True) -> str:
        """The scripted expert's next action; it reads the state that the agent has to find out."""
        return Expert(self.state, self.toolbox, evidence=evidence).act()


@functools.cache
def _toolbox(level: int, family: Family) -> ToolBox:
    return ToolBox(TOOLS_BY_LEVEL[level], INVENTORIES[family].tool_names)


def _agenda(task: Task) -> Agenda:
    slots = tuple(Slot(wish.name, wish.value, wish.hidden) for wish in task.wishes)
    return Agenda(task.openings, slots, BOOKING_LEXICON)
