"""Files cut down to what a function needs, and where they are opened."""

from __future__ import annotations

import ast
from pathlib import Path, PurePosixPath

import pytest
from code_tree import write_tree

from slmagent.scenarios.code.mining.holes import body_hole, functions, line_holes
from slmagent.scenarios.code.mining.slicing import UnusableError, slice_module
from slmagent.scenarios.code.mining.trees import read_tree, tree_of

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    return write_tree(tmp_path)


# ---- files cut down -------------------------------------------------------------------------------------------------


def test_a_slice_has_what_is_needed_and_brings_imports_in(pack: Path) -> None:
    tree = read_tree(pack)
    module = tree.modules["pack.measures"]
    assert tree.skipped == {"file: no Python of this version": 1}
    sliced = slice_module(tree, module, {"mean"}, "mean")
    defined = [ast.unparse(node).split("\n")[0] for node in ast.parse(sliced).body]
    assert defined == ["START = 0", "def total(values):", "sum_of = total", "SMALLEST = 1", "def mean(values):"]


def test_a_faster_version_in_c_does_not_replace_the_function(pack: Path) -> None:
    tree = read_tree(pack)
    assert "_measures" not in slice_module(tree, tree.modules["pack.measures"], {"spread"}, "spread")


def test_a_slice_refuses_other_packages_and_clashes(pack: Path) -> None:
    tree = read_tree(pack)
    with pytest.raises(UnusableError, match="does not come with Python"):
        slice_module(tree, tree.modules["pack.measures"], {"plot"}, "plot")
    files = {
        "a.py": b"from b import f\ndef g(): pass\ndef h(): return f() + g()\n",
        "b.py": b"def g(): pass\ndef f(): return g()\n",
    }
    tree = tree_of((PurePosixPath(path), data) for path, data in files.items())
    with pytest.raises(UnusableError, match="names clash"):
        slice_module(tree, tree.modules["a"], {"h"}, "h")


# ---- holes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted((ROOT / "scenarios" / "code").glob("*.py")), ids=lambda path: path.stem)
def test_a_file_with_a_hole_has_the_whole_file(path: Path) -> None:
    source = path.read_text()
    for _, function in functions(ast.parse(source)):
        for hole in (body_hole(source, function), *line_holes(source, function)):
            assert hole.before + hole.reference + hole.after == source
            assert hole.reference == hole.reference.strip()
            assert not hole.before.rpartition("\n")[2].strip()
            ast.parse(hole.before + "pass" + hole.after)


def test_a_body_begins_behind_the_docstring_with_its_comments() -> None:
    source = 'def f(x):\n    """Doc."""\n\n    # why\n    y = x + 1  # so\n\n    return y\n\n\nz = 1\n'
    function = dict(functions(ast.parse(source)))["f"]
    hole = body_hole(source, function)
    assert (hole.reference, hole.after) == ("# why\n    y = x + 1  # so\n\n    return y", "\n\n\nz = 1\n")
    assert [hole.reference for hole in line_holes(source, function)] == ["y = x + 1  # so"]


@pytest.mark.parametrize("source", ["def f(x): return x\n", 'def f(x):\n    """Doc."""\n', 'def f():\n    "Doc."; return 1\n'])
def test_functions_without_a_body_of_their_own_are_refused(source: str) -> None:
    with pytest.raises(UnusableError, match="function: "):
        body_hole(source, dict(functions(ast.parse(source)))["f"])
