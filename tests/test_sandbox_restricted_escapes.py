"""Attempts to get at the world outside: each succeeds in plain Python, and gets nothing within the policy."""

from __future__ import annotations

import pytest
from restricted_harness import programs, run

ESCAPES = programs("escapes.txt")


def test_there_are_enough() -> None:
    assert len(ESCAPES) >= 60


@pytest.mark.parametrize("name", ESCAPES)
def test_reaches_nothing(name: str) -> None:
    outcome = run(ESCAPES[name])
    assert outcome.answer, "the process died"
    assert outcome.reached == ""


@pytest.mark.parametrize("name", [name for name, code in ESCAPES.items() if not code.startswith("# nocontrol")])
def test_is_a_real_attempt(name: str) -> None:
    outcome = run(ESCAPES[name], restricted=False)
    assert outcome.reached, outcome.answer
