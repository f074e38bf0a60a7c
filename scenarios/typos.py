"""Misspelt words: only words that carry no fact are ever touched."""

from __future__ import annotations

from collections.abc import Callable

_COMMON_WORDS = """
    please would like want need have that this with about looking there could thanks thank really already told should
    know think just sure going because actually something anything which what still help before right sorry then from
    your message request understand question mean exactly good great perfect waiting long nothing everything again
    same said does find tell them more much such very well hope sense things place today first time little slow words
    easy mistakes hurry point agree fine proceed continue accept answer explain other idea lost wrong must keep
    remember read wrote goodbye hello check flight hotel trip book booking travel
"""
TYPO_WORDS = frozenset(word for word in _COMMON_WORDS.split() if len(word) >= 4)
"""Words that may be misspelt, in lower case."""
_NEIGHBOURS = {
    "a": "s", "b": "v", "c": "x", "d": "f", "e": "r", "f": "g", "g": "h", "h": "j", "i": "o", "j": "k", "k": "l", "l": "k",
    "m": "n", "n": "m", "o": "p", "p": "o", "q": "w", "r": "t", "s": "d", "t": "y", "u": "i", "v": "b", "w": "e", "x": "c",
    "y": "u", "z": "x",
}  # fmt: skip


def misspell(word: str, uniform: Callable[[], float]) -> str:
    """One slip behind the first letter: two letters swapped, one left out, one doubled, or a neighbouring key hit.

    Args:
        word: At least three lower-case letters.
        uniform: Draws from [0, 1); called twice.
    """
    place = 1 + int(uniform() * (len(word) - 2))
    match int(uniform() * 4):
        case 0:
            return word[:place] + word[place + 1] + word[place] + word[place + 2 :]
        case 1:
            return word[:place] + word[place + 1 :]
        case 2:
            return word[:place] + word[place] + word[place:]
        case _:
            return word[:place] + _NEIGHBOURS[word[place]] + word[place + 1 :]
