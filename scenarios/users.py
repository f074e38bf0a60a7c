"""The simulated user: an agenda of facts, an understanding of what it is asked, patience, mood and a manner of speaking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from slmagent.scenarios.personas import Persona
from slmagent.scenarios.understanding import SlotPattern, Understanding, understand

Proposal = Literal["none", "good", "bad"]


@dataclass(frozen=True, slots=True)
class Slot:
    """A fact the user knows."""

    name: str
    value: str
    """As the user says it; must make sense as an answer of its own ("5 May", "at most EUR 300")."""
    hidden: bool = False
    """Told only when asked for; the others may be told at any time."""


@dataclass(frozen=True, slots=True)
class Twist:
    """The one change of mind, told in place of the first agreement."""

    slot: str
    value: str
    announcement: str
    """A full sentence that contains `value`."""


@dataclass(frozen=True, slots=True)
class Agenda:
    """What a user wants and knows."""

    openings: tuple[str, ...]
    """First messages to choose from, full sentences; the persona adds its manner."""
    slots: tuple[Slot, ...]
    lexicon: tuple[SlotPattern, ...]
    pushbacks: tuple[str, ...] = ()
    """What it says, one after the other, when the agent refuses; afterwards it accepts."""
    twist: Twist | None = None


@dataclass(frozen=True, slots=True)
class UserReply:
    """What the user says and does."""

    text: str
    asked: tuple[str, ...] = ()
    """Facts of the agenda that the message asked for."""
    confirmed: bool = False
    twist: bool = False
    left: bool = False


class UserSimulator:
    """A user of one episode. All randomness comes from `rng`; copies made with `copy.deepcopy` go on alike."""

    def __init__(self, agenda: Agenda, persona: Persona, rng: np.random.Generator) -> None:
        self.agenda = agenda
        self.persona = persona
        self.mood = float(np.clip(persona.mood_start + 0.2 * (2 * rng.random() - 1), -1, 1))
        self._rng = rng
        self._values = {slot.name: slot.value for slot in agenda.slots}
        self._told = {slot.name for slot in agenda.slots if not slot.hidden}
        self._answered: set[str] = set()
        self._fruitless = 0
        self._pushed = 0
        self._twisted = False
        self._left = False
        self._said: set[str] = set()

    def opening(self) -> str:
        """The first message."""
        return self._once([self.agenda.openings[int(self._rng.random() * len(self.agenda.openings))]])

    def reply(self, text: str, *, progressed: bool, proposal: Proposal = "none", satisfied: bool = False) -> UserReply:
        """Answers a message."""
        if self._left:
            return UserReply("", left=True)
        heard = understand(text, self.agenda.lexicon)
        asked = tuple(name for name in heard.asked if name in self._values) if not heard.begs else ()
        news = [name for name in asked if name not in self._answered]
        fruitful = progressed or bool(news) or satisfied or proposal != "none"
        self._feel(fruitful)
        if proposal == "good":
            if self.agenda.twist is not None and not self._twisted:
                self._twisted = True
                self._values[self.agenda.twist.slot] = self.agenda.twist.value
                self._told.add(self.agenda.twist.slot)
                return UserReply(self._once([self.agenda.twist.announcement]), asked, twist=True)
            return UserReply(
                self._once(["Yes, please go ahead.", "Yes, do that.", "Yes, that one is right."]), asked, confirmed=True
            )
        if self._fruitless >= self.persona.patience:
            self._left = True
            return UserReply(self._once(["This leads nowhere, goodbye."]), asked, left=True)
        return UserReply(self._answer(heard, asked, proposal, satisfied), asked)

    def _answer(self, heard: Understanding, asked: tuple[str, ...], proposal: Proposal, satisfied: bool) -> str:
        known = [slot.name for slot in self.agenda.slots if slot.name in self._told]
        if proposal == "bad" and known:
            name = known[int(self._rng.random() * len(known))]
            return self._once([f"No, that does not fit: {self._values[name]}."])
        if asked:
            self._answered.update(asked)
            self._told.update(asked)
            return self._once([", ".join(self._values[name] for name in asked) + "."])
        if heard.refuses:
            if self._pushed < len(self.agenda.pushbacks):
                self._pushed += 1
                return self._once([self.agenda.pushbacks[self._pushed - 1]])
            return self._once(["I see, then I have to accept that."])
        if heard.proposes:
            return self._once(["Which one do you mean?"])
        if satisfied:
            return self._once(["Thank you, that is all I need."])
        if heard.question:
            return self._once(["I am not sure what you mean, can you say it differently?"])
        return self._once(["And now?", "I am waiting for the booking.", "What is the next step?"])

    def _feel(self, fruitful: bool) -> None:
        if fruitful:
            self._fruitless = 0
            self.mood += self.persona.mood_gain * (1 - self.mood)
        else:
            self._fruitless += 1
            self.mood -= self.persona.mood_drop * (1 + self.mood)

    def _once(self, sentences: list[str]) -> str:
        fresh = [sentence for sentence in sentences if sentence not in self._said]
        text = (
            fresh[int(self._rng.random() * len(fresh))]
            if fresh
            else f"{sentences[0][:-1]}, I say it again ({len(self._said)})."
        )
        self._said.add(text)
        return text

    def state(self) -> Any:
        """Canonical dialogue state, JSON-able: equal situations are equal."""
        return {
            "told": sorted(self._told | self._answered),
            "twisted": self._twisted,
            "pushed": self._pushed,
            "fruitless": self._fruitless,
            "left": self._left,
        }
