"""What the desks share: a customer with a goal, records behind tools, agreement before changes, refusals, patience.

Booking and CustomerService build on it; a desk supplies its records, its tools and its judgement of what the agent says.
"""

from __future__ import annotations

import abc
import functools
import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from slmagent.envs.base import ChatEnv, UserTurn
from slmagent.scenarios.users import Proposal, UserSimulator

MAX_IDLE = 4
"""Actions in a row that bring nothing new before any user leaves."""
FAREWELL = "I have waited long enough. Goodbye."
WRITE_PENALTY = 0.5
"""Share of the potential that one change nobody asked for costs."""

Write = tuple[Any, ...]
"""One change of the database in canonical form."""
Read = tuple[Any, ...]
"""One look-up that succeeded."""


def step_budget(expert_turns: int) -> int:
    """Actions that a task is worth: half as many again as the expert needs, and one."""
    return math.ceil(1.5 * expert_turns) + 1


@dataclass(frozen=True, slots=True)
class Judgement:
    """The customer's view of what the agent asks agreement for."""

    proposal: Proposal
    consents: frozenset[Write] = frozenset()
    """What a yes then allows."""
    violates: tuple[str, ...] = ()
    """Wishes that a bad proposal goes against."""


NOTHING = Judgement("none")


@dataclass(slots=True)
class DeskEpisode(abc.ABC):
    """Mutable state of one episode. The database and the user are copied with it by `copy.deepcopy`."""

    user: UserSimulator
    reads: set[Read] = field(default_factory=set)
    """Look-ups that succeeded."""
    calls: set[str] = field(default_factory=set)
    """Every successful call, as text; the same again brings nothing new."""
    said: list[str] = field(default_factory=list)
    """Messages to the user, the last one of `finish` included."""
    consents: set[Write] = field(default_factory=set)
    """What the user has agreed to."""
    twisted: bool = False
    """The user has changed its mind."""
    idle: int = 0
    """Actions in a row that brought nothing new."""
    stated: bool = False
    """The answer was said after its evidence had been read."""
    contradicted: bool = False
    """Another value of the answer's kind was said."""
    pushed: int = 0
    """How often the user has argued against a refusal."""
    firm: bool = False
    """The request was refused for the right reason, after its evidence had been read and since the user last argued."""
    satisfied: bool = False
    """The user knows that it has what it wanted."""
    heard_progress: float = 0.0
    """Progress when the user was last spoken to."""
    ended: str | None = None
    """`finished` or `user_left`, once that has happened."""

    def told(self) -> frozenset[str]:
        """Wishes that the agent has heard of."""
        return self.user.told

    @abc.abstractmethod
    def writes(self) -> Counter[Write]:
        """What has changed since the start."""

    @abc.abstractmethod
    def goal_met(self) -> bool:
        """Whether the state is the one the user asked for."""

    @abc.abstractmethod
    def progress(self) -> float:
        """Share of the task that is done, in [0, 1], less a penalty for changes that nobody asked for."""


@functools.lru_cache(maxsize=4096)
def counted(writes: tuple[Write, ...]) -> Counter[Write]:
    """Changes as a multiset; only to be read."""
    return Counter(writes)


def share_done(marks: list[bool], wanted: Counter[Write], made: Counter[Write]) -> float:
    """Progress from what was reached besides changes, and from the changes that were wanted and made."""
    right = (wanted & made).total() if made else 0
    return max(0.0, (sum(marks) + right) / (len(marks) + wanted.total()) - WRITE_PENALTY * (made.total() - right))


EpisodeT = TypeVar("EpisodeT", bound=DeskEpisode)


class DeskEnv(ChatEnv, Generic[EpisodeT]):
    """A desk: the part of an episode that does not depend on what is dealt with there."""

    state: EpisodeT

    @abc.abstractmethod
    def _note(self, text: str) -> None:
        """Takes a message to the user into the state."""

    @abc.abstractmethod
    def _judge(self, text: str) -> Judgement:
        """What a message to the user asks agreement for."""

    def _goal_state(self) -> dict[str, Any]:
        """The part of the canonical state that only this desk knows."""
        return {}

    def _hear(self, text: str) -> UserTurn:
        episode = self.state
        told, progress, pushed = episode.told(), self._last_potential, episode.pushed
        moved = progress > episode.heard_progress
        self._note(text)
        asked_for = self._judge(text)
        episode.satisfied = episode.goal_met()
        reply = episode.user.reply(
            text,
            progressed=moved,
            proposal=asked_for.proposal,
            satisfied=episode.satisfied,
            violates=asked_for.violates,
        )
        episode.pushed = episode.user.pushed
        if episode.pushed > pushed:
            episode.firm = False
        if reply.twist:
            episode.twisted = True
            episode.consents.clear()
        agreed = reply.confirmed and not episode.consents.issuperset(asked_for.consents)
        if reply.confirmed:
            episode.consents |= asked_for.consents
        episode.heard_progress = episode.progress()
        learnt = episode.told() != told or episode.pushed > pushed or reply.twist or agreed
        fruitful = moved or learnt or episode.heard_progress > progress
        episode.idle = 0 if fruitful else episode.idle + 1
        left = reply.left or episode.idle >= MAX_IDLE
        if left:
            episode.ended = "user_left"
        said = reply.text if reply.left or not left else FAREWELL
        return UserTurn(said, asked=bool(reply.asked), agrees=reply.confirmed, left=left)

    def _user(self) -> UserSimulator:
        return self.state.user

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

    def _potential(self) -> float:
        return self.state.progress()

    def _success(self) -> bool:
        episode = self.state
        closed = episode.ended == "finished" or (episode.ended == "user_left" and episode.satisfied)
        return closed and episode.goal_met()

    def _canonical_state(self) -> Any:
        episode = self.state
        return {
            "writes": sorted([list(write), count] for write, count in episode.writes().items()),
            "reads": sorted(list(read) for read in episode.reads),
            "user": episode.user.state(),
            "idle": episode.idle,
            "stated": episode.stated,
            "contradicted": episode.contradicted,
            "consents": sorted(list(consent) for consent in episode.consents),
            "refusal": [episode.pushed, episode.firm],
            "news": self._last_potential > episode.heard_progress,
            **self._goal_state(),
        }
