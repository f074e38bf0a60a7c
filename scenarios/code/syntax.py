"""Syntax trees, also from several threads: in CPython 3.11 two threads that make one at a time can trip each other up."""

from __future__ import annotations

import ast
import threading
from typing import Any

_ONE_AT_A_TIME = threading.Lock()
_TRIES = 5


def parse(source: str) -> ast.Module | None:
    """The syntax tree of a source, None if it has none.

    The count of nested nodes is shared by all threads there (CPython issue 106905), so trees are made one at a time, and again
    if somebody else's thread interfered.
    """
    for _ in range(_TRIES):
        try:
            with _ONE_AT_A_TIME:
                return ast.parse(source)
        except SystemError:
            continue
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
    return None


def literal(text: str) -> Any:
    """The value of a Python literal.

    Raises:
        ValueError: It is none.
    """
    tree = parse(text)
    if tree is None or len(tree.body) != 1 or not isinstance(tree.body[0], ast.Expr):
        raise ValueError(f"expected a Python literal, actual {text[:80]!r}")
    return ast.literal_eval(tree.body[0].value)
