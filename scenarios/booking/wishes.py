"""What customers can say about the flight they want."""

from __future__ import annotations

from slmagent.scenarios.booking.phrasing import date_text, flight_wish
from slmagent.scenarios.booking.records import FlightQuery
from slmagent.scenarios.booking.tasks import Wish
from slmagent.scenarios.splits import Family


def flight_wishes(family: Family, query: FlightQuery, hidden: tuple[str, ...] = ()) -> tuple[Wish, ...]:
    """What the customer knows about the flight it wants, as it says it when asked.

    Args:
        family: Decides on words and month.
        query: The flight.
        hidden: Which of origin, date and preference it does not tell unasked; time, budget and stops go with the preference.
    """
    choice = "preference" in hidden
    return (
        Wish("origin", query.origin, "origin" in hidden),
        Wish("destination", query.destination),
        Wish("date", date_text(family, query.day), "date" in hidden),
        Wish("preference", flight_wish(family, query), choice),
        Wish("time", _time(query), choice),
        Wish("budget", _budget(query), choice),
        Wish("nonstop", _stops(query), choice),
    )


def _time(query: FlightQuery) -> str:
    if query.departs:
        return query.departs
    if query.objective in ("earliest", "latest"):
        return f"as {'early' if query.objective == 'earliest' else 'late'} as possible"
    return f"in the {query.daypart}" if query.daypart else "any time"


def _budget(query: FlightQuery) -> str:
    if query.price is not None:
        return f"EUR {query.price // 100}"
    if query.max_price is not None:
        return f"at most EUR {query.max_price // 100}"
    return "as cheap as possible" if query.objective == "cheapest" else "any price"


def _stops(query: FlightQuery) -> str:
    return {None: "with or without a stop", 0: "non-stop", 1: "with 1 stop"}[query.stops]


def parts_that_matter(query: FlightQuery) -> tuple[str, ...]:
    """Wishes that together say as much as the preference does."""
    return tuple(
        name
        for name, text, neutral in (
            ("time", _time(query), "any time"),
            ("budget", _budget(query), "any price"),
            ("nonstop", _stops(query), "with or without a stop"),
        )
        if text != neutral
    )
