"""How customers word their wishes. The `ood` family words everything differently."""

from __future__ import annotations

from collections.abc import Mapping

from slmagent.scenarios.booking.inventory import INVENTORIES
from slmagent.scenarios.booking.records import FlightQuery
from slmagent.scenarios.splits import Family

_OBJECTIVES: Mapping[Family, Mapping[str, str]] = {
    "home": {"cheapest": "cheapest", "earliest": "earliest", "latest": "latest"},
    "ood": {"cheapest": "lowest-priced", "earliest": "first", "latest": "last"},
}
_BOOK: Mapping[Family, tuple[str, ...]] = {
    "home": (
        "Please book {wish} from {origin} to {destination} on {date}.",
        "I need {wish} from {origin} to {destination} on {date}.",
        "Can you book me {wish} from {origin} to {destination} on {date}?",
        "I would like {wish} from {origin} to {destination}, {date}.",
    ),
    "ood": (
        "Get me a seat {origin} - {destination} on {date}, {wish}.",
        "On {date} I travel to {destination}, leaving {origin}. Reserve {wish}.",
        "{destination} is where I must be on {date}; I start in {origin} and want {wish}.",
    ),
}
_ASK: Mapping[Family, Mapping[str, tuple[str, ...]]] = {
    "home": {
        "condition": (
            "What will the weather be like in {city} on {date}?",
            "What is the weather in {city} on {date}?",
            "Please check the weather in {city} for {date}.",
        ),
        "celsius": (
            "How warm will it be in {city} on {date}?",
            "What temperature can I expect in {city} on {date}?",
            "How many degrees will it be in {city} on {date}?",
        ),
        "price": (
            "How much is {wish} from {origin} to {destination} on {date}?",
            "What does {wish} from {origin} to {destination} on {date} cost?",
        ),
        "time": (
            "When does {wish} from {origin} to {destination} on {date} leave?",
            "At what time does {wish} from {origin} to {destination} leave on {date}?",
        ),
        "rate": (
            "How much is a night at the {hotel} hotel in {city}?",
            "What does the {hotel} hotel in {city} cost a night?",
        ),
        "tier": ("What is my loyalty tier?", "Which loyalty tier do I have?", "Please tell me my loyalty tier."),
    },
    "ood": {
        "condition": ("Sunshine or not? Tell me the sky over {city} on {date}.", "Look up the {date} forecast for {city}."),
        "celsius": ("Degrees in {city}, {date}?", "I am packing for {city}: how hot or cold is it on {date}?"),
        "price": (
            "{origin} - {destination}, {date}: the fare of {wish}?",
            "Tell me what I pay on {date} for {wish}, {origin} to {destination}.",
        ),
        "time": (
            "{origin} - {destination}, {date}: departure of {wish}?",
            "Tell me the departure of {wish}, {origin} to {destination}, {date}.",
        ),
        "rate": ("One night in {city}, the {hotel} hotel: what would I pay?", "Room rate of the {hotel} hotel, {city}?"),
        "tier": ("Remind me which status level I hold with you.", "My status level, please?"),
    },
}  # fmt: skip


def date_text(family: Family, day: int) -> str:
    """`3 June`."""
    return f"{day} {INVENTORIES[family].month}"


def flight_wish(family: Family, query: FlightQuery) -> str:
    """The flight that is wanted, without route and date: `the cheapest non-stop flight in the morning`."""
    if family == "home":
        words = ["the"]
        if query.departs:
            words.append(query.departs)
        if query.objective:
            words.append(_OBJECTIVES[family][query.objective])
        if query.stops is not None:
            words.append("non-stop" if query.stops == 0 else "1 stop")
        words.append("flight")
        if query.daypart:
            words.append(f"in the {query.daypart}")
        if query.price is not None:
            words.append(f"for EUR {query.price // 100}")
        if query.max_price is not None:
            words.append(f"for at most EUR {query.max_price // 100}")
        return " ".join(words)
    words = ["the"]
    if query.objective:
        words.append(_OBJECTIVES[family][query.objective])
    if query.daypart:
        words.append(query.daypart)
    words.append("connection")
    if query.departs:
        words.append(f"departing {query.departs}")
    if query.price is not None:
        words.append(f"priced EUR {query.price // 100}")
    if query.stops is not None:
        words.append("without a stop" if query.stops == 0 else "with 1 stop")
    if query.max_price is not None:
        words.append(f"costing EUR {query.max_price // 100} or less")
    return " ".join(words)


def booking_openings(family: Family, query: FlightQuery) -> tuple[str, ...]:
    """First messages of somebody who wants that flight booked."""
    return _fill(_BOOK[family], family, query)


def question_openings(family: Family, kind: str, query: FlightQuery | None = None, **values: str) -> tuple[str, ...]:
    """First messages of somebody who wants to know one thing."""
    templates = _ASK[family][kind]
    return _fill(templates, family, query) if query else tuple(template.format(**values) for template in templates)


def _fill(templates: tuple[str, ...], family: Family, query: FlightQuery) -> tuple[str, ...]:
    values = {
        "wish": flight_wish(family, query),
        "origin": query.origin,
        "destination": query.destination,
        "date": date_text(family, query.day),
    }
    return tuple(template.format(**values) for template in templates)
