"""What the commands share in the terminal: consoles, progress with ETA, conversations, log lines."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from slmagent.types import Trajectory


def output() -> Console:
    """For results: standard output."""
    return Console(highlight=False)


def messages() -> Console:
    """For progress and remarks: standard error, so that results can be piped."""
    return Console(stderr=True, highlight=False)


class _TokensPerSecond(ProgressColumn):
    def render(self, task: Task) -> Text:
        tokens, seconds = task.fields.get("tokens", 0), task.elapsed or 0
        return Text(f"{tokens / seconds:.0f} tokens/s" if tokens and seconds else "", style="cyan")


@contextmanager
def progress_bar(title: str, total: int, console: Console) -> Iterator[Any]:
    """A bar with counts, elapsed time and ETA; yields `update(done, tokens=0)`."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        _TokensPerSecond(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(title, total=total, tokens=0)

        def update(done: int, tokens: int = 0) -> None:
            progress.update(task, completed=done, tokens=tokens)

        yield update


def no_library_bars() -> None:
    """Switches the bars of transformers off that flash by whenever weights are read or written; call it before the import."""
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")


def print_conversation(trajectory: Trajectory, console: Console, *, instructions: bool = True) -> None:
    """The conversation with what each action earned."""
    from slmagent.evaluation.conversations import describe

    colors = {"instructions": "dim", "user": "bold", "tool": "yellow", "agent": "bold cyan"}
    for message in describe(trajectory):
        if message.who == "instructions" and not instructions:
            continue
        console.print(Text(message.who, style=colors[message.who]))
        for part in message.parts:
            text = Text(part.text, style="dim" if message.who == "instructions" else "")
            console.print(text, soft_wrap=True)
        if message.earned is not None:
            console.print(earned_line(message.earned.reward, dict(message.earned.components)), soft_wrap=True)
            for note in message.earned.notes:
                console.print(Text(f"  {note}", style="yellow"), soft_wrap=True)
        console.print()
    outcome = Text("success" if trajectory.success else "no success", style="green" if trajectory.success else "red")
    reason = trajectory.stop_reason.replace("_", " ")
    console.print(outcome, f"return {trajectory.total_reward:+.2f}, {len(trajectory.turns)} turns, ended: {reason}")


def earned_line(reward: float, components: dict[str, float]) -> Text:
    """`reward +0.50 = progress +0.50`, coloured by sign."""
    line = Text("  reward ", style="dim")
    line.append(f"{reward:+.2f}", style=_sign_style(reward))
    for index, (name, amount) in enumerate((name, amount) for name, amount in components.items() if amount):
        line.append(" = " if index == 0 else ", ", style="dim")
        line.append(f"{name} {amount:+.2f}", style=_sign_style(amount))
    return line


def _sign_style(amount: float) -> str:
    return "green" if amount > 0 else "red" if amount < 0 else "dim"


class _ShortLines(logging.Formatter):
    """One line a record: an exception's type and text stand behind the message in place of its traceback."""

    def format(self, record: logging.LogRecord) -> str:
        text = f"slmagent: {record.levelname.lower()}: {record.getMessage()}"
        if record.exc_info and record.exc_info[1] is not None:
            problem = record.exc_info[1]
            text += f" ({type(problem).__name__}: {problem})"
        return text


def set_up_logging(*, debug: bool) -> None:
    """Sends our warnings to standard error, without tracebacks, and silences what libraries tell their own users."""
    if not debug:
        for category in (FutureWarning, DeprecationWarning, PendingDeprecationWarning):
            warnings.filterwarnings("ignore", category=category)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s") if debug else _ShortLines())
    root = logging.getLogger("slmagent")
    root.handlers[:] = [handler]
    root.propagate = False
    root.setLevel(logging.DEBUG if debug else logging.WARNING)
