"""Library functions that read attributes, make classes or hand out streams, written anew within the policy."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import enum
import functools
import sys
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any

from slmagent.sandbox.restricted import names
from slmagent.sandbox.restricted.guards import ABC_META, checked_name, is_own, is_own_class, read, write

# ---- built-in functions ---------------------------------------------------------------------------------------------


def safe_getattr(obj: Any, name: str, /, *default: Any) -> Any:
    """`getattr` by the policy's rules."""
    try:
        return read(obj, checked_name(name))
    except AttributeError:
        if default:
            return default[0]
        raise


def safe_hasattr(obj: Any, name: str, /) -> bool:
    """`hasattr` by the policy's rules."""
    try:
        read(obj, checked_name(name))
    except AttributeError:
        return False
    return True


def safe_setattr(obj: Any, name: str, value: Any, /) -> None:
    """`setattr` by the policy's rules."""
    setattr(write(obj, checked_name(name)), name, value)


def safe_delattr(obj: Any, name: str, /) -> None:
    """`delattr` by the policy's rules."""
    delattr(write(obj, checked_name(name)), name)


def safe_vars(obj: Any, /) -> Any:
    """`vars` of an object; the one without arguments is not allowed."""
    return read(obj, "__dict__")


def safe_dir(obj: Any, /) -> list[str]:
    """`dir` of an object; the one without arguments is not allowed."""
    return dir(obj)


# ---- operator, functools ----------------------------------------------------------------------------------------------


def attrgetter(*attributes: str) -> Callable[[Any], Any]:
    """`operator.attrgetter` by the policy's rules."""
    if not attributes:
        raise TypeError("attrgetter expected 1 argument, got 0")
    paths = [checked_name(attribute).split(".") for attribute in attributes]

    def get(obj: Any) -> Any:
        values = tuple(functools.reduce(read, path, obj) for path in paths)
        return values if len(paths) > 1 else values[0]

    return get


def methodcaller(name: str, /, *args: Any, **options: Any) -> Callable[[Any], Any]:
    """`operator.methodcaller` by the policy's rules."""
    checked_name(name)
    return lambda obj: read(obj, name)(*args, **options)


def update_wrapper(wrapper: Any, wrapped: Any) -> Any:
    """`functools.update_wrapper` for functions of the program; which attributes to copy cannot be chosen."""
    if not is_own(wrapper):
        raise TypeError("update_wrapper changes functions of the program only")
    updated = ("__dict__",) if is_own(wrapped) else ()  # a dictionary of the library may hold anything
    return functools.update_wrapper(wrapper, wrapped, ("__module__", "__name__", "__qualname__", "__doc__"), updated)


def wraps(wrapped: Any) -> Callable[[Any], Any]:
    """`functools.wraps` with the attributes that `update_wrapper` copies."""
    return lambda wrapper: update_wrapper(wrapper, wrapped)


# ---- dataclasses ------------------------------------------------------------------------------------------------------


def _checked_fields(cls: Any) -> list[str]:
    """Names of a class's annotated fields: they become source text and patterns, so they are looked at first."""
    if not issubclass(type(cls), type) or not is_own_class(cls):
        raise TypeError("dataclass() takes a class of the program")
    annotated = vars(cls).get("__annotations__", {})
    if type(annotated) is not dict:
        raise TypeError(f"{cls.__name__}: annotations have to be written in the class")
    for name in annotated:
        if not checked_name(name).isidentifier() or names.is_special(name) or name in names.INSPECTING | names.UNMATCHABLE:
            raise TypeError(f"{cls.__name__}: a field cannot be named {name!r} here")
    inherited = [field for base in cls.__mro__ for field in vars(base).get("__dataclass_fields__", {}).values()]
    if any(type(field) is not dataclasses.Field for field in inherited):
        raise TypeError(f"{cls.__name__}: the fields of its bases were not made by dataclass()")
    return [*annotated, *(field.name for field in inherited)]


def dataclass(cls: Any = None, /, **options: Any) -> Any:
    """`dataclasses.dataclass`; a class with private fields gets no positional patterns."""

    def make(cls: Any) -> Any:
        private = any(name.startswith("_") for name in _checked_fields(cls))
        return dataclasses.dataclass(**({"match_args": False} if private else {}) | options)(cls)

    return make if cls is None else make(cls)


# ---- streams ----------------------------------------------------------------------------------------------------------


class Input:
    """Stands for `sys.stdin`; the real one leads to the class that opens files."""

    def read(self, size: int = -1) -> str:
        """At most so many characters."""
        return sys.stdin.read(size)

    def readline(self) -> str:
        """The next line, empty at the end."""
        return sys.stdin.readline()

    def readlines(self) -> list[str]:
        """All lines that are left."""
        return sys.stdin.readlines()

    def __iter__(self) -> Iterator[str]:
        return iter(sys.stdin.readline, "")


class Output:
    """Stands for `sys.stdout`."""

    def write(self, text: str) -> int:
        """Writes text; gives its length."""
        return sys.stdout.write(text)

    def flush(self) -> None:
        """Sends what is buffered."""
        sys.stdout.flush()


class Errors:
    """Stands for `sys.stderr`."""

    def write(self, text: str) -> int:
        """Writes text; gives its length."""
        return sys.stderr.write(text)

    def flush(self) -> None:
        """Sends what is buffered."""
        sys.stderr.flush()


@contextlib.contextmanager
def redirect_stdout(target: Any) -> Iterator[Any]:
    """`contextlib.redirect_stdout`, which as a class would let its subclasses redirect anything in `sys`."""
    before = sys.stdout
    sys.stdout = target
    try:
        yield target
    finally:
        sys.stdout = before


# ---- what the library does on its own -----------------------------------------------------------------------------------


def get_type_hints(obj: Any) -> dict[str, Any]:
    """Annotations as they are. The library's function would evaluate text."""
    hints = dict(getattr(obj, "__annotations__", {}))
    if any(isinstance(hint, str) for hint in hints.values()):
        raise TypeError("annotations in quotes are not evaluated here")
    return {name: types.NoneType if hint is None else hint for name, hint in hints.items()}


def _is_harmless_state(state: Any) -> bool:
    """Whether giving an object this state assigns no special attributes."""
    if type(state) is tuple and len(state) == 2 and state[1] is not None:
        slots = state[1]
        return type(slots) is dict and all(type(name) is str and not names.is_special(name) for name in slots)
    return type(state).__module__ == "builtins"


def _checked_members(members: Any) -> list[Any]:
    """Members of an enumeration that is made by a call, in a form that cannot change any more."""
    if type(members) is str:
        members = members.replace(",", " ").split()
    pairs = members.items() if type(members) is dict else members
    kept = [pair if type(pair) is str else tuple(pair) for pair in pairs]
    for pair in kept:
        if names.is_special(checked_name(pair if type(pair) is str else pair[0])):
            raise TypeError(f"a member cannot be named {pair!r}; write the enumeration as a class")
    return kept


def harden() -> None:
    """Changes the library of this very process where it would do for a program what the policy refuses."""
    reconstruct = copy._reconstruct  # type: ignore[attr-defined]

    def guarded(x: Any, memo: Any, function: Any, args: Any, state: Any = None, *rest: Any, **options: Any) -> Any:
        def make(*args: Any) -> Any:
            made = function(*args)
            if state is not None and not ((is_own(made) or type(made) is type(x)) and _is_harmless_state(state)):
                raise TypeError(f"cannot copy '{type(x).__name__}' object: its state is not that of its kind")
            return made

        return reconstruct(x, memo, make, args, state, *rest, **options)

    create = enum.EnumType._create_  # type: ignore[attr-defined]

    def guarded_create(cls: Any, name: str, members: Any, **options: Any) -> Any:
        if options.get("type") not in (None, int, str, float, bytes):
            raise TypeError("type has to be int, str, float or bytes; write the enumeration as a class")
        return create(cls, name, _checked_members(members), **options)

    enum.EnumType._create_ = guarded_create  # type: ignore[attr-defined]
    copy._reconstruct = guarded  # type: ignore[attr-defined]
    typing.get_type_hints = get_type_hints  # type: ignore[assignment]


REPLACED: dict[str, dict[str, Any]] = {
    "abc": {"ABCMeta": ABC_META},
    "contextlib": {"redirect_stdout": redirect_stdout},
    "dataclasses": {"dataclass": dataclass},
    "functools": {"update_wrapper": update_wrapper, "wraps": wraps},
    "operator": {"attrgetter": attrgetter, "methodcaller": methodcaller},
    "sys": {"stdin": Input(), "stdout": Output(), "stderr": Errors(), "argv": ["main.py"]},
    "typing": {"get_type_hints": get_type_hints},
}
"""Module -> name -> what stands for it."""
