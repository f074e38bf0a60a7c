"""What an episode of UserSim keeps track of, and when its goal is met."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import fmean

from slmagent.envs.usersim.answers import Reading, contradicts, read
from slmagent.rewards.style import TALK, style_fault, style_match
from slmagent.scenarios.inquirer import Inquirer
from slmagent.scenarios.understanding import understand
from slmagent.scenarios.usersim.questions import Question
from slmagent.scenarios.usersim.tasks import Task

STYLE_NEEDED = 0.75
"""Match with the user's style that success takes."""
HELD_FROM = 4
"""Level from which on each half of the talk needs it."""


@dataclass(slots=True)
class Episode:
    """Mutable state of one episode. The user is copied with it by `copy.deepcopy`."""

    task: Task
    user: Inquirer
    past_messages: list[str]
    """Earlier messages of the same user about something else."""
    style: list[float] = field(default_factory=list)
    """Match of each message with the user's style at that time."""
    changed_at: int | None = None
    """Number of messages before the user's mood changed; None before that, and where it does not."""
    right: set[int] = field(default_factory=set)
    """Questions that were answered rightly, by index."""
    full: set[int] = field(default_factory=set)
    """Those of them that were answered in full."""
    wrong: set[int] = field(default_factory=set)
    """Questions to which something else was said, by index; that cannot be mended."""
    idle: int = 0
    """Actions in a row that brought nothing new."""
    ended: str | None = None
    """`finished` or `user_left`, once that has happened."""

    @property
    def question(self) -> Question | None:
        """The open question."""
        asking = self.user.asking
        return self.task.questions[asking] if asking < len(self.task.questions) else None

    def told(self) -> frozenset[str]:
        """Limits that the user has told."""
        return self.user.told

    def premature(self) -> bool:
        """Whether the open question rests on a limit that the user has not told."""
        return self.question is not None and bool(self.question.hidden) and self.question.hidden not in self.told()

    def hear(self, text: str) -> tuple[Reading, str]:
        """Takes note of a message to the user.

        Returns:
            What it says to the open question, and what the user minds about its style (empty if nothing).
        """
        asking, premature = self.user.asking, self.premature()
        reading = self._read(text, premature)
        if reading.right and not premature:
            self.right.add(asking)
            if reading.full:
                self.full.add(asking)
        if reading.wrong:
            self.wrong.add(min(asking, len(self.task.questions) - 1))
        match = style_match([text], self.user.persona, TALK)
        if match is None:
            return reading, ""
        self.style.append(match)
        if reading.short:
            return reading, "too_short"
        return reading, style_fault(text, self.user.persona, TALK) if match < STYLE_NEEDED else ""

    def _read(self, text: str, premature: bool) -> Reading:
        question = self.question
        if question is None:
            return Reading(wrong=contradicts(self.task, self.task.questions, text))
        if premature and question.hidden in understand(text, self.user.agenda.lexicon).asked:
            return Reading()  # it asks for what is held back, and so claims nothing yet
        return read(self.task, question, text)

    def all_said(self) -> bool:
        """Whether every question was answered rightly, and nothing else was said."""
        return len(self.right) == len(self.task.questions) and not self.wrong

    def style_held(self) -> bool:
        """Whether the talk suited the user; in long talks before and after its change of mood, or in either half."""
        if not self.style:
            return False
        parts = [self.style]
        if self.task.level >= HELD_FROM:
            place = len(self.style) // 2 if self.changed_at is None else self.changed_at
            parts += [part for part in (self.style[:place], self.style[place:]) if part]
        return all(fmean(part) >= STYLE_NEEDED for part in parts)

    def content(self) -> float:
        """Share of the facts that were said in full; half for the bare value, nothing for one that was contradicted."""
        asked = [number for number, question in enumerate(self.task.questions) if question.need != "refusal"]
        earned = sum(0.5 * (number in self.right) + 0.5 * (number in self.full) for number in asked if number not in self.wrong)
        return earned / len(asked)

    def progress(self) -> float:
        """Share of the task that is done, in [0, 1]: questions answered, limits asked for, less what was said wrong."""
        hidden = {question.hidden for question in self.task.questions} - {""}
        reached = len(self.right) + len(hidden & self.told()) - 2 * len(self.wrong & self.right) - len(self.wrong - self.right)
        return max(0.0, reached / (len(self.task.questions) + len(hidden)))
