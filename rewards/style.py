"""How well an assistant's messages suit the way a user writes. Cheap lexical features, no model."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

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


def words_liked(persona: Persona) -> float:
    """Words a message that a user likes: 5 for the tersest, 20 for the most talkative."""
    return 5.0 * 4.0**persona.verbosity


def style_match(messages: Sequence[str], persona: Persona) -> float | None:
    """Match of an assistant's messages with a user's style.

    Length counts for a half, formality for three tenths, and the user's special taste (jokes, exact figures; plain talk for the
    rest) for two tenths.

    Args:
        messages: What was said to the user; messages without words are left out.
        persona: Whose style is the measure.

    Returns:
        A number in [0, 1]; None when nothing was said.
    """
    said = [message for message in messages if _WORD.search(message)]
    if not said:
        return None
    return sum(
        0.5 * _length(text, persona) + 0.3 * _formality(text, persona) + 0.2 * _taste(text, persona) for text in said
    ) / len(said)


def _length(text: str, persona: Persona) -> float:
    ratio = len(_WORD.findall(text)) / words_liked(persona)
    excess = max(0.0, abs(math.log(ratio)) - math.log(LENGTH_TOLERANCE))
    return max(0.0, 1.0 - excess / math.log(4.0))


def _formality(text: str, persona: Persona) -> float:
    formal, informal = len(_FORMAL.findall(text)), len(_INFORMAL.findall(text))
    heard = 0.5 if formal == informal else formal / (formal + informal)
    return 1.0 - abs(heard - persona.formality)


def _taste(text: str, persona: Persona) -> float:
    playful, exact = bool(_PLAYFUL.search(text)), len(_EXACT.findall(text))
    if persona.humour >= 0.5:
        return float(playful)
    if persona.technicality >= 0.5:
        return min(1.0, exact / 2)
    return 0.0 if playful and persona.formality >= 0.5 else 1.0
