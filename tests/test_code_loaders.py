"""Programming tasks in files: our own JSON lines, and rows in public formats."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slmagent.cli import main
from slmagent.envs.code_assist.verification import verify
from slmagent.errors import RecordError
from slmagent.sandbox import make
from slmagent.scenarios.code.loaders import (
    load_humaneval,
    load_mbpp,
    load_tasks,
    save_tasks,
    task_from_json,
    task_to_json,
)
from slmagent.scenarios.code.records import Check, Clarification, CodeTask

TASK = CodeTask(
    name="double",
    kind="body",
    file_name="double.py",
    before="def double(x):\n    ",
    reference="return 2 * x",
    after="\n",
    request="Write the body.",
    checks=(Check("double(2)", "value", "4"), Check("double(None)", "raises", "TypeError")),
    examples=(Check("double(0.5)", "output", "1.0\n", 1e-9),),
    clarifications=(Clarification("order", ("sort",), "Ascending."),),
)

MBPP: list[dict[str, Any]] = [
    {
        "task_id": 9001,
        "text": "Write a function to count the vowels of a word.",
        "code": "VOWELS = 'aeiou'\r\ndef is_vowel(letter):\r\n\treturn letter in VOWELS\r\n"
        "def vowels(word):\r\n\treturn sum(map(is_vowel, word))",
        "test_list": ["assert vowels('tree') == 2", "assert vowels('') == 0", "assert vowels('sky') < 1"],
        "test_setup_code": "",
        "challenge_test_list": [],
    },
    {
        "task_id": 9002,
        "prompt": "Write a function that halves a number.",
        "code": "def half(x):\n    y = x / 2\n    return y\n",
        "test_list": ["assert math.isclose(half(3), 1.5)", "assert half(PAIR[0]) == 2.0"],
        "test_imports": ["import math", "PAIR = (4, 5)"],
    },
    {"task_id": 9003, "text": "?", "code": "def f(x): return x", "test_list": ["assert f(1) == 1"]},
    {"task_id": 9004, "text": "?", "code": "print 1", "test_list": ["assert f(1) == 1"]},
    {"task_id": 9005, "text": "?", "code": "def f(x):\n    return x\n", "test_list": ["assert f(1) > 0"]},
    {"task_id": 9006, "text": "?", "code": "def f(x):\n    return x\n", "test_list": ["assert g(1) == 1"]},
]

HUMANEVAL: list[dict[str, Any]] = [
    {
        "task_id": "Own/0",
        "prompt": 'def clip(x: float, low: float) -> float:\n    """No less than low.\n    >>> clip(1, 2)\n    2\n    """\n',
        "entry_point": "clip",
        "canonical_solution": "    if x < low:\n        return low\n    return x\n",
        "test": "METADATA = {}\nLOW = 3\n\ndef check(candidate):\n"
        "    assert candidate(1, LOW) == 3, 'low'\n"
        "    assert abs(candidate(4.5, 1) - 4.5) < 1e-6\n"
        "    for x in range(3):\n        assert candidate(x, 0) == x\n"
        "    assert True, 'easy'\n",
    },
    {"task_id": "Own/1", "prompt": "def a():\n", "entry_point": "b", "canonical_solution": "    return 1\n", "test": ""},
    {"task_id": "Own/2", "prompt": "def a():\n", "entry_point": "a", "canonical_solution": "    return 1\n", "test": "x = 1"},
]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


# ---- our own files --------------------------------------------------------------------------------------------------


def test_tasks_survive_a_file(tmp_path: Path) -> None:
    tasks = (TASK, replace(TASK, name="other", broken="return x", kind="repair"))
    assert save_tasks(tmp_path / "new" / "tasks.jsonl", tasks) == 2
    assert load_tasks(tmp_path / "new" / "tasks.jsonl") == tasks


TEXT = st.text(max_size=20)
NAMED = st.text(min_size=1, max_size=20)


@settings(max_examples=50, deadline=None)
@given(
    st.builds(
        CodeTask,
        name=NAMED,
        kind=st.sampled_from(["line", "body", "explain"]),
        file_name=TEXT,
        before=TEXT,
        reference=NAMED.filter(str.strip),
        after=TEXT,
        request=TEXT,
        checks=st.lists(st.builds(Check, st.just("f()"), st.just("output"), TEXT, st.floats(0, 1)), max_size=3).map(tuple),
        names=st.lists(TEXT, max_size=3).map(tuple),
    )
)
def test_a_line_gives_the_same_task_back(task: CodeTask) -> None:
    assert task_from_json(task_to_json(task)) == task


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "poem"}, r"kind: expected one of 'line', .*, actual 'poem'"),
        ({"format": "slmagent.trajectory/1"}, r'expected a programming task \("format": "slmagent.code_task/1"\)'),
        ({"speed": 1}, "unknown key 'speed'"),
        ({"reference": " "}, "expected a name and a reference"),
        ({"checks": [{"code": "f(", "kind": "value", "expect": "1"}]}, r"checks\[0\].code: expected Python, actual 'f\('"),
        ({"checks": [{"code": "f()", "kind": "value", "expect": "g()"}]}, r"checks\[0\].expect: expected a Python literal"),
        ({"examples": [{"code": "f()", "kind": "raises", "expect": "a b"}]}, r"examples\[0\].expect: expected the name"),
        ({"checks": [{"code": "f()", "kind": "output", "expect": "", "tolerance": -1}]}, r"checks\[0\].tolerance: expected"),
    ],
)
def test_a_bad_line_is_named_with_its_file(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    row = json.loads(task_to_json(TASK))
    file = write(tmp_path / "tasks.jsonl", [row, row | {"name": "second"} | change])
    with pytest.raises(RecordError, match=rf"tasks.jsonl, line 2: {message}"):
        load_tasks(file)


def test_two_tasks_of_one_name_are_refused(tmp_path: Path) -> None:
    save_tasks(tmp_path / "tasks.jsonl", [TASK, TASK])
    with pytest.raises(RecordError, match="line 2: expected names that differ, actual 'double' again"):
        load_tasks(tmp_path / "tasks.jsonl")


# ---- public formats -------------------------------------------------------------------------------------------------


def test_mbpp_rows(tmp_path: Path) -> None:
    converted = load_mbpp(write(tmp_path / "mbpp.jsonl", MBPP))
    vowels, half = converted.tasks
    assert (vowels.name, vowels.file_name, vowels.request) == ("mbpp-9001", "vowels.py", MBPP[0]["text"])
    assert vowels.reference == "return sum(map(is_vowel, word))"
    assert vowels.before.endswith("def vowels(word):\n\t")
    assert vowels.examples == (Check("vowels('tree')", "value", "2"),)
    assert vowels.checks == (Check("vowels('')", "value", "0"),)
    assert half.examples == (Check("import math\nbool(math.isclose(half(3), 1.5))", "value", "True"),)
    assert half.checks == (Check("PAIR = (4, 5)\nhalf(PAIR[0])", "value", "2.0"),)
    assert converted.rows == 6
    assert converted.skipped == {
        "assert: a comparison other than == or is": 2,
        "function: its body begins on the line of def": 1,
        "row: no Python of this version": 1,
        "row: none of its assertions can be used": 1,
        "row: its tests mention none of its functions": 1,
    }


def test_humaneval_rows(tmp_path: Path) -> None:
    converted = load_humaneval(write(tmp_path / "humaneval.jsonl", HUMANEVAL))
    (clip,) = converted.tasks
    assert clip.before == HUMANEVAL[0]["prompt"] + "    "
    assert clip.reference == "if x < low:\n        return low\n    return x"
    assert clip.checks == (Check("LOW = 3\nclip(1, LOW)", "value", "3"), Check("clip(4.5, 1)", "value", "4.5", 1e-6))
    assert converted.skipped == {
        "assert: inside a loop or another block": 1,
        "assert: tests nothing": 1,
        "row: the prompt does not define its entry point": 1,
        "row: its test does not define check(candidate)": 1,
    }


def test_converted_tasks_are_sound(tmp_path: Path) -> None:
    tasks = load_mbpp(write(tmp_path / "m.jsonl", MBPP)).tasks + load_humaneval(write(tmp_path / "h.jsonl", HUMANEVAL)).tasks
    with make("process") as box:
        assert [verify(task, box) for task in tasks] == [[], [], []]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("[1]", "line 1: expected a JSON object"),
        ('{"text": "a"}', "line 1: expected the key 'code' with text, actual keys 'text'"),
        (
            '{"text": "a", "code": "x", "test_list": [1]}',
            "line 1: expected the key 'test_list' with a list of texts, actual list",
        ),
    ],
)
def test_a_line_that_is_no_row_is_an_error(tmp_path: Path, row: str, message: str) -> None:
    (tmp_path / "rows.jsonl").write_text(row + "\n")
    with pytest.raises(RecordError, match=message):
        load_mbpp(tmp_path / "rows.jsonl")


def test_convert_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = write(tmp_path / "rows.jsonl", MBPP), tmp_path / "tasks.jsonl"
    assert main(["scenarios", "convert", "--from", "mbpp", str(source), "--output", str(target)]) == 0
    shown = capsys.readouterr().out
    assert "2 tasks of 6 rows" in shown
    assert "row: no Python of this version" in shown
    assert len(load_tasks(target)) == 2
    assert main(["scenarios", "convert", "--from", "mbpp", str(tmp_path / "none"), "--output", str(target)]) == 2
    assert "cannot read MBPP rows from" in capsys.readouterr().err
