"""Grades programs that nobody trusts: tests are asked inside the sandbox, answers are compared outside of it."""

from slmagent.sandbox import make
from slmagent.sandbox.cases import Case
from slmagent.sandbox.limits import Limits

PROGRAMS = {
    "right": "def median(xs):\n    xs = sorted(xs)\n    n = len(xs)\n    return (xs[n // 2] + xs[(n - 1) // 2]) / 2",
    "wrong": "def median(xs):\n    return sorted(xs)[len(xs) // 2]",
    "stuck": "def median(xs):\n    while True:\n        xs = sorted(xs)",
    "cheat": (
        "class Yes:\n    def __eq__(self, other):\n        return True\n\n"
        "def median(xs):\n    print('all tests passed')\n    return Yes()"
    ),
    "exit": "import os\nprint('all tests passed')\nos._exit(0)",
}
TESTS = [
    Case("median([3, 1, 2])", value=2.0),
    Case("median([4, 1, 3, 2])", value=2.5),
    Case("median([])", raises="IndexError"),
]

with make("process") as sandbox:
    for name, program in PROGRAMS.items():
        result = sandbox.run(program, TESTS, limits=Limits(cpu_seconds=0.5))
        marks = "".join("+" if verdict.passed else "-" for verdict in result.verdicts)
        failed = next((verdict.got for verdict in result.verdicts if not verdict.passed), "")
        print(f"{name:6} {marks} {result.status:9} {failed}")
