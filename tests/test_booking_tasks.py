"""Booking tasks: one right answer each, disjoint splits, stable generation."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from collections import Counter

import pytest

from slmagent.scenarios.booking.database import BookingDatabase
from slmagent.scenarios.booking.draw import weakened
from slmagent.scenarios.booking.inventory import HOME, OOD
from slmagent.scenarios.booking.phrasing import date_text, flight_wish
from slmagent.scenarios.booking.records import Customer, Flight, FlightQuery, Hotel, HotelQuery, best_flights, best_hotels
from slmagent.scenarios.booking.tasks import Task, kind_of, kinds_of, make_task, scenario_ids
from slmagent.scenarios.draw import Draw
from slmagent.scenarios.splits import SPLIT_SIZES
from slmagent.types import SPLITS

LEVELS = range(6)
ROUTE = ("Paris", "Rome", 3)
FLIGHTS = [
    Flight("FL101", *ROUTE, "09:15", 21000, 0),
    Flight("FL102", *ROUTE, "14:30", 18000, 1),
    Flight("FL103", *ROUTE, "19:00", 25000, 0),
    Flight("FL104", *ROUTE, "21:40", 18500, 1),
    Flight("FL105", "Rome", "Paris", 3, "05:00", 100, 0),
    Flight("FL106", "Paris", "Rome", 4, "05:00", 100, 0),
]


@pytest.mark.parametrize(
    ("query", "ids", "words"),
    [
        (FlightQuery(*ROUTE, departs="14:30"), ["FL102"], "the 14:30 flight"),
        (FlightQuery(*ROUTE, price=25000), ["FL103"], "the flight for EUR 250"),
        (FlightQuery(*ROUTE, stops=0), ["FL101", "FL103"], "the non-stop flight"),
        (FlightQuery(*ROUTE, stops=0, daypart="evening"), ["FL103"], "the non-stop flight in the evening"),
        (FlightQuery(*ROUTE, objective="cheapest"), ["FL102"], "the cheapest flight"),
        (FlightQuery(*ROUTE, objective="earliest"), ["FL101"], "the earliest flight"),
        (FlightQuery(*ROUTE, stops=0, objective="latest"), ["FL103"], "the latest non-stop flight"),
        (FlightQuery(*ROUTE, stops=0, objective="cheapest"), ["FL101"], "the cheapest non-stop flight"),
        (FlightQuery(*ROUTE, max_price=20000, objective="latest"), ["FL104"], "the latest flight for at most EUR 200"),
        (FlightQuery(*ROUTE, max_price=10000, objective="latest"), [], "the latest flight for at most EUR 100"),
        (FlightQuery(*ROUTE, daypart="morning", objective="cheapest"), ["FL101"], "the cheapest flight in the morning"),
    ],
)
def test_the_solver_on_a_world_solved_by_hand(query: FlightQuery, ids: list[str], words: str):
    assert [flight.flight_id for flight in best_flights(FLIGHTS, query)] == ids
    assert flight_wish("home", query) == words


def test_hotels_by_hand():
    hotels = [Hotel("HT1", "Rome", "A", 3, 9000), Hotel("HT2", "Rome", "B", 4, 12000), Hotel("HT3", "Oslo", "C", 5, 100)]
    assert [hotel.hotel_id for hotel in best_hotels(hotels, HotelQuery("Rome"))] == ["HT1"]
    assert [hotel.hotel_id for hotel in best_hotels(hotels, HotelQuery("Rome", 4))] == ["HT2"]
    assert best_hotels(hotels, HotelQuery("Rome", 5)) == []


def test_weaker_queries_drop_one_condition_each():
    query = FlightQuery(*ROUTE, stops=0, daypart="evening", objective="cheapest")
    assert [sum(getattr(weak, name) is None for name in ("stops", "daypart", "objective")) for weak in weakened(query)] == [
        1,
        1,
        1,
    ]


def sample(level: int, split: str, count: int) -> list[Task]:
    ids = scenario_ids(level, split)
    return [make_task(scenario_id) for scenario_id in ids[-count:]]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("split", SPLITS)
def test_every_wish_has_one_answer_and_every_condition_matters(level: int, split: str):
    for task in sample(level, split, 60):
        ids = [flight.flight_id for flight in task.flights] + [hotel.hotel_id for hotel in task.hotels]
        assert len(set(ids)) == len(ids)
        if task.flight_query is not None:
            best = best_flights(task.flights, task.flight_query)
            assert len(best) == 1
            for weaker in weakened(task.flight_query):
                assert best_flights(task.flights, weaker) != best
            if task.writes and task.writes[0][0] == "new":
                assert task.writes == (("new", "flight", best[0].flight_id, task.flight_query.day, 0),)
        if task.answer is not None:
            assert task.answer.candidates
            assert task.answer.value not in task.answer.candidates
        if level == 5:
            first, last = task.details["plans"]
            assert first != last
            assert task.writes == last.writes() != task.first_writes == first.writes()


@pytest.mark.parametrize("level", LEVELS)
def test_no_wish_is_in_two_splits(level: int):
    seen: dict[tuple[object, ...], str] = {}
    for split in ("train", "val", "test"):
        ids = scenario_ids(level, split)
        for scenario_id in ids[:: max(1, len(ids) // 500)]:
            signature = make_task(scenario_id).signature
            assert seen.setdefault(signature, split) == split


def test_the_ood_inventory_is_unseen():
    for name in ("cities", "hotel_names", "airlines", "first_names", "last_names"):
        assert not set(getattr(HOME, name)) & set(getattr(OOD, name))
    assert HOME.month != OOD.month
    assert not HOME.tool_names
    assert len(OOD.tool_names) == 9


@pytest.mark.parametrize("level", LEVELS)
def test_ood_phrasing_is_unseen(level: int):
    def shape(task: Task) -> str:
        text = task.openings[0]
        for name in {*HOME.cities, *OOD.cities, *HOME.hotel_names, *OOD.hotel_names}:
            text = text.replace(name, "X")
        return "".join("0" if letter.isdigit() else letter for letter in text.replace("October", "M").replace("June", "M"))

    home = {shape(task) for split in ("train", "val", "test") for task in sample(level, split, 40)}
    assert not home & {shape(task) for task in sample(level, "ood", 40)}


@pytest.mark.parametrize("level", LEVELS)
def test_splits_are_large_and_kinds_are_stratified(level: int):
    assert {split: len(scenario_ids(level, split)) for split in SPLITS} == dict(SPLIT_SIZES)
    assert SPLIT_SIZES["train"] >= 2000
    assert min(SPLIT_SIZES[split] for split in ("val", "test")) >= 500
    kinds = Counter(kind_of(scenario_id) for scenario_id in scenario_ids(level, "test"))
    share = Counter(kinds_of(level))
    for kind, count in kinds.items():
        assert count == pytest.approx(500 * share[kind] / share.total(), abs=1)
    task = make_task(scenario_ids(level, "test")[5])
    assert task.kind == kind_of(task.scenario_id)


def test_at_most_a_fifth_of_level_4_is_refused():
    for split in SPLITS:
        tasks = sample(4, split, 100)
        refused = [task for task in tasks if task.refusal]
        assert 0 < len(refused) <= 20
        assert {task.refusal for task in refused} == {"fare", "notice"}
        assert all(not task.writes and task.kind == f"refuse_{task.refusal}" for task in refused)
        assert all(task.writes for task in tasks if not task.refusal)


def test_doing_nothing_is_never_right_but_where_one_must_refuse():
    for level in (1, 2, 3, 4, 5):
        assert all(task.writes or task.refusal for task in sample(level, "train", 100))


def test_at_least_three_personas_are_met():
    for level in LEVELS:
        assert len({task.persona for task in sample(level, "test", 60)}) >= 3


def test_answers_stand_at_every_place_of_the_list():
    places = Counter()
    for task in sample(1, "train", 300):
        rows = [flight for flight in task.flights if ("flights", flight.origin, flight.destination, flight.day) in task.reads]
        assert 3 <= len(rows) <= 6
        target = next(place for place, row in enumerate(rows) if row.flight_id == task.writes[0][2])
        places[target == 0, target == len(rows) - 1] += 1
    # With 3 to 6 rows the first is right in about 24 % of cases, and so is the last.
    assert 0.15 < places[True, False] / 300 < 0.35
    assert 0.15 < places[False, True] / 300 < 0.35


def test_tasks_are_the_same_in_another_process():
    ids = [scenario_ids(level, split)[11] for level in LEVELS for split in SPLITS]
    script = (
        "import sys\n"
        "from slmagent.scenarios.booking.tasks import make_task\n"
        "for scenario_id in sys.argv[1:]: print(repr(make_task(scenario_id)))"
    )
    done = subprocess.run([sys.executable, "-c", script, *ids], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [repr(make_task(scenario_id)) for scenario_id in ids]


def test_level_1_tasks_keep_their_content():
    """A published checkpoint and its scores refer to tasks by id: a change here needs a new version of the environment."""
    task = make_task("booking-1-test-00000")
    assert task.openings[0] == "Please book the 07:00 flight from Milan to Berlin on 21 June."
    assert task.writes == (("new", "flight", "FL878", 21, 0),)


@pytest.mark.parametrize(
    "bad", ["", "booking-1-train-99999", "booking-9-train-00000", "booking-1-dev-00000", "booking-1-train-1"]
)
def test_unknown_ids_are_refused(bad: str):
    with pytest.raises(ValueError, match="expected one like 'booking-1-train-00042'"):
        make_task(bad)


def test_draws_are_stable_and_cover_their_range():
    draw = Draw("a key")
    numbers = [draw.integer(1, 3) for _ in range(200)]
    assert set(numbers) == {1, 2, 3}
    again = Draw("a key")
    assert [again.integer(1, 3) for _ in range(200)] == numbers
    assert [Draw("another key").integer(1, 3) for _ in range(200)] != numbers
    assert sorted(Draw("x").sample(range(10), 10)) == list(range(10))


def test_the_database_reports_exactly_what_changed():
    person = Customer("U1", "Anna Berg", "blue")
    database = BookingDatabase("home", person, flights=FLIGHTS, hotels=[Hotel("HT1", "Rome", "A", 3, 9000)], first_reference=40)
    assert database.writes() == Counter()
    first = database.book("flight", "FL101", 3)
    second = database.book("hotel", "HT1", 3, 2)
    assert (first.reference, second.reference) == ("B40", "B41")
    database.notify("See B41, and FL101; ignore B4.")
    database.change("B40", FLIGHTS[1], 2000)
    database.cancel("B41", 0)
    assert database.writes() == Counter(
        {
            ("new", "flight", "FL102", 3, 0): 1,
            ("new", "hotel", "HT1", 3, 2): 1,
            ("cancel", "B41", 0): 1,
            ("notify", "HT1"): 1,
        }
    )
    copied = dataclasses.replace(database.customer(), tier="gold")
    assert (database.customer().tier, copied.tier) == ("blue", "gold")
    assert date_text("ood", 3) == "3 October"
