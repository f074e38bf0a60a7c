"""What tasks are called and which split they belong to, for every environment."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

Family = Literal["home", "ood"]
"""`home` serves train, val and test; `ood` shares no names, wordings or tool names with it."""
Belongs = Callable[[tuple[Any, ...]], bool]
"""Whether the task with a signature (what is wanted, without the world's answer) may be in the split."""

SPLIT_SIZES: Mapping[str, int] = {"train": 4000, "val": 500, "test": 500, "ood": 200}
_SHARES: Mapping[str, range] = {"train": range(0, 6), "val": range(6, 8), "test": range(8, 10)}


def family_of(split: str) -> Family:
    """The names and wordings a split draws on."""
    return "ood" if split == "ood" else "home"


def share_of(signature: tuple[Any, ...]) -> int:
    """The tenth (0 to 9) of all possible wishes that a signature falls into."""
    text = json.dumps(signature, ensure_ascii=False)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") % 10


def belongs_to(split: str) -> Belongs:
    """The test that keeps train, val and test disjoint in what is wanted."""
    return lambda signature: split == "ood" or share_of(signature) in _SHARES[split]


class Catalogue:
    """Ids of an environment's tasks, `<name>-<level>-<split>-<number>`; a level's tasks cycle through its kinds.

    Args:
        name: First part of the ids.
        kinds: Task kinds by level, in the proportions in which they come.
        sizes: Tasks in a split, at every level.
    """

    def __init__(self, name: str, kinds: Mapping[int, Sequence[str]], sizes: Mapping[str, int] = SPLIT_SIZES) -> None:
        self.name = name
        self.sizes = sizes
        self.kinds = {level: tuple(names) for level, names in kinds.items()}
        self.ids = functools.cache(self._ids)

    def _ids(self, level: int, split: str) -> tuple[str, ...]:
        return tuple(f"{self.name}-{level}-{split}-{index:05d}" for index in range(self.sizes[split]))

    def read(self, scenario_id: str) -> tuple[int, str, str]:
        """Level, split and kind of a task.

        Raises:
            ValueError: There is no task with this id.
        """
        match = re.fullmatch(rf"{self.name}-(\d)-(train|val|test|ood)-(\d{{5}})", scenario_id)
        if match is None or int(match[1]) not in self.kinds or int(match[3]) >= self.sizes[match[2]]:
            raise ValueError(f"unknown scenario id {scenario_id!r}; expected one like '{self.name}-1-train-00042'")
        kinds = self.kinds[int(match[1])]
        return int(match[1]), match[2], kinds[int(match[3]) % len(kinds)]
