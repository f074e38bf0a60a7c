"""A part of a file that runs alone: the wanted definitions and all that they need, in the file's own order.

Imports from elsewhere in the tree are replaced by the definitions that they bring. Statements that have an effect but give
no needed name a value (a script's main part, prints) are left out.
"""

from __future__ import annotations

import ast
import functools
from collections import Counter
from dataclasses import dataclass

from slmagent.scenarios.code.mining.snippets import bound, changed, lines_of, names
from slmagent.scenarios.code.mining.trees import Module, Tree, is_standard, parse

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_IMPORTS = (ast.Import, ast.ImportFrom)


class UnusableError(Exception):
    """Code that becomes no task; the text is the reason, the same for all code of this kind."""


@dataclass(frozen=True, slots=True)
class _Facts:
    """What a top-level statement does with names."""

    gives: frozenset[str]
    """Names that it binds or whose objects it changes."""
    needs: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Piece:
    """A statement that goes into the slice."""

    text: str
    layout: str
    """`import`, `definition` or `other`, which decides on the blank lines around it."""


_Pieces = dict[tuple[str, int, str], _Piece]
"""By module, number of the statement, and name (for an import from the tree under another name)."""


def slice_module(tree: Tree, module: Module, wanted: set[str], target: str, *, docstring: bool = False) -> str:
    """The part of a module that the wanted names need.

    Args:
        tree: Where its imports are looked up.
        module: The file.
        wanted: Names at its top.
        target: The wanted function or class whose own source it is about: a later import of the same name, as of a faster
            version in C, is left out.
        docstring: Keep the module's docstring.

    Raises:
        UnusableError: It needs what is neither in the tree nor comes with Python, or two files use one name.
    """
    pieces: _Pieces = {}
    _collect(tree, module, frozenset(wanted), target, pieces, ())
    _refuse_clashes(tree, pieces)
    ordered = [piece for piece in pieces.values() if piece.layout != "future"]
    futures = {piece.text: piece for piece in pieces.values() if piece.layout == "future"}
    first = module.syntax.body[0]
    head = [_Piece(_text(module, first), "definition")] if docstring and ast.get_docstring(module.syntax) else []
    return _join([*head, *futures.values(), *ordered])


def _collect(
    tree: Tree, module: Module, wanted: frozenset[str], target: str, pieces: _Pieces, active: tuple[Module, ...]
) -> None:
    """Adds the statements of a module that some names need."""
    if module in active:
        raise UnusableError("file: imports in a circle")
    body, facts = module.syntax.body, _facts(module.text)
    kept, all_wanted = _closure(body, facts, wanted, target)
    for index in sorted(kept):
        node = body[index]
        if (module.name, index, "") in pieces:
            continue
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            pieces[module.name, index, ""] = _Piece(_text(module, node), "future")
        elif isinstance(node, _IMPORTS):
            _collect_import(tree, module, index, node, all_wanted, pieces, (*active, module))
        else:
            layout = "definition" if isinstance(node, _DEFINITIONS) else "other"
            pieces[module.name, index, ""] = _Piece(_text(module, node), layout)


def _closure(
    body: list[ast.stmt], facts: tuple[_Facts, ...], wanted: frozenset[str], target: str
) -> tuple[set[int], frozenset[str]]:
    """Numbers of the needed statements, and all names that they need."""
    kept = {index for index, node in enumerate(body) if isinstance(node, ast.ImportFrom) and node.module == "__future__"}
    while True:
        more = {
            index
            for index, fact in enumerate(facts)
            if index not in kept and fact.gives & wanted and not _is_left_out(body[index], fact, target)
        }
        if not more:
            return kept, wanted
        kept |= more
        wanted = wanted.union(*(facts[index].needs for index in more))


def _is_left_out(node: ast.stmt, fact: _Facts, target: str) -> bool:
    if isinstance(node, ast.If) and "__name__" in fact.needs:
        return True
    return target in bound(node) and not isinstance(node, _DEFINITIONS)


@functools.lru_cache(maxsize=16)
def _facts(text: str) -> tuple[_Facts, ...]:
    return tuple(_Facts(frozenset(bound(node) | changed(node)), frozenset(names(node))) for node in parse(text).body)


def _collect_import(
    tree: Tree,
    module: Module,
    index: int,
    node: ast.Import | ast.ImportFrom,
    wanted: frozenset[str],
    pieces: _Pieces,
    active: tuple[Module, ...],
) -> None:
    """Adds an import statement, or what it brings where that lies in the tree."""
    whole = module.absolute(node) if isinstance(node, ast.ImportFrom) else ""
    sources = {whole} if isinstance(node, ast.ImportFrom) else {alias.name for alias in node.names}
    if all(is_standard(source) for source in sources):
        relative = isinstance(node, ast.ImportFrom) and node.level > 0
        text = ast.unparse(ast.ImportFrom(whole, node.names, 0)) if relative else _text(module, node)
        pieces[module.name, index, ""] = _Piece(text, "import")
        return
    offered = {alias: (there, name) for alias, there, name in tree.offered(node, module)}
    for alias in node.names:
        given = alias.asname or alias.name
        if given.partition(".")[0] not in wanted:
            continue
        there, name = offered.get(given, (None, ""))
        if there is None:
            raise UnusableError("file: needs a package that does not come with Python")
        if not name:
            raise UnusableError("file: imports a module of the tree as a whole")
        _collect(tree, there, frozenset({name}), name, pieces, active)
        if given != name:
            pieces[module.name, index, given] = _Piece(f"{given} = {name}", "other")


def _refuse_clashes(tree: Tree, pieces: _Pieces) -> None:
    owners: Counter[str] = Counter()
    for name in {name for name, _, _ in pieces}:
        mine = [index for module, index, alias in pieces if module == name and not alias]
        body = tree.modules[name].syntax.body
        owners.update(set().union(*(bound(body[index]) for index in mine if not isinstance(body[index], _IMPORTS))))
    if any(count > 1 for count in owners.values()):
        raise UnusableError("file: names clash when its imports are brought in")


def _text(module: Module, node: ast.stmt) -> str:
    """The source of a statement with its decorators and the comments right above it."""
    lines = lines_of(module.text)
    decorators = node.decorator_list if isinstance(node, _DEFINITIONS) else []
    start = min([node.lineno, *(decorator.lineno for decorator in decorators)]) - 1
    if node.col_offset or _shares_line(module, node):
        return ast.unparse(node)
    while start > 2 and lines[start - 1].startswith("#"):
        start -= 1
    return "".join(lines[start : node.end_lineno]).rstrip("\n")


def _shares_line(module: Module, node: ast.stmt) -> bool:
    """Whether another statement follows on the line on which this one ends."""
    return any(other is not node and other.lineno == node.end_lineno and other.col_offset for other in module.syntax.body)


def _join(pieces: list[_Piece]) -> str:
    text = ""
    for before, piece in zip([None, *pieces], pieces, strict=False):
        if before is None:
            gap = ""
        elif "definition" in (before.layout, piece.layout):
            gap = "\n\n\n"
        else:
            gap = "\n" if before.layout == piece.layout else "\n\n"
        text += gap + piece.text
    return text + "\n"
