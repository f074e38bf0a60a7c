"""Which tests of a tree are about which function."""

from __future__ import annotations

import ast
import copy
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from slmagent.scenarios.code.mining.asserts import assert_snippets
from slmagent.scenarios.code.mining.doctests import doctest_snippets
from slmagent.scenarios.code.mining.holes import Function
from slmagent.scenarios.code.mining.slicing import UnusableError
from slmagent.scenarios.code.mining.snippets import Snippet, Substitution, mentioned
from slmagent.scenarios.code.mining.trees import Module, Tree, is_standard
from slmagent.scenarios.code.records import Check

Owner = ast.Module | ast.ClassDef | Function
_MOST_CHECKS = 10
"""Of each kind, doctests and assertions, for one function."""


@dataclass(frozen=True, slots=True)
class FoundCheck:
    """A test of a module's functions, made to run behind the module's own code."""

    check: Check
    names: frozenset[str]
    """Names and attributes that its code mentions."""
    place: int | None
    """For a doctest: its number among all the examples of its docstring."""


@dataclass(frozen=True, slots=True)
class Documented:
    """The doctests of one docstring."""

    owner: str
    """Whose docstring: `f`, `Class`, `Class.method`, or empty for the module's."""
    checks: tuple[FoundCheck, ...]


def stand_alone(tree: Tree, home: Module, tested: Module, snippet: Snippet) -> FoundCheck:
    """Makes a test run in the namespace of a module: names imported from it become its own.

    Args:
        tree: Where imports are looked up.
        home: The file in which the test stands.
        tested: The module.
        snippet: The test; it is not changed.

    Raises:
        UnusableError: It needs another module that does not come with Python.
    """
    own: dict[str, ast.expr] = {}
    mentions = mentioned(snippet.statements)
    if home is tested:  # doctests often use their own module as if it had been imported
        own = {f"{home.path.stem}.{name}": ast.Name(name, ast.Load()) for name in home.names & mentions}
    imports: list[ast.Import | ast.ImportFrom] = []
    rest: list[ast.stmt] = []
    for statement in snippet.statements:
        if not isinstance(statement, (ast.Import, ast.ImportFrom)):
            rest.append(copy.deepcopy(statement))
            continue
        own |= _brought(tree, home, tested, statement, mentions)
        if tree.find(home.absolute(statement) if isinstance(statement, ast.ImportFrom) else "") is not tested:
            imports.append(statement)
    rest = [Substitution(own).visit(statement) for statement in rest]
    names = mentioned(rest)
    kept = [part for statement in imports for part in _still_needed(home, statement, names, own)]
    check = replace(snippet, statements=(*kept, *rest)).check()
    return FoundCheck(check, names, snippet.place)


def _brought(tree: Tree, home: Module, tested: Module, statement: ast.stmt, mentions: frozenset[str]) -> dict[str, ast.expr]:
    """What an import statement brings of a module, as that module's own names, as far as they are mentioned."""
    own: dict[str, ast.expr] = {}
    for alias, module, name in tree.offered(statement, home):
        if name and module is tested:
            own[alias] = ast.Name(name, ast.Load())
        elif not name:
            for inner, original in tree.handed_on(module, tested).items():
                if inner in mentions:
                    own[f"{alias}.{inner}"] = ast.Name(original, ast.Load())
    return own


def _still_needed(
    home: Module, statement: ast.Import | ast.ImportFrom, names: frozenset[str], own: dict[str, ast.expr]
) -> Iterable[ast.stmt]:
    """An import statement without what is not mentioned any more."""
    aliases = [alias for alias in statement.names if (alias.asname or alias.name).partition(".")[0] in names]
    aliases = [alias for alias in aliases if (alias.asname or alias.name) not in own]
    if not aliases:
        return
    sources = [home.absolute(statement)] if isinstance(statement, ast.ImportFrom) else [alias.name for alias in aliases]
    if not all(map(is_standard, sources)):
        raise UnusableError("test: needs more than the tested module and what comes with Python")
    if isinstance(statement, ast.ImportFrom):
        yield ast.ImportFrom(sources[0], aliases, 0)
    else:
        yield ast.Import(aliases)


def assertions(tree: Tree, skipped: Counter[str], on_file: Callable[[], None]) -> dict[str, list[FoundCheck]]:
    """The usable assertions of all test files of a tree, by the name of the module that they test.

    Args:
        tree: The tree.
        skipped: Counts what cannot be used, by reason.
        on_file: Called after each file.
    """
    found: dict[str, list[FoundCheck]] = defaultdict(list)
    for home in tree.modules.values():
        if "def test" in home.text:
            for snippet in assert_snippets(home.syntax, skipped, prelude=home.is_test):
                for tested in _tested_by(tree, home, snippet):
                    try:
                        found[tested.name].append(stand_alone(tree, home, tested, snippet))
                    except UnusableError as problem:
                        skipped[str(problem)] += 1
        on_file()
    return found


def _tested_by(tree: Tree, home: Module, snippet: Snippet) -> list[Module]:
    """The modules whose names a test mentions."""
    if not home.is_test:
        return [home]
    imports = [node for node in snippet.statements if isinstance(node, (ast.Import, ast.ImportFrom))]
    found: dict[str, Module] = {}
    for statement in imports:
        for _, module, name in tree.offered(statement, home):
            for inner in () if name else module.origins:  # a package that hands on what its modules define
                origin = tree.origin(module.name, inner)
                if origin is not None:
                    found[origin[0].name] = origin[0]
            found[module.name] = module
    return [module for module in found.values() if not module.is_test]


def documented(tree: Tree, module: Module, owner: str, node: Owner, skipped: Counter[str]) -> Documented:
    """The usable doctests of a docstring, none where there is no docstring.

    Args:
        tree: Where imports are looked up.
        module: The file.
        owner: Whose docstring, as in `Documented`.
        node: Its node.
        skipped: Counts what cannot be used, by reason.
    """
    text = ast.get_docstring(node, clean=False)
    found: list[FoundCheck] = []
    for snippet in doctest_snippets(text, skipped) if text and ">>>" in text else ():
        try:
            found.append(stand_alone(tree, module, module, snippet))
        except UnusableError as problem:
            skipped[str(problem)] += 1
    return Documented(owner, tuple(found))


def about(name: str, checks: Iterable[FoundCheck]) -> list[FoundCheck]:
    """The tests that mention a function, `f` or `Class.method`; the first few of them.

    Operators and other special methods are never mentioned by name: there every test counts that mentions the class.
    """
    owner, _, last = name.rpartition(".")
    special = last.startswith("__") and last.endswith("__")
    wanted = {last} if not owner else {owner} if special else {owner, last}
    return [check for check in checks if wanted <= check.names][:_MOST_CHECKS]
