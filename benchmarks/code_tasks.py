"""Tries every task of CodeAssist out in the sandbox: its reference passes, doing nothing and the broken body do not.

    python benchmarks/code_tasks.py            (a few minutes)
    python benchmarks/code_tasks.py --levels 0 1

Writes docs/results/code_tasks.json, from which docs/code_tasks.md has its numbers, when all levels were tried. Exit code 1 when
a task fails.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import tyro

from slmagent.cli.terminal import messages, progress_bar
from slmagent.envs.code_assist.verification import verify
from slmagent.sandbox import make
from slmagent.scenarios.code.tasks import KINDS, make_task, scenario_ids, signature_of
from slmagent.types import SPLITS

RESULTS = Path("docs/results/code_tasks.json")


@dataclass(frozen=True)
class Trial:
    """What to try."""

    levels: tuple[int, ...] = tuple(KINDS)
    """Levels of the environment."""


def main(trial: Trial) -> int:
    """Tries the tasks and says which fail."""
    rows = []
    failed = 0
    with make("process") as sandbox:
        for level in trial.levels:
            row: dict[str, object] = {"level": level, "kinds": sorted(set(KINDS[level]))}
            for split in SPLITS:
                ids = scenario_ids(level, split)
                with progress_bar(f"level {level} {split}", len(ids), messages()) as update:
                    for number, scenario_id in enumerate(ids):
                        problems = verify(make_task(scenario_id), sandbox)
                        failed += bool(problems)
                        for problem in problems:
                            print(f"{scenario_id}: {problem}", file=sys.stderr)
                        update(number + 1, 0)
                row[split] = {"tasks": len(ids), "works": len({signature_of(scenario_id) for scenario_id in ids})}
            rows.append(row)
    total = sum(len(scenario_ids(level, split)) for level in trial.levels for split in SPLITS)
    print(f"{total} tasks, {failed} failed")
    if trial.levels == tuple(KINDS):
        RESULTS.write_text(json.dumps({"tasks": total, "failed": failed, "levels": rows}, indent=1) + "\n")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(tyro.cli(Trial, description=__doc__)))
