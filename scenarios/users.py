"""The simulated user: an agenda of facts, an understanding of what it is asked, patience, mood and a manner of speaking.

Agenda-based (after Schatzmann et al. 2007): a user pursues a goal, tells the facts it was asked for, agrees or corrects, and
leaves when the talk leads nowhere. Rules and templates only; the domain comes in with the agenda.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from slmagent.scenarios.personas import Persona
from slmagent.scenarios.speech import CROSS_BELOW, Speaker
from slmagent.scenarios.understanding import SlotPattern, Understanding, understand

Proposal = Literal["none", "good", "bad"]

MAX_ANSWERS = 3
"""Facts told in one reply; who asks for more at once has to ask again."""
_WORD = re.compile(r"\w+")


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
    """The fact that changes; need not be among the agenda's slots."""
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

    def __post_init__(self) -> None:
        if not self.openings:
            raise ValueError("expected at least one opening, actual none")
        names = [slot.name for slot in self.slots]
        if len(set(names)) < len(names):
            raise ValueError(f"expected slots with distinct names, actual {names}")

    def __deepcopy__(self, memo: dict[int, Any]) -> Agenda:
        return self  # immutable


@dataclass(frozen=True, slots=True)
class UserReply:
    """What the user says and does."""

    text: str
    """One or two short sentences; empty only after it has left."""
    asked: tuple[str, ...] = ()
    """Facts of the agenda that the message asked for and that this reply tells."""
    confirmed: bool = False
    """Agreed to the proposal."""
    twist: bool = False
    """Announced its change of mind."""
    left: bool = False
    """Ended the talk."""


class UserSimulator:
    """A user of one episode.

    Args:
        agenda: What it wants and knows.
        persona: Its manner, patience and temper.
        rng: The only source of randomness; a copy made with `copy.deepcopy` goes on alike.
    """

    def __init__(self, agenda: Agenda, persona: Persona, rng: np.random.Generator) -> None:
        self.agenda = agenda
        self.persona = persona
        self.mood = min(1.0, max(-1.0, persona.mood_start + 0.2 * (2.0 * float(rng.random()) - 1.0)))
        """How pleased it is, in [-1, 1]."""
        self._rng = rng
        self._values = {slot.name: slot.value for slot in agenda.slots}
        self._patterns = {pattern.name: pattern for pattern in agenda.lexicon}
        facts = [*self._values.values(), agenda.twist.value if agenda.twist else ""]
        self._speaker = Speaker(persona, rng, kept=(word for fact in facts for word in _WORD.findall(fact.lower())))
        self._open = [slot.name for slot in agenda.slots if not slot.hidden]
        """Facts that may be told unasked."""
        self._told: set[str] = set()
        """Facts that have been told."""
        self._restated = dict.fromkeys(self._values, 0)
        self._fruitless = 0
        self._pushed = 0
        self._accepted = False
        self._agreed = False
        self._twisted = False
        self._left = False

    def opening(self) -> str:
        """The first message."""
        text = self.agenda.openings[int(self._rng.random() * len(self.agenda.openings))]
        self._told.update(name for name in self._open if self._values[name].lower() in text.lower())
        greeting = self._speaker.greeting()
        return " ".join(part for part in (greeting, self._speaker.verbatim(text), self._speaker.aside()) if part)

    def reply(
        self,
        text: str,
        *,
        progressed: bool,
        proposal: Proposal = "none",
        satisfied: bool = False,
        violates: Sequence[str] = (),
    ) -> UserReply:
        """Answers a message of the assistant; any string will do.

        Args:
            text: The message.
            progressed: The environment's state moved on since the user last spoke; this restores patience.
            proposal: The environment's judgement of the action that the message asks agreement for.
            satisfied: The environment knows that the goal is met; the user says so and does not leave by itself.
            violates: Facts that a bad proposal goes against; the user points to one of them unless all are hidden.
        """
        if self._left:
            return UserReply("", left=True)
        heard = understand(text, self.agenda.lexicon)
        asked = self._requested(heard)
        news = [name for name in asked if name not in self._told]
        agreeing = proposal == "good" and not self._agreed
        self._feel(good=progressed or satisfied or agreeing or bool(news), patient=heard.refuses and not self._accepted)
        if proposal == "good":
            return self._agree(asked)
        if self._fruitless >= self.persona.patience:
            return self._leave()
        if proposal == "bad":
            return UserReply(self._with_answers(self._correct(violates), asked), asked)
        if heard.refuses and not satisfied:
            return self._resist(asked)
        if asked:
            return UserReply(self._with_aside(self._answers(asked, repeated=not news)), asked)
        return UserReply(self._with_aside(self._respond(heard, progressed=progressed, satisfied=satisfied)))

    def state(self) -> dict[str, Any]:
        """Canonical dialogue state, JSON-able: equal situations are equal. The mood counts as pleased, even or cross."""
        return {
            "told": sorted(self._told),
            "twisted": self._twisted,
            "agreed": self._agreed,
            "pushed": self._pushed,
            "accepted": self._accepted,
            "fruitless": self._fruitless,
            "mood": "cross" if self._cross else "pleased" if self.mood > -CROSS_BELOW else "even",
            "left": self._left,
        }

    @property
    def told(self) -> frozenset[str]:
        """Names of the facts that it has told."""
        return frozenset(self._told)

    @property
    def pushed(self) -> int:
        """How often it has argued against a refusal."""
        return self._pushed

    def told_values(self) -> tuple[str, ...]:
        """Values that it has told, as it says them."""
        return tuple(value for name, value in self._values.items() if name in self._told)

    def secret_values(self) -> tuple[str, ...]:
        """Values that it has not told yet, the change of mind included."""
        twist = self.agenda.twist
        coming = () if twist is None or self._twisted else (twist.value,)
        return (*(value for name, value in self._values.items() if name not in self._told), *coming)

    # ---- what it does -------------------------------------------------------------------------------------------

    def _requested(self, heard: Understanding) -> tuple[str, ...]:
        """Facts that it will tell now: asked for and known, news first, in order of the question. None to those who beg."""
        if heard.begs:
            return ()
        known = [name for name in heard.asked if name in self._values]
        chosen = sorted(known, key=lambda name: name in self._told)[:MAX_ANSWERS]
        return tuple(name for name in known if name in chosen)

    def _feel(self, *, good: bool, patient: bool) -> None:
        """Moves mood and patience by one turn; a refusal costs mood but no patience as long as it is disputed."""
        persona = self.persona
        if good:
            self._fruitless = 0
            self.mood += persona.mood_gain * (1.0 - self.mood)
        else:
            self._fruitless += not patient
            self.mood -= persona.mood_drop * (1.0 + self.mood)

    def _agree(self, asked: tuple[str, ...]) -> UserReply:
        if self.agenda.twist is not None and not self._twisted:
            return UserReply(self._change_mind(), twist=True)
        self._agreed = True
        return UserReply(self._with_answers(self._speaker.line("agree"), asked), asked, confirmed=True)

    def _change_mind(self) -> str:
        """Takes on the new wish and announces it."""
        twist = self.agenda.twist
        assert twist is not None
        self._twisted = True
        self._values[twist.slot] = twist.value
        self._restated.setdefault(twist.slot, 0)
        self._told.add(twist.slot)
        if twist.slot not in self._open:
            self._open.append(twist.slot)
        return self._speaker.verbatim(twist.announcement)

    def _correct(self, violates: Sequence[str]) -> str:
        violated = [name for name in violates if name in self._values]
        tellable = [name for name in violated if self._may_tell(name)]
        name = self._least_restated(tellable or ([] if violated else self._tellable()))
        if name is None:
            return self._speaker.line("correct_blindly")
        return self._speaker.line("correct", cross=self._cross, value=self._values[name])

    def _resist(self, asked: tuple[str, ...]) -> UserReply:
        if self._pushed < len(self.agenda.pushbacks):
            self._pushed += 1
            said = self._speaker.verbatim(self.agenda.pushbacks[self._pushed - 1])
        else:
            self._accepted = True
            said = self._speaker.line("accept", cross=self._cross)
        return UserReply(self._with_answers(said, asked), asked)

    def _leave(self) -> UserReply:
        self._left = True
        return UserReply(self._speaker.line("leave", cross=self._cross), left=True)

    def _respond(self, heard: Understanding, *, progressed: bool, satisfied: bool) -> str:
        """The answer to a message that asks for no fact it knows, proposes nothing that was judged and refuses nothing."""
        say, cross = self._speaker.line, self._cross
        if heard.begs:
            return say("guard")
        if satisfied:
            return say("done")
        if heard.proposes:
            return say("which")
        if heard.asked:
            return self._no_wish(heard.asked[0])
        if heard.words == 0:
            return say("silence", cross=cross)
        if heard.offers:
            return say("look", cross=cross)
        if heard.not_found or heard.verifies or heard.asks_help:
            return self._remind()
        if heard.begs_all:
            return say("narrow")
        if heard.question:
            return say("unclear")
        if progressed:
            return say("go_on")
        if heard.filler:
            return say("wait", cross=cross)
        return say("soothe" if heard.apologises else "nudge", cross=cross)

    # ---- how it says it -----------------------------------------------------------------------------------------

    @property
    def _cross(self) -> bool:
        return self.mood < CROSS_BELOW

    def _may_tell(self, name: str) -> bool:
        return name in self._open or name in self._told

    def _tellable(self) -> list[str]:
        return [name for name in self._values if self._may_tell(name)]

    def _least_restated(self, names: Sequence[str]) -> str | None:
        if not names:
            return None
        name = min(names, key=lambda candidate: self._restated[candidate])
        self._restated[name] += 1
        self._told.add(name)
        return name

    def _remind(self) -> str:
        name = self._least_restated(self._tellable())
        if name is None:
            return self._speaker.line("remind_blindly")
        return self._speaker.line("remind", value=self._values[name])

    def _no_wish(self, name: str) -> str:
        pattern = self._patterns[name]
        if pattern.unknown:
            return self._speaker.fresh((pattern.unknown,), (pattern.unknown,), {})
        return self._speaker.line("no_wish", label=pattern.spoken)

    def _answers(self, names: Sequence[str], *, repeated: bool) -> str:
        """Tells facts in one sentence."""
        self._told.update(names)
        labelled = len(names) > 2 or (len(names) == 2 and self.persona.verbosity <= 0.2)
        clauses = [self._clause(name, f"{{v{place}}}", labelled) for place, name in enumerate(names)]
        answer = (", " if labelled else ", and ").join(clauses)
        values = {f"v{place}": self._values[name] for place, name in enumerate(names)}
        return self._speaker.line("answer_again" if repeated else "answer", cross=self._cross, answer=answer, **values)

    def _clause(self, name: str, placeholder: str, labelled: bool) -> str:
        pattern = self._patterns.get(name) or SlotPattern(name, ())
        if labelled:
            return f"{pattern.spoken}: {placeholder}"
        if self.persona.verbosity <= 0.2:
            return placeholder
        forms = pattern.answers or (f"for the {pattern.spoken}, {{value}}",)
        return forms[int(self._rng.random() * len(forms))].replace("{value}", placeholder)

    def _with_answers(self, said: str, names: Sequence[str]) -> str:
        if not names:
            return self._with_aside(said)
        return f"{said} {self._answers(names, repeated=all(name in self._told for name in names))}"

    def _with_aside(self, said: str) -> str:
        aside = self._speaker.aside(cross=self._cross)
        return f"{said} {aside}" if aside else said
