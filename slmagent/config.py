"""Configurations: one flat dataclass, filled from a TOML file and then from the command line.

A configuration is an ordinary (frozen) dataclass whose fields carry a docstring each; that docstring is the option's help.
Its `__post_init__` checks ranges and raises ValueError. `load_config` reads it, `dump_toml` writes what it reads back.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import tomllib
import typing
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

from slmagent.errors import ConfigError
from slmagent.plain import PlainError, from_plain, to_plain

C = TypeVar("C")


def check_fields(config: object, expected: str, holds: Callable[[Any], bool], *names: str) -> None:
    """For `__post_init__`: refuses fields out of range; None (an option that is off) is always in range.

    Args:
        config: The configuration.
        expected: Ends the sentence "expected NAME ...", such as "of at least 1".
        holds: Whether a value is in range.
        names: The fields.

    Raises:
        ValueError: Names the field, what was expected and what it is.
    """
    for name in names:
        value = getattr(config, name)
        if value is not None and not holds(value):
            raise ValueError(f"expected {name} {expected}, actual {value!r}")


def read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Reads a TOML file.

    Raises:
        ConfigError: No such file, not readable, or not TOML (with line and column).
    """
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as problem:
        raise ConfigError(f"cannot read the configuration {os.fspath(path)}: {problem.strerror or problem}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{os.fspath(path)}: expected a TOML file in UTF-8") from None
    except tomllib.TOMLDecodeError as problem:
        raise ConfigError(f"{os.fspath(path)}: not valid TOML: {problem}") from None


def config_from_mapping(config_class: type[C], values: Mapping[str, Any], *, source: str = "configuration") -> C:
    """Builds a configuration from plain values.

    Args:
        config_class: The flat dataclass.
        values: Field name -> value, as TOML has them.
        source: Where the values come from; starts the messages.

    Raises:
        ConfigError: An unknown key (with the nearest known one), a missing key, a wrong type or a value out of range.
    """
    try:
        return from_plain(dict(values), config_class)
    except PlainError as problem:
        raise ConfigError(f"{source}: {problem}") from None
    except ValueError as problem:  # a check of the dataclass itself
        raise ConfigError(f"{source}: {problem}") from None


def load_config(
    config_class: type[C],
    path: str | os.PathLike[str] | None = None,
    overrides: Sequence[str] = (),
    *,
    ignore: Sequence[str] = (),
    prog: str | None = None,
) -> C:
    """Defaults, then the TOML file, then the command line.

    Args:
        config_class: The flat dataclass.
        path: TOML file with flat keys; None starts from the defaults.
        overrides: Command-line words such as `["--learning-rate", "1e-4"]`; `--help` prints every field and exits.
        ignore: Top-level keys of the file that belong to somebody else.
        prog: How the help names the program.

    Raises:
        ConfigError: The file cannot be used; see `config_from_mapping`.
        SystemExit: With code 2 after printing what is wrong with an override, with 0 after `--help`.
    """
    values = {} if path is None else {key: value for key, value in read_toml(path).items() if key not in ignore}
    source = config_class.__name__ if path is None else os.fspath(path)
    if not overrides:
        return config_from_mapping(config_class, values, source=source)

    import tyro  # costs a tenth of a second

    parsed = cast(Any, tyro.cli(_with_defaults(config_class, values, source), args=list(overrides), prog=prog))
    fields = dataclasses.fields(cast(Any, config_class))
    return config_class(**{field.name: getattr(parsed, field.name) for field in fields if field.init})


def dump_toml(config: Any) -> str:
    """A configuration as a TOML document that `load_config` reads back; fields that are None are left out.

    Raises:
        TypeError: A field whose value TOML has no form for.
    """
    lines = (f"{key} = {_toml(value)}" for key, value in to_plain(config).items() if value is not None)
    return "".join(f"{line}\n" for line in lines)


def _with_defaults(config_class: type[C], values: Mapping[str, Any], source: str) -> Callable[..., C]:
    """A subclass with the file's values as defaults: required fields may come from either side, and the help shows both."""
    hints = typing.get_type_hints(config_class)
    fields = {field.name: field for field in dataclasses.fields(cast(Any, config_class)) if field.init}
    redefined: list[tuple[str, Any, Any]] = []
    for key, value in values.items():
        if key not in fields:
            config_from_mapping(config_class, values, source=source)  # raises, with the nearest name
        try:
            checked = from_plain(value, hints[key], where=key)
        except PlainError as problem:
            raise ConfigError(f"{source}: {problem}") from None
        # A fresh copy per instance, because dataclasses refuse a mutable default.
        default: Any = dataclasses.field(default_factory=lambda checked=checked: checked)
        redefined.append((key, hints[key], default))
    parameters = cast(Any, config_class).__dataclass_params__
    subclass = dataclasses.make_dataclass(
        config_class.__name__, redefined, bases=(config_class,), frozen=parameters.frozen, kw_only=True
    )
    subclass.__module__, subclass.__doc__ = config_class.__module__, config_class.__doc__
    return cast(Callable[..., C], subclass)


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # JSON's escapes are TOML's, except that TOML wants DEL escaped and has no surrogate pairs.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list):
        return f"[{', '.join(_toml(item) for item in value)}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_toml(key)} = {_toml(item)}' for key, item in value.items())}}}"
    raise TypeError(f"TOML has no form for {value!r}")
