"""Does a message to the user hold a value, or one that contradicts it? Typed, so that a date is never taken for a price."""

from __future__ import annotations

import re

from slmagent.scenarios.booking.inventory import CONDITIONS, INVENTORIES, TIERS
from slmagent.scenarios.booking.tasks import Answer

_TIME = re.compile(r"(?<![\d:.])(\d{1,2})[:.](\d{2})(?!\d)\s*([ap]\.?m\b)?|(?<![\d:.])(\d{1,2})\s*([ap]\.?m\b)", re.IGNORECASE)
_MONTHS = "|".join(inventory.month for inventory in INVENTORIES.values())
_DATE = re.compile(
    rf"\b\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?(?:{_MONTHS})\b|\b(?:{_MONTHS})\s+\d{{1,2}}(?:st|nd|rd|th)?\b", re.IGNORECASE
)
_MONEY = re.compile(
    r"(?:\bEUR|€)\s*(\d+)(?:[.,]00)?(?![\d:])|(?<![\w:.])(\d+)(?:[.,]00)?\s*(?:EUR\b|euros?\b|€)", re.IGNORECASE
)
_DEGREES = re.compile(r"(-?\d+)\s*(?:°|degrees?\b|C\b|celsius\b)", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w:.,-])-?\d+(?![\w:]|[.,]\d)")
_WORD = re.compile(r"[a-z]+")
_CONDITION_WORDS = {
    **{word: word for word in CONDITIONS},
    "sun": "sunny", "sunshine": "sunny", "cloud": "cloudy", "clouds": "cloudy", "overcast": "cloudy", "rain": "rainy",
    "raining": "rainy", "wind": "windy", "fog": "foggy", "storm": "stormy", "storms": "stormy", "thunderstorm": "stormy",
}  # fmt: skip


def values_in(kind: str, text: str) -> set[str]:
    """All values of a kind of answer that a text names, in canonical form."""
    if kind == "time":
        return {_clock(match) for match in _TIME.finditer(text)}
    words = set(_WORD.findall(text.lower()))
    if kind == "condition":
        return {_CONDITION_WORDS[word] for word in words if word in _CONDITION_WORDS}
    if kind == "tier":
        return words & set(TIERS)
    typed = _DEGREES if kind == "celsius" else _MONEY
    found = {next(group for group in match.groups() if group) for match in typed.finditer(text)}
    return {str(int(value)) for value in found}


def bare_numbers(text: str) -> set[str]:
    """Whole numbers that are no part of a date, time or identifier."""
    return {str(int(number)) for number in _NUMBER.findall(_TIME.sub(" ", _DATE.sub(" ", text)))}


def judge(answer: Answer, text: str) -> tuple[bool, bool]:
    """Whether a message states the answer, and whether it contradicts it by naming another value of the kind."""
    named = values_in(answer.kind, text)
    if answer.kind in ("price", "rate", "celsius"):
        # A number without its unit counts for the answer, and against it when it is another candidate.
        named |= bare_numbers(text) & {answer.value, *answer.candidates}
    return answer.value in named, bool(named - {answer.value})


def _clock(match: re.Match[str]) -> str:
    hour, minute, half = (match[1], match[2], match[3]) if match[1] else (match[4], "00", match[5])
    hours = int(hour)
    if half:
        hours = hours % 12 + (12 if half[0] in "pP" else 0)
    return f"{hours:02d}:{minute}"
