"""Whether a programming task is what it says: its reference passes, and doing nothing does not."""

from __future__ import annotations

from collections.abc import Sequence

from slmagent.envs.code_assist.answers import counts, read_answer, solution
from slmagent.errors import SlmagentError
from slmagent.sandbox.base import Sandbox
from slmagent.sandbox.cases import Case
from slmagent.sandbox.limits import Limits
from slmagent.sandbox.result import ExecResult
from slmagent.scenarios.code.records import Check, CodeTask
from slmagent.scenarios.code.syntax import literal

EMPTY = "pass"
"""What an empty hole holds."""


def case_of(check: Check) -> Case:
    """A check as the sandbox takes it."""
    if check.kind == "value":
        return Case(check.code, value=literal(check.expect), tolerance=check.tolerance)
    if check.kind == "output":
        return Case(check.code, output=check.expect)
    return Case(check.code, raises=check.expect)


def run_checks(sandbox: Sandbox, program: str, checks: Sequence[Check], limits: Limits | None = None) -> ExecResult:
    """Runs a program and its checks.

    Raises:
        SlmagentError: The sandbox failed, which says nothing about the program.
    """
    result = sandbox.run(program, [case_of(check) for check in checks], limits=limits)
    if result.status == "sandbox_error":
        raise SlmagentError(f"the sandbox failed: {result.error.message if result.error else 'no message'}")
    return result


def verify(task: CodeTask, sandbox: Sandbox, limits: Limits | None = None) -> list[str]:
    """Tries a task out: the reference passes all checks, twice with the same answers, and counts as an answer; an empty hole
    and, where there is one, the broken body do not pass.

    Args:
        task: The task.
        sandbox: Where it runs.
        limits: Of each run; None takes the defaults.

    Returns:
        What is wrong, as texts of the form `kind: particulars`; nothing when the task can be used.

    Raises:
        SlmagentError: The sandbox failed.
    """
    if task.kind == "explain":
        return [] if task.names else ["nothing to name: an explanation has no word to be judged by"]
    if not task.checks:
        return ["no tests: nothing would be judged"]
    checks = (*task.examples, *task.checks)

    def run(filling: str, tested: tuple[Check, ...]) -> ExecResult:
        return run_checks(sandbox, f"{task.before}{filling}{task.after}", tested, limits)

    first = run(task.reference, checks)
    if not first.passed:
        return [f"the reference fails: {_failure(first, checks)}"]
    again = run(task.reference, checks)
    if (first.stdout, first.verdicts) != (again.stdout, again.verdicts):
        return ["two runs differ: the same program gave other answers the second time"]
    problems: list[str] = []
    if run(EMPTY, task.checks).passed:
        problems.append("an empty hole passes: no hidden check needs what belongs there")
    if task.broken and run(task.broken, task.checks).passed:
        problems.append("the broken body passes: no hidden check notices the fault")
    if not counts(task, read_answer(task, solution(task))):
        problems.append("the reference does not count: it does nothing, or copies what stands around it")
    return problems


def _failure(result: ExecResult, checks: tuple[Check, ...]) -> str:
    """The first thing that went wrong in a run."""
    if result.error is not None:
        return f"{result.status}, {result.error.type}: {result.error.message}"
    for check, verdict in zip(checks, result.verdicts, strict=False):
        if not verdict.passed:
            return f"{check.code!r} gave {verdict.got}, expected {check.kind} {check.expect!r}"
    return f"{result.status} before its tests had run"
