"""The referee of a user that a language model words: says what is wrong with a wording of a scripted message.

The script decides what is told, what is agreed to and when the talk ends. A wording passes when it tells all of that and
nothing else. The rules are lexical and strict: a doubt costs a wording, not the game, since the scripted text takes its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_WORD = re.compile(r"\d+(?:[:.,/]\d+)+|[^\W_]+(?:['\u2019][^\W_]+)*")
_MARKUP = re.compile(
    r"[<>{}\[\]|`*#\\]|^\W*(?:user|customer|client|assistant|agent|system|note|message)\s*:"
    r"|\b(?:tool_call|language model|as an ai)\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"`[^`]+`")
"""Code in a message."""
_THINKING = re.compile(r"<think>.*?</think>", re.DOTALL | re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')]*\s+")
_YES = re.compile(
    r"\b(?:yes|yep|yeah|sure|ok|okay|fine|certainly|of course|absolutely|agreed|i agree|acceptable|sounds good|suits me)\b",
    re.IGNORECASE,
)
_GO_AHEAD = re.compile(
    r"\b(?:go ahead|go for it|go on|proceed|do it|do that|can do|make it|book (?:it|that|both|them)|agreed|i agree|i accept"
    r"|confirm(?:ed)?|approved?|i would like that)\b",
    re.IGNORECASE,
)
_NO = re.compile(r"\b(?:no|nope|nah|wrong|not|never|cannot)\b|n['\u2019]t\b", re.IGNORECASE)
_STARTS_WITH_NO = re.compile(r"^\W*(?:no|nope|nah|wrong|never|i (?:do not|don['\u2019]t|disagree|refuse))\b", re.IGNORECASE)
_BYE = re.compile(
    r"\b(?:good\s?bye|bye|farewell|somewhere else|giv(?:e|ing) up|(?:i am|i['\u2019]m) (?:leaving|out|done here))\b",
    re.IGNORECASE,
)
_WORDS_OF_TIME = """
    monday tuesday wednesday thursday friday saturday sunday january february april june july august september october
    november december today tomorrow tonight yesterday noon midnight
"""
_NUMERALS = """
    zero two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
    nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million dozen
"""
_COUNTED = frozenset((_WORDS_OF_TIME + _NUMERALS).split())
"""Words that are as good as a number or a date."""
_NO_NAMES = frozenset(("i", "i'm", "i'd", "i'll", "i've", "ok", "okay", "english", "hello", "hi", "hey", "thanks", "please"))
"""Words that may be written with a capital anywhere and are no names."""
_COMMON_WORDS = """
    the and but for with from that this those these what which when where who how not all any some must may can could would
    should have has had are was were will want need like please than then them they your you its about only also just very
    most more less least much many day days time date one
"""
_COMMON = frozenset(_COMMON_WORDS.split())
"""Words of a secret that give nothing away by themselves."""
SPARE_WORDS = 25
"""Words that a wording may have more than twice the script's."""


@dataclass(frozen=True, slots=True)
class Brief:
    """What one message has to do."""

    script: str
    """The scripted message."""
    facts: tuple[str, ...] = ()
    """Values in it that must come word for word."""
    secrets: tuple[str, ...] = ()
    """Values that are not to be told yet."""
    agrees: bool = False
    """It agrees to what the assistant asked agreement for."""
    leaves: bool = False
    """It ends the talk."""
    told: tuple[str, ...] = ()
    """The user's earlier messages."""
    heard: tuple[str, ...] = ()
    """The assistant's messages."""

    @property
    def most_words(self) -> int:
        """Longest wording."""
        return 2 * len(_WORD.findall(self.script)) + SPARE_WORDS

    def must_hold(self) -> tuple[str, ...]:
        """What a wording has to repeat to the letter: facts, and names and numbers outside of them."""
        rest = _QUOTED.sub(" ", self.script)
        for fact in self.facts:
            rest = re.sub(re.escape(fact), " ", rest, flags=re.IGNORECASE)
        return (*self.facts, *dict.fromkeys(_entities(rest)))


def tidy(text: str) -> str:
    """A model's answer as one line, without its thoughts and without quotation marks around it."""
    line = " ".join(_THINKING.sub(" ", text).split())
    while len(line) >= 2 and line[0] in "\"'\u201c" and line[-1] in "\"'\u201d":
        line = line[1:-1].strip()
    return line


def objection(text: str, brief: Brief) -> str | None:
    """What is wrong with a wording, in words that give no secret away; None when it may be said.

    Args:
        text: The wording, tidy.
        brief: What the message has to do.
    """
    checks = (_form, _missing, _invented, _leaked, _stance, _repeated)
    return next((problem for check in checks if (problem := check(text, brief)) is not None), None)


def _unquoted(text: str, brief: Brief) -> str:
    """A wording without the code that the script quotes."""
    for quoted in _QUOTED.findall(brief.script):
        text = text.replace(quoted, " ")
    return text


def _form(text: str, brief: Brief) -> str | None:
    words = len(_WORD.findall(text))
    if not words:
        return "it is empty"
    if words > brief.most_words:
        return f"it is longer than {brief.most_words} words"
    if _MARKUP.search(_unquoted(text, brief)) or not text.isprintable():
        return "it holds markup or the name of a role"
    return None


def _missing(text: str, brief: Brief) -> str | None:
    for quoted in _QUOTED.findall(brief.script):
        if quoted not in text:
            return f"it lacks {quoted}, letter for letter"
    for value in brief.must_hold():
        if not holds(text, value):
            return f"it lacks {value!r}, word for word"
    return None


def _invented(text: str, brief: Brief) -> str | None:
    known = _folded(brief.script)
    own = [word.casefold() for word in _entities(text)]
    own += [word for word in _folded(text) if word in _COUNTED]
    return "it names a number, date or name that the note does not hold" if set(own) - known else None


def _leaked(text: str, brief: Brief) -> str | None:
    said = _folded(" ".join((brief.script, *brief.told)))
    words = _folded(text)
    for secret in brief.secrets:
        telling = {word for word in _folded(secret) - _COMMON - said if len(word) > 2}
        if telling & words or (holds(text, secret) and not holds(brief.script, secret)):
            return "it tells something that the note does not hold"
    return None


def _stance(text: str, brief: Brief) -> str | None:
    yes, go_ahead = bool(_YES.search(text)), bool(_GO_AHEAD.search(text))
    if brief.agrees:
        if _STARTS_WITH_NO.search(text) or not (yes or go_ahead):
            return "it does not clearly say yes"
    elif (yes and not _YES.search(brief.script)) or (go_ahead and not _GO_AHEAD.search(brief.script)):
        return "it agrees to something, the note does not"
    elif _STARTS_WITH_NO.search(brief.script) and not _NO.search(text):
        return "it does not clearly say no"
    elif _STARTS_WITH_NO.search(text) and not _NO.search(brief.script):
        return "it refuses, the note does not"
    if brief.leaves != bool(_BYE.search(text)):
        return "it does not say goodbye" if brief.leaves else "it ends the talk, the note does not"
    return None


def _repeated(text: str, brief: Brief) -> str | None:
    earlier = {key for message in (*brief.told, *brief.heard) for key in _sentences(message)}
    keys = _sentences(text)
    if len(set(keys)) < len(keys) or earlier & set(keys):
        return "it repeats a sentence of the talk"
    return None


def holds(text: str, value: str) -> bool:
    """Whether a text has a value in it, as whole words; upper and lower case are alike."""
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text, re.IGNORECASE) is not None


def _entities(text: str) -> Iterable[str]:
    """Words with digits in them, and capitalised words inside a sentence."""
    for sentence in _SENTENCE_END.split(text):
        for place, match in enumerate(_WORD.finditer(sentence)):
            word = match.group()
            named = place > 0 and word[0].isupper() and word.casefold() not in _NO_NAMES
            if named or any(letter.isdigit() for letter in word):
                yield word


def _folded(text: str) -> set[str]:
    return {word.casefold().replace("\u2019", "'") for word in _WORD.findall(text)}


def _sentences(text: str) -> Sequence[str]:
    keys = (" ".join(_WORD.findall(sentence)).casefold() for sentence in _SENTENCE_END.split(text))
    return [key for key in keys if key]
