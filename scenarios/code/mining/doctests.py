"""Docstring examples as tests, and docstrings without the examples that are to be hidden."""

from __future__ import annotations

import ast
import doctest
import re
from collections import Counter
from collections.abc import Iterator

from slmagent.scenarios.code.mining.snippets import Snippet, lines_of, names, needed

_OPENING = re.compile(r"[rRuU]?(\"\"\"|''')")


def doctest_snippets(docstring: str, skipped: Counter[str]) -> Iterator[Snippet]:
    """The examples of a docstring that show something, each with the earlier ones that it needs.

    Args:
        docstring: As written, not cleaned.
        skipped: Counts examples that cannot be used, by reason.
    """
    try:
        examples = doctest.DocTestParser().get_examples(docstring)
    except ValueError:
        skipped["doctest: malformed"] += 1
        return
    earlier: list[tuple[ast.stmt, str]] = []
    for place, example in enumerate(examples):
        try:
            body = ast.parse(example.source).body
        except (SyntaxError, ValueError):
            skipped["doctest: no Python of this version"] += 1
            continue
        if example.options.get(doctest.SKIP):
            continue
        if example.want and body:
            reason = _reason_against(example)
            if reason:
                skipped[reason] += 1
            else:
                yield _snippet(body, example, earlier, place)
        if example.exc_msg is None:
            earlier += [(statement, example.want if _prints(statement) else "") for statement in body]


def _reason_against(example: doctest.Example) -> str:
    """Why an example's text cannot be compared exactly; empty when it can."""
    loose = example.options.get(doctest.ELLIPSIS) or example.options.get(doctest.NORMALIZE_WHITESPACE)
    if example.exc_msg is None and loose:
        return "doctest: compared loosely"
    return "doctest: shows a memory address" if re.search(r"\b0x[0-9a-f]{6,}", example.want) else ""


def _snippet(body: list[ast.stmt], example: doctest.Example, earlier: list[tuple[ast.stmt, str]], place: int) -> Snippet:
    wanted = set[str]().union(*map(names, body))
    kept = [earlier[index] for index in needed([statement for statement, _ in earlier], wanted, touching=True)]
    statements = (*(statement for statement, _ in kept), *body)
    if example.exc_msg is not None:
        return Snippet(statements, "raises", re.split(r"[:\s]", example.exc_msg)[0].rpartition(".")[2], place=place)
    shown = "".join(text for _, text in kept) + example.want
    return Snippet(statements, "output", re.sub(r"(?m)^<BLANKLINE>$", "", shown), place=place)


def _prints(statement: ast.stmt) -> bool:
    """Whether what an example shows was printed, and so is printed again where it prepares another one."""
    if not isinstance(statement, ast.Expr):
        return True
    call = statement.value
    return isinstance(call, ast.Call) and "print" in ast.unparse(call.func)


def without_examples(source: str, docstring: ast.expr, first: int) -> str | None:
    """A file whose docstring has lost its examples from a certain one on.

    Args:
        source: The file.
        docstring: Its node.
        first: Number of the first example that goes.

    Returns:
        The file; None when the docstring is written in a way (escapes, single quotes) that hides its lines.
    """
    value = ast.literal_eval(docstring)
    lines = lines_of(source)
    begin, end = docstring.lineno - 1, docstring.end_lineno or 0
    head, tail = lines[begin].encode(), lines[end - 1].encode()
    start, stop = docstring.col_offset, docstring.end_col_offset or 0
    before, after = head[:start].decode(), tail[stop:].decode()
    written = "".join([*lines[begin : end - 1], tail[:stop].decode()])[len(before) :]
    opening = _OPENING.match(written)
    if opening is None or written[opening.end() : -3] != value:
        return None
    kept = _drop_lines(value, first).rstrip() + "\n" + before[: len(before) - len(before.lstrip())]
    return "".join([*lines[:begin], before, opening[0], kept, written[-3:], after, *lines[end:]])


def _drop_lines(value: str, first: int) -> str:
    gone: set[int] = set()
    for example in doctest.DocTestParser().get_examples(value)[first:]:
        length = len(example.source.splitlines()) + len(example.want.splitlines())
        gone |= set(range(example.lineno, example.lineno + length))
    kept: list[str] = []
    for number, line in enumerate(value.split("\n")):
        if number not in gone and (line.strip() or not kept or kept[-1].strip()):
            kept.append(line)
    return "\n".join(kept)
