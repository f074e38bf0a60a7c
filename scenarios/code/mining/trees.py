"""A tree of Python files: its modules, what they import from each other, and where a name was defined first."""

from __future__ import annotations

import ast
import functools
import io
import sys
import tokenize
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from slmagent.errors import UsageError
from slmagent.scenarios.code.mining.snippets import bound

_SKIPPED_FOLDERS = {"__pycache__", "site-packages", "dist-packages", "node_modules"}
_MOST_HOPS = 5
"""Re-exports to follow from one module to the next."""


@functools.lru_cache(maxsize=16)  # syntax trees take a hundred times the room of their text: no more than a few at a time
def parse(text: str) -> ast.Module:
    """Reads source as Python does, without the warnings that other people's code gives. Treat the result as constant.

    Raises:
        SyntaxError: It is no Python of this version.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text)
        except (ValueError, RecursionError, MemoryError) as problem:  # null bytes; nesting beyond the parser's means
            raise SyntaxError(str(problem)) from None


@dataclass(frozen=True)
class Module:
    """One file of a tree."""

    name: str
    """Dotted name below the folder in which the tree's packages lie."""
    path: PurePath
    """Below that folder."""
    text: str
    package: str
    """What a relative import of one dot starts from."""
    origins: dict[str, tuple[str, str]]
    """Names imported at its top: the full name of the module, and the name there."""
    names: frozenset[str]
    """All names that have a value at its top."""

    @property
    def syntax(self) -> ast.Module:
        """The file as a syntax tree, to be treated as constant."""
        return parse(self.text)

    @property
    def is_test(self) -> bool:
        """Whether the file holds tests, judged by its name and folder."""
        stem, folders = self.path.stem, set(self.path.parts[:-1])
        return stem.startswith("test_") or stem.endswith("_test") or stem == "tests" or bool(folders & {"test", "tests"})

    def absolute(self, node: ast.ImportFrom) -> str:
        """The full name of the module that an import statement of this file names."""
        return _absolute(node, self.package)


@dataclass(frozen=True)
class Tree:
    """The Python files below a folder."""

    modules: dict[str, Module]
    skipped: Counter[str] = field(default_factory=Counter)
    """Files left out, by reason."""
    _handed_on: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict, repr=False)

    def find(self, dotted: str) -> Module | None:
        """The module of a full name, or the only one whose name ends with it; None when it is none of the tree's."""
        if dotted in self.modules or not dotted or is_standard(dotted):
            return self.modules.get(dotted)
        matches = [name for name in self._by_last.get(dotted.rpartition(".")[2], ()) if name.endswith("." + dotted)]
        return self.modules[matches[0]] if len(matches) == 1 else None

    @functools.cached_property
    def _by_last(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name in self.modules:
            found.setdefault(name.rpartition(".")[2], []).append(name)
        return found

    def origin(self, dotted: str, name: str) -> tuple[Module, str] | None:
        """Where the name of a module was defined: follows re-exports as in a package's `__init__.py`.

        Returns:
            The module of this tree, and the name there; None when it is not defined in the tree.
        """
        for _ in range(_MOST_HOPS):
            module = self.find(dotted)
            if module is None:
                return None
            if name not in module.origins:
                return (module, name) if name in module.names else None
            dotted, name = module.origins[name]
        return None

    def handed_on(self, module: Module, tested: Module) -> dict[str, str]:
        """The names of one module that were defined in another (or in itself), with their names there."""
        key = module.name, tested.name
        if key not in self._handed_on:
            origins = ((name, self.origin(module.name, name)) for name in module.names)
            self._handed_on[key] = {name: there[1] for name, there in origins if there is not None and there[0] is tested}
        return self._handed_on[key]

    def offered(self, node: ast.stmt, home: Module) -> Iterator[tuple[str, Module, str]]:
        """What an import statement makes available of the tree.

        Args:
            node: Any statement.
            home: The file that it stands in.

        Yields:
            Name in that file (dotted for `import a.b`); module; name there, empty for the module itself.
        """
        if isinstance(node, ast.Import):
            for alias in node.names:
                module = self.find(alias.name)
                if module is not None:
                    yield alias.asname or alias.name, module, ""
        elif isinstance(node, ast.ImportFrom):
            base = home.absolute(node)
            for alias in node.names:
                there = self.origin(base, alias.name)
                whole = self.find(f"{base}.{alias.name}")
                if there is not None:
                    yield alias.asname or alias.name, *there
                elif whole is not None:
                    yield alias.asname or alias.name, whole, ""


def is_standard(dotted: str) -> bool:
    """Whether a module comes with Python."""
    return dotted.partition(".")[0] in sys.stdlib_module_names


def read_tree(path: Path) -> Tree:
    """Reads all Python files at or below a path, in the order of their names.

    Raises:
        UsageError: There is no such path, or it holds no Python file.
    """
    if not path.exists():
        raise UsageError(f"expected a Python file or a folder with Python files, actual {path}: it does not exist")
    path = path.resolve()
    base = path if path.is_dir() else path.parent
    while (base / "__init__.py").is_file():
        base = base.parent
    tree = tree_of((file.relative_to(base), _bytes(file)) for file in _files(path))
    if not tree.modules and not tree.skipped:
        raise UsageError(f"expected a Python file or a folder with Python files, actual {path}: it holds none")
    return tree


def tree_of(files: Iterable[tuple[PurePath, bytes | None]]) -> Tree:
    """A tree of files that were read already.

    Args:
        files: Path below the folder in which the packages lie, and what it holds; None when it cannot be read.
    """
    tree = Tree({})
    for path, data in files:
        if data is None:
            tree.skipped["file: cannot be read"] += 1
            continue
        try:
            module = _module(_decoded(data), path)
        except (SyntaxError, UnicodeDecodeError):
            tree.skipped["file: no Python of this version"] += 1
        else:
            tree.modules[module.name] = module
    return tree


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    found: list[Path] = []
    for entry in sorted(path.iterdir()):
        if entry.is_symlink() or entry.name.startswith("."):
            continue
        if entry.is_dir() and entry.name not in _SKIPPED_FOLDERS and not (entry / "pyvenv.cfg").is_file():
            found += _files(entry)
        elif entry.is_file() and entry.suffix == ".py":
            found.append(entry)
    return found


def _bytes(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except OSError:
        return None


def _decoded(data: bytes) -> str:
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    return io.TextIOWrapper(io.BytesIO(data), encoding).read()  # newlines become \n


def _module(text: str, path: PurePath) -> Module:
    parts = path.with_suffix("").parts
    is_package = parts[-1] == "__init__"
    name = ".".join(parts[:-1] if is_package else parts)
    package = name if is_package else name.rpartition(".")[0]
    top = parse(text).body
    imports = [node for node in top if isinstance(node, ast.ImportFrom)]
    origins = {alias.asname or alias.name: (_absolute(node, package), alias.name) for node in imports for alias in node.names}
    return Module(name, path, text, package, origins, frozenset().union(*map(bound, top)))


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    return ".".join([*parts[: len(parts) - node.level + 1], *([node.module] if node.module else [])])
