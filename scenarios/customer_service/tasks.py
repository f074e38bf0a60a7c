"""Help-desk tasks: what a customer wants, the records it is asked of, and the one right outcome. Frozen data; nothing acts."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from slmagent.scenarios.customer_service.database import ShopDatabase, Write
from slmagent.scenarios.customer_service.knowledge import EDITIONS, Edition, edition
from slmagent.scenarios.customer_service.policy import Policy
from slmagent.scenarios.customer_service.records import Customer, Item, Order
from slmagent.scenarios.draw import Draw
from slmagent.scenarios.quantities import Quantity
from slmagent.scenarios.splits import Catalogue, Family, family_of
from slmagent.scenarios.users import Slot

_PERSONAS = ("concise", "detailed", "humorous", "technical", "impatient", "confused")
_OOD_PERSONAS = (*_PERSONAS, "non_native")

Read = tuple[str, str]
"""A look-up that succeeded: ("order", id), ("article", id) or ("customer", "")."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A value the customer wants to hear."""

    kind: str
    """A unit (`day`, `eur`, `cup`, ...), or `date`, `state` or `carrier`."""
    value: str
    also: frozenset[Quantity] = frozenset()
    """Quantities that may be said beside it: those of the same source."""


@dataclass(frozen=True, slots=True)
class Task:
    """One scenario, complete."""

    scenario_id: str
    level: int
    split: str
    kind: str
    persona: str
    edition: Edition
    customer: Customer
    openings: tuple[str, ...]
    reads: tuple[Read, ...]
    """Look-ups that the right outcome rests on."""
    writes: tuple[Write, ...]
    """The changes of the database that the goal asks for, and no others."""
    expert_turns: int
    signature: tuple[Any, ...]
    """What is wanted and in which edition of the shop; never the same in two splits."""
    subject: tuple[str, ...]
    """Words that name what the customer asks about; all are in a message that confirms it."""
    cites: tuple[str, ...] = ()
    """Articles to name to the customer: of those in `reads` the ones that settle the case."""
    answer: Answer | None = None
    wishes: tuple[Slot, ...] = ()
    orders: tuple[Order, ...] = ()
    items: tuple[Item, ...] = ()
    policy: Policy | None = None
    refusal: str | None = None
    """The clause for which the first demand has to be refused."""
    pushbacks: tuple[str, ...] = ()
    """What the customer says against a refusal, in turn."""
    premise: Quantity | None = None
    """What is true where the customer's story is wrong; has to be said."""
    mood: float = 0.0
    """Added to the persona's mood at the start."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """What the expert needs besides, by level."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Task:
        return self  # immutable

    @property
    def family(self) -> Family:
        """The names it draws on."""
        return family_of(self.split)


Maker = Callable[[Draw, Edition, str], "dict[str, Any] | None"]
"""Builds a level's part of a task from a draw, the edition and the task kind; None if the edition offers none."""


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
        shop = edition(family_of(split), draw.pick(EDITIONS[split]))
        parts = maker(draw, shop, kind)
        if parts is not None:
            persona = draw.pick(_OOD_PERSONAS if split == "ood" else _PERSONAS)
            signature = (level, kind, shop.family, shop.number, *parts.pop("wanted"))
            return Task(scenario_id, level, split, kind, persona, shop, signature=signature, **parts)
        attempt += 1


def searches_for(shop: Edition, article_ids: Sequence[str]) -> int:
    """How many searches, each by a title, it takes to read all of some articles in their order."""
    seen: set[str] = set()
    searches = 0
    titles = {article.article_id: article.title for article in shop.articles}
    for article_id in article_ids:
        if article_id not in seen:
            seen |= {hit.article_id for hit in _archive(shop).search(titles[article_id])}
            searches += 1
    return searches


@functools.cache
def _archive(shop: Edition) -> ShopDatabase:
    return ShopDatabase(shop, Customer("", "", ""), (), ())


@functools.cache
def catalogue() -> Catalogue:
    """Ids and kinds of all tasks."""
    return Catalogue("customer-service", {level: kinds for level, (kinds, _) in _levels().items()})


@functools.cache
def _levels() -> Mapping[int, tuple[tuple[str, ...], Maker]]:
    from slmagent.scenarios.customer_service import complaints, disputes, orders, questions

    return {
        0: (questions.KINDS, questions.question),
        1: (orders.STATUS_KINDS, orders.order_status),
        2: (orders.RETURN_KINDS, orders.plain_return),
        3: (complaints.KINDS, complaints.vague_complaint),
        4: (disputes.DISPUTE_KINDS, disputes.refused_demand),
        5: (disputes.LINKED_KINDS, disputes.linked_problems),
    }
