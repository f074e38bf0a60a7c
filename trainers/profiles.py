"""Trains the style classifier of `slmagent.agents.profiles` on simulated users.

Each user is a `Persona` drawn over the ranges of its traits that talks with an assistant about a booking; the labels are the
persona's traits. Users for the reported accuracy are drawn apart and want trips of the test split.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from slmagent.agents.profiles import FORMAT, LEVELS, TRAITS, Level, Profiler, featurize, model_path, words_in
from slmagent.errors import UsageError, require
from slmagent.scenarios.booking.tasks import make_task, scenario_ids
from slmagent.scenarios.booking_lexicon import BOOKING_LEXICON
from slmagent.scenarios.personas import Persona
from slmagent.scenarios.users import Agenda, Slot, UserSimulator

MESSAGES = (4, 10)
"""Fewest and most past messages of a simulated user."""
MIN_SHARE = 0.01
"""Share of the training users that must have used a word for it to be a feature."""
INVERSE_STRENGTH = 0.01
"""Inverse strength of the L2 penalty (scikit-learn's C), for features of unit variance."""

_ASKS = tuple(f"What is your {pattern.spoken}?" for pattern in BOOKING_LEXICON)
_NO_PROGRESS: dict[str, Any] = {"progressed": False}
_OTHERS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("Let me check that.", _NO_PROGRESS),
    ("I am sorry for the inconvenience.", _NO_PROGRESS),
    ("Have a wonderful day.", _NO_PROGRESS),
    ("", _NO_PROGRESS),
    ("I found three options for you.", {"progressed": True}),
    ("I am sorry, that is not possible.", _NO_PROGRESS),
    ("Shall I book FL100 for you?", {"progressed": False, "proposal": "bad"}),
    ("Shall I book FL200 for you?", {"progressed": True, "proposal": "good"}),
    ("Your booking is done.", {"progressed": True, "satisfied": True}),
)
"""What the other side says, with the environment's judgement of it."""


@dataclass(frozen=True, slots=True)
class SimulatedUser:
    """One user with what it wrote."""

    persona: Persona
    messages: tuple[str, ...]

    def level(self, trait: str) -> Level:
        """The true level of a trait: thirds of its range; of 1 to 6 turns of patience two each."""
        persona = self.persona
        if trait == "patience":
            return LEVELS[min(2, (persona.patience - 1) // 2)]
        return LEVELS[min(2, int(3.0 * (persona.verbosity if trait == "length" else getattr(persona, trait))))]


@dataclass(frozen=True, slots=True)
class TraitAccuracy:
    """How often the level of a trait was right on users that were not trained on."""

    trait: str
    right: int
    majority: int
    """How often the commonest level of the training users would have been right."""
    n: int


def draw_persona(rng: np.random.Generator) -> Persona:
    """A persona with every trait drawn over its range, independently but for one: impatient users are quick-tempered."""
    patience = int(rng.integers(1, 7))
    return Persona(
        "drawn",
        verbosity=float(rng.random()),
        formality=float(rng.random()),
        humour=float(rng.random()),
        technicality=float(rng.random()),
        confusion=float(rng.random() * (rng.random() < 0.3)),
        fluency=float(1.0 - rng.random() * (rng.random() < 0.2)),
        patience=patience,
        typo_rate=float(0.12 * rng.random()),
        mood_start=float(rng.uniform(-0.3, 0.6)),
        mood_drop=float(np.clip(0.6 - 0.08 * patience + rng.uniform(-0.1, 0.1), 0.0, 1.0)),
    )


def simulate_user(seed: Sequence[int], split: str) -> SimulatedUser:
    """A user with a random persona and its side of a talk about a booking.

    Args:
        seed: Entropy; equal seeds give equal users.
        split: Where its wishes come from.
    """
    rng = np.random.default_rng(seed)
    persona = draw_persona(rng)
    ids = scenario_ids(int(rng.integers(6)), split)
    task = make_task(ids[int(rng.integers(len(ids)))])
    slots = tuple(Slot(wish.name, wish.value, wish.hidden) for wish in task.wishes)
    user = UserSimulator(Agenda(task.openings, slots, BOOKING_LEXICON, task.pushbacks), persona, rng)
    messages = [user.opening()]
    for _ in range(int(rng.integers(MESSAGES[0], MESSAGES[1] + 1)) - 1):
        text, judgement = _ASKS[int(rng.integers(len(_ASKS)))], _NO_PROGRESS
        if rng.random() < 0.5:
            text, judgement = _OTHERS[int(rng.integers(len(_OTHERS)))]
        reply = user.reply(text, **judgement)
        messages.append(reply.text)
        if reply.left:
            break
    return SimulatedUser(persona, tuple(messages))


def train_profiler(
    users: int = 4000, held_out: int = 1000, *, seed: int = 0, progress: Callable[[int], None] | None = None
) -> tuple[dict[str, Any], list[TraitAccuracy]]:
    """Trains a multinomial logistic regression for each trait.

    Args:
        users: Simulated users to train on.
        held_out: Further users, with other personas and wishes, that the accuracy is measured on.
        seed: Draws the users.
        progress: Called with the number of users simulated so far.

    Returns:
        The classifier as plain JSON data, and its accuracy by trait.

    Raises:
        MissingExtraError: The extra `profiles` is not installed.
        UsageError: Too few users.
    """
    if users < 100 or held_out < 1:
        raise UsageError(f"expected at least 100 users and 1 held out, actual {users} and {held_out}")
    require("sklearn", extra="profiles", purpose="training a style classifier")
    from sklearn.linear_model import LogisticRegression

    say = progress or (lambda done: None)
    known: list[SimulatedUser] = []
    new: list[SimulatedUser] = []
    for group, split, part, count in ((known, "train", 0, users), (new, "test", 1, held_out)):
        for index in range(count):
            group.append(simulate_user((seed, part, index), split))
            say(len(known) + len(new))
    spread = Counter(word for user in known for word in {word for message in user.messages for word in words_in(message)})
    words = sorted(word for word, count in spread.items() if count >= MIN_SHARE * users)
    vocabulary = {word: place for place, word in enumerate(words)}
    features = np.stack([featurize(user.messages, vocabulary) for user in known])
    mean, scale = features.mean(axis=0), features.std(axis=0)
    scale[scale == 0.0] = 1.0
    model: dict[str, Any] = {"format": FORMAT, "users": users, "seed": seed, "vocabulary": words, "traits": {}}
    for trait in TRAITS:
        labels = [LEVELS.index(user.level(trait)) for user in known]
        fitted = LogisticRegression(C=INVERSE_STRENGTH, max_iter=1000).fit((features - mean) / scale, labels)
        weights = fitted.coef_ / scale  # the scaling is folded in, so that whoever uses them need not know of it
        bias = fitted.intercept_ - weights @ mean
        model["traits"][trait] = {"weights": np.round(weights, 5).tolist(), "bias": np.round(bias, 5).tolist()}
    return model, _accuracy(Profiler(model), known, new)


def _accuracy(profiler: Profiler, known: Sequence[SimulatedUser], new: Sequence[SimulatedUser]) -> list[TraitAccuracy]:
    profiles = [profiler.profile(user.messages) for user in new]
    results = []
    for trait in TRAITS:
        commonest = Counter(user.level(trait) for user in known).most_common(1)[0][0]
        right = sum(profile.levels[trait] == user.level(trait) for profile, user in zip(profiles, new, strict=True))
        majority = sum(user.level(trait) == commonest for user in new)
        results.append(TraitAccuracy(trait, right, majority, len(new)))
    return results


def save_profiler(model: dict[str, Any], path: Path | None = None) -> Path:
    """Writes the classifier, in one rename, and returns its file.

    Args:
        model: From `train_profiler`.
        path: By default its place in the cache.
    """
    file = path or model_path()
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_name(f".{file.name}.{os.getpid()}")
    partial.write_text(json.dumps(model) + "\n", encoding="utf-8")
    partial.replace(file)
    return file
