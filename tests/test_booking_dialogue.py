"""What the booking desk makes of words: answers, proposals, refusals, style."""

from __future__ import annotations

import numpy as np
import pytest

from slmagent.envs.booking.answers import judge as judge_answer
from slmagent.envs.booking.answers import values_in
from slmagent.envs.booking.dialogue import judge, refuses_for
from slmagent.envs.booking.episode import Episode
from slmagent.scenarios.booking.database import BookingDatabase
from slmagent.scenarios.booking.phrasing import date_text
from slmagent.scenarios.booking.policy import CHANGE_CLAUSES, Case, Policy
from slmagent.scenarios.booking.tasks import Answer, Task, make_task, scenario_ids
from slmagent.scenarios.booking_lexicon import BOOKING_LEXICON
from slmagent.scenarios.personas import PERSONAS
from slmagent.scenarios.users import Agenda, UserSimulator

PRICE = Answer("price", "290", ("281", "391", "530"))
TIME = Answer("time", "14:30", ("14:00", "19:05"))
WEATHER = Answer("condition", "rainy", ("sunny", "cloudy", "windy", "foggy", "stormy"))
DEGREES = Answer("celsius", "12", ("8", "10"))
TIER = Answer("tier", "gold", ("blue", "silver", "platinum"))


@pytest.mark.parametrize(
    ("answer", "text", "states", "contradicts"),
    [
        (PRICE, "It costs EUR 290.", True, False),
        (PRICE, "290", True, False),
        (PRICE, "That is 290 euros, FL281 at 05:30 on 12 June.", True, False),
        (PRICE, "€290, not EUR 281.", True, True),
        (PRICE, "EUR 291", False, True),
        (PRICE, "281", False, True),
        (PRICE, "290 281 391 530", True, True),
        (PRICE, "FL290 leaves soon.", False, False),
        (PRICE, "On 29 June at 2:90?", False, False),
        (PRICE, "1290 or 2900", False, False),
        (PRICE, "", False, False),
        (TIME, "It leaves at 14:30.", True, False),
        (TIME, "At 2:30 pm.", True, False),
        (TIME, "At 14.30, I think.", True, False),
        (TIME, "At 14:30, not 19:05.", True, True),
        (TIME, "At 15:30.", False, True),
        (TIME, "At 1430 it goes for EUR 14.", False, False),
        (WEATHER, "Rain, I am afraid.", True, False),
        (WEATHER, "It will be RAINY, 12 C.", True, False),
        (WEATHER, "rainy, sunny, cloudy, windy, foggy, stormy", True, True),
        (WEATHER, "Bring your brainy friends.", False, False),
        (DEGREES, "12 C on 8 June.", True, False),
        (DEGREES, "It is 12 degrees.", True, False),
        (DEGREES, "Between 8 and 12 C.", True, True),
        (DEGREES, "13°", False, True),
        (TIER, "You are a Gold customer.", True, False),
        (TIER, "blue, silver, gold, platinum", True, True),
        (TIER, "You are golden.", False, False),
    ],
)
def test_answers(answer: Answer, text: str, states: bool, contradicts: bool):
    assert judge_answer(answer, text) == (states, contradicts)


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("12:05 am", {"00:05"}),
        ("12 pm", {"12:00"}),
        ("7 a.m.", {"07:00"}),
        ("7:15", {"07:15"}),
        ("17:15:30", {"17:15"}),
        ("3 men", set()),
    ],
)
def test_clock_times(text: str, times: set[str]):
    assert values_in("time", text) == times


def episode_of(task: Task) -> Episode:
    database = BookingDatabase(
        task.family, task.customer, flights=task.flights, hotels=task.hotels, weather=task.weather, bookings=task.bookings
    )
    user = UserSimulator(Agenda(("Hello.",), (), BOOKING_LEXICON), PERSONAS["concise"], np.random.default_rng(0))
    return Episode(user, task=task, database=database)


def find(level: int, kind: str, *, haggling: bool = False) -> Task:
    tasks = (make_task(scenario_id) for scenario_id in scenario_ids(level, "train"))
    return next(task for task in tasks if task.kind == kind and (task.twist is not None) >= haggling)


def test_a_trip_is_agreed_to_by_naming_what_is_wanted():
    task = find(5, "rain_stars")
    episode = episode_of(task)
    first, last = task.details["plans"]
    flight, hotel = first.flight.flight_id, first.hotel.hotel_id
    both = judge(episode, f"I found {flight} and {hotel}. Shall I book both?")
    assert (both.proposal, both.consents) == ("good", {("new", flight), ("new", hotel)})
    one = judge(episode, f"Shall I book {flight}?")
    assert (one.proposal, one.consents) == ("good", {("new", flight)})
    assert judge(episode, "Shall I book it?").proposal == "none"
    assert judge(episode, f"I will look at {flight} and {hotel}.").proposal == "none"
    other = next(
        row
        for row in task.flights
        if row.flight_id != flight and row.day == first.flight.day and row.origin == first.flight.origin
    )
    wrong = judge(episode, f"Shall I book {other.flight_id} and {hotel}?")
    assert (wrong.proposal, wrong.consents, wrong.violates) == ("bad", frozenset(), ("preference",))
    compared = judge(episode, f"{other.flight_id} is no good. Shall I book {flight}?")
    assert compared.proposal == "good"
    assert judge(episode, f"Shall I book {last.hotel.hotel_id}?").violates == ("stars",)
    episode.twisted = True
    assert judge(episode, f"Shall I book {last.hotel.hotel_id}?").proposal == "good"
    assert judge(episode, f"Shall I book {hotel}?").proposal == "bad"


def test_a_cancellation_is_agreed_to_with_the_fee_that_was_named():
    task = find(4, "cancel_standard")
    episode = episode_of(task)
    reference, fee = task.details["reference"], task.details["fee"]
    right = judge(episode, f"Cancelling {reference} costs EUR {fee // 100}. Shall I go ahead?")
    assert (right.proposal, right.consents) == ("good", {("cancel", reference, fee)})
    free = judge(episode, f"Shall I cancel {reference} free of charge?")
    assert free.consents == {("cancel", reference, 0)}
    assert judge(episode, f"Shall I cancel {reference}?").consents == frozenset()
    other = next(booking.reference for booking in task.bookings if booking.reference != reference)
    assert judge(episode, f"Shall I cancel {other} for EUR {fee // 100}?").proposal == "bad"
    assert judge(episode, f"Shall I change {reference} for EUR {fee // 100}?").proposal == "bad"
    assert judge(episode, "Shall I cancel it for EUR 50?").proposal == "none"


def test_a_change_is_agreed_to_with_its_flight():
    task = find(4, "change_standard")
    episode = episode_of(task)
    reference, fee, flight = task.details["reference"], task.details["fee"], task.writes[0][2]
    right = judge(episode, f"Changing {reference} to {flight} costs EUR {fee // 100}. Shall I change it?")
    assert (right.proposal, right.consents) == ("good", {("change", reference, flight, fee)})
    other = next(row.flight_id for row in task.flights if row.flight_id != flight and row.day == task.flight_query.day)  # type: ignore[union-attr]
    assert judge(episode, f"Shall I change {reference} to {other} for EUR {fee // 100}?").violates == ("preference",)
    assert judge(episode, f"Shall I change {reference} for EUR {fee // 100}?").proposal == "none"


@pytest.mark.parametrize(
    ("text", "fare", "notice"),
    [
        ("I am sorry, I cannot cancel B12: basic fares cannot be cancelled.", True, False),
        ("Unfortunately that is not possible, it is a basic fare.", True, False),
        ("I cannot cancel it, it is too late.", False, True),
        ("We can't change it any more because it leaves tomorrow.", False, True),
        ("I cannot do that: basic fare, and too late anyway.", False, False),
        ("I cannot do that.", False, False),
        ("It is a basic fare.", False, False),
        ("Your basic fare is cancelled.", False, False),
        ("", False, False),
    ],
)
def test_refusals_count_with_their_reason_alone(text: str, fare: bool, notice: bool):
    assert refuses_for(text, "fare") is fare
    assert refuses_for(text, "notice") is notice


TODAY = Policy(CHANGE_CLAUSES, today=10, change_fee=4000, cancel_fee=6000)


def case(change: str, fare: str, *, day: int = 15, tier: str = "blue", fee: int = 0, consented: bool = True) -> Case:
    from slmagent.scenarios.booking.database import Booking

    return Case(change, tier, consented, Booking("B1", "U1", "flight", "FL1", day, fare=fare), fee)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("what", "broken"),
    [
        (case("cancel", "standard", fee=6000), []),
        (case("change", "standard", fee=4000), []),
        (case("change", "standard", fee=2000, tier="gold"), []),
        (case("cancel", "flex"), []),
        (case("cancel", "flex", day=12), []),
        (case("cancel", "basic"), ["fare"]),
        (case("cancel", "flex", day=11), ["notice"]),
        (case("cancel", "flex", day=10), ["notice"]),
        (case("cancel", "standard", fee=4000), ["fee"]),
        (case("cancel", "standard", fee=6000, tier="platinum"), ["fee"]),
        (case("cancel", "flex", fee=100), ["fee"]),
        (case("cancel", "standard", fee=6000, consented=False), ["consent"]),
        (case("cancel", "basic", day=10, fee=1, consented=False), ["fare", "notice", "fee", "consent"]),
    ],
)
def test_policy_predicates(what: Case, broken: list[str]):
    assert TODAY.broken(what) == broken


def test_every_clause_has_a_text_in_both_families():
    for family in ("home", "ood"):
        text = TODAY.text(family)
        assert date_text(family, 10) in text
        assert "EUR 40" in text
        assert "EUR 60" in text
        assert len(text.splitlines()) == 1 + len(CHANGE_CLAUSES)
