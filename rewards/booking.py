"""Booking's reward components: total = 0.4 goal + 0.15 efficiency + 0.2 feedback + 0.05 compliance + 0.2 style, veto -10."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

DEFAULT_WEIGHTS: Mapping[str, float] = {
    "goal": 0.4,
    "efficiency": 0.15,
    "feedback": 0.2,
    "compliance": 0.05,
    "style": 0.2,
    "progress": 1.0,
    "veto": -10.0,
}
"""`veto` is the episode total that a policy violation fixes; `progress` scales the potential-based shaping."""


@dataclass(frozen=True, slots=True)
class BookingOutcome:
    """How an episode ended."""

    success: bool
    steps: int
    """Actions played."""
    budget: int
    """Steps that an unhurried expert may take."""
    mood: float
    """The user's, in [-1, 1]."""
    rules: bool
    """Whether the task comes with a policy that could have been broken."""
    style: float | None
    """Match with the user's style in [0, 1]; None when nothing was said."""


class Goal:
    """B: 5 when the final database state is the user's goal, else 0."""

    name: str = "goal"
    low: float = 0.0
    high: float = 5.0

    def __call__(self, outcome: BookingOutcome) -> float:
        return 5.0 if outcome.success else 0.0


class Efficiency:
    """E: 2 - steps/budget within the budget, -1 past it, 0 without success."""

    name: str = "efficiency"
    low: float = -1.0
    high: float = 2.0

    def __call__(self, outcome: BookingOutcome) -> float:
        if not outcome.success:
            return 0.0
        return 2.0 - outcome.steps / outcome.budget if outcome.steps <= outcome.budget else -1.0


class Feedback:
    """U: +3 from a user who got what it wanted, 0 when it got it in a foul mood, -3 when it did not get it."""

    name: str = "feedback"
    low: float = -3.0
    high: float = 3.0
    foul: float = -0.5
    """Mood below which even success earns no praise."""

    def __call__(self, outcome: BookingOutcome) -> float:
        if not outcome.success:
            return -3.0
        return 3.0 if outcome.mood >= self.foul else 0.0


class Compliance:
    """C: 1 when a policy applied and was kept. A breach never gets here: the veto fixes the episode's total."""

    name: str = "compliance"
    low: float = 1.0
    high: float = 1.0

    def __call__(self, outcome: BookingOutcome) -> float | None:
        return 1.0 if outcome.rules else None


class Style:
    """P: up to 2 for writing the way the user likes it, over all messages to the user."""

    name: str = "style"
    low: float = 0.0
    high: float = 2.0

    def __call__(self, outcome: BookingOutcome) -> float | None:
        return None if outcome.style is None else 2.0 * outcome.style


COMPONENTS = (Goal(), Efficiency(), Feedback(), Compliance(), Style())
