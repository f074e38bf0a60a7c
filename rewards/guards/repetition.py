"""Repetition: the share of a message that was said before."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence

from slmagent.rewards.guards.base import said_by_assistant, words_of
from slmagent.types import Message

NGRAM = 4


def repetition(text: str, earlier: Iterable[str] = (), *, n: int = NGRAM) -> float:
    """Share of a message's n-grams of words that occurred before, in the message itself or in an earlier one.

        1 - |new| / |all|

    where `all` are the message's n-grams, counted as often as they occur, and `new` the distinct ones among them that no
    earlier message has. Without earlier messages this is seq-rep-n of Welleck et al. (2020), "Neural Text Generation with
    Unlikelihood Training". A message of at most n words is one n-gram: it repeats only a message of the same words.

    Args:
        text: The message.
        earlier: Messages said before.
        n: Words an n-gram, at least 1.

    Returns:
        A number in [0, 1]; 0.0 for a text without words.
    """
    if n < 1:
        raise ValueError(f"expected n >= 1, actual {n}")
    ngrams = _ngrams(text, n)
    if not ngrams:
        return 0.0
    known = {ngram for message in earlier for ngram in _ngrams(message, n)}
    return 1.0 - len(set(ngrams) - known) / len(ngrams)


@functools.lru_cache(maxsize=1024)  # a message is compared with again at every later turn of its talk
def _ngrams(text: str, n: int) -> tuple[tuple[str, ...], ...]:
    words = words_of(text)
    if len(words) <= n:
        return (tuple(words),) if words else ()
    return tuple(zip(*(words[start:] for start in range(n)), strict=False))


class Repetition:
    """How much of a message the assistant has said before, in it or in its earlier messages (see `repetition`).

    Args:
        n: Words an n-gram, at least 1.
    """

    name: str = "repetition"
    low: float = 0.0
    high: float = 1.0

    def __init__(self, n: int = NGRAM) -> None:
        self.n = n

    def __call__(self, text: str, history: Sequence[Message] = ()) -> float:
        """Share of repeated n-grams in [0, 1]."""
        return repetition(text, said_by_assistant(history), n=self.n)
