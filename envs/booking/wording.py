"""How the expert words its messages for each kind of user. Short: every token of a demonstration is trained."""

from __future__ import annotations

from collections.abc import Sequence

from slmagent.envs.wording import one_of
from slmagent.scenarios.booking.records import Flight
from slmagent.scenarios.booking.tasks import Answer


def booked_text(persona: str, flight: Flight, reference: str) -> str:
    """Says that a flight is booked."""
    return one_of(
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
    return one_of(
        persona,
        terse=f"It is {value}.",
        plain=f"The {subject} {value}." if answer.kind != "tier" else f"Your {subject} {value}.",
        playful=f"Hey, the {subject} {value}!",
        full=f"Thank you for asking. I have looked it up for you: the {subject} {value}.",
    )


def done_text(persona: str) -> str:
    """Closes a talk in which everything has been said."""
    return one_of(
        persona,
        terse="Done.",
        plain="You are all set.",
        playful="All set, enjoy!",
        full="I am glad that I could help you today.",
    )


def question_text(persona: str, missing: Sequence[str]) -> str:
    """Asks for what the customer has not told: origin, date, preference."""
    facts = [name for name in missing if name != "preference"]
    long = _capital(" and ".join({"origin": "where do you fly from", "date": "on which date"}[name] for name in facts))
    short = _capital(" and ".join(facts))
    # Preferences get a sentence of their own: beside another question they are taken for an aside.
    which = "Which flight would you like?" if "preference" in missing else ""
    asked = [f"{long}?" if facts else "", which]
    return one_of(
        persona,
        terse=_sentences(f"{short}, please?" if facts else "", "Which flight?" if which else ""),
        plain=_sentences(*asked),
        playful=_sentences("Great!", *asked),
        full=_sentences(
            "Thank you for your request.", "I have a question for you, please." if len(missing) < 2 else "", *asked
        ),
    )


def proposal_text(persona: str, reason: str, question: str) -> str:
    """Gives the reason and asks for agreement."""
    return one_of(
        persona,
        terse=f"{reason}. {question}",
        plain=f"{reason}. {question}",
        playful=f"Great! {reason}. {question}",
        full=f"Thank you for waiting. {reason}. {question}",
    )


REFUSAL_REASONS = {
    "fare": ("basic fares cannot be {done}", "it is a basic fare", "a basic fare stays as it is"),
    "notice": ("it is too late, it leaves {when}", "it is too late for that", "the day before departure is too late"),
}


def refusal_text(persona: str, reference: str, action: str, clause: str, *, when: str, round_: int) -> str:
    """Refuses a change or cancellation with its reason, in other words each time."""
    done = "changed" if action == "change" else "cancelled"
    reasons = REFUSAL_REASONS[clause]
    reason = reasons[round_ % len(reasons)].format(done=done, when=when)
    if round_:
        return one_of(
            persona,
            terse=f"No, I cannot {action} it, {reason}.",
            plain=f"I understand, but I cannot {action} {reference}, {reason}.",
            playful=f"I know, but I can't {action} {reference}, {reason}!",
            full=f"I understand your position and I am sorry, but I cannot {action} {reference} for you, because {reason}.",
        )
    return one_of(
        persona,
        terse=f"I cannot {action} {reference}, {reason}.",
        plain=f"I am sorry, I cannot {action} {reference}, {reason}.",
        playful=f"Oh no, I can't {action} {reference}, {reason}!",
        full=f"I am sorry to disappoint you, but I cannot {action} {reference} for you, because {reason}.",
    )


def changed_text(persona: str, reference: str, action: str, flight_id: str, fee: int) -> str:
    """Says that a booking was changed or cancelled, and for how much."""
    what = f"moved to {flight_id}" if action == "change" else "cancelled"
    cost = f"fee EUR {fee}" if fee else "free"
    return one_of(
        persona,
        terse=f"{reference} {what}, {cost}.",
        plain=f"Your booking {reference} is {what}, {cost}.",
        playful=f"Done! {reference} is {what}, {cost}!",
        full=f"Thank you for your patience. I have taken care of it: your booking {reference} is {what}, {cost}.",
    )


def trip_text(persona: str, flight_reference: str, hotel_reference: str) -> str:
    """Says that flight and hotel are booked."""
    return one_of(
        persona,
        terse=f"Booked: flight {flight_reference}, hotel {hotel_reference}.",
        plain=f"Your flight {flight_reference} and hotel {hotel_reference} are booked.",
        playful=f"All set! Flight {flight_reference} and hotel {hotel_reference}, enjoy!",
        full=(
            f"Thank you for booking with us. Your flight has the reference {flight_reference} "
            f"and your hotel has the reference {hotel_reference}."
        ),
    )


def _sentences(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
