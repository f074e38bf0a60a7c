"""Attempts to get at the world outside: each succeeds in plain Python, and gets nothing within the policy."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from restricted_harness import is_power, programs, run

from slmagent.sandbox.restricted import names
from slmagent.sandbox.restricted.compiling import BUILTINS
from slmagent.sandbox.restricted.modules import load

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


def parts(obj: Any) -> Iterator[Any]:
    """What a program sees of an object without any guard, as patterns do: public attributes, items."""
    for name in filter(names.is_plain, dir(obj)):
        try:
            yield getattr(obj, name)
        except Exception:
            continue
    if isinstance(obj, dict):
        yield from itertools.islice(itertools.chain.from_iterable(obj.items()), 1000)
    elif isinstance(obj, (list, tuple, set, frozenset)):
        yield from itertools.islice(obj, 1000)


def test_nothing_handed_out_leads_outside_even_without_guards() -> None:
    seen: dict[int, Any] = {}
    ring: list[Any] = [*load().values(), *BUILTINS.values()]
    for _ in range(4):
        fresh = {id(obj): obj for obj in ring if id(obj) not in seen}
        seen |= fresh
        ring = [part for obj in fresh.values() for part in parts(obj)]
    assert len(seen) > 3000
    assert [obj for obj in seen.values() if is_power(obj)] == []
