"""Makes sandboxes by name."""

from __future__ import annotations

import importlib
from typing import get_args

from slmagent.errors import UsageError, nearest
from slmagent.sandbox.base import Requirement, Sandbox

BACKENDS = {
    "process": "slmagent.sandbox.process.backend:ProcessSandbox",
    "docker": "slmagent.sandbox.docker.backend:DockerSandbox",
    "restricted": "slmagent.sandbox.restricted.backend:RestrictedSandbox",
}
"""Name -> `module:class`, imported when asked for; the class takes `require`."""


def make(backend: str = "process", *, require: Requirement | None = None) -> Sandbox:
    """Makes a sandbox.

    Args:
        backend: Name of a backend.
        require: The least that must hold, None takes what the machine grants; `run` and `layers` tell what that is.

    Raises:
        UsageError: There is no such backend or requirement.
        SandboxError: The machine does not grant what is required.
        MissingExtraError: The backend needs a package that is not installed.
    """
    if backend not in BACKENDS:
        raise UsageError(f"no sandbox backend {backend!r}; {nearest(backend, BACKENDS)}")
    if require is not None and require not in get_args(Requirement):
        raise UsageError(f"no requirement {require!r}; {nearest(require, get_args(Requirement))}")
    module, _, name = BACKENDS[backend].partition(":")
    return getattr(importlib.import_module(module), name)(require=require)
