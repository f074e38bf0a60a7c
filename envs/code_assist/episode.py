"""What an episode of CodeAssist keeps track of, and how an answer is judged."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

from slmagent.envs.code_assist.answers import MAX_CHARS, Answer, counts, prose_in, read_answer
from slmagent.envs.code_assist.trial import Trial, try_program
from slmagent.scenarios.code.programmer import Programmer
from slmagent.scenarios.code.records import CodeTask

MIN_WORDS = 5
"""Words that an explanation needs at least."""
_NO_CODE = Trial(False, False, False, "it is too long", "")


@dataclass(frozen=True, slots=True)
class Handed:
    """An answer that was handed in."""

    answer: Answer | None
    """None for an explanation."""
    trial: Trial
    """Of the file with it and all tests."""
    worth: bool
    """It has an effect and is no copy."""
    explained: float | None = None
    """Share of what an explanation has to name."""

    @property
    def accepted(self) -> bool:
        """Whether the programmer takes it."""
        return self.worth and (self.trial.passed if self.explained is None else self.explained == 1.0)


@dataclass(slots=True)
class Episode:
    """Mutable state of one episode. The user is copied with it by `copy.deepcopy`."""

    task: CodeTask
    user: Programmer
    proposals: int
    """Answers that the programmer will look at."""
    handed: list[Handed] = field(default_factory=list)
    tried: set[str] = field(default_factory=set)
    """Code that was tried with the tool."""
    idle: int = 0
    """Actions in a row that brought nothing new."""
    ended: str | None = None
    """`finished` or `user_left`, once that has happened."""

    @property
    def accepted(self) -> bool:
        """Whether an answer has been accepted; later ones are not looked at."""
        return bool(self.handed) and self.handed[-1].accepted

    @property
    def waiting(self) -> bool:
        """Whether the programmer waits for an answer."""
        return not self.accepted and len(self.handed) < self.proposals

    @property
    def explaining(self) -> bool:
        """Whether words are wanted, not code."""
        return self.task.kind == "explain"

    def hand_in(self, code: str) -> Handed:
        """Judges code that belongs into the file."""
        self.handed.append(judge(self.task, code))
        return self.handed[-1]

    def explain(self, text: str) -> Handed | None:
        """Judges an explanation; None for a text that is too short to be one, or a question."""
        prose = prose_in(text)
        if len(prose.split()) < MIN_WORDS or prose.endswith("?"):
            return None
        share = named(self.task, prose)
        self.handed.append(Handed(None, Trial(True, True, share == 1.0, "", ""), True, share))
        return self.handed[-1]

    def progress(self) -> float:
        """1 once an answer is accepted; before that, half of the share of open things that were asked about."""
        if self.accepted:
            return 1.0
        topics = {left.topic for left in self.task.clarifications}
        return 0.5 * len(topics & self.user.told) / len(topics) if topics else 0.0


@lru_cache(maxsize=4096)
def judge(task: CodeTask, code: str) -> Handed:
    """Runs the file with the code in place, and all tests.

    Raises:
        SlmagentError: The sandbox failed, which says nothing about the code.
    """
    if len(code) > MAX_CHARS:
        return Handed(Answer("", "", ""), _NO_CODE, False)
    answer = read_answer(task, code)
    trial = try_program(answer.program, (*task.examples, *task.checks))
    return Handed(answer, trial, counts(task, answer))


def named(task: CodeTask, prose: str) -> float:
    """Share of what an explanation has to name that a text names."""
    words = prose.lower()
    hits = sum(any(re.search(rf"(?<!\w){re.escape(word)}", words) for word in entry.split("|")) for entry in task.names)
    return hits / len(task.names)
