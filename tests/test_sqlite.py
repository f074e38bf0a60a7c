"""Databases of episodes: a connection that is used again brings nothing along."""

from __future__ import annotations

import copy
import gc
import pickle
import subprocess
import sys

import pytest

from slmagent.scenarios.booking.database import BookingDatabase
from slmagent.scenarios.booking.records import Customer, Flight
from slmagent.scenarios.sqlite import MAX_IDLE, EpisodeDatabase, Template, fields_of

TEMPLATE = Template(
    "CREATE TABLE cities (name TEXT); CREATE TABLE notes (number INTEGER PRIMARY KEY, text TEXT);",
    {"cities": [("Rome",), ("Oslo",)]},
    own=("notes",),
)


class Notes(EpisodeDatabase):
    """A database with a table of its own."""

    @property
    def _template(self) -> Template:
        return TEMPLATE

    def add(self, text: str) -> None:
        self._connection.execute("INSERT INTO notes (text) VALUES (?)", (text,))

    def all(self, table: str = "notes") -> list[tuple[object, ...]]:
        return list(self._connection.execute(f"SELECT * FROM {table} ORDER BY rowid"))


def test_a_used_connection_starts_afresh() -> None:
    first = Notes({"notes": [(1, "kept")]})
    first.add("more")
    assert first.all() == [(1, "kept"), (2, "more")]
    connection = first._connection
    del first
    second = Notes({})
    assert second._connection is connection
    assert second.all() == []
    assert second.all("cities") == [("Rome",), ("Oslo",)]
    second.add("new")
    assert second.all() == [(1, "new")]


def test_databases_that_live_at_once_are_apart() -> None:
    databases = [Notes({"notes": [(1, str(number))]}) for number in range(5)]
    databases[2].add("more")
    assert [len(database.all()) for database in databases] == [1, 1, 2, 1, 1]


@pytest.mark.parametrize("double", [copy.deepcopy, lambda database: pickle.loads(pickle.dumps(database))])
def test_copies_go_their_own_way(double) -> None:
    database = Notes({"notes": [(1, "a")]})
    twin = double(database)
    database.add("b")
    assert (database.all(), twin.all()) == ([(1, "a"), (2, "b")], [(1, "a")])
    del twin
    assert Notes({}).all() == []


def test_a_closed_database_is_closed_and_idle_connections_are_few() -> None:
    database = Notes({})
    database.close()
    database.close()
    with pytest.raises(AttributeError):
        database.all()
    many = [Notes({}) for _ in range(MAX_IDLE + 10)]
    many.clear()
    assert len(TEMPLATE._idle) <= MAX_IDLE
    broken = TEMPLATE.connect({})
    broken.execute("BEGIN")
    TEMPLATE.give_back(broken)
    assert all(connection is not broken for connection in TEMPLATE._idle)


def test_what_is_remembered_of_a_booking_follows_every_change() -> None:
    person = Customer("U1", "Ann Lee", "blue")
    flights = [Flight("FL1", "Rome", "Oslo", 3, "09:00", 100, 0), Flight("FL2", "Rome", "Oslo", 4, "09:00", 100, 0)]
    database = BookingDatabase("home", person, flights=flights)
    assert (database.bookings(), database.writes().total()) == ([], 0)
    reference = database.book("flight", "FL1", 3).reference
    assert [booking.item_id for booking in database.bookings()] == ["FL1"]
    database.change(reference, flights[1], 0)
    assert database.writes() == {("new", "flight", "FL2", 4, 0): 1}
    twin = copy.deepcopy(database)
    database.cancel(reference, 5)
    assert database.booking(reference).status == "cancelled"  # type: ignore[union-attr]
    assert twin.booking(reference).status == "active"  # type: ignore[union-attr]
    database.notify(f"See {reference}.")
    assert ("notify", "FL2") in database.writes()


def test_desks_let_their_database_go_at_once() -> None:
    """Without a garbage collection: a cycle would keep databases of episodes that are over."""
    import gymnasium

    import slmagent  # noqa: F401  (registers the environments)

    for env_id in ("SLMAgent/Booking-v0", "SLMAgent/CustomerService-v0"):
        env = gymnasium.make(env_id, level=4, disable_env_checker=True).unwrapped
        env.reset(seed=0)
        gc.collect()
        gc.disable()
        try:
            before = sum(isinstance(one, EpisodeDatabase) for one in gc.get_objects())
            for _ in range(5):
                env.reset(seed=0)
                env.step(env.expert())  # type: ignore[attr-defined]
            assert sum(isinstance(one, EpisodeDatabase) for one in gc.get_objects()) == before
        finally:
            gc.enable()


def test_fields_come_in_order() -> None:
    assert fields_of(Customer("U1", "Ann Lee", "blue")) == ("U1", "Ann Lee", "blue")


def test_nothing_is_said_when_the_interpreter_ends() -> None:
    script = (
        "import gymnasium, slmagent\n"
        "envs = [gymnasium.make(f'SLMAgent/{name}-v0', disable_env_checker=True) for name in ('Booking', 'CustomerService')]\n"
        "[env.reset(seed=0) for env in envs]\n"
        "import builtins; builtins.kept = envs\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr == ""
