"""The functions of a tree that have usable tests."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field

from slmagent.scenarios.code.mining.finding import Documented, FoundCheck, about, assertions, documented
from slmagent.scenarios.code.mining.holes import functions
from slmagent.scenarios.code.mining.trees import Module, Tree


@dataclass(slots=True)
class Summary:
    """What a tree gave."""

    files: int = 0
    functions: int = 0
    """Functions and methods at the top of a file or class, those of tests left out."""
    tested: int = 0
    """Those with at least one usable test."""
    candidates: Counter[str] = field(default_factory=Counter)
    """Holes that were tried, by kind."""
    tasks: Counter[str] = field(default_factory=Counter)
    """Holes that passed, by kind."""
    skipped: Counter[str] = field(default_factory=Counter)
    """What was left out, by reason: `file: ...`, `function: ...`, `doctest: ...`, `assert: ...`, `test: ...`, `task: ...`."""


@dataclass(frozen=True, slots=True)
class Target:
    """A function with tests about it."""

    module: Module
    name: str
    """`f` or `Class.method`."""
    shown_in: str
    """Whose docstring the doctests are from, as in `Documented`."""
    doctests: tuple[FoundCheck, ...]
    asserts: tuple[FoundCheck, ...]

    @property
    def full_name(self) -> str:
        """Unique in a tree."""
        return f"{self.module.name}.{self.name}"


def find_targets(
    tree: Tree, summary: Summary, on_file: Callable[[], None], *, only: Collection[str] | None = None
) -> Iterator[Target]:
    """The functions of a tree that have usable tests, in the order of the files.

    Args:
        tree: The tree.
        summary: Counts files, functions and what is left out.
        on_file: Called twice for each file: once it was searched for assertions, and for functions.
        only: Full names to look at; None for all.
    """
    summary.skipped.update(tree.skipped)
    asserted = assertions(tree, summary.skipped, on_file)
    for module in tree.modules.values():
        summary.files += 1
        if not module.is_test:
            yield from _targets_of(tree, module, asserted.get(module.name, []), summary, only)
        on_file()


def _targets_of(
    tree: Tree, module: Module, asserts: list[FoundCheck], summary: Summary, only: Collection[str] | None
) -> Iterator[Target]:
    syntax = module.syntax
    classes = {node.name: node for node in syntax.body if isinstance(node, ast.ClassDef)}
    found = list(functions(syntax))
    repeated = Counter(name for name, _ in found)
    read: dict[str, Documented] = {}
    summary.functions += len(found)
    for name, function in found:
        if only is not None and f"{module.name}.{name}" not in only:
            continue
        owner = name.rpartition(".")[0]
        docstrings = {name: function} | ({owner: classes[owner]} if owner else {}) | {"": syntax}
        shown_in, doctests = "", list[FoundCheck]()
        for shown_in, node in docstrings.items():
            if shown_in not in read:
                read[shown_in] = documented(tree, module, shown_in, node, summary.skipped)
            doctests = about(name, read[shown_in].checks)
            if doctests:
                break
        target = Target(module, name, shown_in, tuple(doctests), tuple(about(name, asserts)))
        if not target.doctests and not target.asserts:
            continue
        summary.tested += 1
        if repeated[name] > 1:
            summary.skipped["function: defined more than once, as properties with setters are"] += 1
        elif isinstance(function, ast.AsyncFunctionDef):
            summary.skipped["function: async"] += 1
        else:
            yield target
