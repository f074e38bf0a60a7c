"""What the fork-server does differently as the first process of a container; runs there, with the standard library only.

A container takes one run at a time and is used again when nothing is left of the one before: no process, no file, no
shared memory. Whatever cannot be removed makes the asking side throw the container away.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import stat
from pathlib import Path

FOLDERS = ("/work", "/tmp")
"""Where a program may write: file systems in memory, of limited size."""
_SHARED = ("/dev/shm", "/dev/mqueue")
_SYSTEM_V = ("shm", "msg", "sem")
_OUT_OF_MEMORY = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")
"""Where the kernel counts processes killed for want of memory: second and first version of control groups."""


def layers() -> dict[str, str]:
    """What holds, as seen from inside: layer -> `ok`, or what was found instead."""
    status = dict(line.split(":\t", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":\t" in line)
    interfaces = {line.partition(":")[0].strip() for line in Path("/proc/net/dev").read_text().splitlines()[2:]}
    read_only = os.statvfs("/").f_flag & os.ST_RDONLY
    found = {
        "other user": "" if os.getuid() and os.getgid() else "the program is root",
        "process namespace": "" if os.getpid() == 1 else f"the server is process {os.getpid()}",
        "network namespace": "" if interfaces <= {"lo"} else f"interfaces {', '.join(sorted(interfaces))}",
        "private file system": "" if read_only else "the root can be written",
        "no capabilities": "" if not int(status["CapBnd"], 16) | int(status["CapEff"], 16) else f"CapEff {status['CapEff']}",
        "no new privileges": "" if status["NoNewPrivs"].strip() == "1" else "not set",
        "engine's system-call filter": "" if status["Seccomp"].strip() == "2" else "the engine sets none",
    }
    return {"container": "ok"} | {name: problem or "ok" for name, problem in found.items()}


def end_everything() -> None:
    """Kills every process but this, the first, and waits until they are gone."""
    while True:
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        try:
            os.wait()
        except ChildProcessError:
            return


def clean() -> bool:
    """Removes what a run left behind, when no process of it is there; says whether all of it is gone."""
    try:
        for folder in (*FOLDERS, *_SHARED):
            if os.path.isdir(folder):
                _empty(folder)
    except (OSError, RecursionError):
        return False
    return not any(_system_v(kind) for kind in _SYSTEM_V)


def _empty(folder: str) -> None:
    for path, folders, _ in os.walk(folder):
        for name in folders:
            if not os.path.islink(os.path.join(path, name)):
                os.chmod(os.path.join(path, name), stat.S_IRWXU)
    with os.scandir(folder) as entries:
        for entry in list(entries):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            else:
                os.unlink(entry.path)


def _system_v(kind: str) -> bool:
    """Whether there is any shared memory, queue or semaphore of the old kind."""
    try:
        return len(Path(f"/proc/sysvipc/{kind}").read_text().splitlines()) > 1
    except OSError:
        return False


def killed_for_memory() -> int:
    """Processes of this container that the kernel has killed for want of memory so far; 0 where it does not tell."""
    for path in _OUT_OF_MEMORY:
        with contextlib.suppress(OSError), open(path) as file:
            for line in file:
                name, _, count = line.partition(" ")
                if name == "oom_kill":
                    return int(count)
    return 0


def offer_for_memory() -> None:
    """Makes this process, and all that it starts, the first to be killed for want of memory."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")
