"""The asking side's line to a fork-server: hands it runs, collects what comes out, notices its death."""

from __future__ import annotations

import abc
import array
import contextlib
import json
import os
import select
import socket
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from slmagent.sandbox.base import Sandbox
from slmagent.sandbox.cases import Case
from slmagent.sandbox.limits import Limits
from slmagent.sandbox.outcome import Ending, assemble
from slmagent.sandbox.result import ExecResult
from slmagent.sandbox.streams import HeadAndTail

SANDBOX = Path(__file__).resolve().parent.parent
"""The folder whose modules a server runs on."""
START_SECONDS = 30.0
GRACE_SECONDS = 5.0
"""Time past the limit after which a server that has not answered counts as hung."""
MAX_ANSWER_BYTES = 64 << 20
"""More than this of answers is dropped."""
OPTIONS = ("-s", "-S", "-P", "-B", "-X", "utf8", "-c")
"""Of the server's interpreter; -I would ignore the hash seed."""

# Finds our modules by folder, without the packages' own code and without site-packages.
BOOT = """
import json, sys, types
config = json.loads(sys.argv[1])
for name in ("", ".sandbox", ".sandbox.process", ".sandbox.docker"):
    module = sys.modules["slmagent" + name] = types.ModuleType("slmagent" + name)
    module.__path__ = [config["sandbox"] + name.removeprefix(".sandbox").replace(".", "/")] if name else []
from slmagent.sandbox.process.server import main
main(config)
"""
"""What the interpreter runs; its argument is the configuration of `server.main`, with `sandbox`, the folder."""


class ServerGone(Exception):
    """The fork-server cannot be started, or ended during a run."""


@dataclass(slots=True)
class Output:
    """What came out of a run, raw."""

    report: dict[str, Any]
    """As the server told it."""
    stdout: HeadAndTail
    stderr: HeadAndTail
    answers: bytes

    def ending(self) -> Ending:
        """How the run ended, as the server saw it."""
        status = self.report.get("status")
        limit = self.report.get("reason")
        failure = self.report.get("error")
        if failure is None and limit is None and status is None:
            failure = "the first process of the run ended without a report"
        return Ending(
            exit_code=None if status is None or limit else os.waitstatus_to_exitcode(status),
            limit=limit,
            failure=None if limit else failure,
            wall_seconds=self.report.get("wall", 0.0),
            cpu_seconds=self.report.get("cpu", 0.0),
            peak_memory_mb=self.report.get("peak", 0) / 2**20,
        )


class Link(abc.ABC):
    """A running fork-server, wherever it is; safe to use from several threads."""

    layers: dict[str, str]
    """Layers of isolation, as the server told."""

    def __init__(self, line: socket.socket, handle: int) -> None:
        """Waits for the server's first message.

        Args:
            line: Socket to the server (SOCK_SEQPACKET).
            handle: A descriptor that becomes readable when the server ends.

        Raises:
            ServerGone: It did not start; the message says why. The caller ends what it has started.
        """
        self.parent = os.getpid()
        self._line = line
        self.handle = handle
        line.settimeout(START_SECONDS)
        try:
            hello: dict[str, Any] = json.loads(line.recv(65536) or b'{"error": "the fork-server ended while it started"}')
        except OSError as problem:
            hello = {"error": f"the fork-server did not start: {problem}"}
        if "error" in hello:
            raise ServerGone(hello["error"])
        line.settimeout(None)
        self.layers = hello["layers"]

    @abc.abstractmethod
    def kill(self) -> None:
        """Ends the server and its runs, without waiting until they are gone."""

    def run(self, request: dict[str, Any], limits: Limits) -> Output:
        """Runs one request and returns when everything of it is gone.

        Args:
            request: What `runner` reads: `code`, `tests`, `stdin`.
            limits: Its limits.

        Raises:
            ServerGone: The server ended before it answered.
        """
        mine: list[int] = []
        theirs = [_file_of(json.dumps(request).encode())]
        try:
            for _ in range(4):
                read, write = os.pipe2(os.O_CLOEXEC)
                mine.append(read)
                theirs.append(write)
            self._send(json.dumps({"limits": asdict(limits)}).encode(), theirs)
            while theirs:
                os.close(theirs.pop())
            return self._collect(*mine, limits=limits)
        finally:
            for descriptor in (*mine, *theirs):
                os.close(descriptor)

    def _send(self, message: bytes, descriptors: list[int]) -> None:
        try:
            self._line.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))])
        except OSError as problem:
            raise ServerGone(f"the fork-server is gone: {problem}") from None

    def _collect(self, stdout: int, stderr: int, answers: int, done: int, *, limits: Limits) -> Output:
        """Drains the streams until the server reports; nothing that a program does keeps this from returning."""
        kept = {stdout: HeadAndTail(limits.output_chars), stderr: HeadAndTail(limits.output_chars)}
        answered = bytearray()
        report = b""
        poll = select.poll()
        for descriptor in (stdout, stderr, answers, done):
            os.set_blocking(descriptor, False)
            poll.register(descriptor, select.POLLIN)
        poll.register(self.handle, select.POLLIN)

        def take(descriptor: int) -> bool:
            try:
                data = os.read(descriptor, 65536)
            except BlockingIOError:
                return False
            if not data:
                return False
            if descriptor in kept:
                kept[descriptor].add(data)
            elif len(answered) < MAX_ANSWER_BYTES:
                answered.extend(data)
            return True

        latest = time.monotonic() + limits.wall_seconds + GRACE_SECONDS
        while not report:
            left = latest - time.monotonic()
            if left < 0:
                with contextlib.suppress(OSError):
                    self.kill()
                raise ServerGone("the fork-server did not answer in time")
            for descriptor, _ in poll.poll(left * 1000):
                if descriptor == done:
                    report = os.read(done, 65536)
                    if not report:
                        raise ServerGone("the fork-server ended during the run")
                elif descriptor == self.handle:
                    raise ServerGone("the fork-server ended during the run")
                elif not take(descriptor):
                    poll.unregister(descriptor)
        for descriptor in (stdout, stderr, answers):
            while take(descriptor):  # what still lay in the pipes; all that wrote are gone
                pass
        return Output(json.loads(report), kept[stdout], kept[stderr], bytes(answered))


class LinkedSandbox(Sandbox):
    """A sandbox whose runs are done by fork-servers."""

    @abc.abstractmethod
    def serving(self, limits: Limits) -> AbstractContextManager[Link]:
        """A server for one run with these limits.

        Raises:
            ServerGone: None can be had; when the body raises it, that server is given up.
        """

    def run(self, code: str, tests: Sequence[Case] | None = None, stdin: str = "", limits: Limits | None = None) -> ExecResult:
        """See `Sandbox.run`."""
        limits = limits or Limits()
        cases = tuple(tests or ())
        request = {"code": code, "tests": [case.code for case in cases], "stdin": stdin}
        layers: dict[str, str] = {}
        failure = ""
        for _ in range(2):  # a server that was ended from outside is replaced, once
            try:
                with self.serving(limits) as server:
                    layers = server.layers
                    output = server.run(request, limits)
            except ServerGone as problem:
                failure = str(problem)
                continue
            return assemble(output.ending(), cases, output.answers, output.stdout, output.stderr, asdict(limits), layers)
        empty = HeadAndTail(1)
        return assemble(Ending(failure=failure), cases, b"", empty, empty, asdict(limits), layers)


def _file_of(data: bytes) -> int:
    """A file in memory."""
    descriptor = os.memfd_create("request", os.MFD_CLOEXEC)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(data)
    return descriptor
