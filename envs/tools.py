"""Tools as pydantic models: checked arguments, JSON schema and one-line signature from one definition."""

from __future__ import annotations

import difflib
import marshal
import re
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError

from slmagent.types import ToolCall


class ToolError(Exception):
    """A call that cannot be carried out; the message is what the agent reads. No state has changed."""


class Tool(BaseModel):
    """Base of all tools: class name in snake case = the tool's name, docstring = its description, fields = its arguments."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)
    writes: ClassVar[bool] = False
    """True when the tool changes the environment's state."""

    @classmethod
    def tool_name(cls) -> str:
        """`SearchFlights` -> `search_flights`."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

    @classmethod
    def description(cls) -> str:
        """The docstring's first line."""
        return (cls.__doc__ or "").strip().splitlines()[0]


class Finish(Tool):
    """End the talk with a last message to the user."""

    message: str


class ToolBox:
    """The tools an agent may call, under the names it sees.

    Args:
        tools: Tool classes, in the order in which prompts list them.
        names: Other names for some tools, canonical name -> shown name (the `ood` split renames tools); not for `finish`.
    """

    def __init__(self, tools: Iterable[type[Tool]], names: Mapping[str, str] | None = None) -> None:
        renamed = dict(names or {})
        self.tools: dict[str, type[Tool]] = {}
        for tool in tools:
            canonical = tool.tool_name()
            self.tools[renamed.get(canonical, canonical)] = tool
        self.shown_names = {tool.tool_name(): shown for shown, tool in self.tools.items()}
        self._schemas: bytes | None = None
        self._signatures = "\n".join(
            f"{shown}({_arguments(tool)}): {tool.description().rstrip('.')}" for shown, tool in self.tools.items()
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> ToolBox:
        return self  # immutable

    def signatures(self) -> str:
        """One line a tool: `get_weather(city: str, date: str): the forecast for a city and day`."""
        return self._signatures

    def schemas(self) -> list[dict[str, Any]]:
        """OpenAI-style function schemas, fresh objects at each call."""
        if self._schemas is None:  # marshal: plain values only, and the quickest way to a fresh copy, which each step needs
            self._schemas = marshal.dumps(
                [
                    {
                        "type": "function",
                        "function": {"name": shown, "description": tool.description(), "parameters": _schema(tool)},
                    }
                    for shown, tool in self.tools.items()
                ]
            )
        return marshal.loads(self._schemas)

    def read(self, call: ToolCall) -> Tool:
        """Checks a call against its tool.

        Raises:
            ToolError: Unknown name (with the nearest one), or arguments that do not fit (each with its problem).
        """
        tool = self.tools.get(call.name)
        if tool is None:
            near = difflib.get_close_matches(call.name[:80], self.tools, n=1)
            hint = f"did you mean {near[0]}?" if near else f"the tools are {', '.join(self.tools)}"
            raise ToolError(f"unknown tool {call.name[:80]!r}; {hint}")
        try:
            return tool.model_validate(dict(call.arguments))
        except ValidationError as problem:
            details = "; ".join(_problem(error) for error in problem.errors(include_url=False)[:3])
            raise ToolError(f"{call.name}: {details}") from None


def _problem(error: Any) -> str:
    where = ".".join(str(part) for part in error["loc"]) or "arguments"
    if error["type"] == "missing":
        return f"argument {where!r} is missing"
    if error["type"] == "extra_forbidden":
        return f"there is no argument {where[:80]!r}"
    return f"argument {where!r}: {error['msg'].lower()}"


def _schema(tool: type[Tool]) -> dict[str, Any]:
    schema = tool.model_json_schema()
    schema.pop("title", None)
    schema.pop("description", None)
    for value in schema.get("properties", {}).values():
        value.pop("title", None)
    return schema


def _arguments(tool: type[Tool]) -> str:
    parts = []
    for name, info in tool.model_fields.items():
        default = "" if info.is_required() else f" = {info.default!r}"
        parts.append(f"{name}: {_type_name(info.annotation)}{default}")
    return ", ".join(parts)


def _type_name(annotation: Any) -> str:
    if get_origin(annotation) is Literal:
        return " | ".join(repr(value) for value in get_args(annotation))
    if get_origin(annotation) is Union or str(type(annotation)) == "<class 'types.UnionType'>":
        return " | ".join("None" if part is type(None) else _type_name(part) for part in get_args(annotation))
    if get_origin(annotation) is not None:
        return str(annotation).removeprefix("typing.")
    return getattr(annotation, "__name__", str(annotation))
