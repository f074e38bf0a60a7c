"""Cuts a message into sentences of plain words: contractions written out, list entries and questions marked. Linear time."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field

_BREAK = re.compile(r"\?|[.!;\u2026](?=\s|$)|\n")
_TOKEN = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)?|[,:()\u2013\u2014\"*]|-(?=\s)")
_CONJUNCTIONS = frozenset(("and", "or", "but", "so", "also", "then", "plus", "otherwise"))
_FILLERS = _CONJUNCTIONS | {
    *(
        "ok",
        "okay",
        "now",
        "well",
        "please",
        "hi",
        "hello",
        "hey",
        "sure",
        "great",
        "good",
        "thanks",
        "thank",
        "you",
        "alright",
    ),
    *("fine", "sir", "madam", "first", "next", "lastly", "finally", "oh", "just", "second", "third", "yes", "no", "sorry"),
    *("perfect", "wonderful", "certainly", "1", "2", "3", "4", "5", "6", "7", "8", "9", "a", "b", "c"),
}
"""Words before which, at the start of a piece, the piece has not really begun."""
_SHORT = {
    "im": ("i", "am"),
    "dont": ("do", "not"),
    "cant": ("can", "not"),
    "cannot": ("can", "not"),
    "whats": ("what", "is"),
    "wheres": ("where", "is"),
    "whens": ("when", "is"),
    "ive": ("i", "have"),
    "pls": ("please",),
    "plz": ("please",),
    "u": ("you",),
    "ur": ("your",),
    "wanna": ("want", "to"),
    "wont": ("will", "not"),
    "nonstop": ("non", "stop"),
}
_ENDINGS = {"m": "am", "ll": "will", "re": "are", "ve": "have", "d": "would"}
_IS_HOSTS = frozenset(
    ("what", "where", "when", "who", "how", "that", "it", "there", "here", "which", "he", "she", "this", "let", "everything")
)
"""Words after which 's means "is"; elsewhere it is a genitive and dropped."""


@dataclass(slots=True)
class Sentence:
    """One sentence."""

    tokens: list[str] = field(default_factory=list)
    """Lower-case words."""
    begins: list[bool] = field(default_factory=list)
    """For each word, whether a piece of the sentence begins there: at its start, after a comma or a conjunction."""
    question: bool = False
    """Ends in a question mark."""
    lists: bool = False
    """Ends in a colon, as before a list."""
    bullet: bool = False
    """Is an entry of a list."""


@functools.lru_cache(maxsize=256)  # the user and each guard read the same message
def sentences_of(text: str) -> tuple[Sentence, ...]:
    """The sentences of a text that have a word in them, only to be read; a line ends a sentence too."""
    sentences: list[Sentence] = []
    start = 0
    for stop in [*_BREAK.finditer(text), None]:
        end = len(text) if stop is None else stop.start()
        if stop is not None and stop.group() == "." and end - start <= 4 and text[start:end].strip().isdigit():
            continue  # the number of a list entry: "1. Departure city"
        sentence = _tokenize(text[start:end])
        sentence.question = stop is not None and stop.group() == "?"
        if sentence.tokens:
            sentences.append(sentence)
        start = end if stop is None else stop.end()
    return tuple(sentences)


def _tokenize(text: str) -> Sentence:
    sentence = Sentence()
    stripped = text.strip()
    sentence.bullet = stripped[:1] in "-*\u2022" if stripped else False
    sentence.lists = stripped.endswith((":", ":**"))
    begin = True
    for match in _TOKEN.finditer(stripped.lower()):
        word = match.group()
        if not word[0].isalnum():
            begin = True
            continue
        for part in _expand(word):
            sentence.tokens.append(part)
            sentence.begins.append(begin)
            begin = part in _CONJUNCTIONS or (begin and part in _FILLERS)
    sentence.bullet = sentence.bullet or (len(sentence.tokens) > 0 and sentence.tokens[0].isdigit())
    return sentence


def _expand(word: str) -> tuple[str, ...]:
    word = word.replace("\u2019", "'")
    if "'" not in word:
        return _SHORT.get(word, (word,))
    stem, _, ending = word.partition("'")
    if ending == "t" and stem.endswith("n"):
        return ({"ca": "can", "wo": "will", "sha": "shall"}.get(stem[:-1], stem[:-1]), "not")
    if ending == "s":
        return (stem, "is") if stem in _IS_HOSTS else (stem,)
    if ending in _ENDINGS:
        return (stem, _ENDINGS[ending])
    return (stem, ending)
