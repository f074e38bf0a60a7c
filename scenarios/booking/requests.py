"""Levels 0 to 2: one question, one described flight, one choice among flights."""

from __future__ import annotations

from typing import Any

from slmagent.scenarios.booking.draw import (
    FIRST_DAY,
    LAST_DAY,
    MINUTES,
    answering_flights,
    clock,
    customer,
    decoy_flights,
    flight_ids,
    hotel_rows,
    route,
    weather_rows,
)
from slmagent.scenarios.booking.inventory import CONDITIONS, INVENTORIES, TIERS
from slmagent.scenarios.booking.phrasing import booking_openings, date_text, flight_wish, question_openings
from slmagent.scenarios.booking.records import FlightQuery
from slmagent.scenarios.booking.tasks import Answer, Wish
from slmagent.scenarios.booking.wishes import flight_wishes
from slmagent.scenarios.draw import Draw
from slmagent.scenarios.splits import Belongs, Family

QUESTION_KINDS = ("price", "condition", "time", "rate", "celsius", "tier")
DESCRIBED_KINDS = ("time", "price", "time", "stops", "price")
CHOICE_KINDS = (
    "cheapest",
    "earliest",
    "latest",
    "cheapest_nonstop",
    "cheapest_daypart",
    "latest_budget",
    "earliest_nonstop",
    "nonstop_budget",
    "stops_daypart",
)


def question(draw: Draw, family: Family, kind: str, belongs: Belongs) -> dict[str, Any] | None:
    """Level 0: one question that one look-up answers."""
    inventory = INVENTORIES[family]
    person = customer(draw, inventory)
    day = draw.integer(FIRST_DAY, LAST_DAY)
    parts: dict[str, Any] = {"customer": person, "writes": (), "expert_turns": 2}
    if kind == "tier":
        parts["signature"] = (kind, person.name)
        parts["openings"] = question_openings(family, kind)
        parts["reads"] = (("user",),)
        parts["answer"] = Answer(kind, person.tier, tuple(tier for tier in TIERS if tier != person.tier))
    elif kind in ("condition", "celsius"):
        city = draw.pick(inventory.cities)
        rows = weather_rows(draw, city, day)
        today = rows[1]
        parts["signature"] = (kind, city, day)
        parts["openings"] = question_openings(family, kind, city=city, date=date_text(family, day))
        parts["weather"] = tuple(rows)
        parts["wishes"] = (Wish("destination", city), Wish("date", date_text(family, day)))
        parts["reads"] = (("weather", city, day),)
        others = CONDITIONS if kind == "condition" else [str(row.celsius) for row in rows]
        value = today.condition if kind == "condition" else str(today.celsius)
        parts["answer"] = Answer(kind, value, tuple(other for other in others if other != value))
    elif kind == "rate":
        city = draw.pick(inventory.cities)
        rows = hotel_rows(draw, inventory, city, first_id=10)
        hotel = draw.pick(rows)
        parts["signature"] = (kind, city, hotel.name)
        parts["openings"] = question_openings(family, kind, hotel=hotel.name, city=city)
        parts["hotels"] = tuple(rows)
        parts["wishes"] = (Wish("destination", city),)
        parts["reads"] = (("hotels", city),)
        parts["answer"] = Answer(
            kind, str(hotel.price // 100), tuple(str(row.price // 100) for row in rows if row is not hotel)
        )
        parts["details"] = {"row": hotel.line()}
    else:
        described = "time" if kind == "price" else draw.pick(("price", "stops"))
        query = describe(draw, route(draw, inventory), day, described)
        parts["signature"] = (kind, *signature_of(query))
        if not belongs(parts["signature"]):
            return None
        rows, target = answering_flights(draw, ids := flight_ids(draw, inventory), query)
        value = str(target.price // 100) if kind == "price" else target.departs
        others = [str(row.price // 100) if kind == "price" else row.departs for row in rows]
        parts["openings"] = question_openings(family, kind, query)
        parts["wishes"] = flight_wishes(family, query)
        parts["flights"] = (*rows, *decoy_flights(draw, ids, (query.origin, query.destination), day))
        parts["reads"] = (("flights", query.origin, query.destination, day),)
        parts["flight_query"] = query
        parts["answer"] = Answer(kind, value, tuple(other for other in others if other != value))
    return parts if belongs(parts["signature"]) else None


def described_flight(draw: Draw, family: Family, kind: str, belongs: Belongs) -> dict[str, Any] | None:
    """Level 1: book exactly the flight that is described."""
    inventory = INVENTORIES[family]
    query = describe(draw, route(draw, inventory), draw.integer(FIRST_DAY, LAST_DAY), kind)
    return book_one_flight(draw, family, query, belongs, level=1, kind=kind)


def chosen_flight(draw: Draw, family: Family, kind: str, belongs: Belongs) -> dict[str, Any] | None:
    """Level 2: book the flight that meets the constraints best."""
    inventory = INVENTORIES[family]
    query = choose(draw, route(draw, inventory), draw.integer(FIRST_DAY, LAST_DAY), kind)
    return book_one_flight(draw, family, query, belongs, level=2, kind=kind)


def choose(draw: Draw, route: tuple[str, str], day: int, kind: str) -> FlightQuery:
    """A query of one of `CHOICE_KINDS`."""
    budget = 100 * draw.integer(12, 40) * 10
    daypart = draw.pick(("morning", "afternoon", "evening"))
    match kind:
        case "cheapest" | "earliest" | "latest":
            return FlightQuery(*route, day, objective=kind)
        case "cheapest_nonstop":
            return FlightQuery(*route, day, stops=0, objective="cheapest")
        case "earliest_nonstop":
            return FlightQuery(*route, day, stops=0, objective="earliest")
        case "cheapest_daypart":
            return FlightQuery(*route, day, daypart=daypart, objective="cheapest")
        case "latest_budget":
            return FlightQuery(*route, day, max_price=budget, objective="latest")
        case "nonstop_budget":
            return FlightQuery(*route, day, max_price=budget, stops=0)
        case "stops_daypart":
            return FlightQuery(*route, day, stops=draw.integer(0, 1), daypart=daypart)
    raise ValueError(f"unknown kind of choice {kind!r}; expected one of {', '.join(CHOICE_KINDS)}")


def describe(draw: Draw, route: tuple[str, str], day: int, kind: str) -> FlightQuery:
    """A query for one described flight, of a kind in `DESCRIBED_KINDS`."""
    match kind:
        case "time":
            return FlightQuery(*route, day, departs=clock(draw.pick(MINUTES)))
        case "price":
            return FlightQuery(*route, day, price=100 * draw.integer(60, 600))
        case "stops":
            return FlightQuery(*route, day, stops=draw.integer(0, 1))
    raise ValueError(f"unknown kind of description {kind!r}")


def book_one_flight(
    draw: Draw, family: Family, query: FlightQuery, belongs: Belongs, *, level: int, kind: str
) -> dict[str, Any] | None:
    """The parts of a task whose goal is one new flight booking; None when its wish belongs to another split."""
    signature = (level, kind, *signature_of(query))
    if not belongs(signature):
        return None
    inventory = INVENTORIES[family]
    rows, target = answering_flights(draw, ids := flight_ids(draw, inventory), query)
    return {
        "customer": customer(draw, inventory),
        "signature": signature,
        "openings": booking_openings(family, query),
        "wishes": flight_wishes(family, query),
        "flights": (*rows, *decoy_flights(draw, ids, (query.origin, query.destination), query.day)),
        "reads": (("flights", query.origin, query.destination, query.day),),
        "writes": (("new", "flight", target.flight_id, query.day, 0),),
        "flight_query": query,
        "details": {"evidence": flight_wish(family, query).removeprefix("the ")} if level > 1 else {},
        "expert_turns": 3,
    }


def signature_of(query: FlightQuery) -> tuple[Any, ...]:
    """The query as plain values."""
    return (
        query.origin,
        query.destination,
        query.day,
        query.departs,
        query.price,
        query.max_price,
        query.stops,
        query.daypart,
        query.objective,
    )
