"""A space of arbitrary Unicode strings."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

_SAMPLE_ALPHABET = "abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ 0123456789 .,!?'\"{}[]<>/:-_\n\täöüßéñçøłжд日本語😀"


class Unicode(gymnasium.Space[str]):
    """Any Python string of at most `max_length` characters.

    Gymnasium's own `Text` needs its alphabet listed, so it refuses ordinary prose or takes seconds to build for all of
    Unicode. Membership here is a type and length check only; samples are drawn from a small mixed alphabet.

    Args:
        max_length: Longest member in characters. The default is far above what a conversation holds.
        max_sample_length: Longest string that `sample` draws.
    """

    def __init__(
        self, max_length: int = 1_000_000, *, max_sample_length: int = 64, seed: int | np.random.Generator | None = None
    ) -> None:
        if max_length < 0 or max_sample_length < 0:
            raise ValueError(f"expected lengths >= 0, actual max_length={max_length}, max_sample_length={max_sample_length}")
        self.max_length = max_length
        self.max_sample_length = min(max_sample_length, max_length)
        super().__init__(dtype=str, seed=seed)

    def sample(self, mask: None = None, probability: None = None) -> str:
        """Draws a string of 0 to `max_sample_length` characters; masks are not supported."""
        if mask is not None or probability is not None:
            raise ValueError("Unicode.sample supports neither `mask` nor `probability`")
        length = int(self.np_random.integers(self.max_sample_length + 1))
        indices = self.np_random.integers(len(_SAMPLE_ALPHABET), size=length)
        return "".join(_SAMPLE_ALPHABET[i] for i in indices)

    def contains(self, x: Any) -> bool:
        """True for every `str` that is not too long."""
        return isinstance(x, str) and len(x) <= self.max_length

    @property
    def is_np_flattenable(self) -> bool:
        """Strings have no fixed-size array form."""
        return False

    def to_jsonable(self, sample_n: Any) -> list[str]:
        """Strings are JSON already."""
        return list(sample_n)

    def from_jsonable(self, sample_n: list[Any]) -> list[str]:
        """Inverse of `to_jsonable`."""
        return [str(sample) for sample in sample_n]

    def __eq__(self, other: Any) -> bool:
        return (
            isinstance(other, Unicode)
            and self.max_length == other.max_length
            and self.max_sample_length == other.max_sample_length
        )

    def __repr__(self) -> str:
        return f"Unicode({self.max_length})"
