"""A simulated user who asks one question after the other, may change its mind and its mood, and cares how it is answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from slmagent.scenarios.personas import Persona
from slmagent.scenarios.understanding import Understanding, understand
from slmagent.scenarios.users import Agenda, UserReply, UserSimulator


@dataclass(frozen=True, slots=True)
class Inquiry:
    """One thing the user wants to know."""

    wordings: tuple[str, ...]
    """Questions to choose from, without their first capital, question mark included."""
    short: tuple[str, ...]
    """The same for users of few words."""
    twist: bool = False
    """The user announces its change of mind before it asks."""
    persona: Persona | None = None
    """From this question on the user is in this manner; None keeps the one it has."""


class Inquirer(UserSimulator):
    """A user of one episode with a list of questions.

    It cannot tell right answers from wrong ones: it takes what it is told and goes on.

    Args:
        agenda: What it knows; its openings are ignored, the first question opens the talk.
        persona: Its manner at the start.
        rng: The only source of randomness.
        inquiries: The questions, at least one, in order.
    """

    def __init__(self, agenda: Agenda, persona: Persona, rng: np.random.Generator, inquiries: Sequence[Inquiry]) -> None:
        if not inquiries:
            raise ValueError("expected at least one inquiry, actual none")
        super().__init__(agenda, persona, rng)
        self.inquiries = tuple(inquiries)
        self.asking = 0
        """Index of the open question; the number of questions when all have been answered."""
        self._wording = ""
        self._minded = False

    def opening(self) -> str:
        """The first question."""
        return " ".join(part for part in (self._speaker.greeting(), self._ask("ask"), self._speaker.aside()) if part)

    def react(self, text: str, *, answered: bool, premature: bool = False, fault: str = "") -> UserReply:
        """Answers a message of the assistant; any string will do.

        Args:
            text: The message.
            answered: It answers the open question, rightly or wrongly.
            premature: It answers, but the user has not told yet what the answer depends on.
            fault: What the user minds about the style, an occasion of `inquiry_lines`; empty when it is as the user likes it.
        """
        answered = answered and not premature and self.asking < len(self.inquiries)
        if answered:
            self.asking += 1
        satisfied = self.asking == len(self.inquiries)
        if self._left or not answered or satisfied:
            proposal = "bad" if premature else "none"
            violates = [name for name in self._values if name not in self._told] if premature else ()
            reply = self.reply(text, progressed=answered, proposal=proposal, satisfied=satisfied, violates=violates)
        else:
            reply = self._go_on(text)
        if reply.left or understand(text, self.agenda.lexicon).words == 0:
            return reply
        return replace(reply, text=f"{reply.text} {remark}") if (remark := self._mind(fault)) else reply

    def state(self) -> dict[str, Any]:
        """Canonical dialogue state, JSON-able."""
        return {**super().state(), "asking": self.asking, "persona": self.persona.name, "minded": self._minded}

    def _go_on(self, text: str) -> UserReply:
        """Takes an answer and asks the next question."""
        heard = understand(text, self.agenda.lexicon)
        asked = self._requested(heard)
        self._feel(good=True, patient=True)
        inquiry = self.inquiries[self.asking]
        parts = [self._speaker.line("accept", cross=self._cross)] if heard.refuses else []
        if inquiry.persona is not None:
            self._take_on(inquiry.persona)
        if asked:
            parts.append(self._answers(asked, repeated=all(name in self._told for name in asked)))
        if inquiry.twist:
            parts.append(self._change_mind())
        parts.append(self._ask("ask"))
        return UserReply(self._with_aside(" ".join(parts)), asked, twist=inquiry.twist)

    def _take_on(self, persona: Persona) -> None:
        """Goes on in another manner; what it has said and how it feels stay."""
        self.persona = self._speaker.persona = persona

    def _ask(self, occasion: str) -> str:
        inquiry = self.inquiries[self.asking]
        if occasion == "ask":
            wordings = inquiry.short if self.persona.verbosity <= 0.2 else inquiry.wordings
            self._wording = wordings[int(self._rng.random() * len(wordings))]
        return self._speaker.line(occasion, cross=self._cross, answer=self._wording)

    def _mind(self, fault: str) -> str:
        """What it says about the style: a complaint, or relief when it had complained before."""
        if fault:
            self._minded = True
            self.mood -= self.persona.mood_drop * (1.0 + self.mood)
            return self._speaker.line(fault)
        relieved, self._minded = self._minded, False
        return self._speaker.line("better") if relieved else ""

    def _remind(self) -> str:
        return self._ask("ask_again")

    def _resist(self, asked: tuple[str, ...]) -> UserReply:
        return UserReply(self._with_answers(self._ask("ask_again"), asked), asked)

    def _respond(self, heard: Understanding, *, progressed: bool, satisfied: bool) -> str:
        said = super()._respond(heard, progressed=progressed, satisfied=satisfied)
        # An answer that is none ("It is a fine tent.") gets the question again, silence and begging do not.
        lost = not (satisfied or heard.question or heard.begs or heard.begs_all or heard.filler or heard.words == 0)
        return f"{said} {self._ask('ask_again')}" if lost else said


def past_messages(persona: Persona, rng: np.random.Generator, inquiries: Sequence[Inquiry]) -> list[str]:
    """What a user wrote in an earlier talk: its questions, each answered.

    Args:
        persona: Who wrote.
        rng: The only source of randomness.
        inquiries: What it asked about.
    """
    user = Inquirer(Agenda(("",), (), ()), persona, rng, inquiries)
    said = [user.opening()]
    for _ in inquiries[1:]:
        said.append(user.react("", answered=True).text)
    return said
