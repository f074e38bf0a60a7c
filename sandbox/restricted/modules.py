"""Which modules a program may import, and what it gets in their place: an object that holds their public names and no more.

A list of module names alone leaks: `re.enum.sys.modules` is the whole interpreter. So a module is handed out as a `Module`,
which has no way back to the real one. All modules are loaded together with the policy, before there is any program.
"""

from __future__ import annotations

import difflib
import importlib
import types
from collections.abc import Sequence
from typing import Any

from slmagent.sandbox.restricted.guards import checked
from slmagent.sandbox.restricted.library import REPLACED
from slmagent.sandbox.restricted.names import words

WHOLE = words("""
    array base64 binascii bisect calendar cmath collections collections.abc copy csv datetime decimal difflib fractions
    functools graphlib hashlib heapq html itertools json keyword math numbers operator queue random re statistics string
    struct textwrap time typing unicodedata
""")
"""Modules handed out with their public interface."""
PARTS = {
    "__future__": words("annotations"),
    "abc": words("ABC abstractmethod"),
    "ast": words("literal_eval"),
    "contextlib": words("AbstractContextManager ContextDecorator ExitStack closing contextmanager nullcontext suppress"),
    "dataclasses": words("FrozenInstanceError InitVar KW_ONLY MISSING asdict astuple field fields is_dataclass replace"),
    "enum": words("""
        CONFORM CONTINUOUS EJECT Enum Flag IntEnum IntFlag KEEP NAMED_FLAGS STRICT StrEnum UNIQUE auto member nonmember
        unique verify
    """),
    "io": words("BytesIO StringIO"),
    "pprint": words("pformat pp pprint"),
    "secrets": words("choice randbelow token_bytes token_hex token_urlsafe"),
    "sys": words("""
        byteorder exit float_info getrecursionlimit getsizeof int_info intern maxsize maxunicode setrecursionlimit version
        version_info
    """),
    "timeit": words("default_timer"),
    "traceback": words("format_exc format_exception print_exc"),
    "types": words("MappingProxyType NoneType SimpleNamespace"),
    "urllib.parse": words("""
        parse_qs parse_qsl quote quote_plus unquote unquote_plus urlencode urljoin urlparse urlsplit urlunparse
    """),
    "warnings": words("warn"),
    "weakref": words("WeakKeyDictionary WeakSet WeakValueDictionary ref"),
}
"""Modules of which only these names are handed out."""
HIDDEN = {
    "collections": ["UserString"],  # its format() is the unguarded one
    "string": ["Formatter"],  # so is this
    "typing": ["get_origin", "ForwardRef"],  # the first gives `type` away; the second evaluates text
    "functools": ["WRAPPER_ASSIGNMENTS", "WRAPPER_UPDATES"],
}
"""Public names kept back."""
EXPOSED = frozenset(WHOLE) | frozenset(PARTS) | frozenset(REPLACED)
"""Every module that can be imported."""


class Module:
    """Holds what a module hands out. It has no name: the import statement would look for the real module's parts by it."""

    __name__ = property()

    def __repr__(self) -> str:
        return "<module with public names only>"


def refusal(module: str) -> str | None:
    """Why a module cannot be imported and what is there instead; None when it can."""
    if module in EXPOSED or module == "urllib":
        return None
    near = difflib.get_close_matches(module, EXPOSED, n=1, cutoff=0.8)
    hint = f"did you mean {near[0]}?" if near else "modules of pure computation are, such as math, collections, re, json"
    return f"module '{module}' is not available here; {hint}"


def _public(name: str) -> dict[str, Any]:
    module = importlib.import_module(name)
    words: Sequence[str] = getattr(module, "__all__", None) or [word for word in vars(module) if not word.startswith("_")]
    words = PARTS.get(name, words) if name not in REPLACED or name in PARTS or name in WHOLE else []
    values = {word: getattr(module, word) for word in words if word not in HIDDEN.get(name, ()) and hasattr(module, word)}
    values = {word: checked(value) for word, value in values.items() if not isinstance(value, types.ModuleType)}
    return values | REPLACED.get(name, {})


def load() -> dict[str, Module]:
    """All modules by name, those with a dot also as attributes of their parents."""
    loaded = {name: Module() for name in {*EXPOSED, *(name.partition(".")[0] for name in EXPOSED)}}
    for name in EXPOSED:
        values = _public(name)
        vars(loaded[name]).update(values, __all__=[*values])
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(loaded[parent], child, loaded[name])
    return loaded
