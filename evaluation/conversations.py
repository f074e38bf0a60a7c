"""Conversations for people: who says what, and what each action earned."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from slmagent.types import Trajectory, Turn

_CALL = re.compile(r"(<tool_call>.*?(?:</tool_call>|\Z))", re.DOTALL)
_RESPONSE = re.compile(r"</?tool_response>\s*")


@dataclass(frozen=True, slots=True)
class Conversation:
    """An episode to show, and whose it is."""

    label: str
    trajectory: Trajectory


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a message: prose, or something that a machine reads or wrote (a call, a tool's result)."""

    text: str
    code: bool = False


@dataclass(frozen=True, slots=True)
class Earned:
    """What an action earned and what was remarkable about it."""

    reward: float
    components: tuple[tuple[str, float], ...]
    """Components that are not zero."""
    notes: tuple[str, ...]
    """Malformed calls, tool errors, broken rules, cut-off texts."""


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """A message with its speaker in plain words."""

    who: Literal["instructions", "user", "tool", "agent"]
    parts: tuple[Part, ...]
    earned: Earned | None = None
    """None for messages of others and for an action that the environment never scored."""


def pick_conversations(episodes: Mapping[str, Sequence[Trajectory]], *, tasks: int = 3) -> list[Conversation]:
    """Chooses tasks that show a difference, and takes every policy's episode of them.

    Tasks on which policies differ in success come first, then the others; among equals, the order is that of the task ids, so
    the choice is not made by hand. Failed episodes are never chosen.

    Args:
        episodes: Label -> episodes, in the order in which policies are to be shown.
        tasks: Number of tasks at most.
    """
    first: dict[str, dict[str, Trajectory]] = {}
    for label, trajectories in episodes.items():
        for trajectory in trajectories:
            if trajectory.status == "ok":
                first.setdefault(trajectory.scenario_id, {}).setdefault(label, trajectory)

    def order(task: str) -> tuple[bool, int, str]:
        outcomes = {trajectory.success for trajectory in first[task].values()}
        return len(outcomes) == 1, -len(first[task]), task

    chosen = sorted(first, key=order)[:tasks]
    return [Conversation(label, trajectory) for task in chosen for label, trajectory in first[task].items()]


def describe(trajectory: Trajectory) -> list[ShownMessage]:
    """The messages of an episode, the actions with what they earned."""
    turns = iter(trajectory.turns)
    shown: list[ShownMessage] = []
    for message in trajectory.messages:
        role, content = message["role"], message["content"]
        if role == "assistant":
            turn = next(turns, None)
            shown.append(ShownMessage("agent", _action_parts(content), None if turn is None else _earned(turn)))
        elif role == "user" and content.startswith("<tool_response>"):
            shown.append(ShownMessage("tool", (Part(_RESPONSE.sub("", content).strip(), code=True),)))
        else:
            shown.append(ShownMessage("instructions" if role == "system" else "user", (Part(content),)))
    return shown


def _action_parts(content: str) -> tuple[Part, ...]:
    pieces = (piece.strip() for piece in _CALL.split(content))
    return tuple(Part(piece, piece.startswith("<tool_call>")) for piece in pieces if piece) or (Part("(says nothing)"),)


def _earned(turn: Turn) -> Earned:
    notes = [f"malformed call: {turn.parse_error}"] if turn.parse_error else []
    if turn.stop_reason != "eos":
        notes.append(f"cut off ({turn.stop_reason.replace('_', ' ')})")
    for event in turn.events:
        if event.get("type") == "policy_violation":
            notes.append(f"broke the rule: {event.get('clause', '')}")
        elif event.get("type") == "tool_error":
            notes.append(f"tool error: {event.get('error', '')}")
    paid = tuple((name, amount) for name, amount in turn.reward_components.items() if amount)
    return Earned(turn.reward, paid, tuple(notes))
