"""How the expert words its messages for each kind of user. Short: every token of a demonstration is trained."""

from __future__ import annotations

from slmagent.scenarios.booking.records import Flight
from slmagent.scenarios.booking.tasks import Answer
from slmagent.scenarios.personas import PERSONAS


def _register(persona: str) -> str:
    traits = PERSONAS[persona]
    if traits.humour >= 0.5:
        return "playful"
    if traits.verbosity <= 0.2:
        return "terse"
    return "full" if traits.verbosity >= 0.8 else "plain"


def _one_of(persona: str, **wordings: str) -> str:
    return wordings[_register(persona)]


def booked_text(persona: str, flight: Flight, reference: str) -> str:
    """Says that a flight is booked."""
    return _one_of(
        persona,
        terse=f"Booked {flight.flight_id}, reference {reference}.",
        plain=f"Your flight {flight.flight_id} is booked, reference {reference}.",
        playful=f"Done! {flight.flight_id} is booked, reference {reference}, happy flying!",
        full=(
            f"I have booked your flight {flight.flight_id} at {flight.departs} for EUR {flight.price // 100}. "
            f"Your booking reference is {reference}."
        ),
    )


def answer_text(persona: str, answer: Answer) -> str:
    """Says the value that was asked for."""
    subject, value = {
        "price": ("flight costs", f"EUR {answer.value}"),
        "rate": ("room costs", f"EUR {answer.value} a night"),
        "time": ("flight leaves at", answer.value),
        "condition": ("weather will be", answer.value),
        "celsius": ("temperature will be", f"{answer.value} C"),
        "tier": ("tier is", answer.value),
    }[answer.kind]
    return _one_of(
        persona,
        terse=f"It is {value}.",
        plain=f"The {subject} {value}." if answer.kind != "tier" else f"Your {subject} {value}.",
        playful=f"Hey, the {subject} {value}!",
        full=f"Thank you for asking. I have looked it up for you: the {subject} {value}.",
    )


def done_text(persona: str) -> str:
    """Closes a talk in which everything has been said."""
    return _one_of(
        persona,
        terse="Done.",
        plain="You are all set.",
        playful="All set, enjoy!",
        full="I am glad that I could help you today.",
    )
