"""Stable randomness for tasks: the same on every machine and Python version."""

from __future__ import annotations

import hashlib
import random
from collections.abc import MutableSequence, Sequence
from typing import TypeVar

T = TypeVar("T")


class Draw:
    """A random source that gives the same draws on every Python version: only `Random.random` is guaranteed stable.

    Args:
        key: Any string; equal keys give equal draws.
    """

    def __init__(self, key: str) -> None:
        self.uniform = random.Random(int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "big")).random
        """A number in [0, 1)."""

    def integer(self, low: int, high: int) -> int:
        """A whole number in [low, high]."""
        return low + int(self.uniform() * (high - low + 1))

    def chance(self, probability: float) -> bool:
        """True with the given probability."""
        return self.uniform() < probability

    def pick(self, items: Sequence[T]) -> T:
        """One of the items."""
        return items[int(self.uniform() * len(items))]

    def shuffle(self, items: MutableSequence[T]) -> None:
        """Fisher-Yates, in place."""
        uniform = self.uniform  # a local name: tasks shuffle hundreds of ids
        for last in range(len(items) - 1, 0, -1):
            other = int(uniform() * (last + 1))
            items[last], items[other] = items[other], items[last]

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        """Distinct items, in random order."""
        pool = list(items)
        self.shuffle(pool)
        return pool[:count]
