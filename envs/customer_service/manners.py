"""How the agent talks, beside what it does: repetition, distance from the topic, empty phrases, insults."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from slmagent.rewards.guards import make_guard
from slmagent.rewards.guards.base import Guard
from slmagent.rewards.guards.toxicity import TOXIC
from slmagent.scenarios.customer_service.knowledge import Edition
from slmagent.types import Message


@dataclass(frozen=True, slots=True)
class Manners:
    """What the guards say of one message; each in [0, 1], 0 is as it should be."""

    repetition: float
    off_topic: float
    filler: float
    toxic: bool


def manners_of(text: str, history: Sequence[Message], shop: Edition, *, off_topic: str, toxicity: str) -> Manners:
    """Judges a message to the customer.

    Args:
        text: The message.
        history: The conversation before it.
        shop: Whose articles are the topic.
        off_topic: Variant of the guard, `lexical` or `embedding`.
        toxicity: Variant of the guard, `lexicon` or `classifier`.
    """
    return Manners(
        make_guard("repetition")(text, history),
        _topic(off_topic, shop)(text, history),
        make_guard("filler")(text, history),
        _toxicity(toxicity)(text) >= TOXIC,
    )


@functools.cache
def _topic(variant: str, shop: Edition) -> Guard:
    return make_guard("off_topic", variant, documents=[f"{article.title}. {article.text}" for article in shop.articles])


@functools.cache
def _toxicity(variant: str) -> Guard:
    return make_guard("toxicity", variant)
