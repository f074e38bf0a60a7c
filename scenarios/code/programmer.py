"""The simulated programmer: asks for code, answers what is open, accepts or says what is wrong."""

from __future__ import annotations

import re

import numpy as np

from slmagent.scenarios.code.records import Clarification, CodeTask
from slmagent.scenarios.personas import Persona
from slmagent.scenarios.speech import Speaker
from slmagent.scenarios.understanding import SlotPattern
from slmagent.scenarios.users import Agenda, Slot, UserReply, UserSimulator

_CODE = re.compile(r"`[^`]*`")
_WORD = re.compile(r"\w+")


class Programmer(UserSimulator):
    """The programmer of one episode.

    Args:
        task: What is wanted.
        persona: Its manner.
        rng: The only source of randomness.
    """

    def __init__(self, task: CodeTask, persona: Persona, rng: np.random.Generator) -> None:
        slots = tuple(Slot(open_.topic, open_.answer, hidden=True) for open_ in task.clarifications)
        super().__init__(Agenda((task.request,), slots, tuple(map(_pattern, task.clarifications))), persona, rng)
        self.quoted = tuple(_CODE.findall(task.request))
        """Code in the request, which no typo may touch."""
        said = (*self.quoted, *(slot.value for slot in slots))
        self._speaker = Speaker(persona, rng, kept=(word for text in said for word in _WORD.findall(text.lower())))

    @property
    def told(self) -> frozenset[str]:
        """Topics that it has been asked about."""
        return frozenset(self._told)

    def turn_down(self, problem: str, *, last: bool) -> UserReply:
        """Says what is wrong with an answer.

        Args:
            problem: What went wrong, quoted after its own words; empty to say no more.
            last: It will not look at another one.
        """
        self._feel(good=False, patient=True)
        said = self._speaker.line("give_up" if last else "try_again", cross=self._cross)
        self._left = last
        return UserReply(f"{said} {problem}".strip(), left=last)


def _pattern(left: Clarification) -> SlotPattern:
    return SlotPattern(left.topic, left.cues, left.topic, ("{value}", "it is like this, {value}"))
