"""What all guards share: their form, and how they read words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from slmagent.types import Message

_CALL = "<tool_call>"
_WORD = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")


class Guard(Protocol):
    """Judges one message of an assistant: 0 is as it should be, 1 is the worst. Guards keep no state between calls."""

    name: str
    low: float
    high: float

    def __call__(self, text: str, history: Sequence[Message] = ()) -> float:
        """Judges a message.

        Args:
            text: What the assistant says, without tool calls; any string.
            history: The conversation before it.

        Returns:
            A number in [`low`, `high`]; 0.0 for a text without words.
        """
        ...


def words_of(text: str) -> list[str]:
    """Lower-case words and numbers, without punctuation; contractions and hyphenated words stay whole."""
    return _WORD.findall(text.lower().replace("\u2019", "'"))


def said_by_assistant(history: Sequence[Message]) -> list[str]:
    """What the assistant said to the user in a conversation; words beside a tool call are notes that nobody was told."""
    return [message["content"] for message in history if message["role"] == "assistant" and _CALL not in message["content"]]
