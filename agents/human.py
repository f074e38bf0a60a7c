"""A person in the terminal."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from slmagent.agents.scripted import write_call
from slmagent.errors import SlmagentError
from slmagent.types import Message

HELP = """Type what the assistant says, or:
  /tools               lists the tools
  /call NAME k=v ...   calls a tool; values are JSON where they can be read so, else text; quote values with spaces: k="a b"
  /call NAME {...}     the same with one JSON object
  /finish MESSAGE      ends the conversation with a last message
  /quit                leaves"""


class HumanQuit(SlmagentError):
    """The person does not want to go on."""


class HumanAgent:
    """Shows what is new in the conversation and reads the next action from the keyboard.

    Args:
        read: Reads a line after showing a prompt.
        write: Shows a line.
    """

    def __init__(self, *, read: Callable[[str], str] = input, write: Callable[[str], None] = print) -> None:
        self._read = read
        self._write = write
        self._shown: tuple[Message, ...] = ()

    def act(self, observation: Sequence[Message], info: Mapping[str, Any]) -> str:
        """What the person says or calls.

        Raises:
            HumanQuit: /quit, or the input has ended.
        """
        self._show(observation)
        while True:
            try:
                line = self._read("you> ").strip()
            except EOFError:
                raise HumanQuit("the input has ended") from None
            command, _, rest = line.partition(" ")
            match command:
                case "/quit":
                    raise HumanQuit("left the conversation")
                case "/help":
                    self._write(HELP)
                case "/tools":
                    for tool in info.get("tools", ()):
                        self._write(describe_tool(tool["function"]))
                case "/finish":
                    return write_call("finish", {"message": rest.strip()})
                case "/call":
                    try:
                        name, arguments = read_call(rest)
                    except ValueError as problem:
                        self._write(f"not a call: {problem}; expected /call NAME key=value ...")
                        continue
                    return write_call(name, arguments)
                case _ if command.startswith("/"):
                    self._write(f"unknown command {command}; /help shows them")
                case _:
                    return line

    def _show(self, observation: Sequence[Message]) -> None:
        known = len(self._shown)
        if tuple(observation[:known]) != self._shown or not known:
            known = 0
            self._write(HELP)
        for message in observation[known:]:
            if message["role"] != "assistant":
                self._write(f"[{message['role']}] {message['content']}")
        self._shown = tuple(Message(role=message["role"], content=message["content"]) for message in observation)


def describe_tool(tool: Mapping[str, Any]) -> str:
    """One line: name, arguments (optional ones in brackets), what it does."""
    parameters = tool.get("parameters", {})
    required = set(parameters.get("required", ()))
    arguments = [name if name in required else f"[{name}]" for name in parameters.get("properties", {})]
    return f"  {tool['name']} {' '.join(arguments)}: {tool.get('description', '')}".replace(" :", ":")


def read_call(text: str) -> tuple[str, dict[str, Any]]:
    """Reads `NAME key=value ...` or `NAME {...}`.

    Raises:
        ValueError: It is neither; says where it went wrong.
    """
    name, _, rest = text.strip().partition(" ")
    rest = rest.strip()
    if not name:
        raise ValueError("the tool's name is missing")
    if rest.startswith("{"):
        arguments = json.loads(rest)
        return name, arguments
    arguments = {}
    for part in _split(rest):
        key, equals, value = part.partition("=")
        if not equals or not key:
            raise ValueError(f"{part!r} is not key=value")
        arguments[key] = _value(value)
    return name, arguments


def _split(text: str) -> list[str]:
    """Splits at spaces outside double quotes, which stay."""
    parts, quoted = [""], False
    for character in text:
        quoted ^= character == '"'
        if character == " " and not quoted:
            parts.append("")
        else:
            parts[-1] += character
    if quoted:
        raise ValueError("a quote is not closed")
    return [part for part in parts if part]


def _value(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=str)  # NaN and the like are words here
    except ValueError:
        return text
