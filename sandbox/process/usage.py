"""What a run uses while it goes on, over all its processes, read from `/proc`."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


def _read(processes: int, path: str) -> bytes:
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=processes)
    except OSError:
        return b""
    try:
        return os.read(file, 65536)
    except OSError:  # it ended in between
        return b""
    finally:
        os.close(file)


@dataclass(slots=True)
class Usage:
    """Keeps count of one run."""

    processes: int
    """Descriptor of a `/proc` that shows the run."""
    first: int
    """Process id of the run's first process; all others descend from it."""
    server: int | None = None
    """In a container, process id of the server: the run's orphans become its children."""
    cpu_seconds: float = 0.0
    """CPU time so far, of ended processes, too."""
    memory_bytes: int = 0
    """Resident memory of all processes at the last look, without file pages and without what the prepared interpreter
    takes in each."""
    peak_bytes: int = 0
    _own: dict[int, int] = field(default_factory=dict)
    """Process id -> most CPU ticks seen: those that a program lets go unwaited would be lost otherwise."""

    def look(self) -> None:
        """Reads the present state."""
        ticks = memory = 0
        prepared = self._resident(self.server or self.first)  # both do nothing
        for pid in self.alive():
            fields = _read(self.processes, f"{pid}/stat").rpartition(b")")[2].split()
            if len(fields) < 22:
                continue
            user, system, child_user, child_system = map(int, fields[11:15])
            ticks += user + system + child_user + child_system
            self._own[pid] = max(self._own.get(pid, 0), user + system)
            memory += max(0, self._resident(pid) - prepared)
        self.cpu_seconds = max(self.cpu_seconds, ticks / TICK, sum(self._own.values()) / TICK)
        self.memory_bytes = memory
        self.peak_bytes = max(self.peak_bytes, memory)

    def _resident(self, pid: int) -> int:
        """Bytes of memory of a process, without file pages; 0 when it is gone."""
        sizes = _read(self.processes, f"{pid}/statm").split()
        return (int(sizes[1]) - int(sizes[2])) * PAGE if len(sizes) > 2 else 0

    def alive(self) -> list[int]:
        """Process ids of the run."""
        found = [self.first]
        if self.server is not None:
            found += [pid for pid in self._children(self.server) if pid != self.first]
        for pid in found:  # grows while it is read
            found += self._children(pid)
        return found

    def _children(self, pid: int) -> list[int]:
        threads = self._threads(pid)
        return [int(child) for one in threads for child in _read(self.processes, f"{pid}/task/{one}/children").split()]

    def _threads(self, pid: int) -> list[str]:
        try:
            folder = os.open(f"{pid}/task", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self.processes)
        except OSError:
            return []
        try:
            return os.listdir(folder)
        except OSError:
            return []
        finally:
            os.close(folder)
