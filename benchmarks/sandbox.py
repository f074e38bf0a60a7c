"""Isolated runs a second on one core: the warm sandbox beside a cold interpreter and a cold bubblewrap, in one run.

    make bench-sandbox

All processes, ours and their children, are pinned to one core; the ways take turns, round after round, so that what else the
machine does falls on all of them. Writes docs/results/sandbox.json and the table in docs/sandbox.md.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import tyro

from slmagent.errors import SlmagentError
from slmagent.sandbox import make
from slmagent.sandbox.cases import Case

ROOT = Path(__file__).resolve().parent.parent
RESULTS, DOCUMENT = ROOT / "docs" / "results" / "sandbox.json", ROOT / "docs" / "sandbox.md"
PROGRAM = "def add(a, b):\n    return a + b\n\nprint(add(20, 22))\n"
CASES = (Case("add(2, 3)", value=5), Case("add('a', 'b')", value="ab"))
BEGIN, END = "<!-- table: python benchmarks/sandbox.py -->", "<!-- end -->"
Way = Callable[[], object]


@dataclass(frozen=True)
class Settings:
    """How much to measure."""

    rounds: int = 15
    """Each way once a round."""
    warm_runs: int = 60
    """Runs of a warm sandbox in a round."""
    cold_runs: int = 6
    """Starts of a cold program in a round."""


def cold(command: list[str]) -> Way:
    """A fresh program each time."""

    def run() -> object:
        return subprocess.run([*command, PROGRAM], capture_output=True, check=True, env={})

    return run


def measure(settings: Settings) -> dict[str, Any]:
    """Runs a second of each way, a number a round."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    inside = ["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--unshare-all", "--clearenv", "--die-with-parent"]
    python = sys.executable
    with contextlib.ExitStack() as open_sandboxes:
        sandbox = open_sandboxes.enter_context(make("process"))
        layers = sandbox.layers()
        ways: dict[str, tuple[Way, int]] = {
            "process, a program": (lambda: sandbox.run(PROGRAM), settings.warm_runs),
            "process, a program and two tests": (lambda: sandbox.run(PROGRAM, CASES), settings.warm_runs),
            "cold `python -I -c`, no isolation": (cold([python, "-I", "-c"]), settings.cold_runs),
            "cold `python -I -S -c`, no isolation": (cold([python, "-I", "-S", "-c"]), settings.cold_runs),
        }
        if bubblewrap := shutil.which("bwrap"):
            ways["cold bubblewrap with `python -I -c`"] = (cold([bubblewrap, *inside, python, "-I", "-c"]), settings.cold_runs)
        with contextlib.suppress(SlmagentError):  # no engine here
            docker = open_sandboxes.enter_context(make("docker"))
            ways["docker, a program (containers are not pinned)"] = (lambda: docker.run(PROGRAM), settings.warm_runs)
        rates: dict[str, list[float]] = {name: [] for name in ways}
        for way, _ in ways.values():
            way()
        for _ in range(settings.rounds):
            for name, (way, runs) in ways.items():
                started = time.perf_counter()
                for _ in range(runs):
                    way()
                rates[name].append(runs / (time.perf_counter() - started))
    return {
        "measured": datetime.now(UTC).date().isoformat(),
        "machine": f"{platform.machine()}, Linux {platform.release().split('-')[0]}, Python {platform.python_version()}",
        "layers": [name for name, state in layers.items() if state == "ok"],
        "missing": [f"{name}: {state}" for name, state in layers.items() if state != "ok"],
        "rates": rates,
    }


def table(results: dict[str, Any]) -> str:
    """The measurement as Markdown."""
    base = statistics.median(results["rates"]["cold `python -I -c`, no isolation"])
    rows = []
    for name, rates in results["rates"].items():
        middle = statistics.median(rates)
        rows.append(f"| {name} | {middle:.0f} [{min(rates):.0f}, {max(rates):.0f}] | {middle / base:.1f} |")
    rounds = len(next(iter(results["rates"].values())))
    missing = f" Missing: {'; '.join(results['missing'])}." if results["missing"] else ""
    return "\n".join(
        [
            "| way | runs a second and core, median of rounds [lowest, highest] | times the first cold one |",
            "|---|---|---|",
            *rows,
            "",
            f"{rounds} rounds on one core, {results['measured']}, {results['machine']}."
            f" Layers in force: {', '.join(results['layers'])}.{missing}",
        ]
    )


def write_document(results: dict[str, Any], document: Path = DOCUMENT) -> None:
    """Puts the table into the page."""
    text = document.read_text()
    pattern = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    document.write_text(pattern.sub(lambda _: f"{BEGIN}\n{table(results)}\n{END}", text))


if __name__ == "__main__":
    measured = measure(tyro.cli(Settings, description=__doc__))
    RESULTS.write_text(json.dumps(measured, indent=1) + "\n")
    write_document(measured)
    print(table(measured))
