"""How much a program may use."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one run. CPU time decides verdicts, since it repeats; wall-clock time only guards against sleepers.

    Raises:
        ValueError: A limit that is not above 0.
    """

    cpu_seconds: float = 2.0
    """CPU time of the program and all it starts, seconds."""
    wall_seconds: float = 10.0
    """Time on the clock, seconds."""
    memory_mb: int = 256
    """Memory of each process, MiB."""
    output_chars: int = 10_000
    """Characters kept of each stream: its head and its tail, with a note of what was cut between."""
    file_mb: int = 8
    """Size of the private folder and of each file, MiB."""
    open_files: int = 64
    """Open file descriptors of each process."""
    processes: int = 16
    """Processes and threads at one time."""

    def __post_init__(self) -> None:
        for field in fields(self):
            if not getattr(self, field.name) > 0:
                raise ValueError(f"expected {field.name} > 0, actual {getattr(self, field.name)}")
