"""The `process` backend."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator, Sequence

from slmagent.sandbox.base import Requirement, SandboxError
from slmagent.sandbox.limits import Limits
from slmagent.sandbox.process.client import ForkServer
from slmagent.sandbox.process.link import Link, LinkedSandbox, ServerGone


class ProcessSandbox(LinkedSandbox):
    """Runs each program in a fresh fork of a warm interpreter, inside kernel namespaces of its own where there are any.

    The fork-server starts with the first run, one for each process that uses this object: after a fork, the child gets
    its own. What a layer means stands in the docstring of `slmagent.sandbox`.
    """

    name = "process"

    def __init__(self, *, require: Requirement | None = None, policy: str | None = None, folders: Sequence[str] = ()) -> None:
        """Prepares; starts nothing yet, unless a requirement has to be checked.

        Args:
            require: The least that must hold.
            policy: `module:attribute` of a policy that every program has to pass, see `child.Policy`.
            folders: Where modules that the policy needs can be imported from.

        Raises:
            SandboxError: This machine does not grant what is required.
        """
        self._policy = policy
        self._folders = tuple(folders)
        self._server: ForkServer | None = None
        self._starting = threading.Lock()
        self._owner = os.getpid()
        if require == "container":
            raise SandboxError(f"the {self.name} backend is no container; the docker backend is")
        if require == "namespaces":
            missing = [f"{name}: {state}" for name, state in self.layers().items() if state != "ok"]
            if missing:
                self.close()
                raise SandboxError(
                    f"this machine does not grant the namespaces that are required ({'; '.join(missing)});"
                    " allow user namespaces, or run as root"
                )

    @contextlib.contextmanager
    def serving(self, limits: Limits) -> Iterator[Link]:
        """See `LinkedSandbox.serving`."""
        server = self._running_server()
        try:
            yield server
        except ServerGone:
            self._give_up(server)
            raise

    def layers(self) -> dict[str, str]:
        """See `Sandbox.layers`."""
        try:
            return dict(self._running_server().layers)
        except ServerGone as problem:
            return {"limits": str(problem)}

    def close(self) -> None:
        """See `Sandbox.close`."""
        with self._lock():
            if self._server is not None:
                self._server.end()
            self._server = None

    def _give_up(self, server: ForkServer) -> None:
        """Ends a server that is gone but may not be seen dead yet, unless another thread has a new one already."""
        with self._lock():
            if self._server is server:
                server.end()
                self._server = None

    def _lock(self) -> threading.Lock:
        if self._owner != os.getpid():  # a fork may have copied the lock while another thread held it
            self._owner = os.getpid()
            self._starting = threading.Lock()
            self._server = None
        return self._starting

    def _running_server(self) -> ForkServer:
        with self._lock():
            if self._server is None or not self._server.alive():
                if self._server is not None:
                    self._server.end()
                self._server = self._start()
            return self._server

    def _start(self) -> ForkServer:
        try:
            server = ForkServer(namespaces=True, policy=self._policy, folders=self._folders)
            problem = _fault(server)
        except ServerGone as gone:
            problem = str(gone)
        else:
            if problem is None:
                return server
            server.end()
        return ForkServer(namespaces=False, reason=problem, policy=self._policy, folders=self._folders)


def _fault(server: ForkServer) -> str | None:
    """What keeps a control program from running as it should, or None."""
    output = server.run({"code": "print(6 * 7)", "tests": [], "stdin": ""}, Limits())
    ending = output.ending()
    if ending.failure is None and ending.exit_code == 0 and output.stdout.text("")[0] == "42\n":
        return None
    return ending.failure or f"a control program did not run: {output.answers.decode('utf-8', 'replace')[:300]}"
