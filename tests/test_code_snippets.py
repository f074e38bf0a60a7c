"""Doctests and assertions as checks that stand alone."""

from __future__ import annotations

import ast
from collections import Counter

import pytest

from slmagent.scenarios.code.mining.asserts import assert_snippets
from slmagent.scenarios.code.mining.doctests import doctest_snippets, without_examples
from slmagent.scenarios.code.mining.holes import functions

MEAN = '''def mean(values):
    """The arithmetic mean of some numbers.

    >>> mean([1, 2, 3])
    2.0

    One number is its own mean:

    >>> mean([10])
    10.0
    >>> mean([])
    Traceback (most recent call last):
    ...
    ValueError: no values
    """
    return sum(values) / len(values)
'''


# ---- doctests -------------------------------------------------------------------------------------------------------


def examples(docstring: str) -> list[tuple[str, str, str]]:
    found = (snippet.check() for snippet in doctest_snippets(docstring, Counter()))
    return [(check.code, check.kind, check.expect) for check in found]


def test_an_example_brings_the_earlier_ones_that_it_needs() -> None:
    docstring = """
    >>> import math
    >>> stack = [1, 2]
    >>> other = 5
    >>> stack.pop()
    2
    >>> stack
    [1]
    >>> math.floor(other / 2)
    2
    """
    assert examples(docstring) == [
        ("stack = [1, 2]\nstack.pop()", "output", "2\n"),
        ("stack = [1, 2]\nstack.pop()\nstack", "output", "[1]\n"),
        ("import math\nother = 5\nmath.floor(other / 2)", "output", "2\n"),
    ]


def test_what_an_earlier_example_prints_is_expected_again() -> None:
    docstring = """
    >>> for value in [1, 2]:
    ...     print(value)
    1
    2
    >>> value
    2
    >>> print("a\\n\\nb")
    a
    <BLANKLINE>
    b
    """
    assert examples(docstring)[1] == ("for value in [1, 2]:\n    print(value)\nvalue", "output", "1\n2\n2\n")
    assert examples(docstring)[2][2] == "a\n\nb\n"


def test_an_error_is_expected_by_its_name_and_prepares_nothing() -> None:
    docstring = """
    >>> x = 1
    >>> x = f(x)
    Traceback (most recent call last):
    ...
    package.errors.OddError: no
    >>> x
    1
    """
    assert examples(docstring) == [("x = 1\nx = f(x)", "raises", "OddError"), ("x = 1\nx", "output", "1\n")]


def test_examples_that_cannot_be_compared_exactly_are_counted() -> None:
    skipped: Counter[str] = Counter()
    docstring = ">>> f()  # doctest: +ELLIPSIS\n1...\n>>> g()\n<object at 0x7f00dead>\n>>> h()  # doctest: +SKIP\n2\n>>> (\n3\n"
    assert list(doctest_snippets(docstring, skipped)) == []
    assert skipped == {
        "doctest: compared loosely": 1,
        "doctest: shows a memory address": 1,
        "doctest: no Python of this version": 1,
    }


def test_hidden_examples_leave_the_docstring_and_the_rest_stays() -> None:
    function = dict(functions(ast.parse(MEAN)))["mean"]
    (docstring, *_) = function.body
    assert isinstance(docstring, ast.Expr)
    less = without_examples(MEAN, docstring.value, 1)
    kept, gone = (
        MEAN.index("    >>> mean([10])"),
        MEAN.index("    ValueError: no values\n") + len("    ValueError: no values\n"),
    )
    expected = MEAN[:kept].rstrip() + "\n" + MEAN[gone:]
    assert less == expected


def test_a_docstring_with_escapes_is_left_alone() -> None:
    source = 'def f():\n    """\\x41\n    >>> f()\n    1\n    """\n'
    (docstring,) = dict(functions(ast.parse(source)))["f"].body
    assert isinstance(docstring, ast.Expr)
    assert without_examples(source, docstring.value, 0) is None


# ---- assertions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("assert f(1) == [2, -3]", ("f(1)", "value", "[2, -3]", 0)),
        ("assert {'a': 1} == f(1), 'text'", ("f(1)", "value", "{'a': 1}", 0)),
        ("assert f(1) is None", ("f(1)", "value", "None", 0)),
        ("assert f(1)", ("bool(f(1))", "value", "True", 0)),
        ("assert not f(1)", ("bool(f(1))", "value", "False", 0)),
        ("assert set(f(1)) == set([2, 3])", ("set(f(1))", "value", "{2, 3}", 0)),
        ("assert f(1) == pytest.approx(0.5)", ("f(1)", "value", "0.5", 1e-6)),
        ("assert abs(f(1) - 0.5) < 1e-3", ("f(1)", "value", "0.5", 1e-3)),
        ("self.assertEqual(f(1), 2)", ("f(1)", "value", "2", 0)),
        ("self.assertTrue(f(1))", ("bool(f(1))", "value", "True", 0)),
        ("self.assertIsNone(f(1))", ("f(1)", "value", "None", 0)),
        ("self.assertAlmostEqual(f(1), 0.25)", ("f(1)", "value", "0.25", 5e-8)),
        ("self.assertRaises(ValueError, f, 1, k=2)", ("f(1, k=2)", "raises", "ValueError", 0)),
        ("with pytest.raises(errors.Odd): f(1)", ("f(1)", "raises", "Odd", 0)),
        ("with self.assertRaises(KeyError):\n    x = 1\n    f(x)", ("x = 1\nf(x)", "raises", "KeyError", 0)),
    ],
)
def test_an_assertion_becomes_a_check(statement: str, expected: tuple[str, str, str, float]) -> None:
    body = "\n".join(f"        {line}" for line in statement.splitlines())
    module = ast.parse(f"class Tests:\n    def test_it(self):\n{body}\n")
    (found,) = assert_snippets(module, Counter())
    check = found.check()
    assert (check.code, check.kind, check.expect, check.tolerance) == expected


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("assert f(1) == g(1)", "assert: the expected value is no literal"),
        ("assert 1 == 1", "assert: the expected value is no literal"),
        ("assert f(1) > 2", "assert: a comparison other than == or is"),
        ("assert True", "assert: tests nothing"),
        ("assert f(self.x) == 1", "assert: uses fixtures or self"),
        ("for x in y:\n    assert f(x) == 1", "assert: inside a loop or another block"),
        ("with pytest.raises((A, B)): f(1)", "assert: several or computed exceptions"),
        ("self.assertRegex(f(1), 'x')", "assert: assertRegex not used in a form that is understood"),
        ("assert f(1) == pytest.approx(1, abs=1)", "assert: approx with a tolerance of its own"),
    ],
)
def test_an_assertion_that_cannot_be_used_is_counted(statement: str, reason: str) -> None:
    body = "\n".join(f"        {line}" for line in statement.splitlines())
    skipped: Counter[str] = Counter()
    assert list(assert_snippets(ast.parse(f"class Tests:\n    def test_it(self):\n{body}\n"), skipped)) == []
    assert skipped == {reason: 1}
