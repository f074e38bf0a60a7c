"""The booking system's SQLite database: one in memory per episode, copied from a template."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from slmagent.scenarios.booking.inventory import INVENTORIES
from slmagent.scenarios.booking.records import Customer, Flight, Hotel, Weather
from slmagent.scenarios.splits import Family
from slmagent.scenarios.sqlite import EpisodeDatabase, Template, fields_of

_SCHEMA = """
CREATE TABLE cities (name TEXT PRIMARY KEY);
CREATE TABLE airlines (code TEXT PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE users (user_id TEXT PRIMARY KEY, name TEXT NOT NULL, tier TEXT NOT NULL);
CREATE TABLE flights (flight_id TEXT PRIMARY KEY, origin TEXT NOT NULL, destination TEXT NOT NULL,
    day INTEGER NOT NULL, departs TEXT NOT NULL, price INTEGER NOT NULL, stops INTEGER NOT NULL);
CREATE TABLE hotels (hotel_id TEXT PRIMARY KEY, city TEXT NOT NULL, name TEXT NOT NULL, stars INTEGER NOT NULL,
    price INTEGER NOT NULL);
CREATE TABLE weather (city TEXT NOT NULL, day INTEGER NOT NULL, condition TEXT NOT NULL, celsius INTEGER NOT NULL,
    PRIMARY KEY (city, day));
CREATE TABLE bookings (reference TEXT PRIMARY KEY, user_id TEXT NOT NULL, kind TEXT NOT NULL, item_id TEXT NOT NULL,
    day INTEGER NOT NULL, nights INTEGER NOT NULL, fare TEXT NOT NULL, status TEXT NOT NULL, fee INTEGER NOT NULL);
CREATE TABLE notifications (number INTEGER PRIMARY KEY, user_id TEXT NOT NULL, message TEXT NOT NULL);
CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
"""

Write = tuple[Any, ...]
"""One change against the start, in canonical form: ("new", kind, item, day, nights), ("change", reference, item, fee),
("cancel", reference, fee) or ("notify", references named in the message, sorted)."""


@dataclass(frozen=True, slots=True)
class Booking:
    """A reservation. `fee` is what the last change or cancellation cost, in cents."""

    reference: str
    user_id: str
    kind: str
    item_id: str
    day: int
    nights: int = 0
    fare: str = "standard"
    status: str = "active"
    fee: int = 0


@functools.cache
def _template(family: Family) -> Template:
    inventory = INVENTORIES[family]
    rows = {"cities": [(city,) for city in inventory.cities], "airlines": list(inventory.airlines.items())}
    own = ("users", "flights", "hotels", "weather", "bookings", "notifications", "counters")
    return Template(_SCHEMA, rows, own=own)


class BookingDatabase(EpisodeDatabase):
    """The state behind the tools of one episode.

    Args:
        family: Which template to copy.
        customer: Who is logged in.
        flights: Departures on offer.
        hotels: Hotels on offer.
        weather: Forecasts.
        bookings: Reservations that exist at the start.
        first_reference: Number of the first new booking reference.
    """

    def __init__(
        self,
        family: Family,
        customer: Customer,
        *,
        flights: Iterable[Flight] = (),
        hotels: Iterable[Hotel] = (),
        weather: Iterable[Weather] = (),
        bookings: Sequence[Booking] = (),
        first_reference: int = 1,
    ) -> None:
        self.family: Family = family
        self.user_id = customer.user_id
        self._initial = {booking.reference: booking for booking in bookings}
        self._read: tuple[tuple[Booking, ...], Counter[Write]] | None = None
        records = {"users": [customer], "flights": flights, "hotels": hotels, "weather": weather, "bookings": bookings}
        rows = {table: [fields_of(record) for record in some] for table, some in records.items()}
        super().__init__({**rows, "counters": [("reference", first_reference)]})

    @property
    def _template(self) -> Template:
        return _template(self.family)

    # ---- look-ups -----------------------------------------------------------------------------------------------

    def cities(self) -> list[str]:
        """All cities that are served."""
        return [name for (name,) in self._connection.execute("SELECT name FROM cities ORDER BY name")]

    def flights(self, origin: str, destination: str, day: int) -> list[Flight]:
        """Departures on a route and day, in the order in which the system holds them."""
        query = "SELECT * FROM flights WHERE origin = ? AND destination = ? AND day = ? ORDER BY rowid"
        return [Flight(*row) for row in self._connection.execute(query, (origin, destination, day))]

    def flight(self, flight_id: str) -> Flight | None:
        """The flight with an id."""
        row = self._connection.execute("SELECT * FROM flights WHERE flight_id = ?", (flight_id,)).fetchone()
        return None if row is None else Flight(*row)

    def hotels(self, city: str) -> list[Hotel]:
        """Hotels of a city, in the order in which the system holds them."""
        return [Hotel(*row) for row in self._connection.execute("SELECT * FROM hotels WHERE city = ? ORDER BY rowid", (city,))]

    def hotel(self, hotel_id: str) -> Hotel | None:
        """The hotel with an id."""
        row = self._connection.execute("SELECT * FROM hotels WHERE hotel_id = ?", (hotel_id,)).fetchone()
        return None if row is None else Hotel(*row)

    def weather(self, city: str, day: int) -> Weather | None:
        """The forecast for a city and day."""
        row = self._connection.execute("SELECT * FROM weather WHERE city = ? AND day = ?", (city, day)).fetchone()
        return None if row is None else Weather(*row)

    def customer(self) -> Customer:
        """Who is logged in."""
        return Customer(*self._connection.execute("SELECT * FROM users WHERE user_id = ?", (self.user_id,)).fetchone())

    def bookings(self) -> list[Booking]:
        """The customer's bookings, oldest first; cancelled ones included."""
        return list(self._bookings_and_writes()[0])

    def booking(self, reference: str) -> Booking | None:
        """The customer's booking with a reference."""
        return next((booking for booking in self._bookings_and_writes()[0] if booking.reference == reference), None)

    # ---- writes -------------------------------------------------------------------------------------------------

    def book(self, kind: str, item_id: str, day: int, nights: int = 0) -> Booking:
        """Adds a booking and gives it the next reference."""
        (number,) = self._connection.execute("SELECT value FROM counters WHERE name = 'reference'").fetchone()
        self._connection.execute("UPDATE counters SET value = value + 1 WHERE name = 'reference'")
        booking = Booking(f"B{number}", self.user_id, kind, item_id, day, nights)
        self._change("INSERT INTO bookings VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", fields_of(booking))
        return booking

    def change(self, reference: str, flight: Flight, fee: int) -> None:
        """Moves a booking to another flight for a fee."""
        self._change(
            "UPDATE bookings SET item_id = ?, day = ?, fee = ? WHERE reference = ?",
            (flight.flight_id, flight.day, fee, reference),
        )

    def cancel(self, reference: str, fee: int) -> None:
        """Cancels a booking for a fee."""
        self._change("UPDATE bookings SET status = 'cancelled', fee = ? WHERE reference = ?", (fee, reference))

    def notify(self, message: str) -> None:
        """Sends the customer a message."""
        self._change("INSERT INTO notifications (user_id, message) VALUES (?, ?)", (self.user_id, message))

    def _change(self, statement: str, values: tuple[Any, ...]) -> None:
        self._connection.execute(statement, values)
        self._read = None

    # ---- comparison ---------------------------------------------------------------------------------------------

    def writes(self) -> Counter[Write]:
        """What has changed since the start. References of new bookings are volatile: a message counts by the items it names.

        The result is only to be read.
        """
        return self._bookings_and_writes()[1]

    def _bookings_and_writes(self) -> tuple[tuple[Booking, ...], Counter[Write]]:
        """Asked for many times a step, so read once after each change."""
        if self._read is None:
            query = "SELECT * FROM bookings WHERE user_id = ? ORDER BY rowid"
            bookings = tuple(Booking(*row) for row in self._connection.execute(query, (self.user_id,)))
            self._read = bookings, self._compare(bookings)
        return self._read

    def _compare(self, bookings: Sequence[Booking]) -> Counter[Write]:
        """The bookings and messages as changes against the start."""
        changes: list[Write] = []
        for booking in bookings:
            before = self._initial.get(booking.reference)
            if before is None:
                changes.append(("new", booking.kind, booking.item_id, booking.day, booking.nights))
            if before is not None and booking.item_id != before.item_id:
                changes.append(("change", booking.reference, booking.item_id, booking.fee))
            if booking.status == "cancelled" and (before is None or before.status != "cancelled"):
                changes.append(("cancel", booking.reference, booking.fee))
        for (message,) in self._connection.execute("SELECT message FROM notifications ORDER BY number"):
            words = set("".join(c if c.isalnum() else " " for c in message).split())
            named = sorted(booking.item_id for booking in bookings if words & {booking.reference, booking.item_id})
            changes.append(("notify", *named))
        return Counter(changes)
