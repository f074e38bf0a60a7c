"""Numbers with their units in a text: what can be said right or wrong, and never be taken for something else."""

from __future__ import annotations

import re
from collections.abc import Iterable

Quantity = tuple[int, str]
"""A whole number and its unit in the singular, as in (30, "day") or (5, "eur")."""

_WORDS = {
    word: number
    for number, word in enumerate(
        ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"], start=1
    )
}
_NUMBER = r"(\d{1,6})(?:[.,]00)?"
_EURO = re.compile(rf"(?:\bEUR|€)\s*{_NUMBER}(?![\d:.,]\d)|(?<![\w:.,]){_NUMBER}\s*(?:EUR\b|euros?\b|€)", re.IGNORECASE)
_UNIT = re.compile(
    rf"(?<![\w:.,])(\d{{1,6}}|{'|'.join(_WORDS)})(?:\s+|-|\s?(?=%))(?:(?:full|working|business|calendar|whole)\s+)?([a-z]+|%)",
    re.IGNORECASE,
)
_SAME = {"%": "percent"}


def quantities_in(text: str, units: Iterable[str]) -> set[Quantity]:
    """All numbers of a text that stand with one of the units.

    Args:
        text: Any string.
        units: Units in the singular, lower case; `eur` also reads `€ 5` and `5 euros`.

    Returns:
        The quantities; plural forms and number words up to twelve are read too.
    """
    wanted = set(units)
    found: set[Quantity] = set()
    if "eur" in wanted:
        found |= {(int(match[1] or match[2]), "eur") for match in _EURO.finditer(text)}
    for match in _UNIT.finditer(text):
        unit = singular(match[2].lower())
        if unit in wanted and unit != "eur":
            number = match[1].lower()
            found.add((_WORDS.get(number) or int(number), unit))
    return found


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
