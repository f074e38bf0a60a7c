"""The tasks of CodeAssist: families with their choices made, dealt out to levels and splits.

A task's *work* is what has to be written, whatever the names: the family, the part that is missing, and the options it
depends on. Splits are disjoint in work; `ood` has families of its own.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from slmagent.scenarios.code.families import CLASS_FAMILIES, CLASS_FAMILIES_OOD, FAMILIES, FAMILIES_OOD
from slmagent.scenarios.code.families.family import Family
from slmagent.scenarios.code.families.instance import Instance, Part, bodies_of, lines_of
from slmagent.scenarios.code.records import CodeTask, TaskKind
from slmagent.scenarios.code.writing import write_task
from slmagent.scenarios.splits import Catalogue, belongs_to, family_of

KINDS: Mapping[int, tuple[TaskKind, ...]] = {
    0: ("line",),
    1: ("expression",),
    2: ("body",),
    3: ("method",),
    4: ("intent",),
    5: ("repair", "repair", "repair", "explain"),
}
SIZES: Mapping[str, int] = {"train": 600, "val": 150, "test": 200, "ood": 60}
"""Tasks a level."""
PERSONAS = ("concise", "detailed", "humorous", "technical", "impatient", "confused")
_OOD_PERSONAS = (*PERSONAS, "non_native")


@dataclass(frozen=True)
class Work:
    """What has to be written, but for the names."""

    family: Family
    part: Part
    kind: TaskKind
    options: tuple[tuple[str, int], ...]
    """Of the choices that matter."""

    @property
    def signature(self) -> tuple[Any, ...]:
        """Decides about the split."""
        return self.family.name, self.part.name, self.kind, self.options


def kinds_of(level: int) -> tuple[str, ...]:
    """Task kinds of a level, in the proportions in which they come."""
    return KINDS[level]


def scenario_ids(level: int, split: str) -> tuple[str, ...]:
    """Ids of a level's tasks."""
    return _CATALOGUE.ids(level, split)


def kind_of(scenario_id: str) -> str:
    """The kind of a task.

    Raises:
        ValueError: There is no task with this id.
    """
    return _CATALOGUE.read(scenario_id)[2]


def persona_of(scenario_id: str) -> str:
    """Whose manner the programmer has."""
    _, split, _ = _CATALOGUE.read(scenario_id)
    personas = _OOD_PERSONAS if split == "ood" else PERSONAS
    return personas[_number("persona", scenario_id) % len(personas)]


def signature_of(scenario_id: str) -> tuple[Any, ...]:
    """What a task's work is told apart by."""
    return _work_of(scenario_id)[0].signature


@functools.lru_cache(maxsize=4096)
def make_task(scenario_id: str) -> CodeTask:
    """Makes a task; the same one in every process.

    Raises:
        ValueError: There is no task with this id.
    """
    level, split, _ = _CATALOGUE.read(scenario_id)
    work, turn = _work_of(scenario_id)
    ood = family_of(split) == "ood"

    def draw(what: str) -> int:
        return _number(scenario_id, what)

    options = dict(work.options)
    for key, choice in work.family.choices.items():
        options.setdefault(key, draw(key) % len(choice.options))
    instance = Instance(work.family, options, work.family.namings[turn % len(work.family.namings)])
    pool = (*FAMILIES_OOD, *CLASS_FAMILIES_OOD) if ood else (*FAMILIES, *CLASS_FAMILIES)
    return write_task(scenario_id, level, work.kind, instance, work.part, pool, draw, ood=ood)


def _work_of(scenario_id: str) -> tuple[Work, int]:
    """The work of a task, and how often it has come before in this split."""
    level, split, kind = _CATALOGUE.read(scenario_id)
    kinds = KINDS[level]
    index = int(scenario_id.rpartition("-")[2])
    before, rest = divmod(index, len(kinds))
    number = before * kinds.count(kind) + kinds[:rest].count(kind)
    works = _works(level, split, kind)
    return works[number % len(works)], number // len(works)


@functools.cache
def _works(level: int, split: str, kind: TaskKind) -> tuple[Work, ...]:
    """All work of a kind in a split, in a fixed order that mixes the families."""
    families: Sequence[Family]
    if level == 3:
        families = CLASS_FAMILIES_OOD if split == "ood" else CLASS_FAMILIES
    else:
        families = FAMILIES_OOD if split == "ood" else FAMILIES
    mine = belongs_to(split)
    works = [work for family in families for work in _of_family(family, kind) if mine(work.signature)]
    return tuple(sorted(works, key=lambda work: _number("order", repr(work.signature))))


def _of_family(family: Family, kind: TaskKind) -> list[Work]:
    in_line = kind in ("line", "expression")
    parts = lines_of(family, whole=kind == "expression") if in_line else bodies_of(family)
    if kind == "intent" and not any(choice.topic for choice in family.choices.values()):
        return []
    if kind == "explain" and not family.gist:
        return []
    works = (
        Work(family, part, kind, tuple(zip(part.choices, numbers, strict=True)))
        for part in parts
        for numbers in itertools.product(*(range(len(family.choices[key].options)) for key in part.choices))
    )
    return [work for work in works if not _nothing(work)]


def _nothing(work: Work) -> bool:
    """Whether what is missing is nothing, or does nothing."""
    options = dict.fromkeys(work.family.choices, 0) | dict(work.options)
    missing = Instance(work.family, options, work.family.namings[0]).around(work.part)[1]
    return missing.strip("() ") in ("", "None", "return None")


def _number(*parts: str) -> int:
    """A number that only depends on the parts."""
    return int.from_bytes(hashlib.blake2b("\n".join(parts).encode(), digest_size=8).digest(), "big")


_CATALOGUE = Catalogue("code", KINDS, SIZES)
