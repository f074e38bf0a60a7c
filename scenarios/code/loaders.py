"""Programming tasks in files: our own JSON lines, and rows in the public formats of MBPP and HumanEval."""

from __future__ import annotations

import ast
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from slmagent.errors import RecordError
from slmagent.plain import PlainError, from_plain, to_plain
from slmagent.records import iter_lines, object_from_json, write_lines
from slmagent.scenarios.code.mining.asserts import statement_snippets
from slmagent.scenarios.code.mining.holes import body_hole, functions
from slmagent.scenarios.code.mining.slicing import UnusableError
from slmagent.scenarios.code.mining.snippets import Substitution, mentioned
from slmagent.scenarios.code.mining.trees import parse
from slmagent.scenarios.code.records import Check, CodeTask

FORMAT = "slmagent.code_task/1"


# ---- our own files --------------------------------------------------------------------------------------------------


def task_to_json(task: CodeTask) -> str:
    """One line of JSON, without the newline."""
    return json.dumps({"format": FORMAT, **to_plain(task)}, separators=(",", ":"))


def task_from_json(line: str) -> CodeTask:
    """Inverse of `task_to_json`.

    Raises:
        RecordError: Not JSON, another format, or a part that is missing, unknown, of the wrong type or without sense.
    """
    data = object_from_json(line)
    if data.pop("format", None) != FORMAT:
        raise RecordError(f'expected a programming task ("format": "{FORMAT}"), actual keys {", ".join(data) or "none"}')
    try:
        task = from_plain(data, CodeTask)
    except PlainError as problem:
        raise RecordError(str(problem)) from None
    if not task.name or not task.reference.strip():
        raise RecordError("expected a name and a reference, actual empty text")
    for place, checks in (("checks", task.checks), ("examples", task.examples)):
        for index, check in enumerate(checks):
            _refuse_senseless(check, f"{place}[{index}]")
    return task


def _refuse_senseless(check: Check, where: str) -> None:
    try:
        parse(check.code)
    except SyntaxError as problem:
        raise RecordError(f"{where}.code: expected Python, actual {check.code!r} ({problem.msg})") from None
    if check.kind == "value":
        try:
            ast.literal_eval(check.expect)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            raise RecordError(f"{where}.expect: expected a Python literal, actual {check.expect!r}") from None
    if check.kind == "raises" and not check.expect.isidentifier():
        raise RecordError(f"{where}.expect: expected the name of an exception, actual {check.expect!r}")
    if not 0 <= check.tolerance < float("inf"):
        raise RecordError(f"{where}.tolerance: expected a number from 0, actual {check.tolerance}")


def load_tasks(path: str | os.PathLike[str]) -> tuple[CodeTask, ...]:
    """The tasks of a JSONL file, in order.

    Raises:
        RecordError: The file cannot be read, a line is no task, or two have one name; names the file and the line.
    """
    seen: set[str] = set()

    def read(line: str) -> CodeTask:
        task = task_from_json(line)
        if task.name in seen:
            raise RecordError(f"expected names that differ, actual {task.name!r} again")
        seen.add(task.name)
        return task

    return tuple(iter_lines(path, read, "programming tasks"))


def save_tasks(path: str | os.PathLike[str], tasks: Iterable[CodeTask]) -> int:
    """Writes a JSONL file in one piece: after a failure or a kill the old file, if any, is still whole.

    Returns:
        The number of tasks written.
    """
    return write_lines(path, map(task_to_json, tasks))


# ---- public formats -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Converted:
    """What became of a file in a public format."""

    tasks: tuple[CodeTask, ...]
    rows: int
    skipped: Counter[str] = field(default_factory=Counter)
    """What was left out, by reason: `row: ...` a whole row, `assert: ...` one of its assertions."""


def load_mbpp(path: str | os.PathLike[str]) -> Converted:
    """Rows with `task_id`, `text` (or `prompt`), `code`, `test_list` and, if any, `test_setup_code` or `test_imports`.

    The hole is the body of the last function that the tests mention; the first test is shown.

    Raises:
        RecordError: The file cannot be read, or a line is no such row; names the file and the line.
    """
    return _convert(path, _mbpp_task, "MBPP rows")


def load_humaneval(path: str | os.PathLike[str]) -> Converted:
    """Rows with `task_id`, `prompt`, `entry_point`, `canonical_solution` and `test`, which defines `check(candidate)`.

    The hole is what follows the prompt.

    Raises:
        RecordError: The file cannot be read, or a line is no such row; names the file and the line.
    """
    return _convert(path, _humaneval_task, "HumanEval rows")


def _convert(path: str | os.PathLike[str], read: Callable[[dict[str, Any], Counter[str]], CodeTask], what: str) -> Converted:
    skipped: Counter[str] = Counter()

    def read_line(line: str) -> CodeTask | None:
        try:
            return read(object_from_json(line), skipped)
        except UnusableError as problem:
            skipped[str(problem)] += 1
            return None

    found = list(iter_lines(path, read_line, what))
    return Converted(tuple(task for task in found if task is not None), len(found), skipped)


def _mbpp_task(row: dict[str, Any], skipped: Counter[str]) -> CodeTask:
    request = _text(row, "text" if "text" in row else "prompt")
    source = _text(row, "code").strip("\n") + "\n"
    setup = [_text(row, "test_setup_code", default=""), *_texts(row, "test_imports", default=())]
    tests = "\n".join(_texts(row, "test_list"))
    known = dict(functions(_parsed(source)))
    checks = _checks(_parsed(tests).body, _parsed("\n".join(setup)).body, skipped)
    asked = [name for name in known if any(name in mentioned(parse(check.code).body) for check in checks)]
    if not asked:
        raise UnusableError("row: its tests mention none of its functions")
    hole = body_hole(source, known[asked[-1]])
    shown = 1 if len(checks) > 1 else 0
    return CodeTask(
        name=f"mbpp-{row.get('task_id', asked[-1])}",
        kind="body",
        file_name=f"{asked[-1]}.py",
        before=hole.before,
        reference=hole.reference,
        after=hole.after,
        request=request.strip(),
        checks=tuple(checks[shown:]),
        examples=tuple(checks[:shown]),
    )


def _humaneval_task(row: dict[str, Any], skipped: Counter[str]) -> CodeTask:
    prompt, entry, solution = _text(row, "prompt"), _text(row, "entry_point"), _text(row, "canonical_solution")
    body = solution.strip("\n")
    reference = body.lstrip(" \t").rstrip()
    before = prompt.rstrip("\n") + "\n" + body[: len(body) - len(body.lstrip(" \t"))]
    if entry not in dict(functions(_parsed(f"{before}{reference}\n"))):
        raise UnusableError("row: the prompt does not define its entry point")
    tests = _parsed(_text(row, "test")).body
    tester = next((node for node in tests if isinstance(node, ast.FunctionDef) and node.name == "check"), None)
    if tester is None or len(tester.args.args) != 1:
        raise UnusableError("row: its test does not define check(candidate)")
    tested = Substitution({tester.args.args[0].arg: ast.Name(entry, ast.Load())})
    statements = [tested.visit(statement) for statement in tester.body]
    checks = _checks(statements, [node for node in tests if node is not tester], skipped)
    return CodeTask(
        name=f"humaneval-{row.get('task_id', entry)}",
        kind="body",
        file_name=f"{entry}.py",
        before=before,
        reference=reference,
        after="\n",
        request=f"Write the body of `{entry}` as its docstring says.",
        checks=tuple(checks),
    )


def _checks(tests: Sequence[ast.stmt], prelude: Sequence[ast.stmt], skipped: Counter[str]) -> list[Check]:
    checks = [snippet.check() for snippet in statement_snippets(tests, prelude, skipped)]
    if not checks:
        raise UnusableError("row: none of its assertions can be used")
    return checks


def _parsed(source: str) -> ast.Module:
    try:
        # Not `parse`, whose result is shared: the tree of a test gets changed.
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise UnusableError("row: no Python of this version") from None


def _text(row: dict[str, Any], key: str, *, default: str | None = None) -> str:
    value = row.get(key, default)
    if not isinstance(value, str):
        raise RecordError(f"expected the key {key!r} with text, actual {_shown(row, key)}")
    return value.replace("\r\n", "\n")


def _texts(row: dict[str, Any], key: str, *, default: Sequence[str] | None = None) -> Iterator[str]:
    value = row.get(key, default)
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
        raise RecordError(f"expected the key {key!r} with a list of texts, actual {_shown(row, key)}")
    return (item.replace("\r\n", "\n") for item in value)


def _shown(row: dict[str, Any], key: str) -> str:
    return f"{type(row[key]).__name__}" if key in row else f"keys {', '.join(map(repr, row)) or 'none'}"
