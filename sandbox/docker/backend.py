"""The `docker` backend."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from slmagent.errors import require as require_package
from slmagent.sandbox.base import Requirement, SandboxError
from slmagent.sandbox.limits import Limits
from slmagent.sandbox.process.link import Link, LinkedSandbox, ServerGone

if TYPE_CHECKING:
    from docker import DockerClient

    from slmagent.sandbox.docker.container import Container

IMAGE = "python:3.11-slim"
IMAGE_VARIABLE = "SLMAGENT_SANDBOX_IMAGE"
MOST_CONTAINERS = 8
"""Containers at one time; further runs wait."""
RUNS_EACH = 1000
"""Runs after which a container is replaced."""


class DockerSandbox(LinkedSandbox):
    """Runs each program in a fresh fork of a warm interpreter inside a container, one at a time in each.

    Containers start when they are needed, one for each run that goes on at the same time, and stay warm. One is used again
    only when its server has seen that nothing of the last run is left. The engine has to be on this machine (Linux):
    a container is reached through a socket in a file system, and has no network. Objects of this class are not carried over
    a fork: the child starts containers of its own.
    """

    name = "docker"

    def __init__(self, *, require: Requirement | None = None, image: str | None = None) -> None:
        """Looks for the engine and the image; starts nothing yet, unless a requirement has to be checked.

        Args:
            require: The least that must hold.
            image: Image with `python3` 3.11 or newer, None takes the variable SLMAGENT_SANDBOX_IMAGE or python:3.11-slim.

        Raises:
            SandboxError: No engine answers, it does not have the image, or less holds than is required.
            MissingExtraError: The Docker SDK is not installed.
        """
        require_package("docker", extra="docker", purpose="the docker sandbox")
        self._image = image or os.environ.get(IMAGE_VARIABLE) or IMAGE
        self.engine = _engine(self._image)
        self._begin()
        if require in ("namespaces", "container"):
            missing = [f"{name}: {state}" for name, state in self.layers().items() if state != "ok"]
            if missing:
                self.close()
                raise SandboxError(f"the engine's containers are not what is required ({'; '.join(missing)})")

    @contextlib.contextmanager
    def serving(self, limits: Limits) -> Iterator[Link]:
        """See `LinkedSandbox.serving`."""
        container = self._take(limits)
        try:
            yield container
        except BaseException:
            container.clean = False
            raise
        finally:
            self._give_back(container)

    def layers(self) -> dict[str, str]:
        """See `Sandbox.layers`."""
        try:
            with self.serving(Limits()) as container:
                return dict(container.layers)
        except ServerGone as problem:
            return {"container": str(problem)}

    def close(self) -> None:
        """See `Sandbox.close`."""
        if self._owner != os.getpid():
            return
        with self._lock:
            containers = [*self._all]
            self._all.clear()
            self._idle.clear()
        for container in containers:
            container.end()
        self._away.shutdown()
        self._begin()

    @property
    def containers(self) -> tuple[Container, ...]:
        """Those that are up."""
        with self._lock:
            return tuple(self._all)

    # ---- the pool ---------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """An empty pool, which is this process's own."""
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._room = threading.BoundedSemaphore(MOST_CONTAINERS)
        self._idle: list[Container] = []
        self._all: set[Container] = set()
        self._away = ThreadPoolExecutor(1, thread_name_prefix="containers")

    def _take(self, limits: Limits) -> Container:
        """A container that nobody else uses, until it is given back."""
        from slmagent.sandbox.docker.container import Container, Shape

        if self._owner != os.getpid():
            self.engine = _engine(self._image)  # connections are not shared with the parent
            self._begin()
        shape = Shape.of(limits)
        self._room.acquire()
        try:
            with self._lock:
                fitting = [one for one in self._idle if one.shape == shape and one.alive()]
                gone = [one for one in self._idle if not one.alive()]
                if not fitting and len(self._all) - len(gone) >= MOST_CONTAINERS:
                    gone += [one for one in self._idle if one not in gone][:1]  # it makes room
                for one in (*fitting[-1:], *gone):
                    self._idle.remove(one)
            for one in gone:
                self._end(one)
            if fitting:
                return fitting[-1]
            container = Container(self.engine, self._image, shape)
            with self._lock:
                self._all.add(container)
            return container
        except BaseException:
            self._room.release()
            raise

    def _give_back(self, container: Container) -> None:
        with self._lock:
            keep = container.clean and container.runs < RUNS_EACH and container in self._all
            if keep:
                self._idle.append(container)
        if not keep:
            self._away.submit(self._end, container)
        self._room.release()

    def _end(self, container: Container) -> None:
        with self._lock:
            self._all.discard(container)
        container.end()


def _engine(image: str) -> DockerClient:
    import docker
    from docker.errors import DockerException, ImageNotFound

    try:
        engine = docker.from_env()
        engine.images.get(image)
    except ImageNotFound:
        raise SandboxError(
            f"the Docker engine does not have the image {image}: docker pull {image}, or name one that has python3"
            f" in {IMAGE_VARIABLE}"
        ) from None
    except DockerException as problem:
        raise SandboxError(f"no Docker engine answers ({problem}); start one, or say where it is in DOCKER_HOST") from None
    return engine
