"""A family with its choices made and its names given: text, holes, and what its test calls give."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from slmagent.scenarios.code.families.family import MARK, Family, Naming, render, used_in
from slmagent.scenarios.code.records import Check

TOLERANCE = 1e-9
_DOCSTRING = re.compile(r'""".*?"""')
_ARTICLE = re.compile(r"\b([Aa]) (?=[aeiou])")
_HEAD = re.compile(r"^( *)(?:def|class) (\w+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Part:
    """A place in a family's source where something can be left out."""

    start: int
    """Index of the first character of what is left out."""
    stop: int
    name: str
    """Stable name of the part within its family."""
    choices: tuple[str, ...]
    """What the text there depends on."""


def lines_of(family: Family, *, whole: bool) -> list[Part]:
    """Lines with a mark whose rest depends on a choice.

    Args:
        family: Whose source.
        whole: From the first word behind `return` or `=`; else from the mark.
    """
    parts = []
    position = 0
    for number, line in enumerate(family.source.splitlines(keepends=True)):
        mark = line.find(MARK)
        if mark >= 0:
            start = mark
            if whole:
                found = re.match(r" *(?:return |[\w\[\]<>]+ \+?= )", line)
                start = found.end() if found else mark
            stop = len(line.rstrip("\n"))
            choices = used_in(family, line[start:stop])
            if choices:
                parts.append(Part(position + start, position + stop, f"line {number}", choices))
        position += len(line)
    return parts


def bodies_of(family: Family) -> list[Part]:
    """Bodies, docstrings excluded, of the function or of the methods that depend on a choice."""
    parts = []
    pattern = r'^( *)def ([\w<>]+)\(.*\):\n +""".*?"""\n'
    for found in re.finditer(pattern, family.source, re.MULTILINE):
        indent = len(found[1])
        rest = family.source[found.end() :]
        length = 0
        for line in rest.splitlines(keepends=True):
            if line.strip() and len(line) - len(line.lstrip()) <= indent:
                break
            length += len(line)
        body = rest[:length].rstrip()
        choices = used_in(family, body)
        if choices:
            start = found.end() + len(body) - len(body.lstrip(" "))
            parts.append(Part(start, found.end() + len(body), found[2], choices))
    return parts


@dataclass(frozen=True)
class Instance:
    """One piece of code."""

    family: Family
    work: Mapping[str, int]
    naming: Naming
    vague: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """Of the function or class."""
        found = _HEAD.search(self.text())
        assert found is not None
        return found[2]

    def text(self) -> str:
        """The whole piece."""
        return self.piece(self.family.source)

    def piece(self, source: str) -> str:
        """A part of the source as it reads."""
        text = render(self.family, source, self.work, self.naming, self.vague).replace(MARK, "")
        return _DOCSTRING.sub(lambda found: _ARTICLE.sub(r"\1n ", found[0]), text)

    def around(self, part: Part) -> tuple[str, str, str]:
        """What stands before a part, in it and behind it."""
        source = self.family.source
        return self.piece(source[: part.start]), self.piece(source[part.start : part.stop]), self.piece(source[part.stop :])

    def calls(self) -> list[str]:
        """The test calls in its names."""
        given = (render(self.family, call, self.work, self.naming) for call in self.family.calls)
        return [re.sub(r"\bf\(", f"{self.name}(", call) if self.family.kind == "function" else call for call in given]

    def checks(self) -> tuple[Check, ...]:
        """The calls with what they give; this code of ours is run to find out."""
        return self.outcomes(self.text())

    def outcomes(self, text: str) -> tuple[Check, ...]:
        """The same for a changed text of it."""
        names: dict[str, Any] = {}
        exec(text, names)
        return tuple(_check(call, names) for call in self.calls())


def _check(call: str, names: dict[str, Any]) -> Check:
    before, _, last = call.rpartition("\n")  # calls end with an expression of one line
    local = dict(names)
    try:
        exec(before, local)
        value = eval(last, local)
    except Exception as problem:
        return Check(call, "raises", type(problem).__name__)
    return Check(call, "value", repr(value), TOLERANCE)
