"""Booking tasks: what a customer wants, the world it is asked of, and the one right outcome. Frozen data; nothing here acts."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from slmagent.scenarios.booking.database import Booking, Write
from slmagent.scenarios.booking.draw import Draw
from slmagent.scenarios.booking.inventory import Family, family_of
from slmagent.scenarios.booking.policy import Policy
from slmagent.scenarios.booking.records import Customer, Flight, FlightQuery, Hotel, Weather

SPLIT_SIZES: Mapping[str, int] = {"train": 4000, "val": 500, "test": 500, "ood": 200}
_SHARES: Mapping[str, range] = {"train": range(0, 6), "val": range(6, 8), "test": range(8, 10)}
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


Maker = Callable[[Draw, Family, str, Callable[[tuple[Any, ...]], bool]], "dict[str, Any] | None"]
"""Builds a level's part of a task from a draw, the family, the task kind and a test whether a signature belongs to the split.
Returns None if it does not."""


def kinds_of(level: int) -> tuple[str, ...]:
    """Task kinds of a level, in the proportions in which its tasks cycle through them."""
    return _levels()[level][0]


@functools.cache
def scenario_ids(level: int, split: str) -> tuple[str, ...]:
    """Ids of all tasks of a level and split."""
    return tuple(f"booking-{level}-{split}-{index:05d}" for index in range(SPLIT_SIZES[split]))


def kind_of(scenario_id: str) -> str:
    """The task kind of an id, without building the task.

    Raises:
        ValueError: The id is not one of `scenario_ids`.
    """
    level, _, index = _parse(scenario_id)
    kinds = kinds_of(level)
    return kinds[index % len(kinds)]


def _parse(scenario_id: str) -> tuple[int, str, int]:
    match = re.fullmatch(r"booking-(\d)-(train|val|test|ood)-(\d{5})", scenario_id)
    if match is None or int(match[1]) not in _levels() or int(match[3]) >= SPLIT_SIZES[match[2]]:
        raise ValueError(f"unknown scenario id {scenario_id!r}; expected one like 'booking-1-train-00042'")
    return int(match[1]), match[2], int(match[3])


@functools.lru_cache(maxsize=4096)
def make_task(scenario_id: str) -> Task:
    """The task with an id; the same in every process.

    Raises:
        ValueError: The id is not one of `scenario_ids`.
    """
    level, split, _ = _parse(scenario_id)
    kind, maker = kind_of(scenario_id), _levels()[level][1]
    family = family_of(split)

    def belongs(signature: tuple[Any, ...]) -> bool:
        return split == "ood" or share_of(signature) in _SHARES[split]

    attempt = 0
    while True:
        draw = Draw(f"{scenario_id}|{attempt}")
        parts = maker(draw, family, kind, belongs)
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


def share_of(signature: tuple[Any, ...]) -> int:
    """The tenth (0 to 9) of all possible wishes that a signature falls into."""
    text = json.dumps(signature, ensure_ascii=False)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") % 10


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
