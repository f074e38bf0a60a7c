"""Progress of training runs in the terminal: what is done, how fast, how long still."""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class TrainingProgress:
    """A bar for the whole run and a line per update; in a log file (no terminal) the lines alone.

    Args:
        title: What is running.
        total: Steps or updates in all; None until the first report.
        done: Of these, done before (a resumed run).
    """

    def __init__(self, title: str, total: int | None = None, done: int = 0) -> None:
        self.console = Console(stderr=True)
        self.title = title
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("ETA"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
            console=self.console,
            disable=not self.console.is_terminal,
            transient=True,
        )
        self._task = self._bar.add_task(title, total=total, completed=done, note="")
        self._rollout_started: float | None = None

    def __enter__(self) -> TrainingProgress:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._bar.stop()

    def episodes(self, done: int, total: int, tokens: int) -> None:
        """Inside an update: episodes played so far."""
        if self._rollout_started is None or done <= 1:
            self._rollout_started = time.monotonic()
        elapsed = max(time.monotonic() - self._rollout_started, 1e-3)
        self._bar.update(self._task, note=f"episodes {done}/{total}, {tokens / elapsed:.0f} tokens/s")

    def update(self, done: int, metrics: Mapping[str, Any]) -> None:
        """An update is done."""
        self._rollout_started = None
        parts = [f"{name} {metrics[key]:{form}}" for key, name, form in _SHOWN if isinstance(metrics.get(key), (int, float))]
        self.console.print(f"[bold]{self.title}[/] update {done}: " + ", ".join(parts), highlight=False)
        self._bar.update(self._task, completed=done, note="")

    def sft_step(self, done: int, total: int, loss: float) -> None:
        """A supervised step is done."""
        self._bar.update(self._task, completed=done, total=total, note=f"loss {loss:.3f}")
        if not self.console.is_terminal and (done % 10 == 0 or done == total):
            self.console.print(f"{self.title} step {done}/{total}: loss {loss:.3f}", highlight=False)


_SHOWN = (
    ("rollout/success_rate", "success", ".0%"),
    ("rollout/mean_return", "return", ".2f"),
    ("eval/success_rate", "validation", ".0%"),
    ("train/approx_kl", "approx_kl", ".4f"),
    ("train/clip_fraction", "clipped", ".1%"),
    ("time/tokens_per_second", "tokens/s", ".0f"),
    ("time/seconds", "seconds", ".0f"),
)
