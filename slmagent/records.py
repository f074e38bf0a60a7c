"""Trajectories as JSON lines: one episode a line, losslessly, so that files can be concatenated, cut and re-scored.

A line is the JSON object of a `Trajectory` with one more key, `format`. Floats are written with as many digits as it takes
to read the same float back; text is ASCII with escapes, so that lone surrogates survive. Mappings inside a trajectory
(`metadata`, events, reward components) must hold JSON data: lists, not tuples, and text keys.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from slmagent.errors import RecordError
from slmagent.plain import PlainError, from_plain, to_plain
from slmagent.types import Trajectory

T = TypeVar("T")
FORMAT = "slmagent.trajectory/1"


def trajectory_to_json(trajectory: Trajectory) -> str:
    """One line of JSON, without the newline.

    Raises:
        TypeError: `metadata` or an event holds something that JSON has no form for.
    """
    return json.dumps({"format": FORMAT, **to_plain(trajectory)}, separators=(",", ":"))


def trajectory_from_json(line: str) -> Trajectory:
    """Inverse of `trajectory_to_json`.

    Raises:
        RecordError: Not JSON, another format, or a part that is missing, unknown or of the wrong type.
    """
    data = object_from_json(line)
    if data.pop("format", None) != FORMAT:
        raise RecordError(f'expected a trajectory ("format": "{FORMAT}"), actual {_excerpt(line)}')
    try:
        trajectory = from_plain(data, Trajectory)
    except PlainError as problem:
        raise RecordError(str(problem)) from None
    lengths = {len(trajectory.token_ids), len(trajectory.loss_mask), len(trajectory.logprobs)}
    if len(lengths) != 1:
        raise RecordError(f"expected token_ids, loss_mask and logprobs of one length, actual {sorted(lengths)}")
    return trajectory


def object_from_json(line: str) -> dict[str, Any]:
    """A line that holds one JSON object.

    Raises:
        RecordError: It holds something else.
    """
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as problem:
        raise RecordError(f"expected one JSON object a line, actual {_excerpt(line)} ({problem})") from None
    if not isinstance(data, dict):
        raise RecordError(f"expected a JSON object, actual {_excerpt(line)}")
    return data


def iter_lines(path: str | os.PathLike[str], read: Callable[[str], T], what: str) -> Iterator[T]:
    """Reads a JSONL file one line at a time; blank lines are skipped.

    Args:
        path: The file.
        read: Makes a record of a line.
        what: What the file holds, for messages.

    Raises:
        RecordError: The file cannot be read, or a line is no such record; names the file and the line.
    """
    try:
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield _numbered(line, read, path, number)
    except OSError as problem:
        raise RecordError(f"cannot read {what} from {path}: {problem.strerror or problem}") from None
    except UnicodeDecodeError:
        raise RecordError(f"cannot read {what} from {path}: expected UTF-8 text, one JSON object a line") from None


def iter_trajectories(path: str | os.PathLike[str]) -> Iterator[Trajectory]:
    """Reads a JSONL file one trajectory at a time; blank lines are skipped.

    Raises:
        RecordError: The file cannot be read, or a line is not a trajectory; names the file and the line.
    """
    yield from iter_lines(path, trajectory_from_json, "trajectories")


def read_trajectories(path: str | os.PathLike[str]) -> list[Trajectory]:
    """All trajectories of a JSONL file, in order; see `iter_trajectories`."""
    return list(iter_trajectories(path))


def write_trajectories(path: str | os.PathLike[str], trajectories: Iterable[Trajectory]) -> int:
    """Writes a JSONL file in one piece; see `write_lines`.

    Returns:
        The number of trajectories written.
    """
    return write_lines(path, map(trajectory_to_json, trajectories))


def write_lines(path: str | os.PathLike[str], lines: Iterable[str]) -> int:
    """Writes a text file in one piece: after a failure or a kill the old file, if any, is still whole.

    Returns:
        The number of lines written.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    count = 0
    try:
        with open(partial, "w", encoding="utf-8") as file:
            for line in lines:
                file.write(line + "\n")
                count += 1
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)
    return count


class TrajectoryWriter:
    """Writes trajectories as they come, whole lines at a time, so that an interrupted run leaves a readable file.

    Args:
        path: The file; folders are made. Replaced unless `append`.
        append: Go on at the end of an existing file.
    """

    def __init__(self, path: str | os.PathLike[str], *, append: bool = False) -> None:
        self.path = Path(path)
        self.count = 0
        """Trajectories written through this writer."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file: Any = open(self.path, "a" if append else "w", encoding="utf-8")  # noqa: SIM115  (closed by close)

    def write(self, trajectories: Iterable[Trajectory]) -> None:
        """Appends trajectories and flushes them to the operating system."""
        for trajectory in trajectories:
            self._file.write(trajectory_to_json(trajectory) + "\n")
            self.count += 1
        self._file.flush()

    def close(self) -> None:
        """Closes the file; safe to call twice."""
        self._file.close()

    def __enter__(self) -> TrajectoryWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _numbered(line: str, read: Callable[[str], T], path: str | os.PathLike[str], number: int) -> T:
    try:
        return read(line)
    except RecordError as problem:
        torn = "" if line.endswith("\n") else " (the last line has no end: was the writer stopped? then delete it)"
        raise RecordError(f"{path}, line {number}: {problem}{torn}") from None


def _excerpt(line: str) -> str:
    text = line.strip()
    return repr(text if len(text) <= 60 else text[:57] + "...")
