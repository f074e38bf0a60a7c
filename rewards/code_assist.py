"""CodeAssist's reward components: paid once, on the answer that was handed in last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

DEFAULT_WEIGHTS: Mapping[str, float] = {
    "syntax": 0.2,
    "compile": 0.3,
    "relevance": 0.5,
    "explained": 0.5,
    "feedback": 1.0,
    "length": 0.1,
    "progress": 1.0,
    "veto": -1.0,
}
"""`veto` is the episode total that a broken rule fixes; `progress` scales the potential-based shaping."""


@dataclass(frozen=True, slots=True)
class CodeOutcome:
    """How an episode ended."""

    success: bool
    worth: bool = False
    """Something was handed in that has an effect and is no copy of the context; nothing else is paid for."""
    syntax: bool = False
    runs: bool = False
    relevance: float | None = None
    """In [0, 1]; None where there is no code to compare."""
    length: float | None = None
    """In [-1, 1]; None where there is no code to measure."""
    explained: float | None = None
    """Share of what an explanation has to name, in [0, 1]; None where none was asked for."""


class Syntax:
    """1 when the answer can be parsed in its place."""

    name: str = "syntax"
    low: float = 0.0
    high: float = 1.0

    def __call__(self, outcome: CodeOutcome) -> float | None:
        return None if outcome.explained is not None else float(outcome.worth and outcome.syntax)


class Compile:
    """1 when the file runs in the sandbox with it, and so do the tests, without an error that none of them wants."""

    name: str = "compile"
    low: float = 0.0
    high: float = 1.0

    def __call__(self, outcome: CodeOutcome) -> float | None:
        return None if outcome.explained is not None else float(outcome.worth and outcome.runs)


class Relevance:
    """How much the answer is of the same kind as the code around it."""

    name: str = "relevance"
    low: float = 0.0
    high: float = 1.0

    def __call__(self, outcome: CodeOutcome) -> float | None:
        return outcome.relevance if outcome.worth else None


class Explained:
    """Share of what an explanation has to name."""

    name: str = "explained"
    low: float = 0.0
    high: float = 1.0

    def __call__(self, outcome: CodeOutcome) -> float | None:
        return outcome.explained


class Feedback:
    """1 when the programmer accepts: the hidden tests pass, or the explanation names all."""

    name: str = "feedback"
    low: float = 0.0
    high: float = 1.0

    def __call__(self, outcome: CodeOutcome) -> float:
        return float(outcome.success)


class Length:
    """1 for an answer that is not much longer than needed, down to -1 for one that is four times as long."""

    name: str = "length"
    low: float = -1.0
    high: float = 1.0

    def __call__(self, outcome: CodeOutcome) -> float | None:
        return outcome.length if outcome.worth else None


COMPONENTS: Sequence[Syntax | Compile | Relevance | Explained | Feedback | Length] = (
    Syntax(),
    Compile(),
    Relevance(),
    Explained(),
    Feedback(),
    Length(),
)
