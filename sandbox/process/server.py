"""The fork-server: one process with one thread that starts runs, watches their limits, and reports how they ended.

It is started by `client.ForkServer` or `docker.container.Container`, has a Unix socket (SOCK_SEQPACKET) to it, and speaks:
    first message out     {"layers": {name: "ok" or reason}} or {"error": reason}
    each message in       {"limits": {...}} with the descriptors `DESCRIPTORS`, in this order
and writes to a run's `done`, once everything of the run is gone, {"status", "reason", "cpu", "peak", "wall"} or {"error"};
in a container also "clean", whether the next run finds nothing of it. It never reads a program; the run itself does.
"""

from __future__ import annotations

import array
import contextlib
import gc
import importlib
import json
import os
import resource
import select
import shutil
import signal
import site
import socket
import sys
import tempfile
import time
from dataclasses import dataclass, field
from typing import Any

from slmagent.sandbox import child
from slmagent.sandbox.docker import inside
from slmagent.sandbox.process import namespaces, runner, syscalls
from slmagent.sandbox.process.seccomp import Filter
from slmagent.sandbox.process.usage import Usage

DESCRIPTORS = ("request", "stdout", "stderr", "answers", "done")
COMMON = (
    "abc argparse array ast asyncio base64 bisect calendar cmath collections contextlib copy csv dataclasses datetime decimal"
    " difflib enum fractions functools hashlib heapq importlib.util inspect io itertools json logging math numbers operator os"
    " pathlib pickle pprint queue random re secrets shutil signal statistics string struct subprocess tempfile textwrap"
    " threading time traceback types typing unicodedata unittest uuid warnings weakref"
)
"""Standard modules that programs often use, imported once."""
FIRST_LOOK, LOOK_EVERY = 0.03, 0.025
"""Seconds until the use of a run is looked at, and between looks; short runs are over before."""


@dataclass(slots=True)
class Run:
    """One run in progress."""

    pid: int
    handle: int
    """A descriptor that becomes readable when the first process has ended."""
    done: int
    report: int | None
    """What the run's first process writes to; None where that is the program's."""
    limits: dict[str, Any]
    usage: Usage
    started: float = field(default_factory=time.monotonic)
    next_look: float = 0.0
    reason: str | None = None
    """The limit for which it was ended."""
    killed_before: int = 0
    """As `inside.killed_for_memory` was when it began."""
    cpu_before: float = 0.0
    """CPU seconds of ended children when it began; tells in a container, where no other run can add to it."""


class Server:
    """Runs until its client is gone."""

    def __init__(self, client: socket.socket, parent: int | None, setting: runner.Setting) -> None:
        self._client = client
        self._parent = parent
        self._setting = setting
        self._runs: dict[int, Run] = {}
        self._poll = select.epoll()

    def serve(self) -> None:
        """Serves until the client closes its end or dies."""
        self._poll.register(self._client, select.EPOLLIN)
        if self._parent is not None:
            self._poll.register(self._parent, select.EPOLLIN)
        while True:
            timeout = min((run.next_look for run in self._runs.values()), default=None)
            wait = None if timeout is None else max(0.0, timeout - time.monotonic())
            for descriptor, _ in self._poll.poll(wait):
                if descriptor == self._parent:
                    return
                if descriptor == self._client.fileno():
                    if not self._accept():
                        return
                else:
                    self._finish(self._runs.pop(descriptor))
            self._look()

    def _accept(self) -> bool:
        space = socket.CMSG_SPACE(len(DESCRIPTORS) * array.array("i").itemsize)
        message, extra, _, _ = self._client.recvmsg(4096, space, socket.MSG_CMSG_CLOEXEC)
        if not message:
            return False
        numbers = array.array("i")
        for level, kind, content in extra:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                numbers.frombytes(content)
        given: dict[str, int] = dict(zip(DESCRIPTORS, numbers, strict=True))
        done = given.pop("done")
        try:
            self._start(given, done, json.loads(message)["limits"])
        except OSError as problem:
            _tell(done, {"error": str(problem)})
        finally:
            for number in given.values():
                os.close(number)
        return True

    def _start(self, given: dict[str, int], done: int, limits: dict[str, Any]) -> None:
        if self._setting.place == "container":
            self._begin_alone(given, done, limits)
            return
        report, writable = os.pipe()
        own = self._setting.place == "namespaces"
        if not own:
            limits["folder"] = tempfile.mkdtemp(prefix="run-")
            if self._setting.root:
                os.chown(limits["folder"], namespaces.NOBODY, namespaces.NOBODY)
        try:
            pid = syscalls.clone(namespaces.RUN_NAMESPACES if own else 0)
        except OSError:
            os.close(report)
            os.close(writable)
            raise
        if pid == 0:
            runner.first_process(self._setting, runner.Channels(report=writable, **given), limits)
        os.close(writable)
        self._watch(pid, Usage(self._setting.processes, pid), done, report, limits)

    def _begin_alone(self, given: dict[str, int], done: int, limits: dict[str, Any]) -> None:
        """Starts a run in a container: one at a time, without a first process between, since that is us."""
        killed, cpu = inside.killed_for_memory(), _cpu_of_ended()
        pid = syscalls.clone(0)
        if pid == 0:
            runner.run_program(self._setting, runner.Channels(report=-1, **given), limits)
        run = self._watch(pid, Usage(self._setting.processes, pid, os.getpid()), done, None, limits)
        run.killed_before, run.cpu_before = killed, cpu

    def _watch(self, pid: int, usage: Usage, done: int, report: int | None, limits: dict[str, Any]) -> Run:
        handle = os.pidfd_open(pid)
        run = Run(pid, handle, done, report, limits, usage)
        run.next_look = run.started + min(FIRST_LOOK, limits["wall_seconds"])
        self._runs[handle] = run
        self._poll.register(handle, select.EPOLLIN)
        return run

    def _look(self) -> None:
        """Ends the runs that are past a limit."""
        now = time.monotonic()
        for run in self._runs.values():
            if run.next_look > now:
                continue
            run.usage.look()
            run.reason = run.reason or _past_limit(run, now)
            if run.reason:
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(run.handle, signal.SIGKILL)
            run.next_look = min(now + LOOK_EVERY, max(now, run.started + run.limits["wall_seconds"]) + 0.001)

    def _finish(self, run: Run) -> None:
        self._poll.unregister(run.handle)
        os.close(run.handle)
        if self._setting.place == "host":
            _end_rest(run, self._runs)
        _, status, used = os.wait4(run.pid, 0)
        report: dict[str, Any] = {}
        if run.report is None:
            inside.end_everything()
            run.usage.cpu_seconds = max(run.usage.cpu_seconds, _cpu_of_ended() - run.cpu_before)
            if inside.killed_for_memory() > run.killed_before:
                run.reason = run.reason or "memory_limit"
            report |= {"status": status, "clean": inside.clean()}
        else:
            text = os.read(run.report, 32)
            os.close(run.report)
            report["status"] = int(text) if text else None
        if self._setting.place == "host":
            shutil.rmtree(run.limits["folder"], ignore_errors=True)
        report |= {
            "reason": run.reason,
            "cpu": max(used.ru_utime + used.ru_stime, run.usage.cpu_seconds),
            "peak": max(used.ru_maxrss * 1024, run.usage.peak_bytes),
            "wall": time.monotonic() - run.started,
        }
        _tell(run.done, report)


def _cpu_of_ended() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _past_limit(run: Run, now: float) -> str | None:
    if run.usage.cpu_seconds > run.limits["cpu_seconds"]:
        return "cpu_limit"
    if run.usage.memory_bytes > run.limits["memory_mb"] << 20:
        return "memory_limit"
    if now - run.started > run.limits["wall_seconds"]:
        return "wall_limit"
    return None


def _end_rest(run: Run, others: dict[int, Run]) -> None:
    """Without a namespace that ends as a whole: kills what is still there; orphans have become ours."""
    ours = {other.pid for other in others.values()} | {run.pid}
    for _ in range(1000):
        left = set(run.usage.alive()) | {pid for pid in Usage(run.usage.processes, os.getpid()).alive()[1:]}
        for other in others.values():
            left -= set(other.usage.alive())
        left -= ours
        if not left:
            return
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in left:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)


def _tell(done: int, report: dict[str, Any]) -> None:
    with contextlib.suppress(BrokenPipeError):
        os.write(done, json.dumps(report).encode())
    os.close(done)


# ---- start ------------------------------------------------------------------------------------------------------------


def prepare(config: dict[str, Any]) -> tuple[runner.Setting, dict[str, str]]:
    """Turns this process into a server.

    Args:
        config: `place` (see `runner.Place`), `reason` (why there are no namespaces), `folders` (to import from at the start),
            `policy` (or null).

    Returns:
        What runs have in common, and the layers of isolation.

    Raises:
        OSError: A namespace is not granted.
    """
    runner.one_arena()
    sys.dont_write_bytecode = True
    _preload(config)
    processes = os.open("/proc", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    root = os.geteuid() == 0
    space = runner.own_address_space()
    place: runner.Place = config["place"]
    layers = {"limits": "ok", "empty environment": "ok", "no new privileges": "ok"}
    if place == "container":
        syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)  # so that the program, the same user, cannot look into us
        layers |= inside.layers()
    else:
        if place == "namespaces":
            namespaces.enter()
        else:
            syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)
        layers |= dict.fromkeys(namespaces.LAYERS, "ok" if place == "namespaces" else str(config["reason"]))
    rules = Filter()
    problem = _try_filter(rules)
    layers["system-call filter"] = problem or "ok"
    setting = runner.Setting(
        place=place,
        seccomp=None if problem else rules,
        address_space=space,
        processes=processes,
        root=root and place == "host",
        policy=child.load_policy(config["policy"]),
        own_modules=tuple(name for name in sys.modules if name.partition(".")[0] == "slmagent"),
    )
    return setting, layers


def _preload(config: dict[str, Any]) -> None:
    for name in COMMON.split():
        importlib.import_module(name)
    site.setquit()
    site.setcopyright()
    site.sethelper()
    sys.path[:0] = config["folders"]
    child.load_policy(config["policy"])
    for folder in config["folders"]:
        sys.path.remove(folder)


def _try_filter(rules: Filter) -> str | None:
    """Why the kernel refuses the filter, or None; tried in a process of its own, since it stays for good."""
    report, writable = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
            rules.install()
        except OSError as problem:
            os.write(writable, str(problem).encode())
        finally:
            os._exit(0)
    os.close(writable)
    text = os.read(report, 4096).decode()
    os.close(report)
    os.waitpid(pid, 0)
    return text or None


def main(config: dict[str, Any]) -> None:
    """Serves on the socket named in the configuration: `socket`, a descriptor, or `connect`, a path."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the client, which then ends us
    os.environ.clear()
    if "connect" in config:
        client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        client.connect(config["connect"])
        parent = None
    else:
        client = socket.socket(fileno=config["socket"])
        parent = os.pidfd_open(config["parent"])
    try:
        setting, layers = prepare(config)
    except OSError as problem:
        client.sendall(json.dumps({"error": str(problem)}).encode())
        return
    gc.collect()
    gc.freeze()
    gc.disable()
    client.sendall(json.dumps({"layers": layers}).encode())
    Server(client, parent, setting).serve()
