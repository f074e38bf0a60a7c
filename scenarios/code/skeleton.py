"""A task's file without what is missing: where the cursor stands, what encloses it, which names can be used there."""

from __future__ import annotations

import ast
import functools
from dataclasses import dataclass

from slmagent.scenarios.code.records import CodeTask
from slmagent.scenarios.code.syntax import parse

CURSOR = "<CURSOR>"
BLANK = "pass"
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True)
class Scope:
    """What surrounds the cursor."""

    path: tuple[str, ...]
    """Names of the enclosing classes and functions, outermost first."""
    names: tuple[str, ...]
    """What can be used at the cursor, functions and classes with their signatures, nearest first."""
    functions: int
    """In the file, methods included."""
    classes: int


def line_start(task: CodeTask) -> str:
    """The part of the cursor's line before the cursor."""
    return task.before.rpartition("\n")[2]


def indentation(task: CodeTask) -> str:
    """White space at the beginning of the cursor's line."""
    line = line_start(task)
    return line[: len(line) - len(line.lstrip())]


def skeleton(task: CodeTask) -> str:
    """The file with `pass` in place of the whole unfinished statement, so that it can be parsed."""
    above = task.before[: len(task.before) - len(line_start(task))]
    return f"{above}{indentation(task)}{BLANK}{task.after}"


@functools.lru_cache(maxsize=1024)
def scope_of(task: CodeTask) -> Scope:
    """Reads the surroundings from the syntax tree; an empty scope for a file that does not parse."""
    tree = parse(skeleton(task))
    if tree is None:
        return Scope((), (), 0, 0)
    line = task.before.count("\n") + 1
    enclosing: list[Definition] = []
    body: list[ast.stmt] = tree.body
    while True:
        inner = next(
            (node for node in body if isinstance(node, Definition) and node.lineno <= line <= (node.end_lineno or 0)), None
        )
        if inner is None:
            break
        enclosing.append(inner)
        body = inner.body
    names: dict[str, None] = {}
    for owner in reversed(enclosing):
        if isinstance(owner, ast.ClassDef):
            names.update(dict.fromkeys(_members(owner)))
        else:
            names.update(dict.fromkeys(_locals(owner, line)))
    for node in tree.body:
        names.update(dict.fromkeys(_bound(node)))
    everything = [node for node in ast.walk(tree) if isinstance(node, Definition)]
    classes = sum(isinstance(node, ast.ClassDef) for node in everything)
    return Scope(tuple(node.name for node in enclosing), tuple(names), len(everything) - classes, classes)


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    return f"{node.name}({ast.unparse(node.args)})"


def _members(owner: ast.ClassDef) -> list[str]:
    found = []
    for node in owner.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.append(f"{owner.name}.{_signature(node)}")
            if node.name == "__init__":
                found += [
                    f"self.{target.attr}"
                    for part in ast.walk(node)
                    if isinstance(part, ast.Assign | ast.AnnAssign)
                    for target in (part.targets if isinstance(part, ast.Assign) else [part.target])
                    if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self"
                ]
    return found


def _locals(owner: ast.FunctionDef | ast.AsyncFunctionDef, line: int) -> list[str]:
    arguments = [*owner.args.posonlyargs, *owner.args.args, *owner.args.kwonlyargs]
    names = [argument.arg for argument in arguments if argument.arg != "self"]
    names += [
        node.id
        for node in ast.walk(owner)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.lineno < line
    ]
    return list(dict.fromkeys(names))


def _bound(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return [_signature(node)]
    if isinstance(node, ast.ClassDef):
        return [f"class {node.name}"]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [alias.asname or alias.name for alias in node.names]
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    return []
