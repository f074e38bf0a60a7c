"""Does a message to the customer hold the value that was asked for, and nothing that contradicts it? Typed."""

from __future__ import annotations

import functools
import re

from slmagent.scenarios.customer_service.house_rules import ACCOUNT, PRIVACY
from slmagent.scenarios.customer_service.inventory import INVENTORIES, STATES
from slmagent.scenarios.customer_service.tasks import Answer, Task
from slmagent.scenarios.quantities import quantities_in

_DAY = re.compile(
    r"\b(\d{1,2})(?:st|nd|rd|th)?\s+(?:of\s+)?(may|september)\b|\b(may|september)\s+(\d{1,2})(?:st|nd|rd|th)?\b", re.IGNORECASE
)
_FUTURE = re.compile(
    r"\b(?:will|to|should|can|must|would)\s+(?:soon\s+)?be\s+\w+|\bnot\s+(?:yet\s+)?(?:been\s+)?\w+", re.IGNORECASE
)
"""States that are still to come or denied: "will be delivered", "not shipped"."""


@functools.cache
def all_units() -> frozenset[str]:
    """Every unit that an article tells a figure in."""
    units = {"eur", "day", "month"}
    for family, names in INVENTORIES.items():
        units |= {kind.unit for kind in names.types}
        units |= {rule.unit for rule in (*ACCOUNT[family], *PRIVACY[family])}
    return frozenset(units)


def words_in(kind: str, text: str) -> set[str]:
    """Dates, states or carriers that a text names, in the form of the records."""
    if kind == "date":
        found = ((match[1] or match[4], match[2] or match[3]) for match in _DAY.finditer(text))
        return {f"{int(day)} {month.capitalize()}" for day, month in found}
    said = _FUTURE.sub(" ", text) if kind == "state" else text
    known = STATES if kind == "state" else [name for names in INVENTORIES.values() for name in names.carriers]
    words = {word.lower() for word in re.findall(r"[A-Za-z]+", said)}
    return {name for name in known if name.lower() in words}


def states(answer: Answer, text: str) -> bool:
    """Whether a message says the value."""
    if answer.kind in ("date", "state", "carrier"):
        return answer.value in words_in(answer.kind, text)
    return (int(answer.value), answer.kind) in quantities_in(text, (answer.kind,))


def contradicts(task: Task, text: str) -> bool:
    """Whether a message names another value of the kind, or figures of another source: listing all candidates is no answer."""
    answer = task.answer
    assert answer is not None
    if answer.kind in ("date", "state", "carrier"):
        return bool(words_in(answer.kind, text) - {answer.value})
    allowed = {*answer.also, (int(answer.value), answer.kind)}
    # A question about an order may be answered with anything of its row; one about an article with that article's figures.
    return bool(quantities_in(text, all_units() if task.level == 0 else (answer.kind,)) - allowed)
