"""What restricted code calls wherever it reads an attribute, assigns one or makes a class.

A class is the program's own when its `__module__` is `__main__`; only a class statement, `namedtuple` or an enumeration of the
program can give it that. All decisions go by `type(x)`, which an object cannot forge, never by `isinstance`.
"""

from __future__ import annotations

import abc
import builtins
import decimal
import re
import string
import textwrap
import types
import typing
from collections.abc import Callable
from typing import Any

from slmagent.sandbox.restricted import names

OPAQUE = frozenset([types.ModuleType, types.FrameType, types.CodeType, types.TracebackType])
"""Kinds of objects that show no attributes and are never handed out."""
FORBIDDEN_FUNCTIONS = frozenset(
    getattr(builtins, name)
    for name in names.REFUSED_BUILTINS
    if isinstance(getattr(builtins, name, None), types.BuiltinFunctionType)
)
WRITABLE_KINDS = (decimal.Context, textwrap.TextWrapper, types.SimpleNamespace)
"""Library objects that are made to be set up by assigning their attributes."""
_METHODS = (types.BuiltinFunctionType, types.MethodDescriptorType)
_CHECKED = OPAQUE.union(_METHODS, [type])
_WATCHED = names.INSPECTING | {"obj", "mro", "register"}
_ALIASES = (types.GenericAlias, type(typing.List), type(typing.List[int]))  # noqa: UP006

# ---- what is the program's own --------------------------------------------------------------------------------------


def is_own_class(cls: type) -> bool:
    """Whether a class was made by the program."""
    return cls.__dict__.get("__module__") == "__main__"


def is_own(obj: Any) -> bool:
    """Whether an object is the program's own: a class of it, an instance of one, or a function."""
    kind = type(obj)
    if issubclass(kind, type):
        return is_own_class(obj)
    if kind is types.FunctionType:
        return obj.__globals__.get("__name__") == "__main__"
    return is_own_class(kind)


def _refuse(obj: Any, name: str, why: str) -> AttributeError:
    return AttributeError(f"attribute '{name}' of '{type(obj).__name__}' object is not allowed: {why}")


def _check_private(obj: Any, name: str) -> None:
    """Raises unless a private name of an object is one that the program gave it."""
    kind = type(obj)
    mro: Any
    if kind is super:
        mro = type.mro(obj.__self_class__)
        mro = mro[mro.index(obj.__thisclass__) + 1 :]
    elif not is_own(obj):
        raise _refuse(obj, name, "names that start with an underscore are private to what the program defines itself")
    else:
        mro = (*type.mro(obj), *kind.__mro__) if isinstance(obj, type) else kind.__mro__
    holder = next((cls for cls in mro if name in cls.__dict__), None)
    if holder is not None and not is_own_class(holder):
        raise _refuse(obj, name, f"it is private to {holder.__name__}")


# ---- reading --------------------------------------------------------------------------------------------------------


def read(obj: Any, name: str) -> Any:
    """`obj.name`.

    Raises:
        AttributeError: There is none, or the policy keeps it back.
    """
    if name.startswith("_"):
        if names.is_special(name):
            return _read_special(obj, name)
        _check_private(obj, name)
    elif name in _WATCHED:
        _check_watched(obj, name)
    if type(obj) in OPAQUE:
        raise _refuse(obj, name, "such objects show nothing")
    value = getattr(obj, name)
    return checked(value) if type(value) in _CHECKED else value


def _check_watched(obj: Any, name: str) -> None:
    if name in names.INSPECTING:
        raise _refuse(obj, name, "it leads to frames and code")
    if name == "obj" and isinstance(obj, AttributeError):
        raise _refuse(obj, name, "it may be an object from inside a library")
    if name in ("mro", "register") and issubclass(type(obj), type) and not (name == "mro" and is_own_class(obj)):
        holder = next((cls for cls in obj.__mro__ if name in cls.__dict__), None)
        if holder is None or not is_own_class(holder):
            raise _refuse(obj, name, "classes keep their relations to themselves")


def checked(value: Any) -> Any:
    """A value that was read, or what stands for it; raises AttributeError for what is never handed out."""
    kind = type(value)
    if kind in _METHODS:
        if value.__name__ in ("format", "format_map"):
            return _safe_format(value)
        if kind is types.BuiltinFunctionType and value in FORBIDDEN_FUNCTIONS:
            raise AttributeError(f"function '{value.__name__}' is not allowed")
    elif kind is type:
        return Type if issubclass(value, type) and value is not Type else value
    elif kind in OPAQUE:
        raise AttributeError(f"'{kind.__name__}' objects are not handed out")
    return value


def _read_special(obj: Any, name: str) -> Any:
    if type(obj) in OPAQUE or (name not in names.READABLE and name not in names.GUARDED):
        raise _refuse(obj, name, "of the special names only a few may be used")
    if name == "__class__":
        return Type(obj)
    if name in ("__setattr__", "__delattr__"):
        return _safe_setter(obj, name)
    if name in names.GUARDED and not is_own(obj):
        raise _refuse(obj, name, "the program can read it of its own objects only")
    value = checked(getattr(obj, name))
    return dict(value) if name == "__annotations__" else value


def _safe_setter(obj: Any, name: str) -> Any:
    """`object.__setattr__`, `super().__setattr__` and the like, by the same rules as assigning with the dot."""
    method = getattr(obj, name)
    if is_own(getattr(method, "__func__", method)):
        return method
    unbound = issubclass(type(obj), type)
    owner: Any = getattr(obj, "__self__") if type(obj) is super else obj  # noqa: B009 - unknown to type checkers

    def call(*args: Any) -> None:
        target, attribute = (args[0], args[1]) if unbound else (owner, args[0])
        write(target, checked_name(attribute))
        method(*args)

    return call


def checked_name(name: object) -> str:
    """A name that came as a value. A subclass of str could change between the check and the use."""
    if type(name) is not str:
        raise TypeError(f"attribute name must be string, not '{type(name).__name__}'")
    return name


# ---- str.format reads attributes -------------------------------------------------------------------------------------


def _check_fields(text: str) -> None:
    for _, field, spec, _ in string.Formatter().parse(text):
        for attribute in re.findall(r"\.([^.\[]*)", field or ""):
            if not names.is_plain(attribute):
                raise _refuse(text, attribute, "format strings read public attributes only")
        if spec:
            _check_fields(spec)


def _safe_format(method: Any) -> Any:
    """A `format` or `format_map` of text, bound or not, that reads public attributes only."""
    text = getattr(method, "__self__", None)
    if not issubclass(str if text is None and method.__objclass__ is str else type(text), str):
        return method

    def call(*args: Any, **values: Any) -> str:
        content = args[0] if text is None and args else text
        if isinstance(content, str):
            _check_fields(str.__str__(content))
        return method(*args, **values)

    return call


# ---- writing --------------------------------------------------------------------------------------------------------


def write(obj: Any, name: str) -> Any:
    """The object itself, when the program may assign its attribute `name` or delete it.

    Raises:
        AttributeError: The object or the name is not the program's.
    """
    if not name.startswith("_") and is_own(obj):
        return obj
    if names.is_special(name) and name not in names.WRITABLE:
        raise _refuse(obj, name, "special names cannot be assigned to")
    if not is_own(obj) and (type(obj) not in WRITABLE_KINDS or name.startswith("_")):
        raise _refuse(obj, name, "attributes can be assigned on what the program defines itself")
    if name.startswith("_") and not names.is_special(name):
        _check_private(obj, name)
    return obj


# ---- classes --------------------------------------------------------------------------------------------------------


class _TypeOfType(type):
    def __call__(cls, *args: Any) -> Any:
        if len(args) != 1:
            raise TypeError("type() takes 1 argument here; make classes with a class statement")
        kind = type(args[0])
        return Type if issubclass(kind, type) else kind

    def __instancecheck__(cls, instance: Any) -> bool:
        return issubclass(type(instance), type)

    def __repr__(cls) -> str:
        return "<class 'type'>"


class Type(metaclass=_TypeOfType):
    """Stands for `type`: tells the class of an object and makes none. Metaclasses themselves are never shown."""

    def __class_getitem__(cls, item: Any) -> Any:
        return typing.Type[item]  # noqa: UP006 - unlike `type[item]` it cannot be called


Type.__name__ = Type.__qualname__ = "type"


class _ABCMeta:
    """Stands for `abc.ABCMeta` in `metaclass=ABCMeta`."""

    def __repr__(self) -> str:
        return "<class 'abc.ABCMeta'>"


ABC_META = _ABCMeta()


def class_builder(is_exposed: Callable[[Any], bool]) -> Callable[..., Any]:
    """What a class statement calls.

    Args:
        is_exposed: Whether an object was handed to the program by name. Only such, and its own, can be base classes: classes
            that it merely comes by, as the type of some helper object, trust their subclasses too much.
    """

    def build_class(body: Any, name: str, *bases: Any, **options: Any) -> Any:
        for base in bases:
            if base is Type:
                raise TypeError(f"class {name}: metaclasses are not allowed; use a class decorator or __init_subclass__")
            origin = base.__origin__ if type(base) in _ALIASES else base
            is_class = issubclass(type(origin), type)
            if is_class and issubclass(origin, BaseExceptionGroup):
                raise TypeError(f"class {name}: subclasses of exception groups are not allowed; raise ExceptionGroup itself")
            if not (is_exposed(origin) or (is_class and is_own_class(origin))) or (is_class and issubclass(origin, type)):
                raise TypeError(f"class {name}: {base!r} is not allowed as base class")
        metaclass = options.pop("metaclass", None)
        if metaclass is ABC_META:
            options["metaclass"] = abc.ABCMeta
        elif metaclass is not None:
            raise TypeError(
                f"class {name}: metaclasses but ABCMeta are not allowed; use a class decorator or __init_subclass__"
            )
        return builtins.__build_class__(body, name, *bases, **options)

    return build_class
