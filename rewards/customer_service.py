"""CustomerService's reward components: understanding, evidence, solution, satisfaction, less a little for bad manners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

DEFAULT_WEIGHTS: Mapping[str, float] = {
    "understand": 0.1,
    "info_retrieval": 0.3,
    "solution_complete": 0.4,
    "user_satisfaction": 1.0,
    "repetition": 0.1,
    "off_topic": 0.1,
    "filler": 0.05,
    "progress": 1.0,
    "veto": -1.0,
}
"""`veto` is the episode total that a policy violation or an insult fixes; `progress` scales the potential-based shaping."""


@dataclass(frozen=True, slots=True)
class ServiceOutcome:
    """How an episode ended."""

    success: bool
    confirmed: bool
    """The agent named what the customer asked about."""
    cites: Sequence[str]
    """Articles to name: those that settle the case."""
    relied: Set[str]
    """Articles that the right outcome rests on, `cites` among them; naming the others as well is no fault."""
    cited: Set[str]
    """Articles that the agent named after it had read them."""
    done: float
    """Share of the required steps that was done, in [0, 1]."""
    mood: float
    """The user's, in [-1, 1]."""
    repetition: float | None
    """The worst of the agent's messages, in [0, 1]; None when it said nothing."""
    off_topic: float | None
    """Mean over its messages, in [0, 1]."""
    filler: float | None
    """Mean over its messages, in [0, 1]."""


class Understand:
    """1 when the agent named what the customer asked about."""

    name: str = "understand"
    low: float = 0.0
    high: float = 1.0

    def __call__(self, outcome: ServiceOutcome) -> float:
        return float(outcome.confirmed)


class InfoRetrieval:
    """Overlap (Jaccard index) of the articles cited with those to name; absent where there are none to name.

    Further articles that the outcome rests on count neither way.
    """

    name: str = "info_retrieval"
    low: float = 0.0
    high: float = 1.0

    def __call__(self, outcome: ServiceOutcome) -> float | None:
        if not outcome.cites:
            return None
        right = set(outcome.cites)
        return len(right & outcome.cited) / len(right | (outcome.cited - outcome.relied))


class SolutionComplete:
    """Share of the required steps that was done; at most 0.9 without success."""

    name: str = "solution_complete"
    low: float = 0.0
    high: float = 1.0
    short: float = 0.9

    def __call__(self, outcome: ServiceOutcome) -> float:
        return 1.0 if outcome.success else min(self.short, outcome.done)


class UserSatisfaction:
    """The customer's rating: 0.8 to 1 by its mood on success, else at most 0.1, and 0 from a displeased one."""

    name: str = "user_satisfaction"
    low: float = 0.0
    high: float = 1.0

    def __call__(self, outcome: ServiceOutcome) -> float:
        return 0.9 + 0.1 * outcome.mood if outcome.success else 0.1 * max(0.0, outcome.mood)


class Repetition:
    """Minus the worst repetition among the agent's messages."""

    name: str = "repetition"
    low: float = -1.0
    high: float = 0.0

    def __call__(self, outcome: ServiceOutcome) -> float | None:
        return None if outcome.repetition is None else 0.0 - outcome.repetition


class OffTopic:
    """Minus the mean distance of the agent's messages from the conversation's topic."""

    name: str = "off_topic"
    low: float = -1.0
    high: float = 0.0

    def __call__(self, outcome: ServiceOutcome) -> float | None:
        return None if outcome.off_topic is None else 0.0 - outcome.off_topic


class Filler:
    """Minus the mean share of empty phrases in the agent's messages."""

    name: str = "filler"
    low: float = -1.0
    high: float = 0.0

    def __call__(self, outcome: ServiceOutcome) -> float | None:
        return None if outcome.filler is None else 0.0 - outcome.filler


COMPONENTS = (
    Understand(),
    InfoRetrieval(),
    SolutionComplete(),
    UserSatisfaction(),
    Repetition(),
    OffTopic(),
    Filler(),
)
