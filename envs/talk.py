"""What passes between `ChatEnv` and its subclasses, and how a talk is written down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from slmagent.types import Message


@dataclass(frozen=True, slots=True)
class UserTurn:
    """What the simulated user does when spoken to."""

    text: str
    asked: bool = False
    """The user recognised a question for something it knows; the action counts as `ask`."""
    agrees: bool = False
    """The user agreed to what was proposed to it."""
    left: bool = False
    """The user ended the talk; nothing the agent says reaches it any more."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An episode at one moment; made by `ChatEnv.snapshot`, read by `ChatEnv.restore`, opaque to others."""

    origin: tuple[str, int, str, *tuple[str, ...]]
    """Class, level, split and kinds of noise with their strengths."""
    episode: Mapping[str, Any]


def tool_response(text: str) -> str:
    """A tool's result as the agent reads it."""
    return f"<tool_response>\n{text}\n</tool_response>"


def as_text(messages: Sequence[Message]) -> str:
    """A talk for people, one message a line."""
    return "\n".join(f"[{message['role']}] {message['content']}" for message in messages)
