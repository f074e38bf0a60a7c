"""Everyday programs give within the policy what they give in plain Python."""

from __future__ import annotations

import pytest
from restricted_harness import programs, run

PROGRAMS = programs("everyday.txt")
STDIN = "Ann\n21\na,b\nc\n"


def test_there_are_enough() -> None:
    assert len(PROGRAMS) >= 60


@pytest.mark.parametrize("name", PROGRAMS)
def test_runs_as_in_plain_python(name: str) -> None:
    plain, restricted = (run(PROGRAMS[name], restricted=restricted, stdin=STDIN) for restricted in (False, True))
    assert plain.answer["program"] is None or name in ("exceptions that end it", "exit code")
    assert restricted.answer == plain.answer
    assert restricted.output == plain.output
