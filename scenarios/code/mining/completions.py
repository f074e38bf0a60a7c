"""Completion tasks from the functions of any Python tree that have doctests or assertions about them.

A function's file is cut down to what the function needs (`slicing`), its tests are made to stand alone (`doctests`,
`asserts`, `finding`), some of them are hidden (`opening`), and the file is opened at a hole (`holes`). Whatever comes out has
been run.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Literal

from slmagent.scenarios.code.mining.holes import Hole, body_hole, line_holes
from slmagent.scenarios.code.mining.opening import Judge, Opened, open_target
from slmagent.scenarios.code.mining.slicing import UnusableError
from slmagent.scenarios.code.mining.targets import Summary, Target
from slmagent.scenarios.code.mining.trees import Tree
from slmagent.scenarios.code.records import CodeTask

MinedKind = Literal["line", "body", "method"]
MINED_KINDS: tuple[MinedKind, ...] = ("line", "body", "method")
MAX_LINES = 1000
_MOST_LINE_TASKS = 2
"""From one function."""
_ENOUGH_WORDS = 4
"""A shorter docstring, with no test shown, does not say what is wanted."""
_WORDING: Mapping[MinedKind, str] = {
    "line": "Complete the line at the cursor in `{}`.",
    "body": "Write the body of the function `{}`.",
    "method": "Write the body of the method `{}`.",
}


def mine(
    tree: Tree,
    targets: Sequence[Target],
    judge: Judge,
    summary: Summary,
    *,
    kinds: Collection[MinedKind] = MINED_KINDS,
    max_lines: int = MAX_LINES,
    have: Collection[str] = (),
    on_target: Callable[[], None] = lambda: None,
) -> Iterator[CodeTask]:
    """Tasks from functions, each as soon as it has been tried.

    Args:
        tree: Where the functions are from.
        targets: The functions.
        judge: Runs code.
        summary: Counts candidates, tasks and what is left out.
        kinds: Holes to make.
        max_lines: Length of a file, cut down, that is still of use.
        have: Names of tasks that exist. The functions up to the last one that has any of them are left out.
        on_target: Called after each function.
    """
    made = {re.sub(r"-(line-\d+|body|method)$", "", name) for name in have}
    done = max((index for index, target in enumerate(targets, 1) if target.full_name in made), default=0)
    for _ in range(done):
        on_target()
    for target in targets[done:]:
        try:
            opened = open_target(tree, target, judge, summary.skipped, max_lines=max_lines)
            yield from _kept(_candidates(opened, target, kinds, summary.skipped), judge, summary)
        except UnusableError as problem:
            summary.skipped[str(problem)] += 1
        on_target()


def _kept(candidates: Iterator[CodeTask], judge: Judge, summary: Summary) -> Iterator[CodeTask]:
    """The candidates of one function that turn out well, and of its lines the first few."""
    lines = 0
    for task in candidates:
        if task.kind == "line" and lines == _MOST_LINE_TASKS:
            return
        summary.candidates[task.kind] += 1
        problems = judge.problems(task)
        if problems:
            summary.skipped[f"task: {problems[0].partition(':')[0]}"] += 1
        else:
            lines += task.kind == "line"
            summary.tasks[task.kind] += 1
            yield task


def _candidates(opened: Opened, target: Target, kinds: Collection[MinedKind], skipped: Counter[str]) -> Iterator[CodeTask]:
    """What could become tasks: the body, and lines from the last one up."""
    whole: MinedKind = "method" if "." in target.name else "body"
    if whole in kinds:
        try:
            if not opened.shown and len((ast.get_docstring(opened.function) or "").split()) < _ENOUGH_WORDS:
                raise UnusableError("function: nothing would say what its body should do")
            yield _task(opened, target, whole, body_hole(opened.source, opened.function))
        except UnusableError as problem:
            skipped[str(problem)] += 1
    if "line" in kinds:
        for hole in line_holes(opened.source, opened.function):
            yield _task(opened, target, "line", hole)


def _task(opened: Opened, target: Target, kind: MinedKind, hole: Hole) -> CodeTask:
    return CodeTask(
        name=f"{target.full_name}-{f'line-{hole.line}' if kind == 'line' else kind}",
        kind=kind,
        file_name=target.module.path.name,
        before=hole.before,
        reference=hole.reference,
        after=hole.after,
        request=_WORDING[kind].format(target.name),
        checks=opened.hidden,
        examples=opened.shown,
    )
