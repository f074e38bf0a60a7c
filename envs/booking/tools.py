"""The booking desk's tools and what they do to the database. They obey every valid call; policy is the agent's duty."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from typing import ClassVar

from pydantic import Field

from slmagent.envs.tools import Finish, Tool, ToolError
from slmagent.scenarios.booking.database import BookingDatabase
from slmagent.scenarios.booking.inventory import INVENTORIES
from slmagent.scenarios.booking.phrasing import date_text
from slmagent.scenarios.booking.tasks import Read
from slmagent.scenarios.splits import Family


class SearchFlights(Tool):
    """list flights"""

    origin: str
    destination: str
    date: str


class SearchHotels(Tool):
    """list hotels"""

    city: str


class GetWeather(Tool):
    """forecast"""

    city: str
    date: str


class GetUser(Tool):
    """the customer's record"""


class BookFlight(Tool):
    """book it"""

    writes: ClassVar[bool] = True
    flight_id: str


class BookHotel(Tool):
    """book it"""

    writes: ClassVar[bool] = True
    hotel_id: str
    date: str
    nights: int = Field(ge=1, le=30)


class ChangeBooking(Tool):
    """move a booking to another flight, fee in EUR"""

    writes: ClassVar[bool] = True
    reference: str
    flight_id: str
    fee: int = Field(ge=0, le=10_000)


class CancelBooking(Tool):
    """cancel, fee in EUR"""

    writes: ClassVar[bool] = True
    reference: str
    fee: int = Field(ge=0, le=10_000)


class NotifyUser(Tool):
    """send the customer a text"""

    writes: ClassVar[bool] = True
    message: str


TOOLS_BY_LEVEL: Mapping[int, tuple[type[Tool], ...]] = {
    0: (SearchFlights, SearchHotels, GetWeather, GetUser, Finish),
    1: (SearchFlights, BookFlight, Finish),
    2: (SearchFlights, BookFlight, Finish),
    3: (SearchFlights, BookFlight, Finish),
    4: (GetUser, SearchFlights, ChangeBooking, CancelBooking, Finish),
    5: (GetWeather, SearchFlights, SearchHotels, BookFlight, BookHotel, NotifyUser, Finish),
}
"""The tools a level's tasks need, in the order in which prompts list them."""


class Desk:
    """Carries out calls on a database.

    Args:
        database: The episode's state; writes go there.
        family: Names the month in which dates are read and written.
    """

    def __init__(self, database: BookingDatabase, family: Family) -> None:
        self.database = database
        self.family: Family = family

    def carry_out(self, tool: Tool) -> tuple[str, Read | None]:
        """What the agent reads, and which look-up that was (None for a write).

        Raises:
            ToolError: The call names something that does not exist; nothing has changed.
        """
        return _ACTIONS[type(tool)](self, tool)

    def _search_flights(self, call: SearchFlights) -> tuple[str, Read]:
        origin, destination, day = self._city(call.origin), self._city(call.destination), self._day(call.date)
        rows = self.database.flights(origin, destination, day)
        text = "\n".join(row.line() for row in rows)
        return text or f"no flights from {origin} to {destination} on {self._date(day)}", ("flights", origin, destination, day)

    def _search_hotels(self, call: SearchHotels) -> tuple[str, Read]:
        city = self._city(call.city)
        return "\n".join(row.line() for row in self.database.hotels(city)) or f"no hotels in {city}", ("hotels", city)

    def _get_weather(self, call: GetWeather) -> tuple[str, Read]:
        city, day = self._city(call.city), self._day(call.date)
        row = self.database.weather(city, day)
        return row.line() if row else f"no forecast for {city} on {self._date(day)}", ("weather", city, day)

    def _get_user(self, call: GetUser) -> tuple[str, Read]:
        person = self.database.customer()
        lines = [f"{person.name}, {person.tier} tier"]
        for booking in self.database.bookings():
            flight = self.database.flight(booking.item_id)
            where = f"{flight.origin}-{flight.destination}" if flight else booking.item_id
            state = "" if booking.status == "active" else f" {booking.status}"
            price = f" EUR {flight.price // 100}" if flight else ""
            lines.append(f"{where} {self._date(booking.day)}{price} {booking.fare}{state} {booking.reference}")
        return "\n".join(lines), ("user",)

    def _book_flight(self, call: BookFlight) -> tuple[str, None]:
        flight = self.database.flight(call.flight_id)
        if flight is None:
            raise ToolError(f"there is no flight {call.flight_id[:40]!r}")
        self._refuse_twice(flight.flight_id)
        booking = self.database.book("flight", flight.flight_id, flight.day)
        return f"booked {flight.flight_id}, reference {booking.reference}", None

    def _book_hotel(self, call: BookHotel) -> tuple[str, None]:
        hotel = self.database.hotel(call.hotel_id)
        if hotel is None:
            raise ToolError(f"there is no hotel {call.hotel_id[:40]!r}")
        day = self._day(call.date)
        self._refuse_twice(hotel.hotel_id)
        booking = self.database.book("hotel", hotel.hotel_id, day, call.nights)
        return f"booked {hotel.hotel_id}, reference {booking.reference}", None

    def _change_booking(self, call: ChangeBooking) -> tuple[str, None]:
        self._active(call.reference)
        flight = self.database.flight(call.flight_id)
        if flight is None:
            raise ToolError(f"there is no flight {call.flight_id[:40]!r}")
        self.database.change(call.reference, flight, 100 * call.fee)
        return f"changed {call.reference} to {flight.flight_id}, fee EUR {call.fee}", None

    def _cancel_booking(self, call: CancelBooking) -> tuple[str, None]:
        self._active(call.reference)
        self.database.cancel(call.reference, 100 * call.fee)
        return f"cancelled {call.reference}, fee EUR {call.fee}", None

    def _notify_user(self, call: NotifyUser) -> tuple[str, None]:
        self.database.notify(call.message)
        return "sent", None

    def _refuse_twice(self, item_id: str) -> None:
        for booking in self.database.bookings():
            if booking.item_id == item_id and booking.status == "active":
                raise ToolError(f"{item_id} is already booked, reference {booking.reference}")

    def _active(self, reference: str) -> None:
        booking = self.database.booking(reference)
        if booking is None:
            raise ToolError(f"the customer has no booking {reference[:40]!r}")
        if booking.status != "active":
            raise ToolError(f"{reference} is already {booking.status}")

    def _city(self, text: str) -> str:
        cities = {city.lower(): city for city in self.database.cities()}
        if text.lower() in cities:
            return cities[text.lower()]
        near = difflib.get_close_matches(text.lower()[:40], cities, n=1)
        hint = f"; did you mean {cities[near[0]]}?" if near else ""
        raise ToolError(f"there is no city {text[:40]!r}{hint}")

    def _day(self, text: str) -> int:
        month = INVENTORIES[self.family].month
        match = re.fullmatch(
            r"(\d{1,2})(?:st|nd|rd|th)? (?:of )?([a-z]+)|([a-z]+) (\d{1,2})(?:st|nd|rd|th)?", text.lower()[:40]
        )
        if match is None or (match[2] or match[3]) != month.lower() or not 1 <= int(match[1] or match[4]) <= 30:
            raise ToolError(f"cannot read the date {text[:40]!r}; expected one like '{self._date(3)}'")
        return int(match[1] or match[4])

    def _date(self, day: int) -> str:
        return date_text(self.family, day)


_ACTIONS: Mapping[type[Tool], Callable[..., tuple[str, Read | None]]] = {
    SearchFlights: Desk._search_flights,
    SearchHotels: Desk._search_hotels,
    GetWeather: Desk._get_weather,
    GetUser: Desk._get_user,
    BookFlight: Desk._book_flight,
    BookHotel: Desk._book_hotel,
    ChangeBooking: Desk._change_booking,
    CancelBooking: Desk._cancel_booking,
    NotifyUser: Desk._notify_user,
}
"""What each tool does. Not bound to a desk: a desk that holds its own methods would keep its database too long."""
