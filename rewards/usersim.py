"""UserSim's reward components: total = 2.0 goal + 0.4 style + 0.3 content + 0.2 consistency +- 0.3 feedback, veto -10."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

DEFAULT_WEIGHTS: Mapping[str, float] = {
    "goal": 2.0,
    "style": 0.4,
    "content": 0.3,
    "consistency": 0.2,
    "feedback": 0.3,
    "progress": 1.0,
    "veto": -10.0,
}
"""`veto` is the episode total that a broken rule fixes; `progress` scales the potential-based shaping."""


@dataclass(frozen=True, slots=True)
class UserSimOutcome:
    """How an episode ended."""

    success: bool
    style: Sequence[float]
    """Match of each message with the style of the user as it was then, in [0, 1], in order."""
    content: float
    """Share of what had to be said that was said in full, in [0, 1]."""
    mood: float
    """The user's, in [-1, 1]."""


class Goal:
    """1 when all that the user asked for was said, nothing else of the kind, and in its style."""

    name: str = "goal"
    low: float = 0.0
    high: float = 1.0

    def __call__(self, outcome: UserSimOutcome) -> float:
        return float(outcome.success)


class Style:
    """Match with the user's style, on average over the whole talk."""

    name: str = "style"
    low: float = 0.0
    high: float = 1.0

    def __call__(self, outcome: UserSimOutcome) -> float | None:
        return fmean(outcome.style) if outcome.style else None


class Content:
    """Facts said in full: half for the value that was asked for, half for saying of what, or by what figure."""

    name: str = "content"
    low: float = 0.0
    high: float = 1.0

    def __call__(self, outcome: UserSimOutcome) -> float:
        return outcome.content


class Consistency:
    """The style of the message that suits the user least; nothing to check with a single message."""

    name: str = "consistency"
    low: float = 0.0
    high: float = 1.0

    def __call__(self, outcome: UserSimOutcome) -> float | None:
        return min(outcome.style) if len(outcome.style) > 1 else None


class Feedback:
    """+1 from a user who got what it wanted, 0 when it got it in a foul mood, -1 when it did not get it."""

    name: str = "feedback"
    low: float = -1.0
    high: float = 1.0
    foul: float = -0.5
    """Mood below which even success earns no praise."""

    def __call__(self, outcome: UserSimOutcome) -> float:
        if not outcome.success:
            return -1.0
        return 1.0 if outcome.mood >= self.foul else 0.0


COMPONENTS = (Goal(), Style(), Content(), Consistency(), Feedback())
