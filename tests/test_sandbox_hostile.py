"""Programs that attack: nothing happens outside, every run comes back in time, and the next one works."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import hostile
import pytest
from sandboxes import WITHOUT, Plain, sandbox_or_skip

from slmagent.sandbox.base import Sandbox
from slmagent.sandbox.cases import Case
from slmagent.sandbox.limits import Limits
from slmagent.sandbox.result import ExecResult

BACKENDS = ("process", WITHOUT, "restricted", "docker")
NEED_NAMESPACES = {"files", "kernel", "network", "signals", "snooping"}
LIMITS = Limits(cpu_seconds=0.25, wall_seconds=0.6, memory_mb=128, output_chars=4000)
SLACK = 1.0
"""Seconds past the limit within which a run has to be back."""


def kinds_for(sandbox: Sandbox) -> list[str]:
    """Kinds whose programs a backend promises to contain."""
    return [kind for kind in hostile.KINDS if not (isinstance(sandbox, Plain) and kind in NEED_NAMESPACES)]


@pytest.fixture(scope="module", params=BACKENDS)
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """Each backend that this machine offers."""
    made = sandbox_or_skip(request.param, LIMITS)
    yield made
    made.close()


def attack(sandbox: Sandbox, program: str) -> tuple[ExecResult, float]:
    """A run, and its seconds on the clock."""
    started = time.monotonic()
    result = sandbox.run(program, [Case("6 * 7", value=42)], limits=LIMITS)
    return result, time.monotonic() - started


def check(name: str, result: ExecResult, place: hostile.Outside) -> None:
    """Nothing came out that must stay outside."""
    assert result.status != "sandbox_error", (name, result)
    shown = result.stdout + result.stderr + (result.error.message if result.error else "")
    assert place.word not in shown, (name, result)
    assert "REACHED" not in result.stdout, (name, result)  # what every program says that has got somewhere
    assert "caught" not in result.stdout, (name, result)
    assert len(result.stdout) + len(result.stderr) <= 2 * LIMITS.output_chars + 400, name
    assert place.untouched(), name


@pytest.mark.parametrize("kind", hostile.KINDS)
def test_attacks_from_the_main_thread(sandbox: Sandbox, kind: str, tmp_path: Path) -> None:
    if kind not in kinds_for(sandbox):
        pytest.skip(f"{kind}: needs namespaces")
    processes, descriptors = hostile.descendants(), len(os.listdir("/proc/self/fd"))
    with hostile.outside(tmp_path) as place:
        for name, program in hostile.programs(kind).items():
            result, seconds = attack(sandbox, place.aim(program))
            check(name, result, place)
            assert seconds < LIMITS.wall_seconds + SLACK, (name, seconds, result.status)
            after, _ = attack(sandbox, "print(6 * 7)")
            assert (after.status, after.stdout, after.passed) == ("ok", "42\n", True), (name, after)
    assert not hostile.settled(processes), kind
    assert len(os.listdir("/proc/self/fd")) == descriptors


def test_attacks_from_four_threads_at_once(sandbox: Sandbox, tmp_path: Path) -> None:
    processes = hostile.descendants()
    everything = {f"{kind}: {name}": text for kind in kinds_for(sandbox) for name, text in hostile.programs(kind).items()}
    with hostile.outside(tmp_path) as place, ThreadPoolExecutor(4) as pool:

        def one(name: str) -> None:
            result, seconds = attack(sandbox, place.aim(everything[name]))
            check(name, result, place)
            assert result.wall_seconds < LIMITS.wall_seconds + SLACK, (name, result.wall_seconds)
            assert seconds < LIMITS.wall_seconds + 4 * SLACK, (name, seconds)  # our own share of few cores included
            after, _ = attack(sandbox, "print(6 * 7)")
            assert (after.status, after.stdout) == ("ok", "42\n"), (name, after)

        list(pool.map(one, sorted(everything)))
    assert not hostile.settled(processes)


def test_the_corpus_is_large() -> None:
    assert len(hostile.KINDS) >= 12
    assert sum(len(hostile.programs(kind)) for kind in hostile.KINDS) >= 100


def test_the_targets_can_be_reached_from_outside_the_sandbox(tmp_path: Path) -> None:
    """The control: without a sandbox the same means do have an effect, so their failing inside says something."""
    with hostile.outside(tmp_path) as place:
        files = place.aim(hostile.programs("files")["canary by its path"])
        exec(files.replace("print", "seen.append"), {"seen": (seen := [])})
        assert seen == [place.word]
        exec(place.aim(hostile.programs("network")["listener of this machine"]), {})
        exec(place.aim(hostile.programs("network")["datagram"]), {})
        time.sleep(0.2)
        assert len(place.caught) == 2


# ---- forged verdicts --------------------------------------------------------------------------------------------------------

NUMBER = secrets.randbelow(10**9) + 10**6
"""No program can know it, and so no answer."""
TESTS = [
    Case(f"add({NUMBER}, 1)", value=NUMBER + 1),
    Case(f"add([{NUMBER}], [2])", value=[NUMBER, 2]),
    Case(f"print(add('a', '{NUMBER}'))", output=f"a{NUMBER}"),
]
HONEST = "def add(a, b):\n    return a + b\n"
FORGERS = hostile.programs("verdicts")


def test_honest_code_passes(sandbox: Sandbox) -> None:
    assert sandbox.run(HONEST, TESTS, limits=LIMITS).passed


@pytest.mark.parametrize("name", FORGERS)
def test_no_verdict_is_forged(sandbox: Sandbox, name: str) -> None:
    result = sandbox.run(FORGERS[name], TESTS, limits=LIMITS)
    assert not any(verdict.passed for verdict in result.verdicts), (name, result)


def test_there_are_many_forgers() -> None:
    assert len(FORGERS) >= 20
