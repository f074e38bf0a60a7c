"""The restricted policy explains what it refuses, before the run and during it, and the backend reports it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from restricted_harness import run

from slmagent.errors import MissingExtraError
from slmagent.sandbox.base import Sandbox
from slmagent.sandbox.cases import Case
from slmagent.sandbox.child import Rejected
from slmagent.sandbox.limits import Limits
from slmagent.sandbox.making import make
from slmagent.sandbox.restricted import names
from slmagent.sandbox.restricted.compiling import MAX_CHARS, check

ELSE = "is not available here; modules of pure computation are, such as math, collections, re, json"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with make("restricted") as made:
        yield made


# ---- before the run ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (
            "x = 1\n\ny = x.__globals__",
            "line 3: attribute '__globals__' is not allowed: of the special names only a few may be used",
        ),
        ("g.gi_frame", "line 1: attribute 'gi_frame' is not allowed: it leads to frames and code"),
        ("x.__class__ = y", "line 1: attribute '__class__' is not allowed: of the special names only a few may be used"),
        ("open('f')", "line 1: 'open' is not allowed: there are no files; io.StringIO holds text in memory"),
        ("print(\n  eval('1'))", "line 2: 'eval' is not allowed: call functions instead; ast.literal_eval reads literals"),
        ("import maths", "line 1: module 'maths' is not available here; did you mean math?"),
        ("import os.path", f"line 1: module 'os.path' {ELSE}"),
        ("from . import x", f"line 1: module '.' {ELSE}"),
        ("async def f(): pass", "line 1: async functions are not allowed; write a plain function"),
        (
            "class A:\n  def __getattribute__(self, n): pass",
            "line 2: name '__getattribute__' is not allowed: of the special names only a few may be defined; choose another",
        ),
        ("x = __builtins__", "line 1: '__builtins__' is not allowed: name the function itself"),
        ("x = __file__", "line 1: name '__file__' is not allowed: of the special names only a few may be read"),
        (
            "__builtins__ = 3",
            "line 1: name '__builtins__' is not allowed: of the special names only a few may be defined; choose another",
        ),
        (
            "match x:\n  case A(_y=1): pass",
            "line 2: attribute '_y' is not allowed in a pattern; match the object and read it in the block",
        ),
        (
            "match x:\n  case a._b: pass",
            "line 2: attribute '_b' is not allowed in a pattern; compare in a guard (`case x if x == ...`)",
        ),
        ("x.format += 1", "line 1: 'format' cannot be changed in place; write x.format = x.format + ..."),
        ("if x\n  y", "line 1: syntax error: expected ':'"),
        ("x = '\0'", "syntax error: source code string cannot contain null bytes"),
        ("#" * (MAX_CHARS + 1), f"the program has {MAX_CHARS + 1} characters; at most {MAX_CHARS} are taken"),
    ],
)
def test_says_what_is_refused_and_what_to_write(code: str, message: str) -> None:
    with pytest.raises(Rejected) as refused:
        check(code, "main.py")
    assert str(refused.value) == message
    assert refused.value.line == (int(message.split(":")[0].split()[1]) if message.startswith("line") else None)


def test_names_several_things_in_the_order_of_lines() -> None:
    with pytest.raises(Rejected) as refused:
        check("\n".join(["x.__code__"] * 3 + ["open"] * 9), "main.py")
    assert [line.split(":")[0] for line in str(refused.value).splitlines()] == [f"line {n}" for n in (1, 2, 3, 4, 5)]


@pytest.mark.parametrize(
    "code",
    [
        "(" * 300 + ")" * 300,
        "[" * 50_000,
        "-" * 99_000 + "1",
        "not " * 24_000 + "x",
        "x" + ".y" * 49_000,
        "x" + "+1" * 49_000,
        "x" + "()" * 49_000,
        "lambda: " * 12_000 + "1",
        "".join(f"{' ' * n}if x:\n" for n in range(101)) + " " * 101 + "x",
        "".join(f"{' ' * n}def f():\n" for n in range(101)) + " " * 101 + "x",
        "f'{" * 9_000,
        "match x:\n case " + "[" * 30_000,
        "x = '\ud800'",
        "x = 1" + "_" * 9,
        "1" * 99_000,
    ],
)
def test_no_source_breaks_the_compiler(code: str, sandbox: Sandbox) -> None:
    assert sandbox.run(code, limits=Limits(memory_mb=512)).status == "rejected"


@given(st.text())
@settings(max_examples=200, deadline=None)
def test_any_text_compiles_or_is_rejected(text: str) -> None:
    with contextlib.suppress(Rejected):
        check(text, "main.py")


def test_helpers_cannot_be_spelled() -> None:
    code = check("x.y = x.z", "main.py")
    assert [name for name in code.co_names if not name.isidentifier()] == ["<read>", "<write>"]


def test_every_special_method_allowed_is_special() -> None:
    assert all(map(names.is_special, names.BINDABLE | names.READABLE | names.GUARDED))
    assert {"gi_frame", "tb_frame", "f_back", "f_globals", "cr_frame", "ag_frame", "co_code"} <= names.INSPECTING
    assert names.mangled("__x", "_A") == "_A__x"
    assert [names.mangled("__x__", "A"), names.mangled("_x", "A"), names.mangled("__x", None)] == ["__x__", "_x", "__x"]


# ---- during the run ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "kind", "message"),
    [
        ("import random\nrandom.Random()._randbelow", "AttributeError", "names that start with an underscore are private"),
        (
            "import random\nclass R(random.Random):\n  def f(self): self._randbelow(3)\nR().f()",
            "AttributeError",
            "it is private to Random",
        ),
        ("import json\njson.dumps = 3", "AttributeError", "attributes can be assigned on what the program defines itself"),
        ("(3).real = 4", "AttributeError", "attributes can be assigned on what the program defines itself"),
        ("getattr(len, '__self__')", "AttributeError", "of the special names only a few may be used"),
        ("class A: pass\nsetattr(A(), '__class__', A)", "AttributeError", "special names cannot be assigned to"),
        ("class S(str): pass\nclass A: pass\nsetattr(A(), S('x'), 1)", "TypeError", "attribute name must be string, not 'S'"),
        ("'{0.__class__}'.format(1)", "AttributeError", "format strings read public attributes only"),
        ("type('X', (), {})", "TypeError", "make classes with a class statement"),
        ("class M(type): pass", "TypeError", "use a class decorator or __init_subclass__"),
        ("class A(metaclass=print): pass", "TypeError", "metaclasses but ABCMeta are not allowed"),
        ("class G(ExceptionGroup): pass", "TypeError", "subclasses of exception groups are not allowed"),
        ("class X(type(len)): pass", "TypeError", "is not allowed as base class"),
        ("int.mro()", "AttributeError", "classes keep their relations to themselves"),
        ("from math import nothing", "ImportError", "cannot import name 'nothing'"),
        ("from random import _os", "ImportError", "cannot import name '_os'"),
        ("vars()", "TypeError", "missing 1 required positional argument"),
        ("from enum import Enum\nEnum('E', [], type=type(print))", "TypeError", "write the enumeration as a class"),
        (
            "import copy\nclass A:\n  def __reduce__(self): return A, (), (None, {'__class__': int})\ncopy.copy(A())",
            "TypeError",
            "its state is not that of its kind",
        ),
        (
            "from dataclasses import dataclass\nclass A: pass\nA.x = 1\ndataclass(A)\n@dataclass\nclass B:\n  gi_frame: int",
            "TypeError",
            "a field cannot be named 'gi_frame' here",
        ),
        (
            "from functools import singledispatch\n@singledispatch\ndef f(x): pass\n@f.register\ndef g(x: 'int'): pass",
            "TypeError",
            "annotations in quotes are not evaluated here",
        ),
    ],
)
def test_refuses_with_an_ordinary_exception(code: str, kind: str, message: str) -> None:
    error = run(code).answer["program"]
    assert error is not None
    assert error["type"] == kind
    assert message in error["message"]


# ---- the backend ------------------------------------------------------------------------------------------------------


def test_rejected_is_a_status_with_its_line(sandbox: Sandbox) -> None:
    outcome = sandbox.run("print(1)\nimport os", [Case("1", value=1)])
    assert outcome.status == "rejected"
    assert outcome.error is not None
    assert outcome.error.line == 2
    assert outcome.error.message.startswith("line 2: module 'os' is not available here;")
    assert [verdict.ran for verdict in outcome.verdicts] == [False]
    assert outcome.stdout == ""


def test_tests_run_in_the_programs_namespace(sandbox: Sandbox) -> None:
    code = "class A:\n    def __init__(self): self._x = 3\n    def add(self, y): return self._x + y\n"
    outcome = sandbox.run(code, [Case("A().add(2)", value=5), Case("A().add('')", raises="TypeError"), Case("A()._x", value=4)])
    assert [verdict.passed for verdict in outcome.verdicts] == [True, True, False]


def test_policy_is_a_layer_on_top_of_the_process_backend(sandbox: Sandbox) -> None:
    with make("process") as process:
        below = process.run("1").layers
    assert sandbox.run("1").layers == ("policy", *below)
    assert next(iter(sandbox.layers())) == "policy"


def test_limits_hold(sandbox: Sandbox) -> None:
    limits = Limits(cpu_seconds=0.3)
    assert sandbox.run("while True: pass", limits=limits).status == "cpu_limit"
    assert sandbox.run("print(6 * 7)").stdout == "42\n"


def test_runs_leave_no_trace_in_each_other(sandbox: Sandbox) -> None:
    assert sandbox.run("import random\nrandom.shared = 1").status == "error"
    assert sandbox.run("class A: x = 1\nprint(A.x)").stdout == "1\n"
    assert sandbox.run("print(A.x)").status == "error"


def test_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "RestrictedPython", None)
    with pytest.raises(MissingExtraError, match=r"slmagent\[restricted\]"):
        make("restricted")
