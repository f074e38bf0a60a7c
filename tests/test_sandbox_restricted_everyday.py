"""Everyday programs give in the restricted backend what they give in the process backend, and most of real code passes."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest
from restricted_harness import programs
from RestrictedPython.compile import compile_restricted_exec

from slmagent.sandbox import child
from slmagent.sandbox.base import Sandbox
from slmagent.sandbox.making import make
from slmagent.sandbox.restricted.compiling import check
from slmagent.sandbox.restricted.names import words

PROGRAMS = programs("everyday.txt")
STDIN = "Ann\n21\na,b\nc\n"
TAUGHT = words("""
    bisect calendar collections colorsys csv difflib fractions graphlib heapq html.parser json.decoder json.encoder numbers
    queue random reprlib sched statistics string textwrap
""")
"""Modules of the standard library that are written like textbook code: data structures, algorithms, text, numbers."""


@pytest.fixture(scope="module")
def process() -> Iterator[Sandbox]:
    with make("process") as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def restricted() -> Iterator[Sandbox]:
    with make("restricted") as sandbox:
        yield sandbox


def test_there_are_enough() -> None:
    assert len(PROGRAMS) >= 60


@pytest.mark.parametrize("name", PROGRAMS)
def test_runs_as_in_plain_python(name: str, process: Sandbox, restricted: Sandbox) -> None:
    plain, guarded = process.run(PROGRAMS[name], stdin=STDIN), restricted.run(PROGRAMS[name], stdin=STDIN)
    assert plain.status == ("error" if name in ("exceptions that end it", "exit code") else "ok")
    assert (guarded.status, guarded.error, guarded.stdout) == (plain.status, plain.error, plain.stdout)


def definitions(kind: type[ast.AST]) -> Iterator[str]:
    for module in TAUGHT:
        spec = importlib.util.find_spec(module)
        assert spec is not None
        assert spec.origin is not None
        for node in ast.parse(Path(spec.origin).read_text()).body:
            if isinstance(node, kind):
                yield ast.unparse(node)


def passes(source: str) -> bool:
    try:
        check(source, "main.py")
    except child.Rejected:
        return False
    return True


@pytest.mark.parametrize(("kind", "share", "bare_share"), [(ast.FunctionDef, 0.95, 0.5), (ast.ClassDef, 0.85, 0.15)])
def test_most_of_the_standard_library_passes(kind: type[ast.AST], share: float, bare_share: float) -> None:
    sources = list(definitions(kind))
    assert len(sources) > 50
    assert sum(map(passes, sources)) >= share * len(sources)
    assert sum(not compile_restricted_exec(source).errors for source in sources) <= bare_share * len(sources)
