"""What a program may say: RestrictedPython's transformer, opened for everyday code.

Every attribute that is read becomes a call of `READ`, every one that is assigned or deleted goes through `WRITE`. Both stand in
the program under names that cannot be spelled, so no program can reach or replace them. Calls, items and iteration need no
guard: who holds an object may use it, and the guards see to what can be held.
"""

from __future__ import annotations

import ast
from typing import Any

from RestrictedPython.transformer import RestrictingNodeTransformer

from slmagent.sandbox.restricted import names
from slmagent.sandbox.restricted.modules import refusal

READ = "<read>"
WRITE = "<write>"
_WORDS = {
    "AsyncFunctionDef": "async functions are not allowed; write a plain function",
    "AsyncFor": "async loops are not allowed; write a plain loop",
    "AsyncWith": "async with is not allowed; write a plain with",
    "Await": "await is not allowed; call the function",
}


class Policy(RestrictingNodeTransformer):
    """Checks a program and puts the guards in; `found` holds what it refuses, as lines and texts."""

    def __init__(self, tree: ast.Module) -> None:
        super().__init__()
        self.found: list[tuple[int, str]] = []
        self._bound = {name for node in ast.walk(tree) for name in _bound_names(node)}
        # Annotations are then never evaluated, and have to stay as they are written.
        self._postponed = any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body)
        self._class: str | None = None

    def _say(self, node: Any, text: str) -> None:
        self.found.append((node.lineno, text))

    def not_allowed(self, node: Any) -> None:
        """What no rule knows: the parent calls this for it."""
        word = type(node).__name__
        self._say(node, _WORDS.get(word, f"{word} is not known to the policy; write it another way"))

    def _contents(self, node: Any) -> Any:
        return self.node_contents_visit(node)

    visit_Module = visit_Call = visit_Subscript = visit_Lambda = _contents
    visit_For = visit_With = visit_Try = visit_TryStar = visit_comprehension = _contents
    visit_Match = visit_match_case = visit_MatchSingleton = visit_MatchSequence = visit_MatchOr = _contents

    # ---- names ------------------------------------------------------------------------------------------------------

    def _names_and_contents(self, node: Any) -> Any:
        for name in _bound_names(node):
            if names.is_special(name) and name not in names.BINDABLE:
                self._say(node, f"name '{name}' is not allowed: of the special names only a few may be defined; choose another")
        return self.node_contents_visit(node)

    visit_ExceptHandler = visit_alias = visit_Global = visit_Nonlocal = visit_MatchAs = visit_MatchStar = _names_and_contents

    def visit_Name(self, node: ast.Name) -> Any:
        """Refuses absent built-in names and most special names."""
        if not isinstance(node.ctx, ast.Load):
            return self._names_and_contents(node)
        if node.id in names.REFUSED_BUILTINS and node.id not in self._bound:
            self._say(node, f"'{node.id}' is not allowed: {names.REFUSED_BUILTINS[node.id]}")
        elif names.is_special(node.id) and node.id not in names.BINDABLE | {"__name__"}:
            self._say(node, f"name '{node.id}' is not allowed: of the special names only a few may be read")
        return node

    def visit_Assign(self, node: ast.Assign) -> Any:
        """Lets `__match_args__` be written out."""
        # Patterns read these attributes unguarded, so they have to be known here; any other way to bind this name is refused.
        match node:
            case ast.Assign(targets=[ast.Name(id="__match_args__")], value=ast.Tuple() as value) if _are_plain(value):
                return node
        return self._contents(node)

    # ---- imports ----------------------------------------------------------------------------------------------------

    def visit_Import(self, node: ast.Import) -> Any:
        """Refuses modules that are not handed out."""
        for alias in node.names:
            self._check_module(node, alias.name)
        return self._contents(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        """Refuses modules that are not handed out."""
        self._check_module(node, "." * node.level + (node.module or ""))
        return self._contents(node)

    def _check_module(self, node: Any, module: str) -> None:
        if text := refusal(module):
            self._say(node, text)

    # ---- attributes -------------------------------------------------------------------------------------------------

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        """Puts the guards in."""
        reads = isinstance(node.ctx, ast.Load)
        if node.attr in names.INSPECTING:
            self._say(node, f"attribute '{node.attr}' is not allowed: it leads to frames and code")
        elif names.is_special(node.attr) and node.attr not in (names.READABLE | names.GUARDED if reads else names.WRITABLE):
            self._say(node, f"attribute '{node.attr}' is not allowed: of the special names only a few may be used")
        name = ast.Constant(names.mangled(node.attr, self._class))
        guard = ast.Call(ast.Name(READ if reads else WRITE, ast.Load()), [self.visit(node.value), name], [])
        ast.fix_missing_locations(ast.copy_location(guard, node))
        if reads:
            return guard
        node.value = guard
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        """Refuses attributes whose reading needs a guard."""
        # It reads the attribute by itself, so the name must need no guard but the one of writing.
        if isinstance(node.target, ast.Attribute):
            name = node.target.attr
            if name in names.UNMATCHABLE or names.is_special(name):
                self._say(node, f"'{name}' cannot be changed in place; write x.{name} = x.{name} + ...")
        return self._contents(node)

    # ---- patterns: they read attributes by themselves, so their names must need no guard --------------------------------

    def visit_MatchValue(self, node: ast.MatchValue) -> Any:
        """Refuses attributes whose reading needs a guard."""
        self._check_plain(node.value)
        return node

    def visit_MatchClass(self, node: ast.MatchClass) -> Any:
        """Refuses attributes whose reading needs a guard."""
        self._check_plain(node.cls)
        for name in node.kwd_attrs:
            if not names.is_plain(name):
                self._say(node, f"attribute '{name}' is not allowed in a pattern; match the object and read it in the block")
        self._visit_all(node.patterns, node.kwd_patterns)
        return node

    def visit_MatchMapping(self, node: ast.MatchMapping) -> Any:
        """Refuses attributes whose reading needs a guard."""
        for key in node.keys:
            self._check_plain(key)
        self._visit_all(node.patterns)
        return node

    def _visit_all(self, *lists: list[Any]) -> None:
        for nodes in lists:
            nodes[:] = [self.visit(node) for node in nodes]

    def _check_plain(self, node: ast.AST) -> None:
        for part in ast.walk(node):
            if isinstance(part, ast.Attribute) and not names.is_plain(part.attr):
                self._say(
                    part, f"attribute '{part.attr}' is not allowed in a pattern; compare in a guard (`case x if x == ...`)"
                )
            elif isinstance(part, ast.Name):
                self.visit_Name(part)

    # ---- definitions ------------------------------------------------------------------------------------------------

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        """Leaves annotations alone that are never evaluated."""
        node.returns, annotation = None, self._annotation(node.returns)
        self._names_and_contents(node)
        node.returns = annotation
        return node

    def visit_arg(self, node: ast.arg) -> Any:
        """Leaves annotations alone that are never evaluated."""
        node.annotation, annotation = None, self._annotation(node.annotation)
        self._names_and_contents(node)
        node.annotation = annotation
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        """Leaves annotations alone that are never evaluated."""
        annotation = self._annotation(node.annotation)
        node.annotation = ast.Constant(None)
        self._contents(node)
        node.annotation = annotation
        return node

    def _annotation(self, node: Any) -> Any:
        return node if node is None or self._postponed else self.visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        """Keeps track of the class, by which private names are mangled."""
        self._visit_all(node.decorator_list, node.bases, node.keywords)
        head = node.decorator_list, node.bases, node.keywords
        node.decorator_list, node.bases, node.keywords = [], [], []
        outer, self._class = self._class, node.name
        self._names_and_contents(node)
        self._class = outer
        node.decorator_list, node.bases, node.keywords = head
        return node


def _are_plain(words: ast.Tuple) -> bool:
    """Whether a tuple is written out and holds public names only."""
    return all(isinstance(word, ast.Constant) and type(word.value) is str and names.is_plain(word.value) for word in words.elts)


def _bound_names(node: ast.AST) -> list[str]:
    """Names to which this very node gives a meaning."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
            return [name]
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            return [name]
        case ast.MatchMapping(rest=str(name)):
            return [name]
        case ast.alias(name=name, asname=other):
            return [other or name.partition(".")[0]]
        case ast.Global(names=several) | ast.Nonlocal(names=several):
            return several
    return []
