"""Numbers with their units in a text: what can be said right or wrong, and never be taken for something else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

Quantity = tuple[int, str]
"""A whole number and its unit in the singular, as in (30, "day") or (5, "eur")."""

_WORDS = {
    word: number
    for number, word in enumerate(
        ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"], start=1
    )
}
_TOKEN = re.compile(r"\bEUR(?=\d)|\d+(?:[.,:]\d+)*(?:(?!\w)|(?=(?:EUR|euros?)\b))|\w+|[^\w\s]", re.IGNORECASE)
_WHOLE = re.compile(r"(\d{1,6})(?:[.,]00)?\Z")
_EURO = frozenset(("eur", "euro", "euros", "€"))
_JOINS = frozenset((",", ";", "/", "-", "\u2013", "or", "and", "to"))
"""What stands between numbers that share a unit: "20, 30 or 40 days"."""
_BESIDE = frozenset(("full", "working", "business", "calendar", "whole"))
"""Words between a number and its unit."""
_NO_UNIT = frozenset(("and", "as", "at", "by", "depending", "for", "if", "in", "is", "on", "or", "per", "to", "when", "with"))
_SAME = {
    "%": "percent",
    **dict.fromkeys(_EURO, "eur"),
    **dict.fromkeys(("kilo", "kilos", "kilogram", "kilograms"), "kg"),
    **dict.fromkeys(("kilometre", "kilometres", "kilometer", "kilometers"), "km"),
    **dict.fromkeys(("centimetre", "centimetres", "centimeter", "centimeters"), "cm"),
    "persons": "people",
    "min": "minute",
    "mins": "minute",
    "hrs": "hour",
}


def quantities_in(text: str, units: Iterable[str]) -> set[Quantity]:
    """All numbers of a text that stand with one of the units, and all of a list: "5, 6 or 7 days", "EUR 5 or 6".

    Args:
        text: Any string.
        units: Units in the singular, lower case; `eur` also reads `€ 5` and `5 euros`.

    Returns:
        The quantities; plural forms and number words up to twelve are read too. Fractions are no quantities.
    """
    wanted = set(units)
    tokens = [token.lower() for token in _TOKEN.findall(text)]
    found: set[Quantity] = set()
    place = 0
    while place < len(tokens):
        euro = tokens[place - 1] in _EURO if place else False
        numbers, place = _list_at(tokens, place)
        if not numbers:
            place += 1
            continue
        unit, named = _unit_at(tokens, place), numbers
        if euro:
            # "EUR 5, 10 days": the last number has a unit of its own.
            own = len(numbers) > 1 and unit.isalpha() and unit not in _NO_UNIT
            named = numbers[-1:] if own else []
            found |= {(number, "eur") for number in numbers[: len(numbers) - len(named)]}
        found |= {(number, unit) for number in named}
    return {quantity for quantity in found if quantity[1] in wanted}


def _list_at(tokens: Sequence[str], place: int) -> tuple[list[int], int]:
    """The numbers of the list that starts at a token, and the place behind it; none where no number stands."""
    numbers: list[int] = []
    while place < len(tokens) and (number := _number(tokens[place])) is not None:
        numbers.append(number)
        behind = following = place + 1
        while following < min(behind + 2, len(tokens)) and tokens[following] in _JOINS:
            following += 1
        place = following if following < len(tokens) and _number(tokens[following]) is not None else behind
        if place == behind:
            break
    return numbers, place


def _unit_at(tokens: Sequence[str], place: int) -> str:
    """The unit whose word stands at a place, a hyphen or an adjective before it; empty at the end of the text."""
    for skipped in (frozenset("-"), _BESIDE):
        place += place < len(tokens) and tokens[place] in skipped
    return singular(tokens[place]) if place < len(tokens) else ""


def _number(token: str) -> int | None:
    whole = _WHOLE.match(token)
    return int(whole[1]) if whole else _WORDS.get(token)


def singular(word: str) -> str:
    """The unit a word stands for: `days` is `day`, `%` is `percent`."""
    word = _SAME.get(word, word)
    if word in ("times", "gross"):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith("sses") or word.endswith("ches"):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word
