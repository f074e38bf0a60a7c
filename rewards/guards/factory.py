"""Guards by name, so that an environment can take the choice as a keyword and record it in its spec."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from slmagent.errors import UsageError, nearest
from slmagent.rewards.guards.base import Guard
from slmagent.rewards.guards.embedding import EmbeddingOffTopic
from slmagent.rewards.guards.filler import Filler
from slmagent.rewards.guards.off_topic import LexicalOffTopic
from slmagent.rewards.guards.repetition import Repetition
from slmagent.rewards.guards.toxicity import ClassifierToxicity, LexiconToxicity

VARIANTS: Mapping[str, Mapping[str, Callable[..., Guard]]] = {
    "repetition": {"ngram": Repetition},
    "filler": {"phrases": Filler},
    "off_topic": {"lexical": LexicalOffTopic, "embedding": EmbeddingOffTopic},
    "toxicity": {"lexicon": LexiconToxicity, "classifier": ClassifierToxicity},
}
"""Kind of guard -> variant -> how it is made. The first variant of a kind needs no extra and is the default."""


def make_guard(kind: str, variant: str | None = None, **settings: Any) -> Guard:
    """A guard by name.

    Args:
        kind: `repetition`, `filler`, `off_topic` or `toxicity`.
        variant: How it judges, see `VARIANTS`; None takes the light one. A heavy one is never replaced by it in silence.
        settings: For the guard itself, such as `documents` of `off_topic` or `n` of `repetition`.

    Raises:
        UsageError: An unknown kind or variant.
        MissingExtraError: The variant's extra is not installed; the message has the pip command.
        ModelError: The variant's model is not on this machine; the message has the command that fetches it.
    """
    if kind not in VARIANTS:
        raise UsageError(f"unknown guard {kind!r}; {nearest(kind, VARIANTS)}")
    variants = VARIANTS[kind]
    chosen = next(iter(variants)) if variant is None else variant
    if chosen not in variants:
        raise UsageError(f"unknown variant {chosen!r} of the {kind} guard; {nearest(chosen, variants)}")
    return variants[chosen](**settings)
