"""The two processes of a run: the first of its namespace, which watches and cleans up, and the program's below it."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
import tempfile
from dataclasses import dataclass
from typing import Any, NoReturn

from slmagent.sandbox import child
from slmagent.sandbox.process import namespaces, syscalls
from slmagent.sandbox.process.seccomp import Filter

SPARE = 2
"""Processes that a run needs besides the program's own: the first of its namespace."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What all runs of a fork-server have in common."""

    own_namespaces: bool
    seccomp: Filter | None
    address_space: int
    """Bytes of address space that the prepared interpreter takes itself."""
    processes: int
    """Descriptor of the host's `/proc`."""
    root: bool
    """Whether the server is root, so that a run without namespaces has to give that up."""
    policy: child.Policy | None


@dataclass(frozen=True, slots=True)
class Channels:
    """Descriptors of one run."""

    request: int
    """A file: JSON with `code`, `tests`, `stdin`."""
    stdout: int
    stderr: int
    answers: int
    report: int
    """Written by the first process alone: JSON with `status` (as of `os.wait`), or `error` when the sandbox failed."""


def first_process(setting: Setting, channels: Channels, limits: dict[str, Any]) -> NoReturn:
    """Prepares what the program will live in, starts it, waits for it, and ends all that is left of it."""
    report: dict[str, Any]
    try:
        _keep_only(setting.processes, *(getattr(channels, name) for name in Channels.__slots__))
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.setsid()
        if setting.own_namespaces:
            namespaces.furnish(setting.processes, limits["file_mb"])
        else:
            os.chdir(limits["folder"])
            syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)
            if setting.root:
                namespaces.give_up_root()
        syscalls.drop_capabilities()
        syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
        os.close(setting.processes)
        program = os.fork()
        if program == 0:
            _program(setting, channels, limits)
        os.close(channels.stdout)
        os.close(channels.stderr)
        os.close(channels.answers)
        syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)
        report = {"status": _wait(program)}
        if setting.own_namespaces:
            _end_all()
    except BaseException as problem:
        report = {"error": f"{type(problem).__name__}: {problem}"}
    os.write(channels.report, json.dumps(report).encode())
    os._exit(0)


def _keep_only(*descriptors: int) -> None:
    """Closes all other descriptors above 2: those of other runs and of the server itself."""
    last = 2
    for descriptor in sorted(descriptors):
        os.closerange(last + 1, descriptor)
        last = descriptor
    os.closerange(last + 1, 2**31 - 1)


def _wait(program: int) -> int:
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == program:
            return status


def _end_all() -> None:
    """Kills what the program left behind, so that its use is counted before the namespace goes."""
    try:
        while True:
            os.kill(-1, signal.SIGKILL)
            os.waitpid(-1, 0)
    except (ProcessLookupError, ChildProcessError):
        return


def _program(setting: Setting, channels: Channels, limits: dict[str, Any]) -> NoReturn:
    code = 1
    try:
        os.close(channels.report)
        request = json.loads(os.pread(channels.request, os.fstat(channels.request).st_size, 0))
        os.close(channels.request)
        with tempfile.TemporaryFile(dir=".") as stdin:
            stdin.write(request["stdin"].encode("utf-8", "surrogatepass"))
            stdin.seek(0)
            os.dup2(stdin.fileno(), 0)
        os.dup2(channels.stdout, 1)
        os.dup2(channels.stderr, 2)
        os.close(channels.stdout)
        os.close(channels.stderr)
        os.setpgid(0, 0)
        _forget_ourselves()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _limit(setting, limits)
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


def _forget_ourselves() -> None:
    """Leaves nothing in the module table but the standard library, as in an interpreter of one's own."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "slmagent"]:
        del sys.modules[name]


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
