"""Where CodeAssist's tasks come from: its own catalogue, or a file of somebody's own."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping, Sequence
from typing import Protocol

from slmagent.errors import UsageError
from slmagent.scenarios.code import tasks
from slmagent.scenarios.code.loaders import load_tasks
from slmagent.scenarios.code.records import CodeTask
from slmagent.scenarios.splits import belongs_to


class Collection(Protocol):
    """Tasks by id."""

    def ids(self, level: int, split: str) -> Sequence[str]:
        """Ids of the tasks of a level and split."""
        ...

    def task(self, scenario_id: str) -> CodeTask:
        """The task with an id."""
        ...

    def kind(self, scenario_id: str) -> str:
        """Its kind."""
        ...

    def persona(self, scenario_id: str) -> str:
        """Whose manner the programmer has."""
        ...


class Own:
    """The tasks of `scenarios.code.tasks`."""

    ids = staticmethod(tasks.scenario_ids)
    task = staticmethod(tasks.make_task)
    kind = staticmethod(tasks.kind_of)
    persona = staticmethod(tasks.persona_of)


class FromFile:
    """Tasks of a JSONL file, as `slmagent scenarios mine` and `convert` write it; names are ids.

    `train`, `val` and `test` share them out by name, six to two to two; `ood` has all of them. Levels do not matter to which
    tasks there are.

    Args:
        path: The file.

    Raises:
        RecordError: It cannot be read, or a line is no task.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._tasks: Mapping[str, CodeTask] = {task.name: task for task in load_tasks(path)}

    def ids(self, level: int, split: str) -> Sequence[str]:
        """Ids of the tasks of a split.

        Raises:
            UsageError: There are none.
        """
        mine = belongs_to(split)
        found = tuple(name for name in self._tasks if mine((name,)))
        if not found:
            raise UsageError(
                f"{self.path} has no task for the split {split!r} ({len(self._tasks)} in all); mine more, or take split='ood'"
            )
        return found

    def task(self, scenario_id: str) -> CodeTask:
        """The task with a name."""
        return self._tasks[scenario_id]

    def kind(self, scenario_id: str) -> str:
        """Its kind."""
        return self._tasks[scenario_id].kind

    def persona(self, scenario_id: str) -> str:
        """One of the ordinary personas, by the name."""
        number = hashlib.blake2b(scenario_id.encode(), digest_size=8).digest()[0]
        return tasks.PERSONAS[number % len(tasks.PERSONAS)]


@functools.lru_cache(maxsize=16)
def collection(path: str | None) -> Collection:
    """The tasks of a file, or those of this package."""
    return Own() if path is None else FromFile(path)
