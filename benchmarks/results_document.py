"""Writes docs/results.md from the files in docs/results, and nothing else: every number in it comes from there.

    make docs

A section is made of `NAME-settings.json` and `NAME.json`, and ends with the text of `NAME-note.md` where there is one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from slmagent.evaluation.comparison import Comparison
from slmagent.evaluation.results import EvalResult, load_results
from slmagent.evaluation.tables import percent, points

RL = "SFT, then RL"
CONTROL = "SFT continued for RL's time"
NO_IMITATION = "RL without imitation"
NO_GRADIENT = "RL without policy gradient"
ORDER = ("untrained", "SFT", CONTROL, NO_GRADIENT, NO_IMITATION, RL, "expert", "do-nothing")
"""The rows of a table."""

_HEAD = """# Results

What demonstrations give to SmolLM2-135M-Instruct, what reinforcement learning adds, and what each part is worth. Every policy
plays the same tasks of the test split greedily, one episode a task. Rows with several training seeds pool them; intervals are
95 % (Wilson's for one seed, a bootstrap over tasks and seeds for several). *Control* is SFT continued on the same
demonstrations for the wall-clock time that reinforcement learning took. Nothing was tuned on these tasks. How the recipe came
about, and what did not work: [diary.md](diary.md).
"""


def write_document(results: Path, target: Path = Path("docs/results.md")) -> None:
    """Writes the document in one piece."""
    partial = target.with_name(f".{target.name}.writing")
    partial.write_text(document(results))
    os.replace(partial, target)


def document(results: Path) -> str:
    """The document's text, a section for each pair of result and settings files, by environment and level."""
    suffix = "-settings.json"
    settings = {path.name.removesuffix(suffix): json.loads(path.read_text()) for path in results.glob(f"*{suffix}")}

    def order(name: str) -> tuple[str, int]:
        experiment = settings[name]["experiment"]
        return experiment["environment"], experiment["level"]

    sections = []
    for name in sorted(settings, key=order):
        rows, comparisons = load_results(results / f"{name}.json")
        note = results / f"{name}-note.md"
        section = _section(rows, comparisons, settings[name])
        sections.append(f"{section}\n{note.read_text()}" if note.is_file() else section)
    return "\n".join([_HEAD, *sections])


def _section(rows: list[EvalResult], comparisons: list[Comparison], settings: Mapping[str, Any]) -> str:
    experiment, used = settings["experiment"], settings["recipe"]
    seconds = settings["rl_seconds"]
    minutes = ", ".join(f"{value / 60:.1f}" for value in seconds)
    seeds = "1 training seed" if len(seconds) == 1 else f"{len(seconds)} training seeds"
    options = "" if experiment["level"] == 1 else f" --level {experiment['level']}"
    options += "".join(f" --no-{part}" for part in ("control", "ablations") if not experiment.get(part, True))
    lines = [
        f"## {rows[0].env_id.removeprefix('SLMAgent/')} level {experiment['level']}",
        "",
        f"{experiment['tasks']} tasks, {seeds}; {used['demonstrations']} demonstrations; "
        f"{used['updates']} GRPO updates, {minutes} minutes by the clock on two CPU cores.",
        "",
        "```sh",
        f"python benchmarks/results.py --environment {experiment['environment']} --seeds {len(seconds)}{options}",
        "```",
        "",
        "| policy | success | mean return |",
        "|---|---|---|",
        *(f"| {row.label} | {percent(row.success)} | {row.mean_return.estimate:.2f} |" for row in rows),
        "",
        f"Paired difference of success in points, *{RL}* minus the other, on the same tasks and seeds:",
        "",
        "| other | difference | |",
        "|---|---|---|",
        *(f"| {comparison.label_b} | {points(comparison.difference)} | {_verdict(comparison)} |" for comparison in comparisons),
        "",
    ]
    return "\n".join(lines)


def _verdict(comparison: Comparison) -> str:
    low, high = comparison.difference.low, comparison.difference.high
    if low is None or high is None or low <= 0.0 <= high:
        return "not distinguishable: the interval holds 0"
    return "better" if low > 0.0 else "worse"


if __name__ == "__main__":
    write_document(Path("docs/results"))
