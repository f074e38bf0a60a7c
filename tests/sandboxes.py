"""The sandboxes that tests share."""

from __future__ import annotations

import os

import pytest

from slmagent.errors import SlmagentError
from slmagent.sandbox import make
from slmagent.sandbox.base import Sandbox
from slmagent.sandbox.docker.backend import IMAGE_VARIABLE
from slmagent.sandbox.limits import Limits
from slmagent.sandbox.process.backend import ProcessSandbox
from slmagent.sandbox.process.client import ForkServer

WITHOUT = "without namespaces"


class Plain(ProcessSandbox):
    """As on a machine that grants no namespaces."""

    def _start(self) -> ForkServer:
        return ForkServer(namespaces=False, reason="for this test")


def sandbox_or_skip(name: str, limits: Limits | None = None) -> Sandbox:
    """A sandbox that has run a program, with these limits.

    Where there is no Docker engine or no RestrictedPython the test is skipped, but not where an image was prepared for it.
    """
    may_lack = {"restricted"} if os.environ.get(IMAGE_VARIABLE) else {"restricted", "docker"}
    try:
        made = Plain() if name == WITHOUT else make(name)
    except SlmagentError as problem:
        if name not in may_lack:
            raise
        pytest.skip(f"{name}: {problem}")
    first = made.run("print(6 * 7)", limits=limits)
    assert first.stdout == "42\n", first
    return made
