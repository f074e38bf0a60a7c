"""Named reward components and their weighted sum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

Outcome = TypeVar("Outcome", contravariant=True)
OutcomeT = TypeVar("OutcomeT")


class RewardComponent(Protocol[Outcome]):
    """One small, named scoring rule. `low` and `high` bound its unweighted value; the class docstring says what it pays for."""

    name: str
    low: float
    high: float

    def __call__(self, outcome: Outcome) -> float | None:
        """Scores an outcome; None when there is nothing to check, which is not the same as 0."""
        ...


@dataclass(frozen=True, slots=True)
class Composite(Generic[OutcomeT]):
    """A weighted sum of components.

    Args:
        components: Rules with distinct names.
        weights: Weight by component name; a component without a weight counts as 1.0.
    """

    components: Sequence[RewardComponent[OutcomeT]]
    weights: Mapping[str, float]

    def __call__(self, outcome: OutcomeT) -> dict[str, float]:
        """Weighted contribution of each component that had something to check."""
        scores = ((component.name, component(outcome)) for component in self.components)
        return {name: float(self.weights.get(name, 1.0) * score) for name, score in scores if score is not None}


def merge_weights(defaults: Mapping[str, float], changes: Mapping[str, Any] | None) -> dict[str, float]:
    """Default weights with a user's changes.

    Raises:
        ValueError: A name that is not in `defaults`, or a weight that is not a finite number.
    """
    merged = dict(defaults)
    for name, weight in (changes or {}).items():
        if name not in defaults:
            raise ValueError(f"unknown reward component {name!r}; expected one of {', '.join(defaults)}")
        if isinstance(weight, bool) or not isinstance(weight, (int, float)) or weight != weight or abs(weight) == float("inf"):
            raise ValueError(f"expected a finite number as the weight of {name!r}, actual {weight!r}")
        merged[name] = float(weight)
    return merged
