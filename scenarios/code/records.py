"""What a programming task consists of; readable from and writable to one line of JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

TaskKind = Literal["line", "expression", "body", "method", "intent", "repair", "explain"]
Expectation = Literal["value", "output", "raises"]


@dataclass(frozen=True, slots=True)
class Check:
    """One test, run in the namespace of the completed file."""

    code: str
    """Statements; with `value`, the last one is an expression, such as `add(2, 3)`."""
    kind: Expectation
    expect: str
    """A Python literal (`value`), the text an interactive session shows (`output`) or an exception's name (`raises`)."""
    tolerance: float = 0.0
    """Absolute and relative error allowed in floats."""


@dataclass(frozen=True, slots=True)
class Clarification:
    """What an ambiguous request leaves open, and what the programmer says when asked about it."""

    topic: str
    """Short name of what is open, such as `order` or `empty input`."""
    cues: tuple[str, ...]
    """Lower-case words or phrases; a question that has one of them is about this."""
    answer: str
    """What the programmer says then, as a sentence without its full stop."""
    question: str = ""
    """How an expert asks."""


@dataclass(frozen=True, slots=True)
class CodeTask:
    """A file with a hole at the cursor; `before + reference + after` passes every check, and an empty hole does not."""

    name: str
    """Unique; what is asked for, without the level, such as `running-median`."""
    kind: TaskKind
    file_name: str
    before: str
    """The file up to the cursor (indentation of the hole's first line included)."""
    after: str
    """The file behind the hole."""
    reference: str
    """What belongs into the hole; never shown."""
    request: str
    """What the programmer asks for, as one or two sentences."""
    checks: tuple[Check, ...]
    """Hidden tests."""
    examples: tuple[Check, ...] = ()
    """Tests that the programmer shows."""
    broken: str = ""
    """For `repair`: what stands in the hole at first."""
    clarifications: tuple[Clarification, ...] = ()
    """For `intent`: what has to be asked."""
    names: tuple[str, ...] = ()
    """For `explain`: words of which an explanation has to name each (alternatives within one are separated by `|`)."""
