"""Where a file can be opened: at the body of a function, or at one line of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from slmagent.scenarios.code.mining.slicing import UnusableError
from slmagent.scenarios.code.mining.snippets import lines_of

Function = ast.FunctionDef | ast.AsyncFunctionDef
_WORK = (ast.Call, ast.BinOp, ast.BoolOp, ast.Compare, ast.Subscript, ast.IfExp, ast.ListComp, ast.SetComp, ast.DictComp)
"""An expression with one of these inside takes thought; a bare name or constant does not."""


@dataclass(frozen=True, slots=True)
class Hole:
    """A file in three parts."""

    before: str
    """Up to the cursor, the indentation of the hole's first line included."""
    reference: str
    """What was there, without the line's end."""
    after: str
    line: int
    """Number of the hole's first line, counted from the line of `def`."""


def functions(syntax: ast.Module) -> Iterator[tuple[str, Function]]:
    """The functions at the top of a file and the methods of its classes, with their names: `f` or `Class.method`."""
    for node in syntax.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield f"{node.name}.{inner.name}", inner


def body_hole(source: str, function: Function) -> Hole:
    """Opens a file at the body of a function; a docstring stays.

    Args:
        source: The file.
        function: A node of it.

    Raises:
        UnusableError: The function has no body of its own, or it begins on the line of `def`.
    """
    statements = function.body[1:] if has_docstring(function) else function.body
    if not statements:
        raise UnusableError("function: nothing but a docstring")
    lines = lines_of(source)
    first = _first_line(statements[0]) - 1
    if has_docstring(function):
        first = min(first, function.body[0].end_lineno or first)
        while not lines[first].strip():
            first += 1
    if lines[first][: statements[0].col_offset].strip():
        raise UnusableError("function: its body begins on the line of def")
    return _open(lines, first, statements[-1].end_lineno or 0, function)


def line_holes(source: str, function: Function) -> Iterator[Hole]:
    """Opens a file at each line of a function that is a whole assignment or return with some work in it, last line first."""
    lines = lines_of(source)
    kinds = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return)
    found = [node for node in ast.walk(function) if isinstance(node, kinds) and node.lineno == node.end_lineno]
    for node in sorted(found, key=lambda node: -node.lineno):
        line = lines[node.lineno - 1].encode()
        alone = not line[: node.col_offset].strip() and line[node.end_col_offset :].strip()[:1] in (b"", b"#")
        if alone and node.value is not None and any(isinstance(part, _WORK) for part in ast.walk(node.value)):
            yield _open(lines, node.lineno - 1, node.lineno, function)


def has_docstring(function: Function) -> bool:
    """Whether a function begins with a docstring."""
    return ast.get_docstring(function, clean=False) is not None


def _first_line(statement: ast.stmt) -> int:
    decorators = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def _open(lines: list[str], first: int, end: int, function: Function) -> Hole:
    inside = "".join(lines[first:end])
    text = inside.lstrip(" \t")
    indent, reference = inside[: len(inside) - len(text)], text.rstrip()
    after = text[len(reference) :] + "".join(lines[end:])
    return Hole("".join(lines[:first]) + indent, reference, after, first + 1 - function.lineno)
