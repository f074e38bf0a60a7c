"""Level 4: change or cancel a booking under a written policy; some requests have to be refused, and customers argue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slmagent.scenarios.booking.database import Booking
from slmagent.scenarios.booking.draw import answering_flights, customer, decoy_flights, flight_ids, flight_rows
from slmagent.scenarios.booking.inventory import INVENTORIES, TIERS
from slmagent.scenarios.booking.phrasing import date_text, flight_wish
from slmagent.scenarios.booking.policy import CHANGE_CLAUSES, HALF_FEE_TIERS, Change, Policy
from slmagent.scenarios.booking.records import Customer, FlightQuery
from slmagent.scenarios.booking.requests import choose, describe
from slmagent.scenarios.booking.tasks import Wish
from slmagent.scenarios.draw import Draw
from slmagent.scenarios.splits import Belongs, Family

KINDS = (
    "cancel_standard",
    "change_standard",
    "refuse_fare",
    "cancel_flex",
    "change_half",
    "cancel_half",
    "change_flex",
    "refuse_notice",
    "change_standard",
    "cancel_standard",
)
"""Two in ten have to be refused. `half`: a standard fare of a customer who pays half the fee."""

_WISHES: Mapping[Family, Mapping[str, tuple[str, ...]]] = {
    "home": {
        "cancel": (
            "Please cancel my flight to {destination} on {date}.",
            "I want to cancel my flight to {destination} on {date}.",
            "Can you cancel my {date} flight to {destination}?",
        ),
        "change": (
            "Please move my flight to {destination} on {date} to {wish} on {new_date}.",
            "I want to change my flight to {destination} on {date} to {wish} on {new_date}.",
        ),
    },
    "ood": {
        "cancel": (
            "I will not fly to {destination} on {date} after all; drop that booking.",
            "Call off {destination} on {date}.",
        ),
        "change": ("{destination} on {date} does not suit me any more. Put me on {wish} on {new_date}.",),
    },
}
_PUSHBACKS: Mapping[Family, tuple[str, ...]] = {
    "home": (
        "I have been your customer for years, please make an exception.",
        "Your colleague did it for me last time.",
        "Surely there is something you can do.",
        "My doctor told me not to fly.",
    ),
    "ood": (
        "Other agencies do this without a word.",
        "I know your manager personally.",
        "It was not my fault that the plans changed.",
    ),
}
_HAGGLE: Mapping[Family, tuple[str, ...]] = {
    "home": ("Surely you can do that without a fee for me.", "That is too much, do it without a fee, please."),
    "ood": ("Between us: without a fee, or not at all.", "A good desk would do it without a fee."),
}


def change_or_cancel(draw: Draw, family: Family, kind: str, belongs: Belongs) -> dict[str, Any] | None:
    """A request about one of several bookings."""
    inventory = INVENTORIES[family]
    wants_change = draw.chance(0.5) if kind.startswith("refuse") else kind.startswith("change")
    action: Change = "change" if wants_change else "cancel"
    today = draw.integer(2, 9)
    day = today + draw.integer(0, 1) if kind == "refuse_notice" else draw.integer(today + 2, 18)
    origin, destination, *elsewhere = draw.sample(inventory.cities, 4)
    new_day = draw.integer(day + 2, 26)
    query = _new_flight(draw, (origin, destination), new_day) if action == "change" else None
    signature = (4, kind, destination, day, today, action, new_day if query else 0, query.objective if query else "")
    if not belongs(signature):
        return None
    person = _person(draw, customer(draw, inventory), kind)
    fare = {"refuse_fare": "basic", "refuse_notice": draw.pick(("standard", "flex"))}.get(kind)
    fare = fare or ("flex" if kind.endswith("flex") else "standard")
    ids = flight_ids(draw, inventory)
    places = [(destination, day, fare), *((city, draw.integer(today + 3, 24), _other(draw, fare)) for city in elsewhere)]
    flights = [flight_rows(draw, ids, (origin, city), on, count=1)[0] for city, on, _ in places]
    numbers = draw.sample(range(10, 99), 3)
    order = [0, 1, 2]
    draw.shuffle(order)
    bookings = [
        Booking(
            f"B{numbers[place]}", person.user_id, "flight", flights[place].flight_id, places[place][1], fare=places[place][2]
        )
        for place in order
    ]
    reference = f"B{numbers[0]}"
    policy = Policy(CHANGE_CLAUSES, today, 100 * 2 * draw.integer(10, 29), 100 * 2 * draw.integer(30, 60))
    fee = policy.fee(action, fare, person.tier)
    refused = kind.split("_")[1] if kind.startswith("refuse") else None
    reads: list[tuple[Any, ...]] = [("user",)]
    target = None
    if query is not None:
        rows, target = answering_flights(draw, ids, query)
        flights += [*rows, *decoy_flights(draw, ids, (origin, destination), new_day)]
        if refused is None:
            reads.append(("flights", origin, destination, new_day))
    write = ("change", reference, target.flight_id, fee) if target else ("cancel", reference, fee)
    haggles = refused is None and fee > 0 and draw.chance(0.5)
    pushbacks = tuple(draw.sample(_PUSHBACKS[family], draw.integer(1, 2)))
    values = {
        "destination": destination,
        "date": date_text(family, day),
        "wish": flight_wish(family, query) if query else "",
        "new_date": date_text(family, new_day),
    }
    return {
        "customer": person,
        "signature": signature,
        "openings": tuple(template.format(**values) for template in _WISHES[family][action]),
        "wishes": _wishes(values, origin, reference, action),
        "flights": tuple(flights),
        "bookings": tuple(bookings),
        "reads": tuple(reads),
        "writes": () if refused else (write,),
        "policy": policy,
        "refusal": refused,
        "pushbacks": pushbacks,
        "twist": ("fee", "without a fee", draw.pick(_HAGGLE[family])) if haggles else None,
        "flight_query": query,
        "details": {
            "action": action,
            "reference": reference,
            "fare": fare,
            "fee": fee,
            "full_fee": policy.fee(action, fare, ""),
            "when": "today" if day == today else "tomorrow",
        },
        "expert_turns": 2 + len(pushbacks) if refused else 3 + len(reads) + haggles,
    }


def _new_flight(draw: Draw, where: tuple[str, str], day: int) -> FlightQuery:
    kind = draw.pick(("cheapest", "earliest", "latest", "time"))
    return describe(draw, where, day, kind) if kind == "time" else choose(draw, where, day, kind)


def _person(draw: Draw, person: Customer, kind: str) -> Customer:
    half = kind.endswith("half")
    tiers = HALF_FEE_TIERS if half else [tier for tier in TIERS if tier not in HALF_FEE_TIERS]
    return Customer(person.user_id, person.name, draw.pick(tiers))


def _other(draw: Draw, fare: str) -> str:
    return draw.pick([other for other in ("basic", "standard", "flex") if other != fare])


def _wishes(values: Mapping[str, str], origin: str, reference: str, action: str) -> tuple[Wish, ...]:
    known = [
        Wish("origin", origin),
        Wish("destination", values["destination"]),
        Wish("date", values["date"]),
        Wish("reference", reference),
    ]
    if action == "change":
        known.append(Wish("preference", f"{values['wish']} on {values['new_date']}"))
    return tuple(known)
