"""The scripted expert: asks what is open, tries longer code, hands in what belongs at the cursor, says goodbye."""

from __future__ import annotations

import ast
import functools

from slmagent.envs.code_assist.answers import solution
from slmagent.envs.code_assist.episode import Episode
from slmagent.envs.parsing import render_call
from slmagent.scenarios.code.records import CodeTask
from slmagent.scenarios.code.skeleton import skeleton
from slmagent.scenarios.code.syntax import parse

TRIED = ("method", "intent", "repair")
"""Kinds of tasks in which code is tried before it is handed in."""
GOODBYE = "Good luck with the rest."


def next_action(episode: Episode, *, evidence: bool) -> str:
    """The right action in any state of an episode that can still be won.

    Args:
        episode: The state; only read.
        evidence: Say what decides before the code.
    """
    task = episode.task
    if episode.accepted:
        return render_call("finish", {"message": GOODBYE})
    left = next((left for left in task.clarifications if left.topic not in episode.user.told), None)
    if left is not None:
        return left.question
    if episode.explaining:
        return f"It does this: {task.reference}"
    code = solution(task)
    if task.kind in TRIED and code not in episode.tried:
        return render_call("run", {"code": code})
    block = f"```python\n{code}\n```"
    why = _evidence(task) if evidence else ""
    return f"{why}\n{block}" if why else block


@functools.lru_cache(maxsize=1024)
def _evidence(task: CodeTask) -> str:
    """What decides: what was answered, else what the function's docstring says."""
    if task.clarifications:
        return ". ".join(left.answer[:1].upper() + left.answer[1:] for left in task.clarifications) + "."
    line = task.before.count("\n") + 1
    documented = ""
    tree = parse(skeleton(task))
    if tree is None:
        return ""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.lineno <= line <= (node.end_lineno or 0):
            documented = ast.get_docstring(node) or documented
    return documented.partition("\n")[0]
