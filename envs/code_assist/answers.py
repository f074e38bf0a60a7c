"""From what an agent writes to the program it means.

A block may hold just what is missing, the whole line from its start, or the whole function; with or without indentation.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from textwrap import dedent, indent

from slmagent.rewards.code_measures import MOST_COPIED, has_effect
from slmagent.scenarios.code.copying import copied_share
from slmagent.scenarios.code.records import CodeTask
from slmagent.scenarios.code.skeleton import indentation, line_start, scope_of
from slmagent.scenarios.code.syntax import parse

MAX_CHARS = 6000
"""Longest answer that is tried."""
_BLOCK = re.compile(r"```[ \t]*(?:python|py|Python)?[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Answer:
    """Code that was handed in."""

    filling: str
    """What was put in place of what is missing, or of the whole function; dedented."""
    program: str
    """The file with it."""
    statement: str
    """`filling` with the beginning of its line."""


def code_in(text: str) -> str | None:
    """The last fenced block of a message, None without one; a fence may be left open at the end."""
    blocks = _BLOCK.findall(text)
    return blocks[-1].strip("\n").rstrip() if blocks else None


def prose_in(text: str) -> str:
    """A message without its blocks, inline code and marks of code."""
    text = re.sub(r"`[^`]*`", " ", _BLOCK.sub(" ", text))
    return " ".join(word for word in text.split() if not re.search(r"[()\[\]{}=_<>*\\]|\w[.:]\w", word))


def read_answer(task: CodeTask, code: str) -> Answer:
    """Puts code in its place.

    The function around the cursor, if the code defines it, is replaced as a whole; else a line that begins like the cursor's
    line is taken from there; else the code is what is missing.
    """
    code = dedent(code.expandtabs(4)).strip("\n")
    whole = _definition(task, code)
    if whole is not None:
        return Answer(whole, _replaced(task, whole), whole)
    begun = line_start(task)
    if begun.strip():
        filling = _continued(begun, code)
        return Answer(filling, f"{task.before}{filling}{task.after}", f"{begun.lstrip()}{filling}")
    inner = indent(code, indentation(task)).strip()
    return Answer(code, f"{task.before}{inner}{task.after}", code)


def counts(task: CodeTask, answer: Answer) -> bool:
    """Whether an answer does anything and is no copy of what stands around it."""
    context = f"{task.before}\n{task.after}"  # without what is to be repaired: a repair may well resemble it
    return has_effect(answer.statement) and copied_share(answer.filling, context) <= MOST_COPIED


def solution(task: CodeTask) -> str:
    """The reference as an answer: the whole line where one has been begun."""
    begun = line_start(task)
    return f"{begun.lstrip()}{task.reference}" if begun.strip() else dedent(f"{indentation(task)}{task.reference}")


def _continued(begun: str, code: str) -> str:
    """What follows on the beginning of a line, if the code repeats it; spaces do not matter."""
    lines = code.strip().splitlines()
    for number, line in enumerate(lines):
        rest = _after(begun, line.strip())
        if rest is not None:
            return "\n".join([rest, *lines[number + 1 :]])
    return code.strip()


def _after(begun: str, line: str) -> str | None:
    position = 0
    for character in "".join(begun.split()):
        while position < len(line) and line[position].isspace():
            position += 1
        if position >= len(line) or line[position] != character:
            return None
        position += 1
    return line[position:].lstrip() if begun[-1].isspace() else line[position:]


def _definition(task: CodeTask, code: str) -> str | None:
    """The function around the cursor as the code defines it, dedented; None if it does not."""
    path = scope_of(task).path
    if not path or f"def {path[-1]}" not in code:
        return None
    tree = parse(code)
    if tree is None:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == path[-1]:
            lines = code.splitlines()[node.lineno - 1 : node.end_lineno]
            return dedent("\n".join(lines))
    return None


def _replaced(task: CodeTask, whole: str) -> str:
    """The file with the function around the cursor replaced."""
    name = scope_of(task).path[-1]
    above = task.before.split("\n")
    start = max(number for number, line in enumerate(above) if re.match(rf"\s*(?:async )?def {re.escape(name)}\b", line))
    margin = above[start][: len(above[start]) - len(above[start].lstrip())]
    below = task.after.split("\n")[1:]
    stop = next(
        (n for n, line in enumerate(below) if line.strip() and len(line) - len(line.lstrip()) <= len(margin)), len(below)
    )
    while stop and not below[stop - 1].strip():
        stop -= 1
    return "\n".join([*above[:start], indent(whole, margin), *below[stop:]])
