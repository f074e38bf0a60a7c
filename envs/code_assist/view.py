"""What the agent sees of the file: the surroundings of the cursor, and in a word or two the rest."""

from __future__ import annotations

import functools

from slmagent.scenarios.code.records import CodeTask
from slmagent.scenarios.code.skeleton import CURSOR, scope_of

WINDOW = 20
"""Lines shown on each side of the cursor."""
BEGINNING = 1000
"""Characters shown of the file's beginning."""
MOST_NAMES = 24
"""Names listed that do not stand in what is shown."""
MOST_NAME_CHARS = 700


@functools.lru_cache(maxsize=1024)
def system_text(task: CodeTask) -> str:
    """The system message, without the tools."""
    scope = scope_of(task)
    where = f"in {'.'.join(scope.path)}" if scope.path else "at the top level"
    beginning, window = shown(task)
    parts = [
        f"You help a programmer. Answer with the Python code that belongs at {CURSOR}, in a ```python block; ask or explain "
        "without one. Finish when the programmer is content.",
        f"{task.file_name}, Python, {where}; {_count(task.before + task.after)} lines, {scope.functions} functions,"
        f" {scope.classes} classes",
    ]
    absent = [name for name in scope.names if name not in beginning + window]
    if absent:
        parts.append(f"Also there: {_listed(absent)}")
    if beginning:
        parts.append(f"Beginning of the file:\n{beginning}\n...")
    parts.append(f"```python\n{window}\n```")
    return "\n".join(parts)


def shown(task: CodeTask) -> tuple[str, str]:
    """The file's beginning as far as it does not stand in the window, and the window around the cursor."""
    above = task.before.split("\n")
    below = f"{task.broken}{task.after}".split("\n")
    first = max(0, len(above) - 1 - WINDOW)
    window = "\n".join([*above[first:-1], f"{above[-1]}{CURSOR}{below[0]}", *below[1 : WINDOW + 1]]).strip("\n")
    beginning = "\n".join(above[:first])[:BEGINNING].rstrip()
    return beginning, window


def _listed(names: list[str]) -> str:
    kept: list[str] = []
    for name in names[:MOST_NAMES]:
        if sum(map(len, kept)) + len(name) > MOST_NAME_CHARS:
            break
        kept.append(name)
    left = len(names) - len(kept)
    return ", ".join(kept) + (f" and {left} more" if left else "")


def _count(text: str) -> int:
    return text.count("\n") + 1
