"""Noise between an episode and the agent: what a kind of it may change, and where `ChatEnv` asks for it.

Noise changes what the agent reads, delays a call or a reward. It never changes the state that success is judged on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from slmagent.envs.tools import Tool
from slmagent.scenarios.draw import Draw


class ToolFailed(Exception):
    """A call that failed for no fault of the agent; the message is what it reads. Nothing has changed."""


Record = Callable[..., None]
"""Takes an event: its type, then its details by keyword."""


@dataclass(frozen=True, slots=True)
class Scene:
    """What a disturbance may know about the episode."""

    key: str
    """Names the episode; equal keys give equal noise."""
    writers: tuple[str, ...] = ()
    """Tools that change something, under the names the agent sees."""


class Disturbance:
    """One kind of noise in one episode; every method leaves things as they are unless a kind overrides it.

    Draws depend on the episode and on how often a method was asked before, never on other kinds, and an object holds plain
    values only: a deep copy of an episode goes on alike.

    Args:
        strength: In (0, 1]; what it is the probability of is up to the kind. Raised, it only adds to the noise of a lower one.
        scene: The episode.
    """

    name: ClassVar[str]
    """Key of `slmagent.envs.wrappers.NOISES`."""

    def __init__(self, strength: float, scene: Scene) -> None:
        self.strength = strength
        self.scene = scene
        self._asked: dict[str, int] = {}

    def said(self, text: str, facts: Iterable[str]) -> tuple[str, str] | None:
        """What is read in place of a user's message, and what was done to it; `facts` are values to be left alone."""
        return None

    def returned(self, text: str) -> tuple[str, str] | None:
        """What is read in place of a tool's result, and what was done to it."""
        return None

    def failure(self, tool: str, call: str) -> str | None:
        """The error with which a call (tool and arguments as text) fails before it is carried out."""
        return None

    def held(self, reply: str) -> str | None:
        """What is read in place of a reply that comes a turn late; the reply itself is returned by `arrived`."""
        return None

    def arrived(self) -> str | None:
        """A reply that was late and is there now; once only."""
        return None

    def paid(self, components: Mapping[str, float], *, done: bool) -> tuple[dict[str, float], str] | None:
        """Reward components paid in place of a step's, and what was done to them. Not asked about a veto."""
        return None

    def late(self) -> str | None:
        """A reply that is on its way."""
        return None

    def _draw(self, occasion: str) -> Draw:
        """Fresh randomness for the next occasion of a kind."""
        count = self._asked[occasion] = self._asked.get(occasion, 0) + 1
        return Draw(f"{self.name} {self.scene.key} {occasion} {count}")


class Noise:
    """The disturbances of one episode, asked in the order in which they were added; each change is recorded as an event."""

    def __init__(self, disturbances: Iterable[Disturbance]) -> None:
        self.disturbances = tuple(disturbances)

    def said(self, text: str, facts: Callable[[], Iterable[str]], record: Record) -> str:
        """A user's message as the agent reads it; `facts` tells the values to be left alone."""
        for disturbance in self.disturbances:
            changed = disturbance.said(text, facts())
            if changed is not None:
                text, what = changed
                record("noise", noise=disturbance.name, where="user", what=what)
        return text

    def returned(self, text: str, record: Record) -> str:
        """A tool's result as the agent reads it."""
        for disturbance in self.disturbances:
            changed = disturbance.returned(text)
            if changed is not None:
                text, what = changed
                record("noise", noise=disturbance.name, where="result", what=what)
        return text

    def attempt(self, shown_name: str, call: Tool, record: Record) -> None:
        """Lets a call through.

        Raises:
            ToolFailed: It fails before it is carried out.
        """
        for disturbance in self.disturbances:
            problem = disturbance.failure(shown_name, f"{shown_name} {json.dumps(call.model_dump(mode='json'))}")
            if problem is not None:
                record("noise", noise=disturbance.name, where="call", what=problem)
                raise ToolFailed(problem)

    def held(self, reply: str, record: Record) -> str:
        """A reply, or what is read while it is late."""
        for disturbance in self.disturbances:
            sign = disturbance.held(reply)
            if sign is not None:
                record("noise", noise=disturbance.name, where="reply", what="late")
                return sign
        return reply

    def arrived(self) -> str | None:
        """A reply that was late and is there now."""
        return next((late for disturbance in self.disturbances if (late := disturbance.arrived()) is not None), None)

    def paid(self, components: dict[str, float], record: Record, *, done: bool) -> dict[str, float]:
        """The reward components that a step pays."""
        for disturbance in self.disturbances:
            changed = disturbance.paid(components, done=done)
            if changed is not None:
                components, what = changed
                record("noise", noise=disturbance.name, where="reward", what=what)
        return components

    def late(self) -> str | None:
        """A reply that is on its way."""
        return next((late for disturbance in self.disturbances if (late := disturbance.late()) is not None), None)
