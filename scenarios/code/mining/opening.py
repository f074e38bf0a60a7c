"""A function's own file: cut down to what it needs, with the tests that it passes, some shown and some hidden."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from slmagent.scenarios.code.mining.doctests import without_examples
from slmagent.scenarios.code.mining.holes import Function, functions
from slmagent.scenarios.code.mining.slicing import UnusableError, slice_module
from slmagent.scenarios.code.mining.targets import Target
from slmagent.scenarios.code.mining.trees import Tree, parse
from slmagent.scenarios.code.records import Check, CodeTask

_MOST_SHOWN = 2
"""Tests shown when all are of one sort; at least half of them stay hidden."""


class Judge(Protocol):
    """Runs code somewhere safe."""

    def passing(self, source: str, checks: Sequence[Check]) -> list[bool]:
        """Whether a file passes each of some tests."""
        ...

    def problems(self, task: CodeTask) -> list[str]:
        """What is wrong with a task, as texts of the form `kind: particulars`; none when it can be used."""
        ...


@dataclass(frozen=True, slots=True)
class Opened:
    """A target's own file, and the tests that it passes."""

    source: str
    function: Function
    """The target's node in it."""
    shown: tuple[Check, ...]
    hidden: tuple[Check, ...]


def open_target(
    tree: Tree, target: Target, judge: Judge, skipped: Counter[str], *, max_lines: int, also: Collection[str] = ()
) -> Opened:
    """Cuts a target's file down to what it needs, keeps the tests that it passes and hides most of them.

    A hidden doctest is taken out of its docstring. Where there are assertions to hide, the docstring stays whole.

    Args:
        tree: Where the target is from.
        target: The function.
        judge: Runs the tests.
        skipped: Counts tests that fail with the code as it is.
        max_lines: Length of a file that is still of use.
        also: Further names at the top of the file that have to stay.

    Raises:
        UnusableError: The file cannot be cut down or is too long, no test passes, or its docstring cannot be rewritten.
    """
    checks = (*target.doctests, *target.asserts)
    top = target.name.partition(".")[0]
    wanted = {top, *also}.union(*(check.names & target.module.names for check in checks))
    of_module = bool(target.doctests) and not target.shown_in
    source = slice_module(tree, target.module, wanted, top, docstring=of_module)
    if source.count("\n") > max_lines:
        raise UnusableError("file: too long even when cut down")
    _parsed(source)
    passes = judge.passing(source, [check.check for check in checks])
    skipped["test: fails with the code as it is"] += passes.count(False)
    failed = {check for check, passed in zip(checks, passes, strict=True) if not passed}
    doctests = [check for check in target.doctests if check not in failed]
    asserts = [check for check in target.asserts if check not in failed]
    if not doctests and not asserts:
        raise UnusableError("function: no test passes with the code as it is")
    if doctests and asserts:
        shown, hidden = doctests, asserts
    else:
        count = min(_MOST_SHOWN, len(doctests or asserts) // 2)
        shown, hidden = (doctests or asserts)[:count], (doctests or asserts)[count:]
    if doctests and not asserts:
        source = _hide(source, target, (shown[-1].place or 0) + 1 if shown else 0)
    function = dict(functions(_parsed(source)))[target.name]
    return Opened(source, function, tuple(check.check for check in shown), tuple(check.check for check in hidden))


def _parsed(source: str) -> ast.Module:
    try:
        return parse(source)
    except SyntaxError:
        raise UnusableError("file: cannot be cut down to what the function needs") from None


def _hide(source: str, target: Target, first: int) -> str:
    """Takes the doctests out of the docstring in which they are, from a certain one on."""
    syntax = _parsed(source)
    owners: dict[str, ast.Module | ast.ClassDef | Function] = {"": syntax, **dict(functions(syntax))}
    owners |= {node.name: node for node in syntax.body if isinstance(node, ast.ClassDef)}
    docstring = owners[target.shown_in].body[0]
    less = without_examples(source, docstring.value, first) if isinstance(docstring, ast.Expr) else None
    if less is None:
        raise UnusableError("function: its doctests cannot be taken out of the docstring")
    return less
