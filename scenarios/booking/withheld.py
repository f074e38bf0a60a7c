"""Level 3: the customer tells only half of what it wants; the rest has to be asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slmagent.scenarios.booking.draw import FIRST_DAY, LAST_DAY, route
from slmagent.scenarios.booking.inventory import INVENTORIES
from slmagent.scenarios.booking.phrasing import date_text, flight_wish
from slmagent.scenarios.booking.records import FlightQuery
from slmagent.scenarios.booking.requests import CHOICE_KINDS, book_one_flight, choose, describe
from slmagent.scenarios.booking.wishes import flight_wishes, parts_that_matter
from slmagent.scenarios.draw import Draw
from slmagent.scenarios.splits import Belongs, Family

KINDS = ("date+preference", "origin+preference", "origin+date+preference", "origin+date")
"""What is held back. Origin or date always is: who guesses them all but never guesses right."""

_OPENINGS: Mapping[Family, tuple[str, ...]] = {
    "home": (
        "I need {wish}{origin} to {destination}{date}.",
        "Please book me {wish}{origin} to {destination}{date}.",
        "Can you book {wish}{origin} to {destination}{date}?",
    ),
    "ood": (
        "Help me get to {destination}{origin}{date}, I am after {wish}.",
        "{destination} it is{origin}{date}: reserve {wish}.",
    ),
}


def withheld_flight(draw: Draw, family: Family, kind: str, belongs: Belongs) -> dict[str, Any] | None:
    """A flight as at levels 1 and 2, of which the customer says only a part at first."""
    inventory = INVENTORIES[family]
    where, day = route(draw, inventory), draw.integer(FIRST_DAY, LAST_DAY)
    described = draw.chance(0.3)
    wanted = draw.pick(("time", "price")) if described else draw.pick(CHOICE_KINDS)
    query = describe(draw, where, day, wanted) if described else choose(draw, where, day, wanted)
    parts = book_one_flight(draw, family, query, belongs, level=3, kind=kind)
    if parts is None:
        return None
    hidden = tuple(kind.split("+"))
    parts["openings"] = _openings(family, query, hidden)
    parts["wishes"] = flight_wishes(family, query, hidden)
    parts["details"] |= {"hidden": hidden, "parts": parts_that_matter(query)}
    parts["expert_turns"] = 4
    return parts


def _openings(family: Family, query: FlightQuery, hidden: tuple[str, ...]) -> tuple[str, ...]:
    anything = "a flight" if family == "home" else "a seat"
    values = {
        "wish": anything if "preference" in hidden else flight_wish(family, query),
        "origin": "" if "origin" in hidden else f" from {query.origin}",
        "destination": query.destination,
        "date": "" if "date" in hidden else f" on {date_text(family, query.day)}",
    }
    return tuple(template.format(**values) for template in _OPENINGS[family])
