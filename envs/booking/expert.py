"""The scripted expert: reads the episode's state and plays the next right action."""

from __future__ import annotations

from slmagent.envs.booking.episode import Episode
from slmagent.envs.booking.wording import answer_text, booked_text, done_text
from slmagent.envs.parsing import render_call
from slmagent.envs.tools import ToolBox
from slmagent.scenarios.booking.database import BookingDatabase
from slmagent.scenarios.booking.phrasing import date_text
from slmagent.scenarios.booking.records import best_flights
from slmagent.scenarios.booking.tasks import Read


class Expert:
    """Plays one episode right, from any state of it that can still be won.

    Args:
        episode: The state; only read.
        toolbox: Knows under which names the tools are shown.
        evidence: Write the line that justifies a call before it.
    """

    def __init__(self, episode: Episode, toolbox: ToolBox, *, evidence: bool) -> None:
        self.episode = episode
        self.task = episode.task
        self.toolbox = toolbox
        self.evidence = evidence

    def act(self) -> str:
        """The next action."""
        for read in self.task.reads:
            if read not in self.episode.reads:
                return self._look_up(read)
        if self.task.answer is not None:
            return self._answer()
        return self._book()

    def _look_up(self, read: Read) -> str:
        match read:
            case ("flights", origin, destination, day):
                return self._call("search_flights", origin=origin, destination=destination, date=self._date(day))
            case ("hotels", city):
                return self._call("search_hotels", city=city)
            case ("weather", city, day):
                return self._call("get_weather", city=city, date=self._date(day))
        return self._call("get_user")

    def _answer(self) -> str:
        assert self.task.answer is not None
        if self.episode.stated:
            return self._finish(done_text(self.task.persona))
        flights = best_flights(self.task.flights, self.task.flight_query) if self.task.flight_query else []
        row = flights[0].line() if flights else self.task.details.get("row", "")
        return self._finish(answer_text(self.task.persona, self.task.answer), note=row)

    def _book(self) -> str:
        assert self.task.flight_query is not None
        flight = best_flights(self.task.flights, self.task.flight_query)[0]
        reference = booked_reference(self.episode.database, flight.flight_id)
        if reference is None:
            note = flight.line()
            if "evidence" in self.task.details:
                note = f"{self.task.details['evidence']}: {note}"
            return self._call("book_flight", note=note, flight_id=flight.flight_id)
        return self._finish(booked_text(self.task.persona, flight, reference))

    def _call(self, tool: str, *, note: str = "", **arguments: object) -> str:
        call = render_call(self.toolbox.shown_names.get(tool, tool), dict(arguments))
        return f"{note}\n{call}" if note and self.evidence else call

    def _finish(self, message: str, *, note: str = "") -> str:
        return self._call("finish", note=note, message=message)

    def _date(self, day: int) -> str:
        return date_text(self.task.family, day)


def booked_reference(database: BookingDatabase, item_id: str) -> str | None:
    """Reference under which the customer has an item booked."""
    return next((row.reference for row in database.bookings() if row.item_id == item_id and row.status == "active"), None)
