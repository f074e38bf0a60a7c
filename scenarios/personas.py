"""Who the simulated user is: manner of writing, patience and mood."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Persona:
    """A way of talking. Traits lie in [0, 1]."""

    name: str
    verbosity: float = 0.4
    """Bare values at 0, whole sentences with asides at 1."""
    formality: float = 0.5
    """Contractions and lower-case starts at 0, courteous full forms at 1."""
    humour: float = 0.0
    """Share of replies that carry a joke."""
    technicality: float = 0.0
    """Share of replies that carry a remark about identifiers, exact figures or data."""
    confusion: float = 0.0
    """Share of replies that carry a doubt; confused users also hesitate more."""
    fluency: float = 1.0
    """1 writes idiomatic English; lower drops articles and simplifies verbs (non-native writer)."""
    patience: int = 4
    """Speaking turns without progress it bears; it leaves at the last of them."""
    typo_rate: float = 0.0
    """Probability that a common word is misspelt. Slot values are never touched."""
    mood_start: float = 0.2
    """Mean mood at the start, in [-1, 1]; each episode jitters it by up to 0.2."""
    mood_gain: float = 0.3
    """Share of the way to +1 that a turn with progress moves the mood."""
    mood_drop: float = 0.25
    """Share of the way to -1 that a fruitless turn moves the mood."""

    def __post_init__(self) -> None:
        for trait in (
            "verbosity",
            "formality",
            "humour",
            "technicality",
            "confusion",
            "fluency",
            "typo_rate",
            "mood_gain",
            "mood_drop",
        ):
            value = getattr(self, trait)
            if not 0.0 <= value <= 1.0:
                raise ValueError(f"expected {trait} of persona {self.name!r} in [0, 1], actual {value!r}")
        if not -1.0 <= self.mood_start <= 1.0:
            raise ValueError(f"expected mood_start of persona {self.name!r} in [-1, 1], actual {self.mood_start!r}")
        if self.patience < 1:
            raise ValueError(f"expected patience of persona {self.name!r} >= 1, actual {self.patience!r}")


_ALL = (
    Persona("concise", verbosity=0.0, formality=0.3, patience=4, typo_rate=0.02),
    Persona("detailed", verbosity=1.0, formality=0.8, patience=5, mood_start=0.3),
    Persona("humorous", verbosity=0.5, formality=0.1, humour=0.8, patience=5, typo_rate=0.03, mood_start=0.6, mood_drop=0.15),
    Persona("technical", verbosity=0.5, formality=0.7, technicality=0.8, patience=4, mood_start=0.1),
    Persona(
        "impatient", verbosity=0.1, formality=0.1, patience=2, typo_rate=0.06, mood_start=-0.2, mood_gain=0.2, mood_drop=0.5
    ),
    Persona("confused", verbosity=0.6, formality=0.4, confusion=0.8, patience=5, typo_rate=0.08, mood_start=0.0),
    Persona("non_native", verbosity=0.4, formality=0.5, fluency=0.2, patience=5, typo_rate=0.12, mood_start=0.2),
)

PERSONAS: Mapping[str, Persona] = MappingProxyType({persona.name: persona for persona in _ALL})
"""The built-in personas by name."""
