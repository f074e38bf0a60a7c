"""Booking tasks: what a customer wants, the world it is asked of, and the one right outcome. Frozen data; nothing here acts."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from slmagent.scenarios.booking.database import Booking, Write
from slmagent.scenarios.booking.policy import Policy
from slmagent.scenarios.booking.records import Customer, Flight, FlightQuery, Hotel, Weather
from slmagent.scenarios.draw import Draw
from slmagent.scenarios.splits import Belongs, Catalogue, Family, belongs_to, family_of

_PERSONAS = ("concise", "detailed", "humorous", "technical", "impatient", "confused")

_OOD_PERSONAS = (*_PERSONAS, "non_native")

Read = tuple[Any, ...]
"""A look-up that succeeded: ("flights", origin, destination, day), ("hotels", city), ("weather", city, day) or ("user",)."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A value the customer wants to hear."""

    kind: str
    """price, rate, time, condition, celsius or tier."""
    value: str
    candidates: tuple[str, ...]
    """Other values of the same kind that the tools show; naming one of them contradicts the answer."""


@dataclass(frozen=True, slots=True)
class Wish:
    """One thing the customer knows about the goal."""

    name: str
    value: str
    """As the customer says it."""
    hidden: bool = False
    """Told only when asked for."""


@dataclass(frozen=True, slots=True)
class Task:
    """One scenario, complete."""

    scenario_id: str
    level: int
    split: str
    kind: str
    persona: str
    customer: Customer
    openings: tuple[str, ...]
    reads: tuple[Read, ...]
    """Look-ups that the right outcome rests on."""
    writes: tuple[Write, ...]
    """The changes of the database that the goal asks for, and no others."""
    expert_turns: int
    signature: tuple[Any, ...]
    """What is wanted, without the world's answer; its hash decides the split."""
    answer: Answer | None = None
    wishes: tuple[Wish, ...] = ()
    flights: tuple[Flight, ...] = ()
    hotels: tuple[Hotel, ...] = ()
    weather: tuple[Weather, ...] = ()
    bookings: tuple[Booking, ...] = ()
    first_reference: int = 10
    flight_query: FlightQuery | None = None
    first_writes: tuple[Write, ...] | None = None
    """What the customer agrees to before changing its mind; None if it never does."""
    twist: tuple[str, str, str] | None = None
    """The change of mind: name of the wish, its new value, and the sentence that says so."""
    policy: Policy | None = None
    refusal: str | None = None
    """The clause for which the request has to be refused."""
    pushbacks: tuple[str, ...] = ()
    """What the customer says against a refusal, in turn."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """What the expert needs besides, by level."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Task:
        return self  # immutable

    @property
    def family(self) -> Family:
        """The inventory it draws on."""
        return family_of(self.split)


Maker = Callable[[Draw, Family, str, Belongs], "dict[str, Any] | None"]
"""Builds a level's part of a task from a draw, the family, the task kind and a test whether a signature belongs to the split.
Returns None if it does not."""


def kinds_of(level: int) -> tuple[str, ...]:
    """Task kinds of a level, in the proportions in which its tasks cycle through them."""
    return catalogue().kinds[level]


def scenario_ids(level: int, split: str) -> tuple[str, ...]:
    """Ids of all tasks of a level and split."""
    return catalogue().ids(level, split)


def kind_of(scenario_id: str) -> str:
    """The task kind of an id, without building the task.

    Raises:
        ValueError: The id is not one of `scenario_ids`.
    """
    return catalogue().read(scenario_id)[2]


@functools.lru_cache(maxsize=4096)
def make_task(scenario_id: str) -> Task:
    """The task with an id; the same in every process.

    Raises:
        ValueError: The id is not one of `scenario_ids`.
    """
    level, split, kind = catalogue().read(scenario_id)
    maker = _levels()[level][1]
    attempt = 0
    while True:
        draw = Draw(f"{scenario_id}|{attempt}")
        parts = maker(draw, family_of(split), kind, belongs_to(split))
        if parts is not None:
            first_reference = draw.integer(20, 89)
            return Task(
                scenario_id,
                level,
                split,
                kind,
                draw.pick(_OOD_PERSONAS if split == "ood" else _PERSONAS),
                first_reference=first_reference,
                **parts,
            )
        attempt += 1


@functools.cache
def catalogue() -> Catalogue:
    """Ids and kinds of all tasks."""
    return Catalogue("booking", {level: kinds for level, (kinds, _) in _levels().items()})


@functools.cache
def _levels() -> Mapping[int, tuple[tuple[str, ...], Maker]]:
    from slmagent.scenarios.booking import changes, requests, trips, withheld

    return {
        0: (requests.QUESTION_KINDS, requests.question),
        1: (requests.DESCRIBED_KINDS, requests.described_flight),
        2: (requests.CHOICE_KINDS, requests.chosen_flight),
        3: (withheld.KINDS, withheld.withheld_flight),
        4: (changes.KINDS, changes.change_or_cancel),
        5: (trips.KINDS, trips.trip),
    }
