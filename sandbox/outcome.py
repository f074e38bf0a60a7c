"""Puts an `ExecResult` together from what a backend saw; shared by all backends."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from slmagent.sandbox.cases import Case
from slmagent.sandbox.judging import judge, read_answers
from slmagent.sandbox.result import ExecResult, ProgramError, Status
from slmagent.sandbox.streams import HeadAndTail, scrub

MESSAGE_CHARS = 500
_LIMITS: dict[str, str] = {
    "cpu_limit": "used more than {cpu_seconds:g} s of CPU time",
    "wall_limit": "took longer than {wall_seconds:g} s",
    "memory_limit": "used more than {memory_mb} MiB of memory",
}


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended, as seen from outside the program's process."""

    exit_code: int | None = None
    """As the program's process left it; minus the number of the signal that killed it; None when a limit ended it."""
    limit: Status | None = None
    """The limit for which it was ended."""
    failure: str | None = None
    """What went wrong in the sandbox itself."""
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_memory_mb: float = 0.0


def assemble(
    ending: Ending,
    cases: Sequence[Case],
    answers: bytes,
    stdout: HeadAndTail,
    stderr: HeadAndTail,
    limits: Mapping[str, Any],
    layers: Mapping[str, str],
) -> ExecResult:
    """Makes the result of a run.

    Args:
        ending: How it ended.
        cases: The tests that were asked.
        answers: What came on the answers' descriptor, see `child`.
        stdout: What it printed.
        stderr: What it printed there.
        limits: Fields of `Limits` by name, for messages.
        layers: As of `Sandbox.layers`.
    """
    lines = answers.split(b"\n")
    status, error = _status(ending, read_answers(lines), limits)
    out, out_note = stdout.text("stdout")
    err, err_note = stderr.text("stderr")
    return ExecResult(
        status=status,
        stdout=out,
        stderr=err,
        error=error,
        verdicts=judge(cases, lines),
        wall_seconds=ending.wall_seconds,
        cpu_seconds=ending.cpu_seconds,
        peak_memory_mb=ending.peak_memory_mb,
        cut=tuple(note for note in (out_note, err_note) if note),
        layers=tuple(name for name, state in layers.items() if state == "ok"),
        missing=tuple(f"{name}: {state}" for name, state in layers.items() if state != "ok"),
    )


def _status(ending: Ending, answers: Iterable[dict[str, Any]], limits: Mapping[str, Any]) -> tuple[Status, ProgramError | None]:
    said: dict[str, Any] = {}
    for answer in answers:
        for name in ("program", "rejected", "failed"):
            if name in answer:
                said.setdefault(name, answer[name])
    if ending.failure is not None or ("failed" in said and "program" not in said):
        return "sandbox_error", ProgramError("SandboxError", _cut(str(ending.failure or said["failed"])), None)
    if ending.limit is not None:
        return _limit_error(ending.limit, limits)
    if ending.exit_code is not None and ending.exit_code < 0:
        return _killed(-ending.exit_code, ending, limits)
    if "rejected" in said and "program" not in said:
        return "rejected", _program_error(said["rejected"])
    error = _program_error(said.get("program"))
    if error is not None and error.type == "MemoryError":
        return "memory_limit", error
    if ending.exit_code:
        return "error", error or ProgramError("SystemExit", f"exit code {ending.exit_code}", None)
    return "ok", None


def _killed(number: int, ending: Ending, limits: Mapping[str, Any]) -> tuple[Status, ProgramError]:
    out_of_time = ending.cpu_seconds >= limits["cpu_seconds"]
    if number == signal.SIGXCPU or (number == signal.SIGKILL and out_of_time):
        return _limit_error("cpu_limit", limits)
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    return "killed", ProgramError(name, f"killed by {name}", None)


def _limit_error(limit: Status, limits: Mapping[str, Any]) -> tuple[Status, ProgramError]:
    return limit, ProgramError(limit, _LIMITS[limit].format(**limits), None)


def _program_error(said: Any) -> ProgramError | None:
    if type(said) is not dict:
        return None
    line = said.get("line")
    kind, message = str(said.get("type", "")), str(said.get("message", ""))
    return ProgramError(_cut(kind), _cut(message), line if type(line) is int else None)


def _cut(text: str) -> str:
    text = scrub(text)
    return text if len(text) <= MESSAGE_CHARS else f"{text[: MESSAGE_CHARS - 3]}..."
