"""What a run gives back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from slmagent.sandbox.cases import Verdict

Status = Literal["ok", "error", "cpu_limit", "wall_limit", "memory_limit", "killed", "rejected", "sandbox_error"]
"""`ok`: ran to its end. `error`: an exception (or exit code other than 0). `killed`: by a signal, the system-call filter
included. `rejected`: refused by a policy before it ran. `sandbox_error`: the sandbox failed, which says nothing about the
program."""


@dataclass(frozen=True, slots=True)
class ProgramError:
    """The exception that ended a program."""

    type: str
    message: str
    """With memory addresses scrubbed; at most 500 characters."""
    line: int | None
    """Line of the program, counted from 1; None when none of its lines was on the stack."""


@dataclass(frozen=True, slots=True)
class ExecResult:
    """One run of a program, and of its tests."""

    status: Status
    stdout: str = ""
    """Printed by the program itself, not by its tests; memory addresses are scrubbed."""
    stderr: str = ""
    error: ProgramError | None = None
    """Set with every status but `ok`."""
    verdicts: tuple[Verdict, ...] = ()
    """One for each test, in their order."""
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_memory_mb: float = 0.0
    cut: tuple[str, ...] = ()
    """What was left out, such as `stdout: 120000 of 130000 characters`."""
    layers: tuple[str, ...] = ()
    """The layers of isolation that were in force."""
    missing: tuple[str, ...] = ()
    """The layers that this machine did not grant, each with the reason."""

    @property
    def passed(self) -> bool:
        """Whether there were tests and every one passed."""
        return bool(self.verdicts) and all(verdict.passed for verdict in self.verdicts)
