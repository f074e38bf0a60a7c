"""Tries a program out in the sandbox; the same program is tried once."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from slmagent.envs.code_assist.verification import run_checks
from slmagent.sandbox import make
from slmagent.sandbox.base import Sandbox
from slmagent.sandbox.limits import Limits
from slmagent.scenarios.code.records import Check

LIMITS = Limits(cpu_seconds=1.0, output_chars=2000)
"""CPU time decides, since it repeats."""
_NO_SYNTAX = ("SyntaxError", "IndentationError", "TabError")


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of it."""

    syntax: bool
    """It could be parsed."""
    runs: bool
    """It ran to its end, and so did all tests, without an error that no test wants."""
    passed: bool
    """All tests passed."""
    failure: str
    """The first thing that went wrong, without what was expected; empty if nothing did."""
    expected: str
    """What was expected there; empty where nothing in particular was."""


@functools.lru_cache(maxsize=4096)
def try_program(program: str, checks: tuple[Check, ...]) -> Trial:
    """Runs a program and then its tests.

    Raises:
        SlmagentError: The sandbox failed, which says nothing about the program.
    """
    result = run_checks(_sandbox(), program, checks, LIMITS)
    error = result.error
    if error is not None:
        syntax = error.type not in _NO_SYNTAX
        place = "" if error.line is None else f" in line {error.line}"
        failure = f"{error.type}{place}: {error.message}" if result.status == "error" else f"it {error.message}"
        return Trial(syntax, False, False, failure, "")
    for check, verdict in zip(checks, result.verdicts, strict=True):
        if not verdict.passed:
            runs = all(one.ran and not one.raised for one in result.verdicts)
            return Trial(True, runs, False, f"{_call(check)} gives {verdict.got}", _wanted(check))
    return Trial(True, True, True, "", "")


def _call(check: Check) -> str:
    return "; ".join(check.code.splitlines())


def _wanted(check: Check) -> str:
    return f"an error of type {check.expect}" if check.kind == "raises" else check.expect


@functools.cache
def _sandbox() -> Sandbox:
    return make("process")
