"""Repair tasks from a git history."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from code_tree import MEASURES, write_tree

from slmagent.cli import main
from slmagent.cli.scenarios import SandboxJudge
from slmagent.envs.code_assist.verification import verify
from slmagent.errors import UsageError
from slmagent.sandbox import make
from slmagent.sandbox.base import Sandbox
from slmagent.scenarios.code.loaders import load_tasks
from slmagent.scenarios.code.mining.history import commits, mine_commit
from slmagent.scenarios.code.mining.targets import Summary

FAULTY = MEASURES.replace("count = len(values)", "count = len(values) - 1 or 1")


def commit(folder: Path, message: str) -> None:
    author = ["-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(folder), "add", "-A"], check=True)
    subprocess.run(["git", "-C", str(folder), *author, "commit", "-q", "-m", message], check=True)


@pytest.fixture(scope="module")
def box() -> Iterator[Sandbox]:
    with make("process") as made:
        yield made


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    pack = write_tree(tmp_path)
    subprocess.run(["git", "init", "-q", str(pack)], check=True)
    (pack / "pack" / "measures.py").write_text(FAULTY)
    commit(pack, "begin")
    (pack / "pack" / "measures.py").write_text(MEASURES)
    commit(pack, "mend mean")
    (pack / "pack" / "measures.py").write_text(
        MEASURES.replace("low, high = min(values), max(values)", "low = min(values)\n    high = max(values)")
    )
    commit(pack, "spread in three lines")
    return pack


def test_a_commit_that_mends_a_function_is_a_repair_task(repository: Path, box: Sandbox) -> None:
    newest, older = commits(repository, 10)
    summary = Summary()
    assert list(mine_commit(repository, newest, SandboxJudge(box), summary)) == []
    assert summary.skipped["task: the broken body passes"] == 1
    (task,) = mine_commit(repository / "pack", older, SandboxJudge(box), summary)
    assert task.name == f"pack.measures.mean-{older[:10]}-repair"
    assert "count = len(values) - 1 or 1" in task.broken
    assert "count = len(values)\n" in task.reference
    assert (summary.functions, summary.candidates, summary.tasks) == (2, {"repair": 2}, {"repair": 1})
    assert verify(task, box) == []
    assert list(mine_commit(repository, older, SandboxJudge(box), Summary(), have={task.name})) == []


def test_a_folder_without_a_history_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"expected a folder in a git repository with commits, actual .*: fatal: not a git"):
        commits(tmp_path, 3)
    with pytest.raises(UsageError, match="does not exist"):
        commits(tmp_path / "none", 3)


def test_repairs_from_the_command_line(repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "repairs.jsonl"
    assert main(["scenarios", "mine", str(repository), "--history", "--output", str(file)]) == 0
    assert "repair: tasks of candidates" in capsys.readouterr().out
    assert [task.kind for task in load_tasks(file)] == ["repair"]
