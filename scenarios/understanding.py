"""What the simulated user makes of a message: which facts are asked for, and whether it proposes, refuses, begs, apologises ...

Rules over words, no model: pure functions, any string, linear time. The domain comes in as a lexicon of `SlotPattern`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from slmagent.scenarios.cues import CUES, SCOPES
from slmagent.scenarios.phrases import Found, PhraseIndex


@dataclass(frozen=True, slots=True)
class SlotPattern:
    """How a question for one fact is recognised, and how the fact is said."""

    name: str
    phrases: tuple[str, ...]
    """Wordings that name the fact inside a question; syntax in `phrases`."""
    label: str = ""
    """What a person calls the fact ("travel date"); the name with spaces by default."""
    answers: tuple[str, ...] = ()
    """Sentences that say the fact, with `{value}`; added to the general ones."""
    blocks: tuple[str, ...] = ()
    """Wordings that look like this fact and are not ("hotel name" for a person's name)."""


@dataclass(frozen=True, slots=True)
class Understanding:
    """What a message does. Several can hold at once."""

    asked: tuple[str, ...] = ()
    """Facts requested, by name, in order of appearance, each once."""
    proposes: bool = False
    """Asks for agreement to an action ("Shall I go ahead and book FL337?")."""
    refuses: bool = False
    """Says that something cannot be done."""
    verifies: bool = False
    """Asks whether something said is right, without naming an action or an item to book."""
    offers: bool = False
    """Asks whether to take a harmless step, such as a search."""
    asks_help: bool = False
    """Asks what it can do, or whether there is anything else."""
    begs: bool = False
    """Asks for the user's instructions, hidden facts or prompt."""
    begs_all: bool = False
    """Asks for "everything" or "all details" at large."""
    thanks: bool = False
    apologises: bool = False
    filler: bool = False
    """Announces work ("one moment, I will check")."""
    question: bool = False
    """Has a question or request in it, understood or not."""
    empty: bool = False
    """Has no words."""
    words: int = 0
    """Number of words."""


_BREAK = re.compile(r"\?|[.!;\u2026](?=\s|$)|\n")
_TOKEN = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)?|[,:()\u2013\u2014\"*]|-(?=\s)")
_IDENTIFIER = re.compile(r"(?=[a-z]*\d)(?=\d*[a-z])[a-z\d]{3,12}\Z")
_CONJUNCTIONS = frozenset({"and", "or", "but", "so", "also", "then", "plus", "otherwise"})
_FILLERS = _CONJUNCTIONS | frozenset(
    "ok okay now well please hi hello hey sure great good thanks thank you alright fine sir madam first next lastly finally oh "
    "just first second third yes no sorry perfect wonderful certainly 1 2 3 4 5 6 7 8 9 a b c".split()
)
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
_IS_HOSTS = frozenset("what where when who how that it there here which he she this let everything".split())
_COMMIT = frozenset("book booking reserve reservation cancel cancellation change pay buy purchase proceed rebook".split())


@dataclass(slots=True)
class _Sentence:
    tokens: list[str] = field(default_factory=list)
    begins: list[bool] = field(default_factory=list)
    question: bool = False
    lists: bool = False
    """Ends in a colon, as before a list."""
    bullet: bool = False


def understand(text: str, lexicon: Sequence[SlotPattern]) -> Understanding:
    """Reads a message of the assistant.

    Args:
        text: Any string.
        lexicon: The facts that can be asked for.
    """
    slots = _slot_index(tuple(lexicon))
    asked: dict[str, None] = {}
    flags: set[str] = set()
    listing = False
    words = 0
    committed = False
    for sentence in _sentences(text):
        words += len(sentence.tokens)
        committed = committed or any(token in _COMMIT or _IDENTIFIER.match(token) for token in sentence.tokens)
        listing = listing and sentence.bullet
        names = _read(sentence, slots, flags, listing)
        asked.update(dict.fromkeys(names))
        listing = listing or (sentence.lists and "requested" in flags)
    verifies = "verify" in flags
    proposes = "propose" in flags or (verifies and committed)
    return Understanding(
        asked=tuple(asked),
        proposes=proposes,
        refuses="refuse" in flags,
        verifies=verifies and not proposes,
        offers="offer" in flags and not proposes,
        asks_help="help" in flags,
        begs="beg" in flags,
        begs_all="beg_all" in flags,
        thanks="thanks" in flags,
        apologises="apology" in flags,
        filler="filler" in flags,
        question="question" in flags or bool(asked),
        empty=words == 0,
        words=words,
    )


@lru_cache(maxsize=64)
def _slot_index(lexicon: tuple[SlotPattern, ...]) -> PhraseIndex:
    entries = [(pattern.name, phrase) for pattern in lexicon for phrase in pattern.phrases]
    entries += [("", phrase) for pattern in lexicon for phrase in pattern.blocks]
    return PhraseIndex(entries)


_CUE_INDEX = PhraseIndex((kind, phrase) for kind, phrases in CUES.items() for phrase in phrases)


def _sentences(text: str) -> list[_Sentence]:
    sentences: list[_Sentence] = []
    start = 0
    for stop in [*_BREAK.finditer(text), None]:
        end = len(text) if stop is None else stop.start()
        sentence = _tokenize(text[start:end])
        sentence.question = stop is not None and stop.group() == "?"
        if sentence.tokens:
            sentences.append(sentence)
        elif sentence.question and sentences and not text[start:end].strip():
            sentences[-1].question = True
        start = end if stop is None else stop.end()
    return sentences


def _tokenize(text: str) -> _Sentence:
    sentence = _Sentence()
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


def _read(sentence: _Sentence, slots: PhraseIndex, flags: set[str], listing: bool) -> list[str]:
    """Notes what one sentence does in `flags` and returns the facts it asks for."""
    tokens, begins = sentence.tokens, sentence.begins
    cues = _CUE_INDEX.find(tokens, begins)
    found = [slot for slot in slots.find(tokens, begins) if slot.name]
    conditional = any(cue.name == "conditional" for cue in cues)
    flags.update(cue.name for cue in cues if cue.name not in SCOPES and not (cue.name == "refuse" and conditional))
    scopes = _scopes(cues, begins, len(tokens), sentence.question or listing)
    asked: list[Found] = []
    for kind, start, stop in scopes:
        inside = [slot for slot in found if start <= slot.start < stop]
        if kind == "confirm":
            kind = "propose" if not inside or any(_IDENTIFIER.match(token) for token in tokens[start:stop]) else "request"
        elif kind == "propose" and inside and "or" in tokens[inside[0].start : stop] and "not" not in tokens[start:stop]:
            kind = "request"
        elif kind == "offer" and inside:
            kind = "request"
        if kind in ("wh", "request"):
            asked.extend(inside)
            flags.update(("question", "requested"))
        elif kind in ("propose", "offer"):
            flags.update(("question", kind))
    kinds = {kind for kind, _, _ in scopes}
    if not asked and kinds and kinds <= {"wh", "request"}:
        asked = found
    return [slot.name for slot in sorted(asked, key=lambda slot: slot.start)]


def _scopes(cues: list[Found], begins: list[bool], length: int, question: bool) -> list[tuple[str, int, int]]:
    """Stretches (kind, start, stop) of a sentence that ask, propose or state."""
    opening = [cue for cue in cues if cue.name in SCOPES]
    if not opening:
        return [("request", 0, length)] if question else []
    kept: list[Found] = []
    for cue in opening:
        # "Which flight shall I book?" asks for a choice; it proposes nothing.
        if kept and kept[-1].name == "wh" and cue.name != "wh" and not begins[cue.start]:
            continue
        kept.append(cue)
    stops = [cue.start for cue in kept[1:]] + [length]
    return [(cue.name, cue.start, stop) for cue, stop in zip(kept, stops, strict=True)]
