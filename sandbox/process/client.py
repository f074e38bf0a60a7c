"""A fork-server of this machine: starts it as a child process, and ends it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from slmagent.sandbox.process.link import BOOT, OPTIONS, SANDBOX, Link, ServerGone

if TYPE_CHECKING:
    from slmagent.sandbox.process.runner import Place


class ForkServer(Link):
    """A running fork-server that is a child process of ours."""

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
        line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        place: Place = "namespaces" if namespaces else "host"
        config = {
            "socket": theirs.fileno(),
            "parent": os.getpid(),
            "place": place,
            "reason": reason,
            "policy": policy,
            "folders": list(folders),
            "sandbox": str(SANDBOX),
        }
        # A venv's own interpreter is a link that finds no standard library without its `site`.
        python = getattr(sys, "_base_executable", None) or sys.executable
        with theirs:
            self._process = subprocess.Popen(
                [python, *OPTIONS, BOOT, json.dumps(config)],
                env={"PYTHONHASHSEED": "0"},
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        self._closing = threading.Lock()
        try:
            super().__init__(line, os.pidfd_open(self._process.pid))
        except ServerGone:
            self.end()
            raise

    def alive(self) -> bool:
        """Whether it can take runs: it lives, and this is the process that started it."""
        return self.parent == os.getpid() and self._process.poll() is None

    def kill(self) -> None:
        """See `Link.kill`."""
        self._process.kill()

    def end(self) -> None:
        """Ends it and all its runs; they are gone when this returns."""
        with self._closing:
            if self.parent != os.getpid() or self.handle < 0:
                return
            self._process.kill()
            self._process.wait()
            self._line.close()
            os.close(self.handle)
            self.handle = -1
