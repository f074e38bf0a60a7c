"""The interface that all backends share."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Literal, Self

from slmagent.errors import SlmagentError
from slmagent.sandbox.cases import Case
from slmagent.sandbox.limits import Limits
from slmagent.sandbox.result import ExecResult

Requirement = Literal["limits", "namespaces", "container"]
"""The least that must hold, weakest first: resource limits only; kernel namespaces of its own; a container."""


class SandboxError(SlmagentError):
    """A sandbox that cannot be had on this machine, or not as strong as it was asked for."""


class Sandbox(abc.ABC):
    """Runs programs that nobody trusts. Safe to call from several threads at once; usable as a context manager."""

    name: str
    """The backend's name."""

    @abc.abstractmethod
    def run(self, code: str, tests: Sequence[Case] | None = None, stdin: str = "", limits: Limits | None = None) -> ExecResult:
        """Runs a program as `__main__` and then its tests, in a fresh process that is gone when this returns.

        Args:
            code: Python source.
            tests: Run in order in the program's namespace; their expected values stay outside.
            stdin: What the program can read.
            limits: None takes the defaults of `Limits`.

        Returns:
            The outcome. A program that fails, hangs or attacks is an outcome, not an exception.
        """

    @abc.abstractmethod
    def layers(self) -> dict[str, str]:
        """Layers of isolation by name: `ok`, or why this machine does not grant it."""

    @abc.abstractmethod
    def close(self) -> None:
        """Ends everything that was started; `run` starts it again."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
