"""Level 5: flight, hotel and a condition on the weather; the customer changes its mind once and wants to be asked first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from slmagent.scenarios.booking.database import Write
from slmagent.scenarios.booking.draw import (
    answering_flights,
    customer,
    flight_ids,
    flight_rows,
    hotel_rows,
    route,
    weather_rows,
)
from slmagent.scenarios.booking.inventory import CONDITIONS, INVENTORIES, Inventory
from slmagent.scenarios.booking.phrasing import date_text, flight_wish
from slmagent.scenarios.booking.policy import TRIP_CLAUSES, Policy
from slmagent.scenarios.booking.records import Flight, Hotel, HotelQuery, Weather, best_flights, best_hotels
from slmagent.scenarios.booking.requests import choose
from slmagent.scenarios.booking.tasks import Wish
from slmagent.scenarios.draw import Draw
from slmagent.scenarios.splits import Belongs, Family

KINDS = ("rain_stars", "cold_nights", "rain_choice", "cold_stars", "rain_nights", "cold_choice")
"""What would move the trip by a day, and what the customer changes its mind about."""
CHOICES = ("cheapest", "earliest", "latest", "cheapest_nonstop", "earliest_nonstop")

_OPENINGS: Mapping[Family, tuple[str, ...]] = {
    "home": (
        "I want to travel from {origin} to {destination} on {date} and stay {nights}. Please book {wish} and the cheapest "
        "hotel with at least {stars} stars. If it is {weather} in {destination} that day, I travel on {other_date} instead.",
        "Please plan my trip from {origin} to {destination} on {date}: {wish}, and {nights} in the cheapest hotel with at "
        "least {stars} stars. Should it be {weather} there on {date}, make it {other_date}.",
    ),
    "ood": (
        "{destination} from {origin}, {date}. I want {wish}, then {nights} in the lowest-priced hotel of {stars} stars or "
        "more. With {weather} in {destination} on {date} everything moves to {other_date}.",
        "Arrange this: {wish} {origin} - {destination} on {date}, {nights}, lowest-priced hotel, {stars} stars or better. "
        "In case the forecast there says {weather}, I go on {other_date}.",
    ),
}
_WEATHER: Mapping[Family, Mapping[str, str]] = {
    "home": {"rain": "rainy", "cold": "colder than {threshold} C"},
    "ood": {"rain": "rain", "cold": "less than {threshold} C"},
}
_DATES: Mapping[Family, str] = {
    "home": "{date}, or {other_date} if it is {weather} there",
    "ood": "{date}, or {other_date} in case of {weather}",
}
_TWISTS: Mapping[Family, Mapping[str, str]] = {
    "home": {
        "stars": "I have changed my mind: the hotel should have {value}.",
        "nights": "One change first: I want to stay {value}.",
        "preference": "On second thoughts I would rather have {value}.",
    },
    "ood": {
        "stars": "Wait, make that a hotel of {value}.",
        "nights": "Wait, let us make it {value}.",
        "preference": "Wait, {value} would suit me better.",
    },
}


def trip(draw: Draw, family: Family, kind: str, belongs: Belongs) -> dict[str, Any] | None:
    """A flight and a hotel that have to fit together."""
    inventory = INVENTORIES[family]
    condition, changed = kind.split("_")
    where, day = route(draw, inventory), draw.integer(4, 24)
    moves = draw.chance(0.5)
    final_day = day + 1 if moves else day
    query = choose(draw, where, final_day, draw.pick(CHOICES))
    nights, stars = draw.integer(2, 5), draw.integer(2, 4)
    later_query = choose(draw, where, final_day, draw.pick(CHOICES)) if changed == "choice" else query
    later_nights = draw.pick([n for n in range(2, 7) if n != nights]) if changed == "nights" else nights
    later_stars = draw.pick([n for n in range(2, 6) if n != stars]) if changed == "stars" else stars
    signature = (5, kind, *where, day, query.objective, query.stops, nights, stars)
    if (changed == "choice" and later_query == query) or not belongs(signature):
        return None
    ids = flight_ids(draw, inventory)
    rows, _ = answering_flights(draw, ids, query, later_query if changed == "choice" else None)
    other_day = replace(query, day=day if moves else day + 1)
    decoys = [*answering_flights(draw, ids, other_day)[0], *flight_rows(draw, ids, (where[1], where[0]), final_day, count=3)]
    hotels = _hotels(draw, inventory, where[1], stars, later_stars)
    weather, threshold = _weather(draw, where[1], day, condition, moves)
    plans = tuple(
        Plan(best_flights(rows, on)[0], best_hotels(hotels, HotelQuery(where[1], at_least))[0], final_day, for_nights)
        for on, at_least, for_nights in ((query, stars, nights), (later_query, later_stars, later_nights))
    )
    values = {
        "origin": where[0],
        "destination": where[1],
        "date": date_text(family, day),
        "other_date": date_text(family, day + 1),
        "nights": f"{nights} nights",
        "stars": str(stars),
        "wish": flight_wish(family, query),
        "weather": _WEATHER[family][condition].format(threshold=threshold),
    }
    slot, value = {
        "stars": ("stars", f"at least {later_stars} stars"),
        "nights": ("nights", f"{later_nights} nights"),
        "choice": ("preference", flight_wish(family, later_query)),
    }[changed]
    return {
        "customer": customer(draw, inventory),
        "signature": signature,
        "openings": tuple(template.format(**values) for template in _OPENINGS[family]),
        "wishes": (
            Wish("origin", where[0]),
            Wish("destination", where[1]),
            Wish("date", _DATES[family].format(**values)),
            Wish("nights", values["nights"]),
            Wish("stars", f"at least {stars} stars"),
            Wish("preference", values["wish"]),
        ),
        "flights": (*rows, *decoys),
        "hotels": tuple(hotels),
        "weather": tuple(weather),
        "reads": (("weather", where[1], day), ("flights", *where, final_day), ("hotels", where[1])),
        "writes": plans[1].writes(),
        "first_writes": plans[0].writes(),
        "policy": Policy(TRIP_CLAUSES),
        "twist": (slot, value, _TWISTS[family][slot].format(value=value)),
        "details": {
            "plans": plans,
            "departure": f"travel on {date_text(family, final_day)}",
            "wishes": tuple(flight_wish(family, on).removeprefix("the ") for on in (query, later_query)),
            "stars": (stars, later_stars),
        },
        "expert_turns": 9,
    }


@dataclass(frozen=True, slots=True)
class Plan:
    """What the customer wants booked, before or after its change of mind."""

    flight: Flight
    hotel: Hotel
    day: int
    nights: int

    def writes(self) -> tuple[Write, ...]:
        """The changes of the database that carry it out."""
        items = sorted((self.flight.flight_id, self.hotel.hotel_id))
        return (
            ("new", "flight", self.flight.flight_id, self.day, 0),
            ("new", "hotel", self.hotel.hotel_id, self.day, self.nights),
            ("notify", *items),
        )


def _hotels(draw: Draw, inventory: Inventory, city: str, stars: int, later_stars: int) -> list[Hotel]:
    """Hotels of which neither star demand is met by the cheapest of all, and different demands by different ones."""
    while True:
        rows = hotel_rows(draw, inventory, city, first_id=10, count=draw.integer(4, 5))
        cheapest = best_hotels(rows, HotelQuery(city))
        answers = [best_hotels(rows, HotelQuery(city, at_least)) for at_least in (stars, later_stars)]
        looser = min(stars, later_stars)
        # The looser of two demands may be met by the cheapest hotel: else few worlds are left at two stars.
        fits = all(
            answer and (answer != cheapest or at_least == looser <= 2)
            for answer, at_least in zip(answers, (stars, later_stars), strict=True)
        )
        if fits and (stars == later_stars or answers[0] != answers[1]):
            return rows


def _weather(draw: Draw, city: str, day: int, condition: str, moves: bool) -> tuple[list[Weather], int]:
    """Forecasts under which the trip moves or stays, and the temperature that decides where cold is the condition."""
    rows = weather_rows(draw, city, day)
    if condition == "rain":
        dry = [name for name in CONDITIONS if name not in ("rainy", "stormy")]
        rows[1] = replace(rows[1], condition="rainy" if moves else draw.pick(dry))
    celsius = rows[1].celsius
    return rows, celsius + draw.integer(1, 4) if moves else celsius - draw.integer(0, 4)
