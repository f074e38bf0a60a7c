"""The two processes of a run: the first of its namespace, which watches and cleans up, and the program's below it.

In a container there is one only: the server itself is the first process.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

from slmagent.sandbox import child
from slmagent.sandbox.docker import inside
from slmagent.sandbox.process import namespaces, syscalls
from slmagent.sandbox.process.seccomp import Filter

SPARE = 2
"""Processes that a run needs besides the program's own: the first of its namespace."""


Place = Literal["namespaces", "container", "host"]
"""Where runs happen: each in namespaces of its own; one after the other in a container; beside all else on this machine."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What all runs of a fork-server have in common."""

    place: Place
    seccomp: Filter | None
    address_space: int
    """Bytes of address space that the prepared interpreter takes itself."""
    processes: int
    """Descriptor of the host's `/proc`."""
    root: bool
    """Whether the server is root, so that a run without namespaces has to give that up."""
    policy: child.Policy | None
    own_modules: tuple[str, ...]
    """Names of our modules, which a program should not find."""


@dataclass(frozen=True, slots=True)
class Channels:
    """Descriptors of one run."""

    request: int
    """A file: JSON with `code`, `tests`, `stdin`."""
    stdout: int
    stderr: int
    answers: int
    report: int
    """Written by the first process alone: the program's status, as of `os.wait`, in decimals."""


def first_process(setting: Setting, channels: Channels, limits: dict[str, Any]) -> NoReturn:
    """Starts the program, waits for it, and ends all that is left of it.

    It does as little as it can, since every page that it touches is copied; so it is cloned without Python's own work
    after a fork, and the program's process prepares the namespaces that both live in.
    """
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
    if setting.place == "host":
        syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)
    program = syscalls.clone(0)
    if program == 0:
        run_program(setting, channels, limits)
    _keep_only(channels.report)
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)
    while True:
        pid, status = os.wait()
        if pid == program:
            break
    os.write(channels.report, b"%d" % status)
    if setting.place == "namespaces":
        _end_all()
    os._exit(0)


def _keep_only(*descriptors: int) -> None:
    """Closes all other descriptors above 2: those of other runs and of the server itself."""
    last = 2
    for descriptor in sorted(descriptors):
        os.closerange(last + 1, descriptor)
        last = descriptor
    os.closerange(last + 1, 2**31 - 1)


def _end_all() -> None:
    """Kills what the program left behind, so that its use is counted before the namespace goes."""
    try:
        while True:
            os.kill(-1, signal.SIGKILL)
            os.wait()
    except (ProcessLookupError, ChildProcessError):
        return


def run_program(setting: Setting, channels: Channels, limits: dict[str, Any]) -> NoReturn:
    """Confines this process, which was just cloned, and runs the program in it."""
    code = 1
    syscalls.after_clone()
    try:
        _keep_only(setting.processes, channels.request, channels.stdout, channels.stderr, channels.answers)
        os.setsid()
        _confine(setting, limits)
        os.close(setting.processes)
        request = json.loads(os.pread(channels.request, os.fstat(channels.request).st_size, 0))
        os.close(channels.request)
        child.open_stdin(request["stdin"])
        os.dup2(channels.stdout, 1)
        os.dup2(channels.stderr, 2)
        os.close(channels.stdout)
        os.close(channels.stderr)
        for name in setting.own_modules:  # the module table is as in an interpreter of one's own
            del sys.modules[name]
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if setting.seccomp is not None:
            setting.seccomp.install()
    except BaseException as problem:
        os.write(channels.answers, json.dumps({"failed": f"{type(problem).__name__}: {problem}"}).encode() + b"\n")
        os._exit(1)
    try:
        code = child.execute(request["code"], request["tests"], channels.answers, policy=setting.policy)
    finally:
        child.leave(code)
    os._exit(1)


def _confine(setting: Setting, limits: dict[str, Any]) -> None:
    """Everything but the system-call filter."""
    if setting.place == "namespaces":
        namespaces.furnish(setting.processes, limits["file_mb"])
    elif setting.place == "container":
        os.chdir(inside.FOLDERS[0])
        inside.offer_for_memory()
        syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)  # the server is not, which is passed on
    else:
        os.chdir(limits["folder"])
        if setting.root:
            namespaces.give_up_root()
    syscalls.drop_capabilities()
    _limit(setting, limits)


def _limit(setting: Setting, limits: dict[str, Any]) -> None:
    seconds = int(limits["cpu_seconds"]) + 1
    mb = 1 << 20
    own = setting.address_space
    for name, amount in (
        (resource.RLIMIT_CPU, (seconds, seconds + 1)),
        (resource.RLIMIT_AS, own + limits["memory_mb"] * mb),
        (resource.RLIMIT_FSIZE, limits["file_mb"] * mb),
        (resource.RLIMIT_NOFILE, limits["open_files"]),
        (resource.RLIMIT_NPROC, limits["processes"] + SPARE - 1),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
        (resource.RLIMIT_SIGPENDING, 128),
        (resource.RLIMIT_STACK, 8 * mb),
    ):
        soft, hard = amount if isinstance(amount, tuple) else (amount, amount)
        ceiling = resource.getrlimit(name)[1]
        if ceiling != resource.RLIM_INFINITY:
            soft, hard = min(soft, ceiling), min(hard, ceiling)
        resource.setrlimit(name, (soft, hard))


def own_address_space() -> int:
    """Bytes of address space that this process takes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def one_arena() -> None:
    """Lets threads share one heap: each would reserve 64 MiB of address space otherwise, which the limit counts."""
    ctypes.CDLL(None).mallopt(syscalls.M_ARENA_MAX, 1)
