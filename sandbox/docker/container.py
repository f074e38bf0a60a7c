"""A fork-server that is the first process of a container: starts it, and ends it."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import shutil
import socket
import tempfile
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import requests.exceptions
from docker.errors import DockerException, NotFound
from docker.types import LogConfig, Ulimit

from slmagent.sandbox.docker import inside
from slmagent.sandbox.limits import Limits
from slmagent.sandbox.process.link import BOOT, OPTIONS, SANDBOX, START_SECONDS, Link, Output, ServerGone

if TYPE_CHECKING:
    from docker import DockerClient

MODULES = "/opt/slmagent-sandbox"
"""Where the container sees our modules."""
LINE = "/run/slmagent-sandbox"
"""Where it sees the socket."""
LABEL = "slmagent.sandbox"
USERS = range(20_000, 60_000)
"""Every container has a user of its own, since the kernel counts some things by user over all containers."""
INTERPRETER_MB = 64
"""Memory for the prepared interpreter."""
SERVER_PROCESSES = 4
"""Processes besides the program's: the server, and some that it has not yet waited for."""
LOOK_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Shape:
    """Limits that belong to a container, so that runs with the same ones can share it."""

    memory_mb: int
    file_mb: int
    processes: int

    @classmethod
    def of(cls, limits: Limits) -> Shape:
        """What a run asks for."""
        return cls(limits.memory_mb, limits.file_mb, limits.processes)


class Container(Link):
    """A running container."""

    def __init__(self, engine: DockerClient, image: str, shape: Shape) -> None:
        """Starts it.

        Args:
            engine: Client of an engine on this machine: the container gets a socket of ours.
            image: Image with `python3` 3.11 or newer.
            shape: Its limits.

        Raises:
            ServerGone: It did not start; the message says why.
        """
        self.shape = shape
        self.runs = 0
        self.clean = True
        self._closing = threading.Lock()
        self._container = None
        outer = tempfile.mkdtemp(prefix="slmagent-sandbox-")  # closed to all others
        folder = os.path.join(outer, "line")
        try:
            os.mkdir(folder)
            os.chmod(folder, 0o755)
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
                listener.bind(os.path.join(folder, "server"))
                os.chmod(os.path.join(folder, "server"), 0o666)
                listener.listen(1)
                self._container = container = engine.containers.run(image, **_settings(folder, shape))
                line = self._await_call(listener, container)
            # The socket's end is the server's: it is readable only then, since between runs nothing comes from it.
            super().__init__(line, line.fileno())
        except (DockerException, requests.exceptions.RequestException, OSError) as problem:
            self.end()
            raise ServerGone(f"the container did not start: {problem}") from None
        except BaseException:
            self.end()
            raise
        finally:
            shutil.rmtree(outer, ignore_errors=True)

    def _await_call(self, listener: socket.socket, container: Any) -> socket.socket:
        listener.settimeout(LOOK_SECONDS)
        for _ in range(round(START_SECONDS / LOOK_SECONDS)):
            with contextlib.suppress(TimeoutError):
                return listener.accept()[0]
            try:
                container.reload()
            except NotFound:
                break
        raise ServerGone(
            "the container ended before its server had called; does its image have python3, 3.11 or newer, and is the engine on"
            " this machine?"
        )

    def run(self, request: dict[str, Any], limits: Limits) -> Output:
        """See `Link.run`; notes in `clean` whether nothing of the run is left."""
        self.runs += 1
        output = super().run(request, limits)
        self.clean = output.report.get("clean", False)
        return output

    @property
    def name(self) -> str:
        """What the engine calls it."""
        return str(self._container.name if self._container else "")

    def alive(self) -> bool:
        """Whether its server still holds its end of the line."""
        return not select.select([self._line], [], [], 0)[0]

    def kill(self) -> None:
        """See `Link.kill`."""
        if self._container is not None:
            with contextlib.suppress(DockerException, requests.exceptions.RequestException):
                self._container.remove(force=True, v=True)

    def end(self) -> None:
        """Ends it and its run; they are gone when this returns."""
        with self._closing:
            self.kill()
            with contextlib.suppress(AttributeError):  # there was no call yet
                self._line.close()


def _settings(folder: str, shape: Shape) -> dict[str, Any]:
    """What the engine is asked for."""
    config = {
        "connect": f"{LINE}/server",
        "place": "container",
        "reason": "",
        "policy": None,
        "folders": [],
        "sandbox": MODULES,
    }
    user = secrets.choice(USERS)
    memory = f"{shape.memory_mb + len(inside.FOLDERS) * shape.file_mb + INTERPRETER_MB}m"
    writable = f"rw,nosuid,nodev,noexec,size={shape.file_mb}m,nr_inodes=4096,mode=0700,uid={user},gid={user}"
    return {
        "entrypoint": ["python3"],
        "command": [*OPTIONS, BOOT, json.dumps(config)],
        "name": f"slmagent-sandbox-{secrets.token_hex(6)}",
        "labels": {LABEL: ""},
        "detach": True,
        "auto_remove": True,
        "hostname": "sandbox",
        "working_dir": inside.FOLDERS[0],
        "environment": {"PYTHONHASHSEED": "0"},
        "user": f"{user}:{user}",
        "network_mode": "none",
        "ipc_mode": "private",
        "read_only": True,
        "tmpfs": dict.fromkeys(inside.FOLDERS, writable),
        "shm_size": f"{shape.file_mb}m",
        "volumes": {str(SANDBOX): {"bind": MODULES, "mode": "ro"}, folder: {"bind": LINE, "mode": "ro"}},
        "mem_limit": memory,
        "memswap_limit": memory,
        "pids_limit": shape.processes + SERVER_PROCESSES,
        "nano_cpus": 10**9,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        "ulimits": [Ulimit(name="core", soft=0, hard=0)],
        "log_config": LogConfig(type="none"),
    }
