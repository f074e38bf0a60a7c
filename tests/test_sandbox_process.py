"""The process backend: what a run gives back, its limits, and that nothing is left of it."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import hostile
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sandboxes import WITHOUT, Plain, sandbox_or_skip

from slmagent.errors import UsageError
from slmagent.sandbox import make
from slmagent.sandbox.base import Sandbox
from slmagent.sandbox.cases import Case
from slmagent.sandbox.child import encode
from slmagent.sandbox.limits import Limits
from slmagent.sandbox.process.backend import SandboxError
from slmagent.sandbox.values import Opaque, decode


@pytest.fixture(scope="module", params=["process", WITHOUT, "docker"])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    with sandbox_or_skip(request.param) as made:
        yield made


# ---- what comes back ------------------------------------------------------------------------------------------------------


def test_output_errors_and_input(sandbox: Sandbox) -> None:
    result = sandbox.run("import sys\nprint(input() + '!')\nprint('to stderr', file=sys.stderr)", stdin="hello\nmore\n")
    assert (result.status, result.stdout, result.stderr, result.error) == ("ok", "hello!\n", "to stderr\n", None)
    failed = sandbox.run("x = 1\n\ndef f():\n    return 1 / 0\n\nf()\n")
    assert failed.status == "error"
    assert failed.error is not None
    assert (failed.error.type, failed.error.message, failed.error.line) == ("ZeroDivisionError", "division by zero", 4)
    assert failed.stderr.splitlines()[-1] == "ZeroDivisionError: division by zero"
    assert sandbox.run("def f(:").error.type == "SyntaxError"  # type: ignore[union-attr]
    ended = sandbox.run("raise SystemExit(3)")
    assert (ended.status, ended.error.message) == ("error", "3")  # type: ignore[union-attr]
    assert sandbox.run("raise SystemExit").status == "ok"
    assert sandbox.run("").status == "ok"


@pytest.mark.parametrize(
    ("case", "passed"),
    [
        (Case("add(2, 3)", value=5), True),
        (Case("add(2, 3)", value=5.0), False),
        (Case("add(2, 3)", value=True), False),
        (Case("add(1, 0)", value=True), False),
        (Case("add(0.1, 0.2)", value=0.3), False),
        (Case("add(0.1, 0.2)", value=0.3, tolerance=1e-9), True),
        (Case("add([1], [2])", value=[1, 2]), True),
        (Case("add([1], [2])", value=(1, 2)), False),
        (Case("x = add(1, 1)\nadd(x, x)", value=4), True),
        (Case("add('a', 'b')", output="'ab'"), True),
        (Case("print(add('a', 'b'))\n3", output="ab\n3"), True),
        (Case("add(1, 1)", output="3"), False),
        (Case("add(1, 'b')", raises="TypeError"), True),
        (Case("add(1, 'b')", raises="Exception"), True),
        (Case("add(1, 'b')", raises="ValueError"), False),
        (Case("add(1, 1)", raises="ValueError"), False),
        (Case("{1: [add(1, 1)], 'b': {2, 3}, None: frozenset([b'x'])}", value={1: [2], "b": {2, 3}, None: {b"x"}}), False),
        (Case("float('nan')", value=math.nan), True),
        (Case("object()", value=None), False),
        (Case("add(", value=5), False),
    ],
)  # fmt: skip
def test_verdicts(sandbox: Sandbox, case: Case, passed: bool) -> None:
    (verdict,) = sandbox.run("def add(a, b):\n    return a + b\n", [case]).verdicts
    assert verdict.ran
    assert verdict.passed is passed, verdict


def test_each_test_has_its_verdict_and_later_ones_go_on() -> None:
    with make("process") as sandbox:
        cases = [Case("f(1)", value=1), Case("f(2)", value=3), Case("boom", value=1), Case("f(4)", value=4)]
        result = sandbox.run("def f(x):\n    return x\nprint('once')", cases)
    assert [verdict.passed for verdict in result.verdicts] == [True, False, False, True]
    assert [verdict.raised for verdict in result.verdicts] == [False, False, True, False]
    assert result.verdicts[1].got == "2"
    assert result.verdicts[2].got.startswith("NameError")
    assert result.stdout == "once\n"
    assert not result.passed
    unfinished = [Case("1", value=1), Case("__import__('os')._exit(0)", value=0), Case("2", value=2)]
    verdicts = make("process").run("", unfinished).verdicts
    assert [verdict.ran for verdict in verdicts] == [True, False, False]


def test_long_output_keeps_head_and_tail(sandbox: Sandbox) -> None:
    result = sandbox.run("for n in range(5000):\n    print(n)", limits=Limits(output_chars=1000))
    assert result.stdout.startswith("0\n1\n2\n")
    assert result.stdout.endswith("4998\n4999\n")
    assert len(result.stdout) < 1200
    (note,) = result.cut
    assert note.startswith("stdout: ")


def test_the_same_program_shows_the_same(sandbox: Sandbox) -> None:
    program = "import random\nprint({'b', 'a', 'c', 'd'}, hash('x'), object(), lambda: 0, __file__)"
    first, second = sandbox.run(program), sandbox.run(program)
    assert first.stdout == second.stdout
    assert "0x..." in first.stdout


# ---- limits ---------------------------------------------------------------------------------------------------------------

TIGHT = Limits(cpu_seconds=0.4, wall_seconds=1.0, memory_mb=64, file_mb=1)


@pytest.mark.parametrize(
    ("program", "statuses"),
    [
        ("while True: pass", {"cpu_limit"}),
        ("import time\ntime.sleep(60)", {"wall_limit"}),
        ("x = bytearray(500 << 20)", {"memory_limit"}),
        ("xs = []\nwhile True: xs.append('x' * 100000)", {"memory_limit"}),
        ("open('big', 'wb').write(b'x' * (50 << 20))", {"error", "killed"}),
        ("keep = [open('f', 'w') for _ in range(1000)]", {"error"}),
        ("import os\nos.kill(os.getpid(), 9)", {"killed"}),
    ],
)  # fmt: skip
def test_every_limit_has_its_status_and_comes_back_in_time(sandbox: Sandbox, program: str, statuses: set[str]) -> None:
    started = time.monotonic()
    result = sandbox.run(program, [Case("1", value=1)], limits=TIGHT)
    assert time.monotonic() - started < TIGHT.wall_seconds + 1.0
    assert result.status in statuses, result
    assert result.error is not None
    assert sandbox.run("print(6 * 7)").stdout == "42\n"


def test_use_is_measured(sandbox: Sandbox) -> None:
    result = sandbox.run("x = bytearray(60 << 20)\nt = __import__('time').process_time\nwhile t() < 0.2: pass")
    assert 0.15 < result.cpu_seconds < 1.0
    assert result.wall_seconds >= 0.15
    assert 60 < result.peak_memory_mb < 160


@pytest.mark.parametrize(
    "field", ["cpu_seconds", "wall_seconds", "memory_mb", "output_chars", "file_mb", "open_files", "processes"]
)
def test_limits_are_above_zero(field: str) -> None:
    with pytest.raises(ValueError, match=f"expected {field} > 0"):
        Limits(**{field: 0})


# ---- one run and the next -------------------------------------------------------------------------------------------------


def test_nothing_is_left_for_the_next_run(sandbox: Sandbox) -> None:
    sandbox.run(
        "open('left', 'w').write('x')\nimport builtins, sys, os\nbuiltins.left = 1\nsys.left = 1\nos.environ['LEFT'] = '1'"
    )
    seen = sandbox.run(
        "import os, sys, builtins\nprint(os.listdir('.'), hasattr(builtins, 'left'), hasattr(sys, 'left'), dict(os.environ))"
    )
    assert seen.stdout == "['main.py'] False False {}\n", seen


def test_four_threads_at_once(sandbox: Sandbox) -> None:
    with ThreadPoolExecutor(4) as pool:
        outputs = list(pool.map(lambda n: sandbox.run(f"print({n} * 2)", [Case(f"{n}", value=n)]), range(24)))
    assert [output.stdout for output in outputs] == [f"{2 * n}\n" for n in range(24)]
    assert all(output.passed for output in outputs)


def test_a_killed_server_is_started_again() -> None:
    before = hostile.descendants()
    with make("process") as sandbox:
        assert sandbox.run("print(1)").stdout == "1\n"
        servers = hostile.descendants() - before
        assert servers
        for pid in servers:
            os.kill(pid, signal.SIGKILL)
        again = sandbox.run("print(2)")
        assert again.stdout == "2\n", again


def test_closing_ends_all_and_running_starts_again() -> None:
    before = hostile.descendants()
    sandbox = make("process")
    sandbox.run("print(1)")
    assert hostile.descendants() - before
    sandbox.close()
    assert not hostile.settled(before)
    assert sandbox.run("print(1)").stdout == "1\n"
    sandbox.close()
    assert not hostile.settled(before)


def test_a_fork_gets_a_server_of_its_own() -> None:
    script = (
        "import os\nfrom slmagent.sandbox import make\nsandbox = make('process')\n"
        "print(sandbox.run('print(1)').stdout, end='', flush=True)\n"
        "pid = os.fork()\nif pid == 0:\n    print(sandbox.run('print(2)').stdout, end='', flush=True)\n    os._exit(0)\n"
        "os.waitpid(pid, 0)\nprint(sandbox.run('print(3)').stdout, end='')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stdout == "1\n2\n3\n", done.stderr


def test_the_server_ends_with_its_client() -> None:
    before = hostile.descendants()
    script = "import os\nfrom slmagent.sandbox import make\nmake('process').run('print(1)')\nos.kill(os.getpid(), 9)\n"
    subprocess.run([sys.executable, "-c", script], timeout=60, check=False)
    assert not hostile.settled(before)


# ---- what is demanded -----------------------------------------------------------------------------------------------------


def test_requirements() -> None:
    with Plain() as plain:
        result = plain.run("print(1)")
    assert "network namespace: for this test" in result.missing
    assert "limits" in result.layers
    with pytest.raises(SandboxError, match="does not grant the namespaces"):
        Plain(require="namespaces")
    with pytest.raises(SandboxError, match="no container"):
        make("process", require="container")
    with pytest.raises(UsageError, match="did you mean 'process'"):
        make("proces")
    with pytest.raises(UsageError, match="no requirement"):
        make("process", require="namespace")  # type: ignore[arg-type]


# ---- values ---------------------------------------------------------------------------------------------------------------

ATOMS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.complex_numbers(allow_nan=False), st.text(), st.binary()
)
HASHABLE = st.recursive(ATOMS, lambda inner: st.one_of(st.tuples(inner, inner), st.frozensets(inner, max_size=3)), max_leaves=6)
VALUES = st.recursive(
    HASHABLE,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(HASHABLE, inner, max_size=3), st.sets(HASHABLE, max_size=3)
    ),
    max_leaves=12,
)


def exact(value: Any) -> str:
    """A text that tells values apart by type, too."""
    if isinstance(value, set | frozenset):
        return f"{type(value).__name__}{sorted(map(exact, value))}"
    if isinstance(value, dict):
        return f"dict{sorted((exact(key), exact(item)) for key, item in value.items())}"
    if isinstance(value, list | tuple):
        return f"{type(value).__name__}{[exact(item) for item in value]}"
    return f"{type(value).__name__} {value!r}"


@settings(deadline=None)
@given(VALUES)
def test_values_come_back_as_they_were(value: Any) -> None:
    assert exact(decode(encode(value))) == exact(value)


class _Number(int):
    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


@pytest.mark.parametrize("value", [_Number(5), object(), lambda: 0, [object()], {1: _Number(2)}])
def test_other_things_equal_nothing(value: Any) -> None:
    decoded = decode(encode(value))
    inner = decoded[0] if isinstance(decoded, list) else decoded[1] if isinstance(decoded, dict) else decoded
    assert isinstance(inner, Opaque)
    assert inner != inner


@given(st.recursive(st.none() | st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_what_is_no_value_is_refused_and_nothing_else_happens(data: Any) -> None:
    with contextlib.suppress(ValueError):  # and no other error
        decode(data)
