"""Assertions of test functions as tests that stand alone: `assert f(2) == 4`, `assertEqual`, `raises`."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from slmagent.scenarios.code.mining.snippets import Snippet, Substitution, dotted_name, literal, names, needed

Function = ast.FunctionDef | ast.AsyncFunctionDef
_APPROX_TOLERANCE = 1e-6
"""The relative error that `pytest.approx` allows by default."""
_SINGLETONS = {"assertTrue": "True", "assertFalse": "False", "assertIsNone": "None"}


class _Unusable(Exception):
    """An assertion that does not become a test; the text says why."""


def assert_snippets(module: ast.Module, skipped: Counter[str], *, prelude: bool = True) -> Iterator[Snippet]:
    """The assertions of all test functions and test methods of a file.

    Args:
        module: The file's syntax tree; it is not changed.
        skipped: Counts assertions that cannot be used, by reason.
        prelude: Statements at the top of the file count among those that an assertion may need.
    """
    around = [node for node in module.body if not isinstance(node, ast.ClassDef)] if prelude else []
    for node in module.body:
        inside = node.body if isinstance(node, ast.ClassDef) else [node]
        for function in inside:
            if isinstance(function, ast.FunctionDef) and function.name.startswith("test"):
                yield from function_snippets(function, around, skipped)


def function_snippets(function: Function, prelude: Sequence[ast.stmt], skipped: Counter[str]) -> Iterator[Snippet]:
    """The assertions at the top of one test function, each with the statements before it that it needs.

    Args:
        function: The test; a parametrised one counts once for each row of literals.
        prelude: Statements of the file around it.
        skipped: Counts assertions that cannot be used, by reason.
    """
    try:
        rows = _rows(function)
    except _Unusable as problem:
        skipped[str(problem)] += 1
        return
    fixtures = {argument.arg for argument in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)}
    for row in rows:
        body = [Substitution(row).visit(copy.deepcopy(statement)) for statement in function.body] if row else function.body
        yield from statement_snippets(body, prelude, skipped, fixtures=fixtures - set(row))


def statement_snippets(
    body: Sequence[ast.stmt], prelude: Sequence[ast.stmt], skipped: Counter[str], *, fixtures: Collection[str] = ()
) -> Iterator[Snippet]:
    """The assertions among some statements that run in order.

    Args:
        body: The statements.
        prelude: Those around them, of which an assertion may need some.
        skipped: Counts assertions that cannot be used, by reason.
        fixtures: Names whose values come from somewhere else.
    """
    for index, statement in enumerate(body):
        try:
            found = _convert(statement)
            if found is not None:
                setup = [earlier for earlier in body[:index] if not isinstance(earlier, ast.Assert)]
                yield _with_setup(found, setup, prelude, fixtures)
        except _Unusable as problem:
            skipped[str(problem)] += 1


def _with_setup(found: Snippet, setup: Sequence[ast.stmt], prelude: Sequence[ast.stmt], fixtures: Collection[str]) -> Snippet:
    own = [setup[index] for index in needed(setup, set().union(*map(names, found.statements)), touching=True)]
    wanted = set[str]().union(*map(names, (*own, *found.statements)))
    if wanted.intersection(fixtures):
        raise _Unusable("assert: uses fixtures or self")
    around = [prelude[index] for index in needed(prelude, wanted, touching=False)]
    return replace(found, statements=(*around, *own, *found.statements))


def _rows(function: Function) -> list[dict[str, ast.expr]]:
    """What a parametrised test puts in the place of its arguments; one empty row for any other test."""
    marks = [node for node in function.decorator_list if isinstance(node, ast.Call)]
    marks = [node for node in marks if dotted_name(node.func) == "pytest.mark.parametrize"]
    if not marks:
        return [{}]
    if len(marks) > 1 or len(marks[0].args) < 2:
        raise _Unusable("assert: parametrised in several ways")
    try:
        given = ast.literal_eval(marks[0].args[0])
    except ValueError:
        raise _Unusable("assert: parametrised by other than literals") from None
    keys = [key.strip() for key in given.split(",") if key.strip()] if isinstance(given, str) else list(given)
    table = marks[0].args[1]
    if not isinstance(table, (ast.List, ast.Tuple)):
        raise _Unusable("assert: parametrised by other than literals")
    rows: list[dict[str, ast.expr]] = []
    for entry in table.elts:
        values = [entry] if len(keys) == 1 else entry.elts if isinstance(entry, (ast.List, ast.Tuple)) else []
        if len(values) != len(keys) or not all(literal(value) for value in values):
            raise _Unusable("assert: parametrised by other than literals")
        rows.append(dict(zip(keys, values, strict=True)))
    return rows


def _convert(statement: ast.stmt) -> Snippet | None:
    """An assertion as a test; None for any other statement.

    Raises:
        _Unusable: It asserts something that is not looked at from outside.
    """
    if isinstance(statement, ast.Assert):
        return _from_expression(statement.test)
    if isinstance(statement, ast.With) and len(statement.items) == 1:
        call = statement.items[0].context_expr
        if isinstance(call, ast.Call) and dotted_name(call.func) in ("self.assertRaises", "pytest.raises") and call.args:
            return Snippet(tuple(statement.body), "raises", _exception(call.args[0]))
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        owner, _, method = dotted_name(statement.value.func).rpartition(".")
        if owner == "self" and method.startswith("assert"):
            return _from_method(method, statement.value)
    if isinstance(statement, (ast.For, ast.While, ast.With, ast.If, ast.Try)):
        inside = list(ast.walk(statement))
        calls = {node.attr for node in inside if isinstance(node, ast.Attribute)}
        if any(isinstance(node, ast.Assert) for node in inside) or any(call.startswith("assert") for call in calls):
            raise _Unusable("assert: inside a loop or another block")
    return None


def _exception(node: ast.expr) -> str:
    name = dotted_name(node).rpartition(".")[2]
    if not name:
        raise _Unusable("assert: several or computed exceptions")
    return name


def _from_method(method: str, call: ast.Call) -> Snippet:
    args = call.args
    if method in ("assertEqual", "assertEquals", "assertListEqual", "assertDictEqual", "assertTupleEqual", "assertSetEqual"):
        if len(args) >= 2:
            return _equal(args[0], args[1])
    elif method in _SINGLETONS and args:
        return _value(args[0] if method == "assertIsNone" else _truth(args[0]), _SINGLETONS[method])
    elif method == "assertAlmostEqual" and len(args) == 2 and not call.keywords:
        return _equal(args[0], args[1], tolerance=5e-8)  # rounds to zero at seven places
    elif method == "assertRaises" and len(args) >= 2:
        tested = ast.Call(args[1], args[2:], call.keywords)
        return Snippet((ast.Expr(tested),), "raises", _exception(args[0]))
    raise _Unusable(f"assert: {method} not used in a form that is understood")


def _from_expression(test: ast.expr) -> Snippet:
    if isinstance(test, ast.Constant):
        raise _Unusable("assert: tests nothing")
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _value(_truth(test.operand), "False")
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        left, right, operator = test.left, test.comparators[0], test.ops[0]
        if isinstance(operator, ast.Eq):
            return _equal(left, right)
        if isinstance(operator, ast.Is) and isinstance(right, ast.Constant) and right.value in (None, True, False):
            return _value(left, ast.unparse(right))
        if isinstance(operator, (ast.Lt, ast.LtE)):
            return _close(left, right)
        raise _Unusable("assert: a comparison other than == or is")
    if isinstance(test, ast.Call):
        return _value(_truth(test), "True")
    raise _Unusable("assert: no call and no comparison")


def _equal(left: ast.expr, right: ast.expr, tolerance: float = 0.0) -> Snippet:
    """`left == right`, one of them constant."""
    for tested, expected in ((left, right), (right, left)):
        if isinstance(expected, ast.Call) and dotted_name(expected.func) in ("pytest.approx", "approx") and expected.args:
            if len(expected.args) > 1 or expected.keywords:
                raise _Unusable("assert: approx with a tolerance of its own")
            return _equal(tested, expected.args[0], _APPROX_TOLERANCE)
        text = literal(expected)
        if text is not None and literal(tested) is None:
            return _value(tested, text, tolerance)
    raise _Unusable("assert: the expected value is no literal")


def _close(left: ast.expr, right: ast.expr) -> Snippet:
    """`abs(f(x) - 0.5) < 1e-6`."""
    limit = literal(right)
    inside = left.args[0] if isinstance(left, ast.Call) and dotted_name(left.func) in ("abs", "math.fabs") else None
    if limit is None or not isinstance(inside, ast.BinOp) or not isinstance(inside.op, ast.Sub):
        raise _Unusable("assert: a comparison other than == or is")
    return _equal(inside.left, inside.right, float(ast.literal_eval(limit)))


def _value(tested: ast.expr, expect: str, tolerance: float = 0.0) -> Snippet:
    return Snippet((ast.Expr(tested),), "value", expect, tolerance)


def _truth(tested: ast.expr) -> ast.expr:
    return ast.Call(ast.Name("bool", ast.Load()), [tested], [])
