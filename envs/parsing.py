"""Reads an agent's text: what it says, and which tools it calls."""

from __future__ import annotations

import json
from typing import Any

from slmagent.types import ParsedAction, ToolCall

THINK_OPEN, THINK_CLOSE = "<think>", "</think>"
CALL_OPEN, CALL_CLOSE = "<tool_call>", "</tool_call>"
FINISH = "finish"


def _reject_constant(name: str) -> Any:
    raise ValueError(f"{name} is not valid JSON")


_DECODER = json.JSONDecoder(parse_constant=_reject_constant)
_ENCODER = json.JSONEncoder(ensure_ascii=False)


class _Malformed(Exception):
    """A call that cannot be read; the message is for the agent."""


def strip_thinking(text: str) -> str:
    """Removes think-blocks; one that is never closed hides everything after it."""
    kept: list[str] = []
    position = 0
    while (start := text.find(THINK_OPEN, position)) >= 0:
        kept.append(text[position:start])
        end = text.find(THINK_CLOSE, start + len(THINK_OPEN))
        if end < 0:
            return "".join(kept)
        position = end + len(THINK_CLOSE)
    kept.append(text[position:])
    return "".join(kept)


def parse_action(text: str) -> ParsedAction:
    """Splits an action into words and tool calls.

    Calls have the Hermes form `<tool_call>{"name": ..., "arguments": {...}}</tool_call>`; several are kept in order.
    The closing tag may be missing at the very end of the text only. Text in `<think>` blocks is ignored. Runs in linear time:
    reading stops at the first malformed call, and then no call of the action counts.

    Args:
        text: Any string.

    Returns:
        kind `finish` if a call is named "finish", else `tool` if there is a call or a malformed one, else `speak` (an
        environment turns it into `ask` when its user recognises a question).
    """
    visible = strip_thinking(text)
    words: list[str] = []
    calls: list[ToolCall] = []
    position = 0
    while (start := visible.find(CALL_OPEN, position)) >= 0:
        words.append(visible[position:start])
        try:
            call, position = _read_call(visible, start + len(CALL_OPEN), f"call_{len(calls)}")
        except _Malformed as problem:
            return ParsedAction("tool", "".join(words).strip(), error=str(problem))
        calls.append(call)
    words.append(visible[position:])
    said = "".join(words).strip()
    if any(call.name == FINISH for call in calls):
        return ParsedAction("finish", said, tuple(calls))
    return ParsedAction("tool" if calls else "speak", said, tuple(calls))


def _read_call(text: str, position: int, call_id: str) -> tuple[ToolCall, int]:
    while position < len(text) and text[position].isspace():
        position += 1
    try:
        value, position = _DECODER.raw_decode(text, position)
    except RecursionError:
        raise _Malformed("the call is nested too deeply") from None
    except ValueError as problem:
        raise _Malformed(f"the call is not valid JSON: {problem}") from None
    while position < len(text) and text[position].isspace():
        position += 1
    if text.startswith(CALL_CLOSE, position):
        position += len(CALL_CLOSE)
    elif position < len(text):
        raise _Malformed(f"expected {CALL_CLOSE} after the JSON object")
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        raise _Malformed('a call needs a "name", as in {"name": "...", "arguments": {...}}')
    arguments = value.get("arguments", {})
    if not isinstance(arguments, dict):
        raise _Malformed('"arguments" must be a JSON object')
    return ToolCall(call_id, value["name"], arguments), position


def render_thought(text: str) -> str:
    """Writes what nobody hears, in the form that `parse_action` leaves out."""
    return f"{THINK_OPEN}{text}{THINK_CLOSE}"


def render_call(name: str, arguments: dict[str, Any]) -> str:
    """Writes a call in the form that `parse_action` reads."""
    return f"{CALL_OPEN}{_ENCODER.encode({'name': name, 'arguments': arguments})}{CALL_CLOSE}"
