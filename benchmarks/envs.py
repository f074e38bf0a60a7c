"""Environment steps a second on one core, ours beside other text suites; writes docs/results/envs.json and docs/benchmarks.md.

    make bench-envs                                   (a few minutes)
    python benchmarks/envs.py --no-suites             (ours alone; no network needed)

The other suites come from PyPI into a virtual environment of their own in the cache folder; they are no dependency of slmagent.
All are measured one after the other on the same machine in the same run, each with its own scripted policy inside the timing.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import venv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import gymnasium
import tyro
from stopwatch import Play, measure

from slmagent.cli.names import environment_ids
from slmagent.cli.terminal import messages, progress_bar
from slmagent.envs.base import ChatEnv
from slmagent.evaluation.cheaters import chat_env
from slmagent.fetching import cache_dir

SUITES = ("gem-llm==0.1.0", "textarena==0.7.4")
"""What is compared with; pinned, so that numbers can be repeated."""
HERE = Path(__file__).resolve().parent
DOCUMENT = HERE.parent / "docs" / "benchmarks.md"
_HEAD = """# Benchmarks

Environment steps a second on one core. `make bench-envs` measures and writes this page from
[results/envs.json](results/envs.json).

**How.** Every row plays whole episodes with a scripted policy (ours: the expert), its thinking included, on one thread. One
pass over the episodes warms up, then the same pass is timed several times: *steps/s* is the median by process time with the
lowest and the highest pass in brackets (process time, because other programs share the machine), *by the clock* the median by
wall-clock time. *First visit* is the warm-up pass: there our tasks are generated, too; they are kept for the next episodes of
the same task, as a group of rollouts needs them.

**What a reset does.** Ours: a task, an SQLite database with its rows, a simulated user with its opening words, the system
prompt. GEM: a random number, or a fresh list of disks. TextArena: the environment object (made anew for each episode, as in
its documentation), its state and its first prompt.

**What a step does.** Ours: reads the action as words and tool calls, checks arguments against their schemas, runs SQL, lets
the user understand and answer, scores every reward component, hashes the state, and returns the whole conversation as messages
with events, components and tool schemas. GEM: reads a move with a regular expression, changes a number or a list and returns
one sentence about it. TextArena: the same, and the whole conversation as one text. So the rows do not compare like with like:
they say what each suite asks of a core, not which of them does its work better.
"""


@dataclass(frozen=True)
class Options:
    """What to measure."""

    episodes: int = 200
    """Episodes of a pass."""
    repeats: int = 7
    """Timed passes."""
    suites: bool = True
    """Also measure the other suites; they are installed on the first run."""
    out: Path = DOCUMENT.parent / "results" / "envs.json"
    """Result file."""
    document: Path = DOCUMENT
    """Page to write."""


def expert_play(env: ChatEnv) -> Play:
    """Episodes of the expert, each with a task of its own."""
    ids = env.scenario_ids

    def play(number: int) -> tuple[int, bool]:
        env.reset(options={"scenario_id": ids[number % len(ids)], "user_seed": number})
        steps = 0
        while True:
            _, _, terminated, truncated, info = env.step(env.expert())
            steps += 1
            if terminated or truncated:
                return steps, info["success"]

    return play


def ours(options: Options) -> list[dict[str, Any]]:
    """Every registered environment at every level."""
    rows = []
    for env_id in environment_ids():
        levels = sorted(chat_env(gymnasium.make(env_id, disable_env_checker=True)).levels)
        with progress_bar(env_id, len(levels), messages()) as show:
            for done, level in enumerate(levels, start=1):
                env = chat_env(gymnasium.make(env_id, level=level, disable_env_checker=True))
                rates = measure(expert_play(env), episodes=options.episodes, repeats=options.repeats)
                rows.append({"suite": "slmagent", "version": version("slmagent"), "env_id": env_id, "level": level, **rates})
                show(done)
    return rows


def others(options: Options) -> list[dict[str, Any]]:
    """The environments of `other_suites.py`, in an interpreter of their own."""
    command = [str(suites_python()), str(HERE / "other_suites.py"), str(options.episodes), str(options.repeats)]
    with messages().status("measuring the other suites"):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"the other suites could not be measured:\n{done.stderr.strip()[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def suites_python() -> Path:
    """The interpreter of the virtual environment that has the other suites; made where it is missing."""
    key = hashlib.sha256(repr((SUITES, sys.version_info[:2])).encode()).hexdigest()[:12]
    folder = cache_dir() / f"suites-{key}"
    python = folder / "bin" / "python"
    if (folder / "complete").exists():
        return python
    shutil.rmtree(folder, ignore_errors=True)
    with messages().status(f"installing {', '.join(SUITES)} into {folder}"):
        venv.create(folder, with_pip=True)
        done = subprocess.run(
            [str(python), "-m", "pip", "install", "--quiet", *SUITES], capture_output=True, text=True, check=False
        )
    if done.returncode != 0:
        raise SystemExit(
            f"cannot install {', '.join(SUITES)} (--no-suites measures ours alone):\n{done.stderr.strip()[-2000:]}"
        )
    (folder / "complete").touch()
    return python


def machine() -> dict[str, Any]:
    """Where the numbers come from."""
    model = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), model)
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "date": datetime.now(UTC).date().isoformat(),
    }


def page(results: Mapping[str, Any]) -> str:
    """The document's text."""
    where = results["machine"]
    lines = [
        _HEAD,
        f"Measured on {where['date']}: {where['cpu']}, {where['cores']} cores, load {where['load']} before the start, Python "
        f"{where['python']}.",
        "",
    ]
    rows: Sequence[Mapping[str, Any]] = results["rows"]
    for suite in dict.fromkeys(row["suite"] for row in rows):
        mine = [row for row in rows if row["suite"] == suite]
        lines += [
            f"## {suite} {mine[0]['version']}",
            "",
            "| environment | steps/s | by the clock | first visit | steps an episode | solved |",
            "|---|---|---|---|---|---|",
            *(_line(row) for row in mine),
            "",
        ]
    return "\n".join(lines)


def _line(row: Mapping[str, Any]) -> str:
    name = row["env_id"].removeprefix("SLMAgent/") + (f" level {row['level']}" if "level" in row else "")
    cpu = row["cpu"]
    cells = (
        name,
        f"{_rounded(cpu['median'])} [{_rounded(cpu['low'])}, {_rounded(cpu['high'])}]",
        _rounded(row["wall"]["median"]),
        _rounded(row["first"]),
        f"{row['steps'] / row['episodes']:.1f}",
        f"{100 * row['solved']:.0f} %",
    )
    return f"| {' | '.join(cells)} |"


def _rounded(rate: float) -> str:
    """Three digits: 3,850 or 155,000."""
    digits = max(0, len(str(int(rate))) - 3)
    return f"{round(rate, -digits):,.0f}"


def main(options: Options) -> None:
    """Measures, then writes both files."""
    where = machine()
    rows = ours(options) + (others(options) if options.suites else [])
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps({"machine": where, "rows": rows}, indent=1) + "\n")
    options.document.write_text(page(json.loads(options.out.read_text())))
    messages().print(f"written: {options.out} and {options.document}", markup=False)


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
