"""How well an assistant's messages suit the way a user writes. Cheap lexical features, no model."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from slmagent.scenarios.personas import Persona

_WORD = re.compile(r"[\w'\u2019:-]+")
_FORMAL = re.compile(
    r"\b(?:thank you|please|kindly|certainly|would you|your|pleasure|i have|i will|i am|regards)\b", re.IGNORECASE
)
_INFORMAL = re.compile(
    r"\b(?:hey|hi|yep|yeah|ok|okay|cool|done|great|all set|no worries|\w+['\u2019](?:s|re|ll|ve|m|d|t)|cheers)\b|!",
    re.IGNORECASE,
)
_PLAYFUL = re.compile(r"!|[:;]-?[)D]|\b(?:haha|fun|happy|enjoy|fingers crossed|lucky|smile|fly high)\b", re.IGNORECASE)
_EXACT = re.compile(r"\b(?:[A-Z]+\d+|\d+[:.]?\d*)\b")

LENGTH_TOLERANCE = 1.6
"""A message up to this factor longer or shorter than what the user likes is still right."""


@dataclass(frozen=True, slots=True)
class StyleMeasure:
    """How strictly style is judged. The three weights add up to 1."""

    length: float
    formality: float
    taste: float
    """Weight of the user's special taste: jokes, exact figures; plain talk for the rest."""
    reach: float
    """Factor beyond the tolerance at which a length is all wrong."""
    joke_limit: float
    """Formality from which on a joke displeases a user who makes none itself."""


DESK = StyleMeasure(length=0.5, formality=0.3, taste=0.2, reach=4.0, joke_limit=0.5)
"""For users who want something done: length counts most, and far misses still count a little."""
TALK = StyleMeasure(length=0.4, formality=0.3, taste=0.3, reach=2.0, joke_limit=0.0)
"""For users who care how they are talked to."""


def words_liked(persona: Persona) -> float:
    """Words a message that a user likes: 5 for the tersest, 20 for the most talkative."""
    return 5.0 * 4.0**persona.verbosity


def count_words(text: str) -> int:
    """Words in a message; numbers are words."""
    return len(_WORD.findall(text))


def style_match(messages: Sequence[str], persona: Persona, measure: StyleMeasure = DESK) -> float | None:
    """Match of an assistant's messages with a user's style: length, formality and special taste, each in [0, 1], weighted.

    Args:
        messages: What was said to the user; messages without words are left out.
        persona: Whose style is the measure.
        measure: How strictly it is judged.

    Returns:
        A number in [0, 1]; None when nothing was said.
    """
    said = [message for message in messages if _WORD.search(message)]
    if not said:
        return None
    return sum(
        measure.length * _length(text, persona, measure.reach)
        + measure.formality * _formality(text, persona)
        + measure.taste * _taste(text, persona, measure.joke_limit)
        for text in said
    ) / len(said)


def style_fault(message: str, persona: Persona, measure: StyleMeasure = DESK) -> str:
    """What a user minds most about a message's style.

    Returns:
        `too_long`, `too_short`, `too_formal`, `too_casual`, `no_joke`, `no_figures` or `joke`.
    """
    length, taste = _length(message, persona, measure.reach), _taste(message, persona, measure.joke_limit)
    wanted = "no_joke" if persona.humour >= 0.5 else "no_figures" if persona.technicality >= 0.5 else "joke"
    losses = {
        "too_long" if count_words(message) > words_liked(persona) else "too_short": measure.length * (1.0 - length),
        "too_formal" if _heard_formality(message) > persona.formality else "too_casual": measure.formality
        * (1.0 - _formality(message, persona)),
        wanted: measure.taste * (1.0 - taste),
    }
    return max(losses, key=lambda name: losses[name])


def _length(text: str, persona: Persona, reach: float) -> float:
    ratio = count_words(text) / words_liked(persona)
    excess = max(0.0, abs(math.log(ratio)) - math.log(LENGTH_TOLERANCE)) if ratio else math.inf
    return max(0.0, 1.0 - excess / math.log(reach))


def _heard_formality(text: str) -> float:
    formal, informal = len(_FORMAL.findall(text)), len(_INFORMAL.findall(text))
    return 0.5 if formal == informal else formal / (formal + informal)


def _formality(text: str, persona: Persona) -> float:
    return 1.0 - abs(_heard_formality(text) - persona.formality)


def _taste(text: str, persona: Persona, joke_limit: float) -> float:
    playful, exact = bool(_PLAYFUL.search(text)), len(_EXACT.findall(text))
    if persona.humour >= 0.5:
        return float(playful)
    if persona.technicality >= 0.5:
        return min(1.0, exact / 2)
    return 0.0 if playful and persona.formality >= joke_limit else 1.0
