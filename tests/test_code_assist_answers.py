"""From what an agent writes to the program it means, and measures of code."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slmagent.envs.code_assist.answers import code_in, prose_in, read_answer
from slmagent.envs.code_assist.view import shown, system_text
from slmagent.rewards.code_measures import has_effect, length_score, shared_names
from slmagent.scenarios.code.copying import copied_share, tokens_of
from slmagent.scenarios.code.records import CodeTask
from slmagent.scenarios.code.skeleton import CURSOR, scope_of, skeleton
from slmagent.scenarios.code.syntax import literal, parse
from slmagent.scenarios.code.tasks import make_task, scenario_ids

LINE = CodeTask(
    name="line",
    kind="line",
    file_name="a.py",
    before='def keep(xs, limit):\n    """Keep."""\n    kept = [x for x in xs if ',
    after="\n    return kept\n\n\ndef other():\n    return 1\n",
    reference="x > limit]",
    request="",
    checks=(),
)
BODY = CodeTask(
    name="body",
    kind="body",
    file_name="a.py",
    before='class Box:\n    def __init__(self):\n        self.xs = []\n\n    def top(self, n):\n        """Top."""\n        ',
    after="\n\n    def size(self):\n        return len(self.xs)\n",
    reference="best = sorted(self.xs)\n        return best[-n:]",
    request="",
    checks=(),
)
DONE_LINE = LINE.before + LINE.reference + LINE.after
DONE_BODY = BODY.before + BODY.reference + BODY.after


@pytest.mark.parametrize(
    "code",
    [
        "x > limit]",
        "  x > limit]  ",
        "kept = [x for x in xs if x > limit]",
        "    kept = [x for x in xs if x > limit]",
        "kept=[x for x in xs if x > limit]",
        'def keep(xs, limit):\n    """Keep."""\n    kept = [x for x in xs if x > limit]\n    return kept',
        '    def keep(xs, limit):\n        """Keep."""\n        kept = [x for x in xs if x > limit]\n        return kept',
        'import os\ndef keep(xs, limit):\n    """Keep."""\n    kept = [x for x in xs if x > limit]\n    return kept\nx = 1',
    ],
)
def test_a_line_may_be_given_in_many_forms(code: str) -> None:
    assert read_answer(LINE, code).program == DONE_LINE


@pytest.mark.parametrize(
    "code",
    [
        "best = sorted(self.xs)\nreturn best[-n:]",
        "        best = sorted(self.xs)\n        return best[-n:]",
        "    best = sorted(self.xs)\n    return best[-n:]\n",
        '    def top(self, n):\n        """Top."""\n        best = sorted(self.xs)\n        return best[-n:]',
        'def top(self, n):\n    """Top."""\n    best = sorted(self.xs)\n    return best[-n:]',
        'class Box:\n    def top(self, n):\n        """Top."""\n        best = sorted(self.xs)\n        return best[-n:]',
    ],
)
def test_a_body_may_be_given_in_many_forms(code: str) -> None:
    assert read_answer(BODY, code).program == DONE_BODY


def test_the_last_block_counts_and_may_be_left_open() -> None:
    assert code_in("First\n```python\na\n```\nno,\n```\nb\n```") == "b"
    assert code_in("```python\n    x = 1") == "    x = 1"
    assert code_in("no code, `x` only") is None
    assert code_in("") is None
    assert prose_in("It sorts `xs` (twice)\n```python\nsorted(xs)\n```\nby length") == "It sorts by length"


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    code = code_in(text)
    prose_in(text)
    for task in (LINE, BODY):
        read_answer(task, text if code is None else code)


# ---- what is shown ----------------------------------------------------------------------------------------------------


def test_the_scope_is_read_from_the_syntax_tree() -> None:
    scope = scope_of(BODY)
    assert scope.path == ("Box", "top")
    assert scope.names == ("n", "Box.__init__(self)", "self.xs", "Box.top(self, n)", "Box.size(self)", "class Box")
    assert (scope.functions, scope.classes) == (3, 1)
    assert scope_of(LINE).path == ("keep",)
    assert scope_of(LINE).names == ("xs", "limit", "keep(xs, limit)", "other()")
    compile(skeleton(LINE), "a.py", "exec")


def test_a_short_file_is_shown_once_and_a_long_one_in_part() -> None:
    assert shown(LINE) == ("", f"{LINE.before}{CURSOR}{LINE.after}".strip("\n"))
    filler = "".join(f"def f{number}(a, b={number}):\n    return a + b\n\n\n" for number in range(150))
    long = CodeTask("long", "line", "a.py", filler + LINE.before, LINE.after + filler, "", "", ())
    beginning, window = shown(long)
    assert len(beginning) <= 1000
    assert beginning.startswith("def f0(")
    assert 30 <= window.count("\n") <= 40
    assert CURSOR in window
    text = system_text(long)
    assert "f7(a, b=7)" in text
    assert "more" in text
    assert len(text) < 3500


def test_every_file_with_its_hole_closed_can_be_parsed() -> None:
    for level in range(6):
        for scenario_id in scenario_ids(level, "train")[:20]:
            task = make_task(scenario_id)
            assert scope_of(task).path, scenario_id


# ---- measures -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    ["", "pass", "...", "None", "None)", "return None", "return",
     '"""Only words."""', '"""Words."""\npass', "raise NotImplementedError",
     "raise NotImplementedError('later')", 'def f(x):\n    """Words."""\n    pass', "def f(x):\n    return None"],
)  # fmt: skip
def test_code_without_effect(code: str) -> None:
    assert not has_effect(code)


@pytest.mark.parametrize(
    "code", ["x > limit]", "return x", "return 0", "y = 1", "def f(x):\n    return x", "raise ValueError", "x"]
)
def test_code_with_effect(code: str) -> None:
    assert has_effect(code)


def test_copies_are_counted_in_tokens() -> None:
    context = "total = 0\nfor price in prices:\n    total += price * 2\nreturn total\n"
    assert copied_share(context, context) == 1.0
    assert copied_share("return total", context) == 0.0
    mixed = "total = 0\nfor price in prices:\n    total += price - 1\n"
    assert len(tokens_of(mixed)) == 13
    assert copied_share(mixed, context) == pytest.approx(11 / 13)  # as far as the second `price`


def test_names_and_lengths() -> None:
    assert shared_names("total + price + tax", "total = price") == pytest.approx(2 / 3)
    assert shared_names("1 + 2", "total") is None
    assert shared_names("return None", "x") is None or shared_names("return None", "x") == 0.0
    assert length_score(40, 40) == 1.0
    assert length_score(60, 40) == 1.0
    assert length_score(160, 40) == -1.0
    assert length_score(110, 40) == pytest.approx(0.0)
    assert length_score(1000, 0) == -1.0


def test_trees_are_made_in_threads_too() -> None:
    source = "def f(x):\n" + "".join(f"    y{n} = [[(x + {n}) * 2 for _ in range(3)] for _ in (1, 2)]\n" for n in range(60))
    with ThreadPoolExecutor(4) as pool:
        assert all(tree is not None for tree in pool.map(lambda _: parse(source), range(200)))
    assert parse("def f(:") is None
    assert literal("[1, {'a': (2, None)}]") == [1, {"a": (2, None)}]
    for text in ("f(1)", "1; 2", "", "x"):
        with pytest.raises(ValueError, match=r"malformed|expected"):
            literal(text)
