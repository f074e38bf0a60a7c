"""What a family of programming tasks is: a piece of code with choices in it, and calls that tell the choices apart.

In a source, `<key>` stands for the code of the chosen option of `key`, `<key!>` for how a docstring says it, and `<xs>`,
`<x>` and the like for names. A line with a `~` can be left for the programmer to finish from there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Naming = Mapping[str, str]
"""Placeholder -> name, such as `xs` -> `prices`."""
_PLACE = re.compile(r"<(\w+)(!?)>")
MARK = "~"


@dataclass(frozen=True, slots=True)
class Option:
    """One way to choose."""

    code: str
    says: str
    """How the docstring says it."""
    answer: str = ""
    """What the programmer says when asked, as a sentence without full stop; only where the choice can be left open."""
    gist: str = ""
    """Words of which an explanation has to hold one, separated by `|`; empty where it need not be said."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What can be chosen."""

    options: tuple[Option, ...]
    vague: str = ""
    """What the docstring says when it is left open."""
    topic: str = ""
    """What it is about; empty where it cannot be left open."""
    cues: tuple[str, ...] = ()
    """Phrases that ask about it, as in `scenarios.phrases`."""
    question: str = ""
    """How an expert asks about it."""


@dataclass(frozen=True, slots=True)
class Family:
    """A function or a class with choices."""

    name: str
    source: str
    namings: tuple[Naming, ...]
    calls: tuple[str, ...]
    """Test calls; `f` stands for the function. For a class, statements whose last one is an expression."""
    choices: Mapping[str, Choice]
    gist: tuple[str, ...] = ()
    """Words that an explanation has to name, alternatives separated by `|`; empty where it cannot be explained in a word."""
    kind: Literal["function", "class"] = "function"


Work = tuple[tuple[str, int], ...]
"""Choice -> number of the chosen option, in the order of the family's choices."""


def used_in(family: Family, text: str) -> tuple[str, ...]:
    """Choices that a part of the source depends on, in order."""
    found: list[str] = []
    pending = [text]
    while pending:
        for key, says in _PLACE.findall(pending.pop()):
            if key in family.choices and key not in found and not says:
                found.append(key)
                pending += [option.code for option in family.choices[key].options]
    return tuple(key for key in family.choices if key in found)


def render(family: Family, text: str, work: Mapping[str, int], naming: Naming, vague: frozenset[str] = frozenset()) -> str:
    """Fills the places of a part of the source.

    Args:
        family: Where it comes from.
        text: The part.
        work: The chosen option of every choice.
        naming: The names.
        vague: Choices that the docstring leaves open.
    """

    def fill(match: re.Match[str]) -> str:
        key, says = match.groups()
        choice = family.choices.get(key)
        if choice is None:
            return naming[key]
        option = choice.options[work[key]]
        if says and key in vague:
            return choice.vague
        return option.says if says else option.code

    while _PLACE.search(text):
        text = _PLACE.sub(fill, text)
    return text
