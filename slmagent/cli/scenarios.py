"""`slmagent scenarios`: programming tasks from other people's code: mine them, try them out, convert public files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import OmitArgPrefixes, Positional, arg, subcommand

from slmagent.errors import UsageError, nearest

if TYPE_CHECKING:
    from slmagent.sandbox.base import Sandbox
    from slmagent.scenarios.code.mining.completions import MinedKind
    from slmagent.scenarios.code.mining.targets import Summary
    from slmagent.scenarios.code.records import Check, CodeTask


@dataclass(frozen=True, kw_only=True)
class Mine:
    """Make completion tasks from functions that have doctests or assertions about them.

    Every task has been run in the sandbox. What is found is kept after Ctrl-C; the same command goes on from there.
    """

    path: Annotated[Positional[Path], arg(metavar="PATH")]
    """Python file or folder; with --history, a path in a git repository."""
    output: Path
    """JSONL file; tasks are appended if it exists."""
    kinds: str = "line,body,method"
    """What to leave out of a file, separated by commas: line (an assignment or return), body (of a function), method."""
    limit: int | None = None
    """Stop after this many new tasks."""
    max_lines: int = 1000
    """Longest file, cut down to what its function needs."""
    history: bool = False
    """Make repair tasks from the changes that commits made to single functions."""
    max_commits: int = 200
    """How many commits to look at, newest first; needs --history."""

    def run(self) -> int:
        """Mines and prints a summary."""
        from slmagent.cli.terminal import output
        from slmagent.sandbox import make
        from slmagent.scenarios.code.loaders import load_tasks, task_to_json
        from slmagent.scenarios.code.mining.targets import Summary

        kinds = read_kinds(self.kinds)
        for name in ("limit", "max_lines", "max_commits"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError(f"expected --{name.replace('_', '-')} >= 1, actual {value}")
        have = {task.name for task in load_tasks(self.output)} if self.output.exists() else set()
        summary, stopped, new = Summary(), False, 0
        _make_folder(self.output)
        with make("process") as box:
            found = self._repairs(box, summary, have) if self.history else self._completions(box, summary, have, kinds)
            try:
                for task in found:
                    if task.name not in have:
                        _append(self.output, task_to_json(task))
                        new += 1
                    if new == self.limit:
                        break
            except KeyboardInterrupt:
                stopped = True
            finally:
                found.close()
        console = output()
        console.print(summary_table(summary, history=self.history))
        console.print(f"{new} new tasks, {len(have) + new} in {self.output}", soft_wrap=True, markup=False)
        if stopped:
            console.print("interrupted: the same command goes on from here")
        return 130 if stopped else 0

    def _completions(self, box: Sandbox, summary: Summary, have: set[str], kinds: Sequence[MinedKind]) -> Any:
        from slmagent.cli.terminal import messages, progress_bar
        from slmagent.scenarios.code.mining.completions import mine
        from slmagent.scenarios.code.mining.targets import find_targets
        from slmagent.scenarios.code.mining.trees import read_tree

        console = messages()
        with console.status(f"reading {self.path}"):
            tree = read_tree(self.path)
        with progress_bar("looking for tests", 2 * len(tree.modules), console) as show:
            targets = list(find_targets(tree, summary, _counter(show)))
        with progress_bar("functions tried", len(targets), console) as show:
            options: dict[str, Any] = {"kinds": kinds, "max_lines": self.max_lines, "have": have}
            yield from mine(tree, targets, SandboxJudge(box), summary, on_target=_counter(show), **options)

    def _repairs(self, box: Sandbox, summary: Summary, have: set[str]) -> Any:
        from slmagent.cli.terminal import messages, progress_bar
        from slmagent.scenarios.code.mining.history import commits, mine_commit

        hashes = commits(self.path, self.max_commits)
        with progress_bar("commits", len(hashes), messages()) as show:
            for number, commit in enumerate(hashes, start=1):
                summary.files += 1
                yield from mine_commit(self.path, commit, SandboxJudge(box), summary, max_lines=self.max_lines, have=have)
                show(number)


@dataclass(frozen=True, kw_only=True)
class Verify:
    """Try the tasks of a JSONL file out: each reference passes its checks twice over, an empty hole does not.

    Exit code 1 when one fails.
    """

    file: Annotated[Positional[Path], arg(metavar="FILE")]
    """JSONL file of tasks."""

    def run(self) -> int:
        """Runs every task and prints what is wrong."""
        from slmagent.cli.terminal import messages, output, progress_bar
        from slmagent.envs.code_assist.verification import verify
        from slmagent.sandbox import make
        from slmagent.scenarios.code.loaders import load_tasks

        tasks = load_tasks(self.file)
        console, failed = output(), 0
        with make("process") as box, progress_bar("tasks", len(tasks), messages()) as show:
            for number, task in enumerate(tasks, start=1):
                problems = verify(task, box)
                failed += bool(problems)
                for problem in problems:
                    console.print(f"{task.name}: {problem}", style="red", soft_wrap=True, markup=False)
                show(number)
        console.print(f"{len(tasks) - failed} of {len(tasks)} tasks are sound", style="red" if failed else "green")
        return 1 if failed else 0


@dataclass(frozen=True, kw_only=True)
class Convert:
    """Make tasks from rows in a public format; what cannot be converted is counted with its reason."""

    file: Annotated[Positional[Path], arg(metavar="FILE")]
    """JSONL file."""
    source: Annotated[Literal["mbpp", "humaneval"], arg(name="from")]
    """Its format."""
    output: Path
    """JSONL file of tasks; replaced if it exists."""

    def run(self) -> int:
        """Converts and prints what was left out."""
        from rich.table import Table

        from slmagent.cli.terminal import output
        from slmagent.scenarios.code.loaders import load_humaneval, load_mbpp, save_tasks

        converted = (load_mbpp if self.source == "mbpp" else load_humaneval)(self.file)
        _make_folder(self.output)
        save_tasks(self.output, converted.tasks)
        console = output()
        if converted.skipped:
            table = Table("left out", "times")
            for reason, count in converted.skipped.most_common():
                table.add_row(reason, str(count))
            console.print(table)
        console.print(f"{len(converted.tasks)} tasks of {converted.rows} rows in {self.output}", soft_wrap=True, markup=False)
        console.print(f"try them out: slmagent scenarios verify {self.output}", soft_wrap=True, markup=False)
        return 0


@dataclass(frozen=True)
class Scenarios:
    """Programming tasks from other people's code and files."""

    action: OmitArgPrefixes[
        Annotated[Mine, subcommand("mine")]
        | Annotated[Verify, subcommand("verify")]
        | Annotated[Convert, subcommand("convert")]
    ]

    def run(self) -> int:
        """Runs the chosen action."""
        return self.action.run()


class SandboxJudge:
    """Tries code in a sandbox, in half a second of CPU time: less than tasks are given, so that slower machines agree.

    Args:
        box: The sandbox.
    """

    def __init__(self, box: Sandbox) -> None:
        from slmagent.sandbox.limits import Limits

        self._box, self._limits = box, Limits(cpu_seconds=0.5)

    def passing(self, source: str, checks: Sequence[Check]) -> list[bool]:
        """Whether a file passes each of some tests."""
        from slmagent.envs.code_assist.verification import run_checks

        passed = [verdict.passed for verdict in run_checks(self._box, source, checks, self._limits).verdicts]
        return passed + [False] * (len(checks) - len(passed))

    def problems(self, task: CodeTask) -> list[str]:
        """What is wrong with a task."""
        from slmagent.envs.code_assist.verification import verify

        return verify(task, self._box, self._limits)


def read_kinds(text: str) -> tuple[MinedKind, ...]:
    """Reads `line,body`.

    Raises:
        UsageError: A kind that does not exist, or none.
    """
    from slmagent.scenarios.code.mining.completions import MINED_KINDS

    given = [part.strip() for part in text.split(",") if part.strip()]
    for part in given:
        if part not in MINED_KINDS:
            raise UsageError(f"unknown kind {part!r} in --kinds; {nearest(part, MINED_KINDS)}")
    if not given:
        raise UsageError(f"expected kinds in --kinds, such as {','.join(MINED_KINDS)}, actual none")
    return tuple(kind for kind in MINED_KINDS if kind in given)


def summary_table(summary: Summary, *, history: bool) -> Any:
    """What was seen, tried, kept and left out."""
    from rich.table import Table

    table = Table("", "count")
    table.add_row("commits" if history else "files", str(summary.files))
    table.add_row("changed functions" if history else "functions and methods", str(summary.functions))
    table.add_row("with tests", str(summary.tested))
    for kind, count in summary.candidates.items():
        table.add_row(f"{kind}: tasks of candidates", f"{summary.tasks[kind]} of {count}")
    for index, (reason, count) in enumerate(_nonzero(summary)):
        if index == 0:
            table.add_section()
        table.add_row(reason, str(count))
    return table


def _nonzero(summary: Summary) -> Iterator[tuple[str, int]]:
    return ((reason, count) for reason, count in sorted(summary.skipped.items()) if count)


def _counter(show: Any) -> Any:
    """A function without arguments that counts a bar up."""
    count = 0

    def step() -> None:
        nonlocal count
        count += 1
        show(count)

    return step


def _make_folder(file: Path) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise UsageError(f"cannot write {file}: {problem.strerror or problem}") from None


def _append(file: Path, line: str) -> None:
    try:
        with open(file, "a", encoding="utf-8") as target:
            target.write(line + "\n")
    except OSError as problem:
        raise UsageError(f"cannot write {file}: {problem.strerror or problem}") from None
