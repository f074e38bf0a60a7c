"""Pieces of Python as syntax trees: which names they bind and need, and what a test becomes once it stands alone."""

from __future__ import annotations

import ast
import functools
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from slmagent.scenarios.code.records import Check, Expectation

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_INNER = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)
_BUILDERS: dict[str, Callable[[list[ast.expr]], ast.expr]] = {
    "set": ast.Set,
    "tuple": lambda items: ast.Tuple(items, ast.Load()),
    "list": lambda items: ast.List(items, ast.Load()),
}


@dataclass(frozen=True, slots=True)
class Snippet:
    """A test that somebody wrote, with the statements before it that it needs."""

    statements: tuple[ast.stmt, ...]
    """With `value`, the last one is the expression that is looked at."""
    kind: Expectation
    expect: str
    tolerance: float = 0.0
    place: int | None = None
    """For a doctest: its number among all the examples of its docstring."""

    def check(self) -> Check:
        """The test as text."""
        return Check(source_of(self.statements), self.kind, self.expect, self.tolerance)


def lines_of(source: str) -> list[str]:
    """Lines with their ends, divided as Python divides them: a form feed ends none."""
    return io.StringIO(source).readlines()


@functools.lru_cache(maxsize=8192)  # asked again for each of the tests of one file
def names(node: ast.AST) -> frozenset[str]:
    """All names in a piece of code, whatever is done to them."""
    parts = list(ast.walk(node))
    found = {part.id for part in parts if isinstance(part, ast.Name)}
    return frozenset(found.union(*(part.names for part in parts if isinstance(part, ast.Global))))


def mentioned(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """All names and attributes in some pieces of code."""
    parts = [part for node in nodes for part in ast.walk(node)]
    attributes = {part.attr for part in parts if isinstance(part, ast.Attribute)}
    return frozenset(attributes | {part.id for part in parts if isinstance(part, ast.Name)})


def _own(statement: ast.stmt) -> Iterator[ast.AST]:
    """The nodes of a statement that run in its own scope; a definition counts as one node."""
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, (*_SCOPES, *_INNER)):
            pending.extend(ast.iter_child_nodes(node))


@functools.lru_cache(maxsize=8192)
def bound(statement: ast.stmt) -> frozenset[str]:
    """The names that a statement gives a value, blocks inside it included."""
    found: set[str] = set()
    for node in _own(statement):
        if isinstance(node, _SCOPES):
            found.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {alias.asname or alias.name.partition(".")[0] for alias in node.names} - {"*"}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            found.add(node.id)
    return frozenset(found)


def changed(statement: ast.stmt) -> set[str]:
    """The names whose objects a statement seems to change: `x.a = 1`, `x[k] += 1`, a bare `x.update(...)`."""
    found: set[str] = set()
    for node in _own(statement):
        if isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, (ast.Store, ast.Del)):
            found.add(_root(node))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
            found.add(_root(node.value.func))
    return found - {""}


def _root(node: ast.expr) -> str:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def needed(statements: Sequence[ast.stmt], wanted: set[str], *, touching: bool) -> list[int]:
    """Which of some statements, run in order, the code that comes after them depends on.

    Args:
        statements: Run before that code.
        wanted: Names that the code mentions.
        touching: A statement that merely mentions a variable counts, too, as in `stack.pop()`.

    Returns:
        Their indexes, in order.
    """
    fixed = (*_SCOPES, ast.Import, ast.ImportFrom)
    variables = set[str]().union(
        *(bound(statement) for statement in statements if touching and not isinstance(statement, fixed))
    )
    wanted, kept = set(wanted), []
    for index in reversed(range(len(statements))):
        statement = statements[index]
        if bound(statement) & wanted or (touching and names(statement) & wanted & variables):
            kept.append(index)
            wanted |= names(statement)
    return kept[::-1]


def literal(node: ast.expr) -> str | None:
    """The source of a literal with the value of a constant expression; None when it is no such expression.

    Understands literals and `set(...)`, `tuple(...)` and `list(...)` around a list or tuple of literals.
    """
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _BUILDERS:
        items = node.args[0] if len(node.args) == 1 and not node.keywords else None
        if isinstance(items, (ast.List, ast.Tuple)) and items.elts:
            node = _BUILDERS[node.func.id](items.elts)
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    return ast.unparse(node)


class Substitution(ast.NodeTransformer):
    """Puts expressions in the place of names, and of dotted names such as `package.module.f`."""

    def __init__(self, expressions: dict[str, ast.expr]) -> None:
        self._expressions = expressions

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Replaces a name that is read."""
        return self._expressions.get(node.id, node) if isinstance(node.ctx, ast.Load) else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """Replaces a dotted name as a whole."""
        dotted = dotted_name(node)
        if dotted in self._expressions:
            return self._expressions[dotted]
        return self.generic_visit(node)  # pyright: ignore[reportReturnType]


def dotted_name(node: ast.expr) -> str:
    """`package.module.f` of such an expression; empty for any other."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def source_of(statements: Iterable[ast.AST]) -> str:
    """The code of some statements, one below the other."""
    return "\n".join(ast.unparse(ast.fix_missing_locations(statement)) for statement in statements)
