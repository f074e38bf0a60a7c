"""Finds word patterns in a sentence: the small engine below the user's understanding.

A phrase is a row of words. `a|b` stands for either word, `_` for a gap of up to `MAX_GAP` words, a leading `^` for "only where a
piece of the sentence begins". Lookup is by first word, so the time is linear in the text and nearly free of the lexicon's size.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MAX_GAP = 6


@dataclass(frozen=True, slots=True)
class Found:
    """One phrase in a sentence: token positions `start` (first word) and `stop` (behind the last)."""

    name: str
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class _Phrase:
    name: str
    at_piece_start: bool
    rest: tuple[frozenset[str] | None, ...]
    """Words after the first; None is a gap."""


class PhraseIndex:
    """Phrases with names, indexed by first word.

    Args:
        entries: Pairs (name, phrase); one phrase may serve several names.

    Raises:
        ValueError: A phrase without a word at its start or end.
    """

    def __init__(self, entries: Iterable[tuple[str, str]]) -> None:
        self._by_first: dict[str, list[_Phrase]] = {}
        for name, phrase in entries:
            words = phrase.lower().split()
            at_start = words[:1] == ["^"]
            words = words[1:] if at_start else words
            if not words or words[0] == "_" or words[-1] == "_":
                raise ValueError(f"expected a phrase that starts and ends with a word, actual {phrase!r} for {name!r}")
            rest = tuple(None if word == "_" else frozenset(word.split("|")) for word in words[1:])
            for first in words[0].split("|"):
                self._by_first.setdefault(first, []).append(_Phrase(name, at_start, rest))

    def find(self, tokens: Sequence[str], begins: Sequence[bool]) -> list[Found]:
        """Phrases in order of appearance; of those that start at one word the ones with most words count.

        A word that a phrase used is no start of a further phrase; words in its gaps are.

        Args:
            tokens: Lower-case words of one sentence.
            begins: Whether a piece of the sentence begins at the word, same length.
        """
        found: list[Found] = []
        used: set[int] = set()
        for start, token in enumerate(tokens):
            candidates = self._by_first.get(token)
            if not candidates or start in used:
                continue
            best: list[tuple[str, list[int]]] = []
            for phrase in candidates:
                if phrase.at_piece_start and not begins[start]:
                    continue
                places = _match(tokens, start, phrase.rest)
                if places is None or (best and len(places) < len(best[0][1])):
                    continue
                if best and len(places) > len(best[0][1]):
                    best = []
                best.append((phrase.name, places))
            for name in dict.fromkeys(name for name, _ in best):
                places = next(places for other, places in best if other == name)
                found.append(Found(name, start, places[-1] + 1))
                used.update(places)
        return found


def _match(tokens: Sequence[str], start: int, rest: tuple[frozenset[str] | None, ...]) -> list[int] | None:
    """Positions of the phrase's words when it starts at `start`, each gap as short as it can be; None without a match."""
    places = [start]
    reach = 0
    for words in rest:
        if words is None:
            reach = MAX_GAP
            continue
        first = places[-1] + 1
        place = next((i for i in range(first, min(first + reach + 1, len(tokens))) if tokens[i] in words), None)
        if place is None:
            return None
        places.append(place)
        reach = 0
    return places
