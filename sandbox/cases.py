"""Tests of a program: what is asked of it, and what it should give. Only the asking side ever sees the second half."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


class _Missing:
    """Stands for no expected value; None is a value."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Any = _Missing()


@dataclass(frozen=True, slots=True)
class Case:
    """One test, run in the program's namespace after the program has run to its end.

    Exactly one of `value`, `output` and `raises` is given. It never enters the tested process: the answer comes out and is
    compared outside.

    Raises:
        ValueError: Not exactly one of the three is given.
    """

    code: str
    """Statements; with `value`, the last one is an expression, such as `add(2, 3)`."""
    value: Any = MISSING
    """What the last expression should give: None, bool, int, float, complex, str, bytes, or list, tuple, dict, set, frozenset
    of such. Types have to be equal exactly: True is not 1, a subclass of int is no int."""
    output: str | None = None
    """What should be shown as by an interactive session: printed text, then the last expression's `repr` (nothing for None)."""
    raises: str | None = None
    """Name of the exception that should come."""
    tolerance: float = 0.0
    """Absolute and relative error allowed in floats."""

    def __post_init__(self) -> None:
        there = {"value": self.value is not MISSING, "output": self.output is not None, "raises": self.raises is not None}
        given = [name for name, is_there in there.items() if is_there]
        if len(given) != 1:
            raise ValueError(f"expected exactly one of value, output and raises, actual {', '.join(given) or 'none'}")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of one test."""

    passed: bool
    got: str
    """What the program gave, as text for people: a `repr`, printed text, or an exception with its message; at most 200
    characters."""
    ran: bool = True
    """False when the program ended (error, limit) before its turn came."""
    raised: bool = False
    """It failed by an exception that was not expected."""
