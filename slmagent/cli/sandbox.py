"""`slmagent sandbox`: what isolation this machine grants, and a program run in it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import OmitArgPrefixes, Positional, arg, subcommand

if TYPE_CHECKING:
    from slmagent.sandbox.base import Requirement


@dataclass(frozen=True)
class Doctor:
    """Show which layers of isolation every backend has on this machine (the default).

    Exit code 1 when none of them meets `--require`.
    """

    require: Literal["limits", "namespaces", "container"] | None = None
    """The least that must hold."""

    def run(self) -> int:
        """Prints one row a layer."""
        from rich.table import Table

        from slmagent.cli.terminal import output
        from slmagent.errors import SlmagentError
        from slmagent.sandbox.making import BACKENDS, make

        table = Table()
        for heading in ("backend", "layer", "state"):
            table.add_column(heading, overflow="fold")
        enough = []
        for backend in BACKENDS:
            try:
                with make(backend) as sandbox:
                    for layer, state in sandbox.layers().items():
                        table.add_row(backend, layer, state)
                enough += [backend] if self._meets(backend) else []
            except SlmagentError as problem:
                table.add_row(backend, "-", str(problem))
        console = output()
        console.print(table)
        if self.require is None:
            return 0
        console.print(f"{self.require}: {', '.join(enough) or 'no backend grants it; the rows above say why'}")
        return 0 if enough else 1

    def _meets(self, backend: str) -> bool:
        from slmagent.errors import SlmagentError
        from slmagent.sandbox.making import make

        required: Requirement | None = self.require
        try:
            make(backend, require=required).close()
        except SlmagentError:
            return False
        return True


@dataclass(frozen=True)
class RunProgram:
    """Run a Python program in the sandbox; what it prints is printed, how it ended goes to stderr.

    Exit code 0 when it ran to its end, else 1.
    """

    program: Annotated[Positional[str], arg(metavar="FILE")]
    """A Python file; `-` reads the program from standard input."""
    backend: str = "process"
    """Name of a backend."""
    require: Literal["limits", "namespaces", "container"] | None = None
    """The least that must hold."""
    stdin: str = ""
    """What the program can read."""
    cpu_seconds: float = 2.0
    """CPU time of the program and all it starts, seconds."""
    wall_seconds: float = 10.0
    """Time on the clock, seconds."""
    memory_mb: int = 256
    """Memory of each process, MiB."""

    def run(self) -> int:
        """Runs it."""
        from slmagent.errors import UsageError
        from slmagent.sandbox.limits import Limits
        from slmagent.sandbox.making import make

        try:
            limits = Limits(cpu_seconds=self.cpu_seconds, wall_seconds=self.wall_seconds, memory_mb=self.memory_mb)
            code = sys.stdin.read() if self.program == "-" else Path(self.program).read_text()
        except (ValueError, OSError) as problem:
            raise UsageError(f"cannot run {self.program}: {problem}") from None
        with make(self.backend, require=self.require) as sandbox:
            result = sandbox.run(code, stdin=self.stdin, limits=limits)
        print(result.stdout, end="")
        print(result.stderr, end="", file=sys.stderr)
        used = f"{result.cpu_seconds:.2f} s CPU, {result.wall_seconds:.2f} s, {result.peak_memory_mb:.0f} MiB"
        why = "" if result.error is None else f" ({result.error.type}: {result.error.message})"
        print(f"{result.status}{why}: {used}", *result.cut, *result.missing, sep="; ", file=sys.stderr)
        return 0 if result.status == "ok" else 1


@dataclass(frozen=True)
class SandboxCommand:
    """Show what isolation this machine grants, run a program in it."""

    action: OmitArgPrefixes[Annotated[Doctor, subcommand("doctor")] | Annotated[RunProgram, subcommand("run")]] = Doctor()

    def run(self) -> int:
        """Runs the chosen action."""
        return self.action.run()
