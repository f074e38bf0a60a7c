"""The asking side's handle on a fork-server: starts it, hands it runs, notices its death."""

from __future__ import annotations

import array
import contextlib
import json
import os
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from slmagent.sandbox.limits import Limits
from slmagent.sandbox.streams import HeadAndTail

FOLDER = Path(__file__).resolve().parent
START_SECONDS = 30.0
GRACE_SECONDS = 5.0
"""Time past the limit after which a server that has not answered counts as hung."""

# Finds our modules by folder, without the packages' own code and without site-packages.
_BOOT = """
import json, sys, types
config = json.loads(sys.argv[1])
for name, folder in config["packages"].items():
    module = sys.modules[name] = types.ModuleType(name)
    module.__path__ = [folder] if folder else []
from slmagent.sandbox.process.server import main
main(config)
"""


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


class ForkServer:
    """A running fork-server; safe to use from several threads."""

    def __init__(self, *, namespaces: bool, reason: str = "", policy: str | None = None, folders: Sequence[str] = ()) -> None:
        """Starts it.

        Args:
            namespaces: Whether runs get namespaces of their own.
            reason: Why not, when not.
            policy: `module:attribute` of a policy that every program has to pass, see `child.Policy`.
            folders: Where modules that the policy needs can be imported from.

        Raises:
            ServerGone: It did not start; the message says why.
        """
        self.parent = os.getpid()
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        config = {
            "socket": theirs.fileno(),
            "parent": self.parent,
            "namespaces": namespaces,
            "reason": reason,
            "policy": policy,
            "folders": list(folders),
            "packages": {
                "slmagent": None,
                "slmagent.sandbox": str(FOLDER.parent),
                "slmagent.sandbox.process": str(FOLDER),
            },
        }
        # A venv's own interpreter is a link that finds no standard library without its `site`.
        python = getattr(sys, "_base_executable", None) or sys.executable
        with theirs:
            self._process = subprocess.Popen(
                [python, "-s", "-S", "-P", "-B", "-X", "utf8", "-c", _BOOT, json.dumps(config)],
                env={"PYTHONHASHSEED": "0"},  # -I would ignore it
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        self._closing = threading.Lock()
        self.handle = os.pidfd_open(self._process.pid)
        self._socket.settimeout(START_SECONDS)
        try:
            hello: dict[str, Any] = json.loads(
                self._socket.recv(65536) or b'{"error": "the fork-server ended while it started"}'
            )
        except OSError as problem:
            hello = {"error": f"the fork-server did not start: {problem}"}
        if "error" in hello:
            self.end()
            raise ServerGone(hello["error"])
        self._socket.settimeout(None)
        self.layers: dict[str, str] = hello["layers"]

    def alive(self) -> bool:
        """Whether it can take runs: it lives, and this is the process that started it."""
        return self.parent == os.getpid() and self._process.poll() is None

    def end(self) -> None:
        """Ends it and all its runs; they are gone when this returns."""
        with self._closing:
            if self.parent != os.getpid() or self.handle < 0:
                return
            self._process.kill()
            self._process.wait()
            self._socket.close()
            os.close(self.handle)
            self.handle = -1

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
            self._socket.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))])
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
                    self._process.kill()
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


MAX_ANSWER_BYTES = 64 << 20
"""More than this of answers is dropped."""


def _file_of(data: bytes) -> int:
    """A file in memory."""
    descriptor = os.memfd_create("request", os.MFD_CLOEXEC)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(data)
    return descriptor
