"""The `restricted` backend: the policy, inside the `process` backend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from slmagent.errors import require as require_package
from slmagent.sandbox.base import Requirement
from slmagent.sandbox.cases import Case
from slmagent.sandbox.limits import Limits
from slmagent.sandbox.process.backend import ProcessSandbox
from slmagent.sandbox.result import ExecResult


class RestrictedSandbox(ProcessSandbox):
    """Refuses programs by the policy of `slmagent.sandbox.restricted`, and runs what passes in a fresh process.

    A refusal has the status `rejected`; its message names each line, what stands there and what to write instead. Tests are
    trusted, so they are not held to the policy; they use the program's built-in names.
    """

    name = "restricted"

    def __init__(self, *, require: Requirement | None = None) -> None:
        """Prepares; starts nothing yet, unless a requirement has to be checked.

        Args:
            require: The least that must hold besides the policy.

        Raises:
            SandboxError: This machine does not grant what is required.
            MissingExtraError: RestrictedPython is not installed.
        """
        package = require_package("RestrictedPython", extra="restricted", purpose="the restricted sandbox")
        folder = Path(str(package.__file__)).parent.parent
        super().__init__(require=require, policy="slmagent.sandbox.restricted.compiling:compile_program", folders=[str(folder)])

    def run(self, code: str, tests: Sequence[Case] | None = None, stdin: str = "", limits: Limits | None = None) -> ExecResult:
        """See `Sandbox.run`."""
        outcome = super().run(code, tests, stdin, limits)
        return replace(outcome, layers=("policy", *outcome.layers))

    def layers(self) -> dict[str, str]:
        """See `Sandbox.layers`."""
        return {"policy": "ok"} | super().layers()
