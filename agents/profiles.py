"""Style profiles: what a user's past messages say about how the user likes to be talked to.

A light linear classifier for each trait, trained by `slmagent profile train` (see `slmagent.trainers.profiles`) and kept as a
plain JSON of coefficients; reading it and judging messages needs numpy only.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from slmagent.errors import UsageError
from slmagent.fetching import ModelError, cache_dir

Level = Literal["low", "medium", "high"]
LEVELS: tuple[Level, ...] = ("low", "medium", "high")
TRAITS = ("length", "formality", "technicality", "humour", "patience")
FORMAT = 1
"""Version of the JSON file; it changes whenever `featurize` does."""
TRAIN_COMMAND = "slmagent profile train"

_WORDING: Mapping[str, tuple[str, str]] = {
    "length": ("briefly", "at length"),
    "formality": ("casually", "formally"),
    "technicality": ("in plain words", "technically, with exact figures"),
    "humour": ("matter-of-factly", "with humour"),
}
"""How a user writes at the low and at the high level of a trait."""
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_SENTENCE_END = re.compile(r"[.!?]+(?:\s|$)")
_CONTRACTION = re.compile(r"\w'(?:s|re|ll|ve|m|d|t)\b")
_MARKS = re.compile(r"[!?,;:()]|\d")


@dataclass(frozen=True, slots=True)
class Profile:
    """Style of one user."""

    levels: Mapping[str, Level]
    """Trait of `TRAITS` -> level."""
    certainty: Mapping[str, float]
    """Trait -> probability of that level, in [1/3, 1]."""

    def sentence(self) -> str:
        """The profile for a system prompt; says nothing of medium traits."""
        extremes = {"low": 0, "high": 1}
        ways = [words[extremes[level]] for trait, words in _WORDING.items() if (level := self.levels[trait]) in extremes]
        parts = [f"The user writes {_listed(ways)}; answer the same way." if ways else "The user writes in an average style."]
        if self.levels["patience"] == "low":
            parts.append("The user loses patience quickly.")
        return " ".join(parts)


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def words_in(message: str) -> list[str]:
    """Lower-case words of a message, without numbers."""
    return _WORD.findall(message.lower().replace("\u2019", "'"))


def featurize(messages: Sequence[str], vocabulary: Mapping[str, int]) -> np.ndarray:
    """Features of a user's messages (F,), float64: nine of the surface, then for each known word the share of messages with it.

    Args:
        messages: What the user wrote; at least one of them with a word.
        vocabulary: Word -> its place behind the surface features.

    Raises:
        UsageError: There is no word in the messages.
    """
    words = [words_in(message) for message in messages]
    total = sum(map(len, words))
    if total == 0:
        raise UsageError("expected past messages of the user with words in them, actual none")
    spoken = [message for message, its in zip(messages, words, strict=True) if its]
    characters = " ".join(spoken)
    sentences = sum(max(1, len(_SENTENCE_END.findall(message))) for message in spoken)
    marks = _MARKS.findall(characters)
    surface = (
        np.log(total / len(spoken)),
        np.log(total / sentences),
        sum(len(word) for its in words for word in its) / total,
        sum(message.lstrip()[0].islower() for message in spoken) / len(spoken),
        len(_CONTRACTION.findall(characters)) / total,
        marks.count("!") / sentences,
        marks.count("?") / sentences,
        sum(map(marks.count, ",;:()")) / sentences,
        sum(mark.isdigit() for mark in marks) / total,
    )
    features = np.zeros(len(surface) + len(vocabulary))
    features[: len(surface)] = surface
    for its in words:
        places = [len(surface) + vocabulary[word] for word in set(its) if word in vocabulary]
        features[places] += 1.0 / len(spoken)
    return features


class Profiler:
    """Classifies users by their past messages.

    Args:
        model: The content of the JSON file, as `slmagent.trainers.profiles` makes it.
    """

    def __init__(self, model: Mapping[str, Any]) -> None:
        self._vocabulary = {word: place for place, word in enumerate(model["vocabulary"])}
        self._weights = {trait: np.asarray(model["traits"][trait]["weights"], dtype=float) for trait in TRAITS}
        self._bias = {trait: np.asarray(model["traits"][trait]["bias"], dtype=float) for trait in TRAITS}

    def profile(self, messages: Sequence[str]) -> Profile:
        """The style of a user.

        Args:
            messages: What the user wrote in the past, the more the better.

        Raises:
            UsageError: There is no word in the messages.
        """
        features = featurize(messages, self._vocabulary)
        chances = {trait: _softmax(self._weights[trait] @ features + self._bias[trait]) for trait in TRAITS}
        return Profile(
            {trait: LEVELS[int(chance.argmax())] for trait, chance in chances.items()},
            {trait: float(chance.max()) for trait, chance in chances.items()},
        )

    def describe(self, messages: Sequence[str]) -> str:
        """The style of a user as a sentence for the system prompt.

        Raises:
            UsageError: There is no word in the messages.
        """
        return self.profile(messages).sentence()


def _softmax(logits: np.ndarray) -> np.ndarray:
    shifted = np.exp(logits - logits.max())
    return shifted / shifted.sum()


def model_path() -> Path:
    """Where the trained classifier lies in the cache."""
    return cache_dir() / "profiles" / "style.json"


def load_profiler(path: Path | None = None) -> Profiler:
    """The trained classifier.

    Args:
        path: Its JSON file; by default that of the cache.

    Raises:
        ModelError: It has not been trained yet, or the file is damaged; the message names the command that trains it.
    """
    file = path or model_path()
    try:
        return _read(file, file.stat().st_mtime_ns)
    except FileNotFoundError:
        raise ModelError(f"there is no style classifier at {file} yet; train it with: {TRAIN_COMMAND}") from None
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise ModelError(f"cannot use the style classifier {file} ({problem}); train it again with: {TRAIN_COMMAND}") from None


@functools.lru_cache(maxsize=4)
def _read(file: Path, modified_ns: int) -> Profiler:
    model = json.loads(file.read_text(encoding="utf-8"))
    if model["format"] != FORMAT:
        raise ValueError(f"expected format {FORMAT}, actual {model['format']!r}")
    return Profiler(model)


def describe(messages: Sequence[str]) -> str:
    """`Profiler.describe` with the classifier of the cache.

    Raises:
        ModelError: It has not been trained yet.
        UsageError: There is no word in the messages.
    """
    return load_profiler().describe(messages)
