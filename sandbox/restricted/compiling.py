"""Turns a program into code that keeps to the policy, with the names it starts with. Runs in the fresh process."""

from __future__ import annotations

import ast
import builtins
import types
from typing import Any

from slmagent.sandbox.child import Rejected
from slmagent.sandbox.restricted import guards, library
from slmagent.sandbox.restricted.modules import load, refusal
from slmagent.sandbox.restricted.names import words
from slmagent.sandbox.restricted.policy import READ, WRITE, Policy

MAX_CHARS = 100_000
"""Longest program, characters."""
MAX_REASONS = 5
_KEPT = words("""
    abs all any ascii bin bool bytearray bytes callable chr classmethod complex dict divmod enumerate filter float format
    frozenset hash hex id input int isinstance issubclass iter len list map max min next object oct ord pow print property
    range repr reversed round set slice sorted staticmethod str sum super tuple zip Ellipsis NotImplemented
""")
_MODULES = load()


def _builtins() -> dict[str, Any]:
    kept = {name: getattr(builtins, name) for name in _KEPT}
    exceptions = {
        name: value for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, BaseException)
    }
    stop = _MODULES["sys"].exit  # type: ignore[attr-defined]
    return (
        kept
        | exceptions
        | {
            "True": True,
            "False": False,
            "None": None,
            "type": guards.Type,
            "getattr": library.safe_getattr,
            "hasattr": library.safe_hasattr,
            "setattr": library.safe_setattr,
            "delattr": library.safe_delattr,
            "vars": library.safe_vars,
            "dir": library.safe_dir,
            "exit": stop,
            "quit": stop,
        }
    )


BUILTINS = _builtins()
"""Built-in names of a program, but for those that statements use by themselves."""
_BASES = {id(value) for values in (BUILTINS, *map(vars, _MODULES.values())) for value in values.values()} - {id(super)}


def _import(name: str, _globals: Any = None, _locals: Any = None, wanted: Any = (), level: int = 0) -> Any:
    """What an import statement calls."""
    if level or name not in _MODULES:
        raise ImportError(refusal("." * level + name))
    return _MODULES[name if wanted else name.partition(".")[0]]


def check(source: str, file: str) -> types.CodeType:
    """Checks and compiles a program; runs nothing of it and changes nothing.

    Raises:
        Rejected: The program is refused, or cannot be compiled.
    """
    if len(source) > MAX_CHARS:
        raise Rejected(f"the program has {len(source)} characters; at most {MAX_CHARS} are taken")
    try:
        tree = ast.parse(source, file)
        policy = Policy(tree)
        policy.visit(tree)
        if policy.found:
            reasons = sorted(set(policy.found))
            raise Rejected("\n".join(f"line {line}: {text}" for line, text in reasons[:MAX_REASONS]), reasons[0][0])
        return compile(tree, file, "exec", dont_inherit=True)
    except SyntaxError as problem:
        where = f"line {problem.lineno}: " if problem.lineno else ""
        raise Rejected(f"{where}syntax error: {problem.msg}", problem.lineno) from None
    except (RecursionError, MemoryError):
        raise Rejected("the program is nested too deeply; put parts of it into variables or functions") from None
    except ValueError as problem:  # a lone surrogate
        raise Rejected(f"the program is no text that can be compiled: {problem}") from None


def compile_program(source: str, file: str) -> tuple[types.CodeType, dict[str, Any]]:
    """A policy for `child.execute`: `check`, and the names a program starts with. Hardens the library of this process.

    Raises:
        Rejected: As `check` does.
    """
    code = check(source, file)
    library.harden()
    special = {"__build_class__": guards.class_builder(lambda obj: id(obj) in _BASES), "__import__": _import}
    return code, {"__name__": "__main__", "__builtins__": BUILTINS | special | {READ: guards.read, WRITE: guards.write}}
