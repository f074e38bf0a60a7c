"""Rows of the booking world and the conditions a customer puts on them. Money is whole cents, days count within the month."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Objective = Literal["cheapest", "earliest", "latest"]
Daypart = Literal["morning", "afternoon", "evening"]
DAYPARTS: dict[str, tuple[str, str]] = {
    "morning": ("00:00", "11:59"),
    "afternoon": ("12:00", "17:59"),
    "evening": ("18:00", "23:59"),
}


@dataclass(frozen=True, slots=True)
class Flight:
    """One departure."""

    flight_id: str
    origin: str
    destination: str
    day: int
    departs: str
    """`HH:MM`, local time."""
    price: int
    stops: int

    def line(self) -> str:
        """The row as an agent reads it, identifier last."""
        return f"{self.departs} {self.quote('price')}"

    def quote(self, attribute: str) -> str:
        """The row from one attribute (`time`, `price` or `stops`) to the identifier, to quote what a customer described."""
        stops = f"{'non-stop' if self.stops == 0 else '1 stop'} {self.flight_id}"
        match attribute:
            case "time":
                return self.line()
            case "price":
                return f"EUR {self.price // 100} {stops}"
            case "stops":
                return stops
        raise ValueError(f"unknown attribute {attribute!r}; expected 'time', 'price' or 'stops'")


@dataclass(frozen=True, slots=True)
class Hotel:
    """One hotel with its price a night."""

    hotel_id: str
    city: str
    name: str
    stars: int
    price: int

    def line(self) -> str:
        """The row as an agent reads it, identifier last."""
        return f"{self.name} {self.stars} stars EUR {self.price // 100} {self.hotel_id}"


@dataclass(frozen=True, slots=True)
class Weather:
    """The forecast for a city and day."""

    city: str
    day: int
    condition: str
    celsius: int

    def line(self) -> str:
        """The forecast as an agent reads it."""
        return f"{self.condition} {self.celsius} C"


@dataclass(frozen=True, slots=True)
class Customer:
    """The person the agent works for."""

    user_id: str
    name: str
    tier: str


@dataclass(frozen=True, slots=True)
class FlightQuery:
    """Conditions on a flight, and which of the matches is wanted; without an objective exactly one flight must match."""

    origin: str
    destination: str
    day: int
    departs: str | None = None
    price: int | None = None
    max_price: int | None = None
    stops: int | None = None
    daypart: Daypart | None = None
    objective: Objective | None = None

    def matches(self, flight: Flight) -> bool:
        """Whether a flight meets every condition (the objective apart)."""
        if (flight.origin, flight.destination, flight.day) != (self.origin, self.destination, self.day):
            return False
        first, last = DAYPARTS[self.daypart] if self.daypart else ("00:00", "23:59")
        return (
            (self.departs is None or flight.departs == self.departs)
            and (self.price is None or flight.price == self.price)
            and (self.max_price is None or flight.price <= self.max_price)
            and (self.stops is None or flight.stops == self.stops)
            and first <= flight.departs <= last
        )


@dataclass(frozen=True, slots=True)
class HotelQuery:
    """Conditions on a hotel; the cheapest of the matches is wanted."""

    city: str
    min_stars: int = 0

    def matches(self, hotel: Hotel) -> bool:
        """Whether a hotel meets every condition."""
        return hotel.city == self.city and hotel.stars >= self.min_stars


def best_flights(flights: Sequence[Flight], query: FlightQuery) -> list[Flight]:
    """All flights that answer a query equally well; a task needs exactly one."""
    found = [flight for flight in flights if query.matches(flight)]
    if not found or query.objective is None:
        return found
    if query.objective == "cheapest":
        lowest = min(flight.price for flight in found)
        return [flight for flight in found if flight.price == lowest]
    pick = min if query.objective == "earliest" else max
    departs = pick(flight.departs for flight in found)
    return [flight for flight in found if flight.departs == departs]


def best_hotels(hotels: Sequence[Hotel], query: HotelQuery) -> list[Hotel]:
    """All hotels that answer a query equally well."""
    found = [hotel for hotel in hotels if query.matches(hotel)]
    lowest = min((hotel.price for hotel in found), default=0)
    return [hotel for hotel in found if hotel.price == lowest]
