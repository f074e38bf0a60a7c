"""Typed records to plain JSON or TOML data and back, with errors that name the place.

Used for everything that is read from a file a person may have edited: configurations, trajectories, evaluation results.
"""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, cast

from slmagent.errors import nearest

T = TypeVar("T")
_SCALARS: dict[Any, tuple[str, tuple[type, ...]]] = {
    bool: ("true or false", (bool,)),
    int: ("a whole number", (int,)),
    float: ("a number", (int, float)),
    str: ("text", (str,)),
    Path: ("a path (text)", (str, Path)),
    type(None): ("nothing", (type(None),)),
}


class PlainError(ValueError):
    """Data that does not fit its type.

    Attributes:
        where: Dotted place inside the data, such as `turns[3].reward`; empty at the top.
        what: What is wrong there.
    """

    def __init__(self, where: str, what: str) -> None:
        self.where, self.what = where, what
        super().__init__(f"{where}: {what}" if where else what)


def to_plain(value: Any) -> Any:
    """Turns dataclasses, mappings, sequences and paths into dicts, lists and strings.

    Raises:
        TypeError: Something that JSON has no form for.
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_plain(getattr(value, field.name)) for field in dataclasses.fields(value) if field.init}
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"expected text as the key of a mapping, actual {key!r}")
        return {key: to_plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_plain(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"expected plain data (numbers, text, lists, mappings), actual {type(value).__name__}")


def from_plain(value: Any, expected: type[T], *, where: str = "") -> T:
    """Builds an `expected` from plain data, checking every part of it.

    Understands dataclasses, TypedDicts, Literal, unions, tuples, lists, mappings with text keys, the scalar types and Any.
    A list becomes a tuple where one is expected, a whole number a float.

    Raises:
        PlainError: A missing or unknown key, or a value of another type, with its place, what was expected and what came.
    """
    return cast(T, _build(value, expected, where))


def describe_type(expected: Any) -> str:
    """A type in the words of an error message."""
    origin, args = typing.get_origin(expected), typing.get_args(expected)
    if expected in _SCALARS:
        return _SCALARS[expected][0]
    if origin is Literal:
        return ("one of " if len(args) > 1 else "") + ", ".join(repr(arg) for arg in args)
    if origin in (Union, types.UnionType):
        return " or ".join(describe_type(arg) for arg in args)
    if origin is tuple and not (len(args) == 2 and args[1] is Ellipsis):
        return f"a list of {len(args)}: {', '.join(describe_type(arg) for arg in args)}"
    if origin in (tuple, list, Sequence):
        return f"a list, each entry {describe_type(args[0])}"
    if origin in (dict, Mapping):
        return f"a table, each value {describe_type(args[1])}"
    return "anything" if expected is Any else f"a table ({getattr(expected, '__name__', expected)})"


def describe_value(value: Any) -> str:
    """A value in the words of an error message: itself when short, and its type."""
    names = {bool: "true/false", int: "whole number", float: "number", str: "text", dict: "table", list: "list"}
    shown = repr(value)
    kind = names.get(type(value), type(value).__name__)
    return f"{shown if len(shown) <= 60 else shown[:57] + '...'} ({kind})"


def _build(value: Any, expected: Any, where: str) -> Any:
    if expected is Any:
        return value
    if expected in _SCALARS:
        return _scalar(value, expected, where)
    origin, args = typing.get_origin(expected), typing.get_args(expected)
    if origin is Literal:
        if any(type(value) is type(arg) and value == arg for arg in args):
            return value
    elif origin in (Union, types.UnionType):
        return _union(value, args, expected, where)
    elif origin in (tuple, list, Sequence):
        return _sequence(value, origin, args, expected, where)
    elif origin in (dict, Mapping):
        if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
            return {key: _build(item, args[1], _join(where, key)) for key, item in value.items()}
    elif dataclasses.is_dataclass(expected) or typing.is_typeddict(expected):
        return _record(value, expected, where)
    else:
        raise TypeError(f"from_plain cannot check {expected!r}")
    raise _mismatch(value, expected, where)


def _scalar(value: Any, expected: Any, where: str) -> Any:
    allowed = _SCALARS[expected][1]
    if not isinstance(value, allowed) or (isinstance(value, bool) and expected is not bool):
        raise _mismatch(value, expected, where)
    if expected is float and isinstance(value, int):
        try:
            return float(value)
        except OverflowError:
            raise _mismatch(value, expected, where) from None
    return Path(cast(str, value)) if expected is Path else value


def _union(value: Any, args: tuple[Any, ...], expected: Any, where: str) -> Any:
    nested: PlainError | None = None
    # An exact type first, so that `int | float` keeps 1 an int whatever the order of the members.
    for arg in sorted(args, key=lambda arg: type(value) is not arg):
        try:
            return _build(value, arg, where)
        except PlainError as problem:
            nested = problem if problem.where != where else nested
    raise nested or _mismatch(value, expected, where)


def _sequence(value: Any, origin: Any, args: tuple[Any, ...], expected: Any, where: str) -> Any:
    if not isinstance(value, (list, tuple)):
        raise _mismatch(value, expected, where)
    if origin is tuple and not (len(args) == 2 and args[1] is Ellipsis):
        if len(value) != len(args):
            raise _mismatch(value, expected, where)
        return tuple(_build(item, arg, f"{where}[{i}]") for i, (item, arg) in enumerate(zip(value, args, strict=True)))
    if args[0] in (int, float) and all(type(item) is args[0] for item in value):
        return list(value) if origin is list else tuple(value)  # the long lists of a trajectory, checked fast
    items = (_build(item, args[0], f"{where}[{i}]") for i, item in enumerate(value))
    return list(items) if origin is list else tuple(items)


def _record(value: Any, expected: Any, where: str) -> Any:
    if not isinstance(value, Mapping):
        raise _mismatch(value, expected, where)
    hints, required = _members(expected)
    for key in value:
        if key not in hints:
            raise PlainError(where, f"unknown key {key!r}; {nearest(str(key), hints)}")
    for key in required:
        if key not in value:
            raise PlainError(where, f"the key {key!r} is missing; expected {describe_type(hints[key])}")
    built = {key: _build(item, hints[key], _join(where, key)) for key, item in value.items()}
    return built if typing.is_typeddict(expected) else expected(**built)


@functools.cache
def _members(expected: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Types by key, and the keys that have no default."""
    hints = typing.get_type_hints(expected)
    if typing.is_typeddict(expected):
        return hints, tuple(key for key in hints if key in expected.__required_keys__)
    members = [field for field in dataclasses.fields(expected) if field.init]
    missing = dataclasses.MISSING
    required = tuple(field.name for field in members if field.default is missing and field.default_factory is missing)
    return {field.name: hints[field.name] for field in members}, required


def _join(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key


def _mismatch(value: Any, expected: Any, where: str) -> PlainError:
    return PlainError(where, f"expected {describe_type(expected)}, actual {describe_value(value)}")
