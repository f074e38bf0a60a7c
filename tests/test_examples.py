"""The examples run, and the README shows them as they are."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def run(example: Path) -> str:
    done = subprocess.run([sys.executable, str(example)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_custom_agent_serves_most_customers() -> None:
    served = re.fullmatch(r"(\d+) of 50 customers served\n", run(ROOT / "examples" / "custom_agent.py"))
    assert served is not None
    assert int(served[1]) >= 35


def test_the_readme_shows_the_example_as_it_is() -> None:
    code = (ROOT / "examples" / "custom_agent.py").read_text()
    assert f"```python\n{code}```" in (ROOT / "README.md").read_text()


def test_only_the_right_program_passes_the_grader() -> None:
    marks = dict(line.split()[:2] for line in run(ROOT / "examples" / "grade_programs.py").splitlines())
    assert marks == {"right": "+++", "wrong": "--+", "stuck": "---", "cheat": "---", "exit": "---"}


@pytest.mark.parametrize("example", [path for path in EXAMPLES if path.name != "custom_agent.py"], ids=lambda path: path.name)
def test_every_example_runs(example: Path) -> None:
    assert run(example).strip()
