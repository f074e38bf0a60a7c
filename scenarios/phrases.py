"""Finds word patterns in a sentence: the small engine below the user's understanding.

A phrase is a row of words. `a|b` stands for either word, `_` for a gap of up to `MAX_GAP` words, a leading `^` for "only
where a piece of the sentence begins". Lookup is by the first words, so the time is linear in the text and hardly depends
on the number of phrases.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

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


@dataclass(slots=True)
class _Entry:
    """Phrases with one first word, split by the second so that few have to be tried."""

    by_second: dict[str, list[_Phrase]] = field(default_factory=dict)
    open: list[_Phrase] = field(default_factory=list)
    """Phrases of one word, or with a gap after the first."""


class PhraseIndex:
    """Phrases with names, indexed by their first two words.

    Args:
        entries: Pairs (name, phrase); one phrase may serve several names.

    Raises:
        ValueError: A phrase without a word at its start or end.
    """

    def __init__(self, entries: Iterable[tuple[str, str]]) -> None:
        self._entries: dict[str, _Entry] = {}
        for name, phrase in entries:
            words = phrase.lower().split()
            at_start = words[:1] == ["^"]
            words = words[1:] if at_start else words
            if not words or words[0] == "_" or words[-1] == "_":
                raise ValueError(f"expected a phrase that starts and ends with a word, actual {phrase!r} for {name!r}")
            rest = tuple(None if word == "_" else frozenset(word.split("|")) for word in words[1:])
            for first in words[0].split("|"):
                entry = self._entries.setdefault(first, _Entry())
                second = rest[0] if rest else None
                for group in [entry.open] if second is None else [entry.by_second.setdefault(word, []) for word in second]:
                    group.append(_Phrase(name, at_start, rest))

    def find(self, tokens: Sequence[str], begins: Sequence[bool]) -> list[Found]:
        """Phrases in order of appearance; of those that start at one word the ones with most words count.

        A word that a phrase used is no start of a further phrase; words in its gaps are.

        Args:
            tokens: Lower-case words of one sentence.
            begins: Whether a piece of the sentence begins at the word, same length.
        """
        found: list[Found] = []
        used: set[int] = set()
        last = len(tokens) - 1
        for start, token in enumerate(tokens):
            entry = self._entries.get(token)
            if entry is None or start in used:
                continue
            best: dict[str, list[int]] = {}
            most = 0
            closed = entry.by_second.get(tokens[start + 1], ()) if start < last else ()
            for phrase in (*closed, *entry.open):
                if phrase.at_piece_start and not begins[start]:
                    continue
                places = _match(tokens, start, phrase.rest)
                if places is None or len(places) < most:
                    continue
                if len(places) > most:
                    best, most = {}, len(places)
                best.setdefault(phrase.name, places)
            for name, places in best.items():
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
