"""What the agent's words commit to: the action it asks agreement for, and the reason it refuses with."""

from __future__ import annotations

import re

from slmagent.envs.booking.answers import values_in
from slmagent.envs.booking.episode import Episode
from slmagent.envs.desk import NOTHING, Judgement
from slmagent.scenarios.booking_lexicon import BOOKING_LEXICON
from slmagent.scenarios.understanding import understand

_IDENTIFIER = re.compile(r"\b[A-Za-z]{1,3}\d{1,4}\b")
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
        r"|\b(?:leaves|departs|departure|flight is|flies) (?:is )?(?:already )?(?:today|tomorrow)\b"
        r"|\btoo (?:close|near|soon)\b|\bshort notice\b",
        re.IGNORECASE,
    ),
}


def judge(episode: Episode, text: str) -> Judgement:
    """Whether the customer wants what a message asks agreement for, and what it agrees to with a yes.

    Agreement is to the items, or to the booking and the fee, that the message names: a yes to something unnamed allows nothing.
    """
    if not understand(text, BOOKING_LEXICON).proposes:
        return NOTHING
    named = _named(episode, _proposing_part(text)) or _named(episode, text)
    if not named:
        return NOTHING
    if episode.task.level == 4:
        return _judge_change(episode, text, named)
    wanted = {write[2] for write in episode.wanted_writes() if write[0] == "new"}
    if not wanted:
        return Judgement("bad")
    if named <= wanted:
        return Judgement("good", frozenset(("new", item) for item in named))
    return Judgement("bad", violates=tuple(sorted(_violated(episode, item) for item in named - wanted)))


def _violated(episode: Episode, item: str) -> str:
    """The wish that an unwanted item goes against."""
    flight = episode.database.flight(item)
    if flight is None:
        return "stars" if episode.database.hotel(item) else "reference"
    wanted = next(known for write in episode.wanted_writes() if (known := episode.database.flight(str(write[2]))))
    for name in ("origin", "destination"):
        if getattr(flight, name) != getattr(wanted, name):
            return name
    return "date" if flight.day != wanted.day else "preference"


def _judge_change(episode: Episode, text: str, named: set[str]) -> Judgement:
    """A change or cancellation: the customer cares for the booking and the new flight, and pays any fee that was named."""
    details, database = episode.task.details, episode.database
    references = {name for name in named if database.booking(name)}
    if not references:
        return NOTHING
    if references != {details["reference"]}:
        return Judgement("bad", violates=("reference",))
    wanted, other = (_CHANGE, _CANCEL) if details["action"] == "change" else (_CANCEL, _CHANGE)
    if not wanted.search(text):
        return Judgement("bad") if other.search(text) else NOTHING
    fees = {100 * int(value) for value in values_in("price", text)} | ({0} if _FREE.search(text) else set())
    if details["action"] == "cancel":
        return Judgement("good", frozenset(("cancel", details["reference"], fee) for fee in fees))
    booked = database.booking(details["reference"])
    flights = named - references - ({booked.item_id} if booked else set())
    if len(flights) != 1:
        return Judgement("bad", violates=("preference",)) if flights else NOTHING
    flight = flights.pop()
    # Of a request that must be refused no flight is the right one: the customer takes any.
    if episode.task.writes and flight != episode.task.writes[0][2]:
        return Judgement("bad", violates=("preference",))
    return Judgement("good", frozenset(("change", details["reference"], flight, fee) for fee in fees))


def refuses_for(text: str, clause: str) -> bool:
    """Whether a message refuses, and for that reason alone; naming every reason is none."""
    if not understand(text, BOOKING_LEXICON).refuses:
        return False
    return {name for name, pattern in _REASONS.items() if pattern.search(text)} == {clause}


def _named(episode: Episode, text: str) -> set[str]:
    """Identifiers in a text of things that exist: flights, hotels and the customer's bookings."""
    known = episode.database
    words = set(_IDENTIFIER.findall(text))
    return {word for word in words if known.flight(word) or known.hotel(word) or known.booking(word)}


def _proposing_part(text: str) -> str:
    """The sentences that ask for agreement; others may compare or report."""
    return " ".join(sentence for sentence in _SENTENCE.split(text) if understand(sentence, BOOKING_LEXICON).proposes)
