"""The scripted expert: reads the episode's state and plays the next right action."""

from __future__ import annotations

from slmagent.envs.booking import wording
from slmagent.envs.booking.episode import Episode, agreed, known
from slmagent.envs.parsing import render_call
from slmagent.envs.tools import ToolBox
from slmagent.scenarios.booking.database import BookingDatabase
from slmagent.scenarios.booking.phrasing import date_text
from slmagent.scenarios.booking.records import Flight, best_flights
from slmagent.scenarios.booking.tasks import Read
from slmagent.scenarios.booking.trips import Plan


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
        self.persona = episode.task.persona
        self.toolbox = toolbox
        self.evidence = evidence

    def act(self) -> str:
        """The next action."""
        told = self.episode.told()
        missing = [name for name in self.task.details.get("hidden", ()) if not known(name, told, self.task)]
        if missing:
            return wording.question_text(self.persona, missing)
        for read in self.task.reads:
            if read not in self.episode.reads:
                return self._look_up(read)
        if self.task.answer is not None:
            return self._answer()
        if self.task.level == 4:
            return self._refuse() if self.task.refusal else self._change()
        return self._travel() if self.task.level == 5 else self._book()

    # ---- by level -----------------------------------------------------------------------------------------------

    def _answer(self) -> str:
        assert self.task.answer is not None
        if self.episode.stated:
            return self._finish(wording.done_text(self.persona))
        row = self._flight().line() if self.task.flight_query else self.task.details.get("row", "")
        return self._finish(wording.answer_text(self.persona, self.task.answer), note=row)

    def _book(self) -> str:
        flight = self._flight()
        reference = booked_reference(self.episode.database, flight.flight_id)
        if reference is not None:
            return self._finish(wording.booked_text(self.persona, flight, reference))
        wish = self.task.details.get("evidence")
        note = f"{wish}: {flight.line()}" if wish else flight.quote(self.task.kind)
        return self._call("book_flight", note=note, flight_id=flight.flight_id)

    def _refuse(self) -> str:
        details = self.task.details
        text = wording.refusal_text(
            self.persona,
            details["reference"],
            details["action"],
            self.task.refusal or "",
            when=details["when"],
            round_=self.episode.pushed,
        )
        return self._finish(text) if self.episode.pushed >= len(self.task.pushbacks) else text

    def _change(self) -> str:
        details = self.task.details
        action, reference, fee = details["action"], details["reference"], details["fee"] // 100
        write = self.task.writes[0]
        flight = self._flight() if self.task.flight_query else None
        if self.episode.database.writes()[write]:
            flight_id = flight.flight_id if flight else ""
            return self._finish(wording.changed_text(self.persona, reference, action, flight_id, fee))
        if not agreed(self.episode.consents, write):
            return self._propose_change(flight)
        note = f"{details['fare']} fare, {action} fee EUR {fee}, agreed"
        if flight is not None:
            return self._call("change_booking", note=note, reference=reference, flight_id=flight.flight_id, fee=fee)
        return self._call("cancel_booking", note=note, reference=reference, fee=fee)

    def _propose_change(self, flight: Flight | None) -> str:
        details = self.task.details
        reference, fee, full = details["reference"], details["fee"] // 100, details["full_fee"] // 100
        what = f"changing {reference} to {flight.flight_id}" if flight else f"cancelling {reference}"
        question = f"Shall I {details['action']} it?"
        if self.episode.twisted:
            return wording.proposal_text(self.persona, f"I cannot waive the fee: {what} costs EUR {fee}", question)
        cost = f"costs EUR {fee}" if fee else "is free"
        if fee != full:
            cost = f"costs EUR {full}, half for {self.task.customer.tier} tier: EUR {fee}"
        if not self.evidence:
            return wording.proposal_text(self.persona, f"{what[0].upper()}{what[1:]} costs EUR {fee}", question)
        row = f"{flight.line()}. " if flight else ""
        return wording.proposal_text(self.persona, f"{row}{details['fare'].capitalize()} fare: {what} {cost}", question)

    def _travel(self) -> str:
        plan: Plan = self.task.details["plans"][self.episode.twisted]
        wish, stars = self.task.details["wishes"][self.episode.twisted], self.task.details["stars"][self.episode.twisted]
        flight, hotel, database = plan.flight, plan.hotel, self.episode.database
        flight_reference = booked_reference(database, flight.flight_id)
        hotel_reference = booked_reference(database, hotel.hotel_id)
        flight_line, hotel_line = f"{wish}: {flight.line()}", f"at least {stars} stars: {hotel.line()}"
        if not all(agreed(self.episode.consents, write) for write in plan.writes() if write[0] == "new"):
            stay = f"{plan.nights} nights from {self._date(plan.day)}"
            names = f"{flight_line}, {hotel_line}" if self.evidence else f"{flight.flight_id} and {hotel.hotel_id}"
            return wording.proposal_text(self.persona, f"{names[0].upper()}{names[1:]}, {stay}", "Shall I book both?")
        if flight_reference is None:
            return self._call("book_flight", note=flight_line, flight_id=flight.flight_id)
        if hotel_reference is None:
            date = self._date(plan.day)
            return self._call("book_hotel", note=hotel_line, hotel_id=hotel.hotel_id, date=date, nights=plan.nights)
        if not database.writes()[plan.writes()[2]]:
            return self._call("notify_user", message=f"Flight {flight_reference}, hotel {hotel_reference}.")
        return self._finish(wording.trip_text(self.persona, flight_reference, hotel_reference))

    # ---- pieces -------------------------------------------------------------------------------------------------

    def _look_up(self, read: Read) -> str:
        match read:
            case ("flights", origin, destination, day):
                note = ""
                if self.task.level == 5:
                    row = next(row for row in self.task.weather if ("weather", row.city, row.day) in self.task.reads)
                    note = f"{row.line()}: {self.task.details['departure']}"
                return self._call("search_flights", note=note, origin=origin, destination=destination, date=self._date(day))
            case ("hotels", city):
                return self._call("search_hotels", city=city)
            case ("weather", city, day):
                return self._call("get_weather", city=city, date=self._date(day))
        return self._call("get_user")

    def _flight(self) -> Flight:
        assert self.task.flight_query is not None
        return best_flights(self.task.flights, self.task.flight_query)[0]

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
