"""Completion tasks from a tree of Python files, by function call and on the command line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from code_tree import write_tree

from slmagent.cli import main
from slmagent.cli.scenarios import SandboxJudge
from slmagent.envs.code_assist.verification import verify
from slmagent.sandbox import make
from slmagent.sandbox.base import Sandbox
from slmagent.sandbox.limits import Limits
from slmagent.scenarios.code.loaders import load_tasks
from slmagent.scenarios.code.mining.completions import mine
from slmagent.scenarios.code.mining.targets import Summary, find_targets
from slmagent.scenarios.code.mining.trees import Tree, read_tree
from slmagent.scenarios.code.records import Check, CodeTask


@pytest.fixture(scope="module")
def box() -> Iterator[Sandbox]:
    with make("process") as made:
        yield made


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    return write_tree(tmp_path)


def mined(tree: Tree, box: Sandbox, **options: object) -> tuple[list[CodeTask], Summary]:
    summary = Summary()
    targets = list(find_targets(tree, summary, lambda: None))
    return list(mine(tree, targets, SandboxJudge(box), summary, **options)), summary  # pyright: ignore[reportArgumentType]


# ---- the whole way --------------------------------------------------------------------------------------------------


def test_mining_a_tree(pack: Path, box: Sandbox) -> None:
    tasks, summary = mined(read_tree(pack), box)
    names = [task.name for task in tasks]
    assert names == [
        "pack.measures.mean-body",
        "pack.measures.mean-line-11",
        "pack.measures.mean-line-10",
        "pack.measures.spread-body",
        "pack.measures.spread-line-2",
        "pack.measures.spread-line-1",
        "pack.measures.Counter.__init__-method",
        "pack.measures.Counter.add-method",
        "pack.measures.Counter.add-line-3",
        "pack.measures.Counter.add-line-2",
        "pack.measures.Counter.most-method",
        "pack.measures.Counter.most-line-2",
    ]
    assert (summary.files, summary.functions, summary.tested) == (4, 8, 7)
    assert summary.tasks == {"body": 2, "method": 3, "line": 7}
    assert summary.candidates == {"body": 3, "method": 3, "line": 7}
    assert summary.skipped["task: an empty hole passes"] == 1  # `nothing` returns what an empty body returns
    assert summary.skipped["file: needs a package that does not come with Python"] == 1
    for task in tasks:
        assert verify(task, box) == []


def test_hidden_doctests_are_nowhere_in_the_file(pack: Path, box: Sandbox) -> None:
    tasks, _ = mined(read_tree(pack), box, kinds=("body",))
    mean, spread = tasks
    assert [check.code for check in mean.examples] == ["mean([1, 2, 3])"]
    assert [(check.code, check.expect) for check in mean.checks] == [("mean([10])", "10.0\n"), ("mean([])", "ValueError")]
    assert "mean([1, 2, 3])" in mean.before
    assert "mean([10])" not in mean.before + mean.after
    assert "One number is its own mean" in mean.before
    assert [check.code for check in (*spread.examples, *spread.checks)] == [
        "PAIR = [3, 9]\nvalues = list(PAIR)\nvalues.append(1)\nspread(values)",
        "spread([2])",
        "spread([1, 2])",
        "spread((5, 5))",
        "spread([])",
    ]


def test_what_is_there_is_not_tried_again(pack: Path, box: Sandbox) -> None:
    tree = read_tree(pack)
    tasks, _ = mined(tree, box)
    again, summary = mined(tree, box, have=[task.name for task in tasks[:5]])
    assert [task.name for task in again] == [task.name for task in tasks[6:]]
    assert summary.candidates["body"] == 1


SUM = "return sum(value for value in (a, b) if value is not None)"


def test_verification_finds_what_is_wrong(box: Sandbox) -> None:
    def task(reference: str, check: Check, broken: str = "") -> CodeTask:
        before = "import time\ndef f():\n    "
        return CodeTask("t", "body", "t.py", before, "\n", reference, "?", (check,), broken=broken)

    one = Check("f()", "value", "1")
    assert verify(task("return 1", one), box) == []
    assert verify(task("return 2", one), box) == ["the reference fails: 'f()' gave 2, expected value '1'"]
    assert verify(task("return", Check("f()", "value", "None")), box)[0].startswith("an empty hole passes")
    (copied,) = verify(
        CodeTask(
            "t",
            "body",
            "t.py",
            f"def g(a, b):\n    {SUM}\n\n\ndef f(a, b):\n    ",
            "\n",
            SUM,
            "?",
            (Check("f(1, 2)", "value", "3"),),
        ),
        box,
    )
    assert copied.startswith("the reference does not count")
    clock = task("return time.time_ns() % 1000 / 1000", Check("f()", "value", "0.5", 1.0))
    assert verify(clock, box)[0].startswith("two runs differ")
    assert verify(task("return 1", one, broken="return 2 - 1"), box)[0].startswith("the broken body passes")
    assert verify(task("while True: pass", one), box, Limits(cpu_seconds=0.2))[0].startswith("the reference fails: cpu_limit")


# ---- the command line -----------------------------------------------------------------------------------------------


def slmagent(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    actual = main(words)
    captured = capsys.readouterr()
    assert "Traceback" not in captured.out + captured.err
    assert actual == code, captured.out + captured.err
    return captured.out + captured.err


def test_mine_then_verify(pack: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "out" / "tasks.jsonl"
    shown = slmagent(capsys, "scenarios", "mine", str(pack / "pack"), "--output", str(file), "--kinds", "body,method")
    assert "body: tasks of candidates" in shown
    assert "1 of 1" in shown  # `spread` has no tests below this path
    assert {task.name for task in load_tasks(file)} == {
        "pack.measures.mean-body",
        "pack.measures.Counter.__init__-method",
        "pack.measures.Counter.add-method",
        "pack.measures.Counter.most-method",
    }
    assert "4 of 4 tasks are sound" in slmagent(capsys, "scenarios", "verify", str(file))
    file.write_text(file.read_text().replace("count = len(values)", "count = 7"))
    assert "mean-body: the reference fails" in slmagent(capsys, "scenarios", "verify", str(file), code=1)


def test_an_interrupted_run_keeps_what_it_found_and_goes_on(
    pack: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("scenarios", "mine", str(pack), "--output", str(tmp_path / "tasks.jsonl"))
    calls = 0
    problems = SandboxJudge.problems

    def interrupted(self: SandboxJudge, task: CodeTask) -> list[str]:
        nonlocal calls
        calls += 1
        if calls == 5:
            raise KeyboardInterrupt
        return problems(self, task)

    monkeypatch.setattr(SandboxJudge, "problems", interrupted)
    assert "the same command goes on from here" in slmagent(capsys, *words, code=130)
    assert len(load_tasks(tmp_path / "tasks.jsonl")) == 4
    slmagent(capsys, *words)
    assert len(load_tasks(tmp_path / "tasks.jsonl")) >= 9
    assert "1 new tasks" in slmagent(capsys, *words[:-1], str(tmp_path / "other.jsonl"), "--limit", "1")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--kinds", "lime"), "unknown kind 'lime' in --kinds; did you mean 'line'?"),
        (("--kinds", ","), "expected kinds in --kinds, such as line,body,method, actual none"),
        (("--limit", "0"), "expected --limit >= 1, actual 0"),
        ((), "it does not exist"),
        (("--history",), "it does not exist"),
    ],
)
def test_bad_input_gives_one_message(
    words: tuple[str, ...], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(tmp_path / "tasks.jsonl")
    assert message in slmagent(capsys, "scenarios", "mine", str(tmp_path / "none"), "--output", file, *words, code=2)
