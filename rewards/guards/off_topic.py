"""Off-topic: how far a message is from what the conversation is about, by words or by sentence embeddings."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Iterable, Sequence

from slmagent.rewards.guards.base import words_of
from slmagent.types import Message

ENOUGH = 0.5
"""Share of a message's weight that has to be on the topic for the message to be wholly on it."""
SURE = 4
"""Content words from which on a message is judged in full; fewer say less about what it is about."""
_FUNCTION_WORDS = """
    a about above after again against all already also although always am an and another any anybody anyone anything are
    as at away back be because been before being below best better between both but by can cannot certainly come comes
    could did different do does doing done down during each either else enough especially even ever every everything
    exactly except far few fine first for from further get gets getting give given gives go goes going good got great
    had has have having he hello help hence her here hers herself hey hi him himself his how however i if in indeed
    instead into is it its itself just keep kind know known last later least less let like likely long look looks lot
    made make makes making many may maybe me mean might mine more most much must my myself near need needed needs
    neither never next nice no none nor not nothing now of off often oh ok okay on once one ones only or other others
    otherwise ought our ours ourselves out over own part per perhaps please possible put quite rather re really right
    said same saw say says see seem seems seen several shall she should since so some somebody someone something
    sometimes soon sorry still stuff such sure take takes taken tell than thank thanks that the their theirs them
    themselves then there therefore these they thing things think this those though through thus till to today together
    told too took toward try trying two under unless until up upon us use used useful using usual usually very via want
    wanted wants was way we well were what whatever when where whether which while who whole whom whose why will with
    within without would yeah yes yet you your yours yourself
"""
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())
"""Words that belong to no topic."""
_ENDINGS = ("ations", "ation", "ings", "ing", "ies", "ed", "es", "er", "s", "y", "e")


@functools.lru_cache(maxsize=4096)
def content_words(text: str) -> frozenset[str]:
    """A text's stems without function words, numbers and identifiers, which say nothing about the topic by themselves."""
    words = (word for part in words_of(text) for word in part.split("-"))
    return frozenset(_stem(word) for word in words if len(word) > 1 and word not in FUNCTION_WORDS and word.isalpha())


def _stem(word: str) -> str:
    """The word without one common ending, so that "flights" meets "flight" and "booking" meets "booked"."""
    ending = next((ending for ending in _ENDINGS if word.endswith(ending) and len(word) - len(ending) >= 3), "")
    return word[: len(word) - len(ending)]


class LexicalOffTopic:
    """Share of a message's content words that are foreign to the conversation and its domain.

        min(1, n / `SURE`) * (1 - min(1, known / (`ENOUGH` * total)))

    where `n` counts the message's distinct content words, `total` is their weight and `known` the weight of those that occur in
    the conversation before it (instructions and tool results included) or in the domain's documents. A word weighs its inverse
    document frequency over the documents (Sparck Jones 1972, smoothed), ln((1 + N) / (1 + df)) + 1; without documents all
    weigh 1. A message without content words ("Yes, sure.") is on every topic.

    Args:
        documents: Texts of the domain, such as the articles of a help desk; many short ones weigh words better than one long.
    """

    name: str = "off_topic"
    low: float = 0.0
    high: float = 1.0

    def __init__(self, documents: Iterable[str] = ()) -> None:
        stems = [content_words(document) for document in documents]
        frequencies = Counter(stem for document in stems for stem in document)
        self._unseen = math.log(1 + len(stems)) + 1.0
        self._weights = {stem: self._unseen - math.log(1 + count) for stem, count in frequencies.items()}

    def __deepcopy__(self, memo: dict[int, object]) -> LexicalOffTopic:
        return self  # immutable

    def __call__(self, text: str, history: Sequence[Message] = ()) -> float:
        """Distance from the topic in [0, 1]."""
        stems = content_words(text)
        if not stems:
            return 0.0
        known = stems & self._weights.keys()
        for message in reversed(history):
            if len(known) == len(stems):
                break
            known |= stems & content_words(message["content"])
        # Exact sums: the order of a set differs between processes, and with it the last digit of an ordinary sum.
        share = math.fsum(map(self._weight, known)) / math.fsum(map(self._weight, stems))
        return min(1.0, len(stems) / SURE) * (1.0 - min(1.0, share / ENOUGH))

    def _weight(self, stem: str) -> float:
        return self._weights.get(stem, self._unseen)
