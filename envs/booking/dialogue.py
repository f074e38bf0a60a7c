"""What the agent's words commit to: the action it asks agreement for, and the reason it refuses with."""

from __future__ import annotations

import re

from slmagent.envs.booking.answers import values_in
from slmagent.envs.booking.episode import Episode
from slmagent.scenarios.booking.database import Write
from slmagent.scenarios.booking.phrasing import LEXICON
from slmagent.scenarios.understanding import understand
from slmagent.scenarios.users import Proposal

_WORD = re.compile(r"\w+")
_SENTENCE = re.compile(r"(?<=[.?!;])\s+|\n+")
_FREE = re.compile(
    r"\bfree\b|\bno (?:extra )?(?:fee|fees|charge|cost|costs)\b|\bwithout (?:a |any )?(?:fee|charge|cost)|\bnothing\b",
    re.IGNORECASE,
)
_CANCEL = re.compile(r"\bcancel", re.IGNORECASE)
_CHANGE = re.compile(r"\b(?:chang|mov|rebook|switch|reschedul|shift)", re.IGNORECASE)
_REASONS = {
    "fare": re.compile(r"\bbasic\b", re.IGNORECASE),
    "notice": re.compile(
        r"\btoo late\b|\bday before\b|\bday of (?:the )?departure\b|\bdeparture day\b"
        r"|\b(?:leaves|departs|departure|flight is|flies) (?:is )?(?:already )?(?:today|tomorrow)\b|\btoo (?:close|near|soon)\b|\bshort notice\b",
        re.IGNORECASE,
    ),
}


def judge_proposal(episode: Episode, text: str) -> tuple[Proposal, frozenset[Write]]:
    """Whether the customer wants what the agent asks agreement for, and what it then has agreed to.

    Agreement is to the items or the booking and fee that the message names; a yes to something unnamed allows nothing.
    """
    words = _named(episode, _proposing_part(text))
    if not words:
        words = _named(episode, text)
    if episode.task.level == 4:
        return _judge_change(episode, text, words)
    wanted = {write[2] for write in episode.wanted_writes() if write[0] == "new"}
    if not words:
        return "none", frozenset()
    return ("good", frozenset(("new", item) for item in words)) if words <= wanted else ("bad", frozenset())


def _judge_change(episode: Episode, text: str, named: set[str]) -> tuple[Proposal, frozenset[Write]]:
    references = {name for name in named if episode.database.booking(name)}
    details = episode.task.details
    if not references:
        return "none", frozenset()
    if references != {details["reference"]}:
        return "bad", frozenset()
    change = details["action"] == "change"
    if not (_CHANGE if change else _CANCEL).search(text):
        return ("bad" if (_CANCEL if change else _CHANGE).search(text) else "none"), frozenset()
    fees = {100 * int(value) for value in values_in("price", text)} | ({0} if _FREE.search(text) else set())
    if not change:
        return "good", frozenset(("cancel", details["reference"], fee) for fee in fees)
    flights = named - references - {flight_of(episode, details["reference"])}
    if len(flights) != 1:
        return "none" if not flights else "bad", frozenset()
    wanted = {write[2] for write in episode.wanted_writes()} or flights
    if not flights <= wanted:
        return "bad", frozenset()
    return "good", frozenset(("change", details["reference"], flight, fee) for flight in flights for fee in fees)


def flight_of(episode: Episode, reference: str) -> str:
    """The flight that a booking is for."""
    booking = episode.database.booking(reference)
    return booking.item_id if booking else ""


def refuses_for(text: str, clause: str) -> bool:
    """Whether a message refuses, and for that reason alone; naming every reason is none."""
    if not understand(text, LEXICON).refuses:
        return False
    return {name for name, pattern in _REASONS.items() if pattern.search(text)} == {clause}


def _named(episode: Episode, text: str) -> set[str]:
    """Identifiers in a text of things that exist: flights, hotels and the customer's bookings."""
    known = episode.database
    return {word for word in _WORD.findall(text) if known.flight(word) or known.hotel(word) or known.booking(word)}


def _proposing_part(text: str) -> str:
    """The sentences that ask for agreement; others may compare or report."""
    return " ".join(sentence for sentence in _SENTENCE.split(text) if understand(sentence, LEXICON).proposes)
