"""The examples run, and the README shows them as they are."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


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


def test_the_agent_that_tries_solves_some() -> None:
    found = re.fullmatch(r"(\d+) of 24 expressions found by trying\n", run(ROOT / "examples" / "try_before_you_answer.py"))
    assert found is not None
    assert int(found[1]) >= 2


def test_tasks_of_your_own_are_all_solved() -> None:
    lines = run(ROOT / "examples" / "code_of_your_own.py").splitlines()
    assert len(lines) == 6
    assert all(line.endswith(": solved") for line in lines)


def test_every_example_is_run_by_a_test() -> None:
    tested = set(re.findall(r'"examples" / "(\w+\.py)"', Path(__file__).read_text()))
    assert {path.name for path in (ROOT / "examples").glob("*.py")} == tested
