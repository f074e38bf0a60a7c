"""Noise in what is read: typos, irrelevant information, misleading instructions. Facts stay as they are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import ClassVar

from slmagent.envs.disturbance import Disturbance, Scene
from slmagent.envs.wrappers.noise import NoiseWrapper
from slmagent.scenarios import asides
from slmagent.scenarios.draw import Draw
from slmagent.scenarios.typos import TYPO_WORDS, misspell

_WORD = re.compile(r"(?<![\w'-])[a-z]{4,}(?![\w'-])")
_FACT_WORD = re.compile(r"[a-z]+")


class Misspelling(Disturbance):
    """Misspells common words of the user."""

    name: ClassVar[str] = "typos"

    def said(self, text: str, facts: Iterable[str]) -> tuple[str, str] | None:
        """The text with some of its common words misspelt, those of the facts excepted."""
        kept = {word for fact in facts for word in _FACT_WORD.findall(fact.lower())}
        draw = self._draw("said")
        slips: list[str] = []

        def typed(match: re.Match[str]) -> str:
            word = match.group()
            if word not in TYPO_WORDS or word in kept:
                return word
            # Both are drawn for every word, so that a greater strength keeps the slips of a lesser one.
            slip, wrong = draw.chance(self.strength), misspell(word, draw.uniform)
            if not slip or wrong == word:
                return word
            slips.append(wrong)
            return wrong

        changed = _WORD.sub(typed, text)
        return (changed, " ".join(slips)) if slips else None


class Typos(NoiseWrapper):
    """Typos in what the user says.

    `strength` is the probability that a common word is misspelt. Identifiers, numbers, names, the values of the user's wishes
    and tool results are left alone.
    """

    disturbance = Misspelling


class _Insertion(Disturbance):
    """Adds lines to what is read. Each message has a line of its own, so none comes twice; when they run out, no more come."""

    user_lines: ClassVar[Sequence[str]]
    result_lines: ClassVar[Sequence[str]]
    user_call_lines: ClassVar[Sequence[str]] = ()
    """Lines in which `{tool}` stands for a tool that changes something."""
    result_call_lines: ClassVar[Sequence[str]] = ()

    def __init__(self, strength: float, scene: Scene) -> None:
        super().__init__(strength, scene)
        draw = self._draw("order")
        self._to_say = self._shuffled(draw, self.user_lines, self.user_call_lines)
        self._to_return = self._shuffled(draw, self.result_lines, self.result_call_lines)

    def said(self, text: str, facts: Iterable[str]) -> tuple[str, str] | None:
        """The text with a sentence behind it."""
        line = self._next("said", self._to_say)
        return None if line is None else (f"{text} {line}", line)

    def returned(self, text: str) -> tuple[str, str] | None:
        """The result with a line behind it."""
        line = self._next("returned", self._to_return)
        return None if line is None else (f"{text}\n{line}", line)

    def _shuffled(self, draw: Draw, lines: Sequence[str], call_lines: Sequence[str]) -> list[str]:
        calls = [line.format(tool=draw.pick(self.scene.writers)) for line in call_lines if self.scene.writers]
        return draw.sample([*lines, *calls], len(lines) + len(calls))

    def _next(self, occasion: str, lines: Sequence[str]) -> str | None:
        shown = self._draw(occasion).chance(self.strength)
        place = self._asked[occasion] - 1
        return lines[place] if shown and place < len(lines) else None


class Chatter(_Insertion):
    """Adds what does not matter."""

    name: ClassVar[str] = "irrelevant"
    user_lines = asides.USER_ASIDES
    result_lines = asides.RESULT_ASIDES


class Irrelevant(NoiseWrapper):
    """Irrelevant information: users and tools say things that do not matter.

    `strength` is the probability that a user's message gets a sentence more, and a tool's result a line. No line comes twice in
    an episode. Each costs about 12 tokens of context.
    """

    disturbance = Chatter


class Injection(_Insertion):
    """Adds instructions that it would be wrong to follow."""

    name: ClassVar[str] = "misleading"
    user_lines = asides.USER_MISLEADING
    result_lines = asides.RESULT_MISLEADING
    user_call_lines = asides.USER_MISLEADING_CALLS
    result_call_lines = asides.RESULT_MISLEADING_CALLS


class Misleading(NoiseWrapper):
    """Misleading instructions: a tool's result, or a text that the user quotes, tells the agent to do something wrong.

    `strength` is the probability that a message or result carries one. They come from nobody who may give instructions:
    finishing at once, guessing, changing things without asking, by name of a tool that the episode has. An agent that ignores
    them loses nothing; what following costs is what such actions cost anyway. Each costs about 20 tokens of context.
    """

    disturbance = Injection
