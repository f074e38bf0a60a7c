"""Training metrics: one JSON line an update, and TensorBoard beside it."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class MetricsLog:
    """Appends to `folder/metrics.jsonl`; on resume, lines of updates that are about to be repeated are taken out first.

    Args:
        folder: The run's folder.
        first_step: Update that is written next.
        tensorboard: Also write event files, when TensorBoard is installed.
    """

    def __init__(self, folder: Path, *, first_step: int = 0, tensorboard: bool = True) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "metrics.jsonl"
        kept = [line for line in read_metrics(self.path) if line["step"] < first_step]
        aside = self.path.with_suffix(".writing")
        aside.write_text("".join(json.dumps(line) + "\n" for line in kept))
        os.replace(aside, self.path)
        self._writer = _tensorboard_writer(folder, first_step) if tensorboard else None

    def write(self, step: int, values: Mapping[str, Any]) -> None:
        """Logs one update. Names have the form `group/name`; values that are not numbers go to the JSON line only.

        Numbers that are not finite become null there: JSON has none.
        """
        line = {"step": step, **{name: _json_number(value) for name, value in values.items()}}
        with self.path.open("a") as stream:
            stream.write(json.dumps(line, allow_nan=False) + "\n")
        if self._writer is not None:
            for name, value in values.items():
                if isinstance(value, (int, float)) and not isinstance(value, bool):
                    self._writer.add_scalar(name, value, step)
            self._writer.flush()

    def close(self) -> None:
        """Closes the event file."""
        if self._writer is not None:
            self._writer.close()


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """Lines of a metrics file, up to the first that is none: a kill or a full disk may cut the last one short."""
    lines: list[dict[str, Any]] = []
    if path.is_file():
        for text in path.read_text(errors="replace").splitlines():
            try:
                line = json.loads(text)
            except ValueError:
                break
            if not isinstance(line, dict) or not isinstance(line.get("step"), int):
                break
            lines.append(line)
    return lines


def _json_number(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _tensorboard_writer(folder: Path, first_step: int) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(str(folder / "tensorboard"), purge_step=first_step)
