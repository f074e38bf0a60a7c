"""What the simulated user makes of a message: which facts are asked for, and whether it proposes, refuses, begs, apologises ...

Rules over words, no model: pure functions, any string, linear time. The domain comes in as a lexicon of `SlotPattern`.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from slmagent.scenarios.cues import AGREEMENT_TAGS, CHECK_TAGS, CONDITIONS, CUES, LIST_WORDS, SCOPES
from slmagent.scenarios.phrases import Found, PhraseIndex
from slmagent.scenarios.sentences import Sentence, sentences_of


@dataclass(frozen=True, slots=True)
class SlotPattern:
    """How a question for one fact is recognised, and how the fact is said."""

    name: str
    phrases: tuple[str, ...]
    """Wordings that name the fact inside a question; syntax in `phrases`."""
    label: str = ""
    """What a person calls the fact ("travel date"); the name with spaces by default."""
    answers: tuple[str, ...] = ()
    """Lines that tell the fact, with `{value}`, as in `lines.LINES`; they must suit any way the value may be put."""
    unknown: str = ""
    """Line of a user who is asked for the fact and has none to tell; by default it has no wish."""
    blocks: tuple[str, ...] = ()
    """Wordings that look like this fact and are not ("hotel name" for a person's name)."""
    general: bool = False
    """Counts only where the sentence asks for no other fact ("any preference for the seat?")."""

    @property
    def spoken(self) -> str:
        """The label, or the name with spaces."""
        return self.label or self.name.replace("_", " ")

    def __hash__(self) -> int:
        # Cheap on purpose: lexicons are cache keys at every message, and equal objects compare by identity first.
        return hash(self.name)

    def __deepcopy__(self, memo: dict[int, Any]) -> SlotPattern:
        return self  # immutable


@dataclass(frozen=True, slots=True)
class Understanding:
    """What a message does. Several can hold at once."""

    asked: tuple[str, ...] = ()
    """Facts requested, by name, in order of appearance, each once."""
    proposes: bool = False
    """Asks for agreement to an action ("Shall I go ahead and book FL337?")."""
    refuses: bool = False
    """Says that something cannot be done."""
    not_found: bool = False
    """Says that a search found nothing."""
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
    words: int = 0
    """Number of words; 0 for silence."""


_IDENTIFIER = re.compile(r"(?=[a-z]*\d)(?=\d*[a-z])[a-z\d]{3,12}\Z")
_COMMIT = frozenset(
    (
        "book",
        "booking",
        "reserve",
        "reservation",
        "cancel",
        "cancellation",
        "change",
        "pay",
        "buy",
        "purchase",
        "proceed",
        "rebook",
        "refund",
        "replace",
        "replacement",
        "escalate",
    )
)
"""A message with one of these or an identifier, asking "is that right?", asks for agreement to an action."""


def understand(text: str, lexicon: Sequence[SlotPattern]) -> Understanding:
    """Reads a message of the assistant.

    Args:
        text: Any string.
        lexicon: The facts that can be asked for.
    """
    patterns = tuple(lexicon)
    return _understand_short(text, patterns) if len(text) <= _REMEMBERED else _understand(text, patterns)


_REMEMBERED = 600
"""Longest text, in characters, whose reading is remembered: an environment and its user read each message once each."""


@lru_cache(maxsize=512)
def _understand_short(text: str, lexicon: tuple[SlotPattern, ...]) -> Understanding:
    return _understand(text, lexicon)


def _understand(text: str, lexicon: tuple[SlotPattern, ...]) -> Understanding:
    slots, general = _compiled(lexicon)
    asked: dict[str, None] = {}
    flags: set[str] = set()
    listing = committed = False
    words = 0
    for sentence in sentences_of(text):
        words += len(sentence.tokens)
        committed = committed or any(token in _COMMIT or is_identifier(token) for token in sentence.tokens)
        listing = listing and sentence.bullet
        names, requests = _read(sentence, slots, general, flags, listing)
        asked.update(dict.fromkeys(names))
        listing = listing or (requests and (sentence.lists or not LIST_WORDS.isdisjoint(sentence.tokens)))
    proposes = "propose" in flags or ("verify" in flags and committed)
    return Understanding(
        asked=tuple(asked),
        proposes=proposes,
        refuses="refuse" in flags,
        not_found="not_found" in flags,
        verifies="verify" in flags and not proposes,
        offers="offer" in flags and not proposes,
        asks_help="help" in flags,
        begs="beg" in flags,
        begs_all="beg_all" in flags,
        thanks="thanks" in flags,
        apologises="apology" in flags,
        filler="filler" in flags,
        question=bool(asked) or not flags.isdisjoint({"question", "propose", "verify", "offer"}),
        words=words,
    )


@lru_cache(maxsize=64)
def _compiled(lexicon: tuple[SlotPattern, ...]) -> tuple[PhraseIndex, frozenset[str]]:
    """Index of the lexicon's phrases, and the names of its general facts."""
    entries = [(pattern.name, phrase) for pattern in lexicon for phrase in pattern.phrases]
    entries += [("", phrase) for pattern in lexicon for phrase in pattern.blocks]
    return PhraseIndex(entries), frozenset(pattern.name for pattern in lexicon if pattern.general)


_CUE_INDEX = PhraseIndex((kind, phrase) for kind, phrases in CUES.items() for phrase in phrases)


def is_identifier(token: str) -> bool:
    """Whether a word looks like the id of something to book ("fl337"): 3 to 12 ASCII letters and digits, some of both."""
    return bool(_IDENTIFIER.match(token))


def _read(
    sentence: Sentence, slots: PhraseIndex, general: frozenset[str], flags: set[str], listing: bool
) -> tuple[list[str], bool]:
    """Notes in `flags` what one sentence does; returns the facts it asks for, and whether it requests anything."""
    tokens = sentence.tokens
    cues = _CUE_INDEX.find(tokens, sentence.begins)
    found = [slot for slot in slots.find(tokens, sentence.begins) if slot.name]
    conditional = not CONDITIONS.isdisjoint(tokens) and not any(cue.name == "unconditional" for cue in cues)
    flags.update(cue.name for cue in cues if cue.name not in SCOPES and not (cue.name == "refuse" and conditional))
    scopes = _scopes(cues, sentence, whole=listing or _is_form_entry(sentence, found))
    asked: list[Found] = []
    kinds: set[str] = set()
    starts = [slot.start for slot in found]
    for scope, start, stop in scopes:
        inside = found[bisect_left(starts, start) : bisect_left(starts, stop)]
        kind = _act(scope, tokens[start:stop], inside)
        kinds.add(kind)
        if kind == "request":
            asked.extend(inside)
    if not asked and kinds == {"request"}:
        asked = found  # "And the date, could you tell me?"
    if "beg" in flags or not all(slot.name in general for slot in asked):
        asked = [slot for slot in asked if slot.name not in general]
    tag = tokens[-1]
    if sentence.question and (tag in AGREEMENT_TAGS or tag in CHECK_TAGS) and sentence.begins[-1] and not asked:
        kinds.add("propose" if tag in AGREEMENT_TAGS else "verify")
    flags.update(kinds & {"propose", "offer", "verify"})
    if "request" in kinds or sentence.question:
        flags.add("question")
    return [slot.name for slot in asked], "request" in kinds


def _is_form_entry(sentence: Sentence, found: list[Found]) -> bool:
    """A fragment that asks by its form alone: "Date please", "Destination:"."""
    return bool(found) and len(sentence.tokens) <= 6 and (sentence.lists or sentence.tokens[-1] == "please")


def _scopes(cues: list[Found], sentence: Sentence, *, whole: bool) -> list[tuple[str, int, int]]:
    """Stretches (kind, start, stop) of a sentence that ask, propose or state."""
    kept: list[Found] = []
    for cue in cues:
        if cue.name not in SCOPES or (cue.name == "aux" and not sentence.question):
            continue
        if kept and kept[-1].start == cue.start:
            # "FL3, which is direct, ..." states; "Which is your city?" asks.
            if {kept[-1].name, cue.name} == {"wh", "state"}:
                kept[-1] = Found("wh" if cue.start == 0 else "state", cue.start, cue.stop)
            continue
        # "Which flight shall I book?" asks for a choice and proposes nothing; "no need to tell me the date" asks for nothing.
        if kept and kept[-1].name in ("wh", "waive") and not sentence.begins[cue.start]:
            continue
        kept.append(cue)
    length = len(sentence.tokens)
    asks = any(cue.name not in ("state", "waive") for cue in kept)
    if not asks and (whole or (sentence.question and not any(cue.name == "waive" for cue in kept))):
        return [("request", 0, length)]
    stops = [*(cue.start for cue in kept[1:]), length][: len(kept)]
    return [(cue.name, cue.start, stop) for cue, stop in zip(kept, stops, strict=True)]


def _act(scope: str, tokens: list[str], inside: list[Found]) -> str:
    """What a scope amounts to, given the facts named in it: request, propose, offer, state or waive."""
    if scope in ("wh", "request", "aux"):
        return "request"
    if scope in ("confirm", "about"):
        names_item = any(is_identifier(token) for token in tokens)
        return "request" if inside and not names_item else "propose"
    if scope == "propose" and inside and "or" in tokens and "not" not in tokens:
        return "request"  # "Would you like to book economy or business?"
    if scope == "offer" and inside:
        return "request"  # "Shall I look for direct flights only?"
    return scope
