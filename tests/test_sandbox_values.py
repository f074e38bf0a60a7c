"""Values at the edges of what can be sent, and what is judged of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from slmagent.sandbox.cases import Case
from slmagent.sandbox.child import MAX_DEPTH, MAX_PARTS, MAX_TEXT, encode
from slmagent.sandbox.judging import NOT_RUN, judge, same
from slmagent.sandbox.values import Opaque, decode


class Agreeable:
    """Equals everything."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash(4)


class AgreeableInt(int):
    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash(4)


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def answer(value: Any, number: int = 0) -> str:
    return json.dumps({"test": number, "value": encode(value)})


def test_depth_is_kept_up_to_its_limit() -> None:
    assert decode(encode(nested(MAX_DEPTH))) == nested(MAX_DEPTH)
    assert type(decode(encode(nested(MAX_DEPTH + 1)))) is Opaque


def test_what_is_too_large_or_holds_itself_is_opaque() -> None:
    loop: list[Any] = []
    loop.append(loop)
    ring: dict[str, Any] = {}
    ring["self"] = (ring,)
    for value in (loop, ring, [0] * MAX_PARTS, "x" * (MAX_TEXT + 1), b"x" * (MAX_TEXT + 1), 1 << 4 * (MAX_TEXT + 4)):
        assert type(decode(encode(value))) is Opaque
    assert decode(encode("x" * MAX_TEXT)) == "x" * MAX_TEXT
    assert len(decode(encode([0] * (MAX_PARTS - 1)))) == MAX_PARTS - 1


@pytest.mark.parametrize("value", [Agreeable(), AgreeableInt(4), AgreeableInt(7), True, 4.0, [4], "4"])
def test_what_equals_everything_passes_nothing(value: Any) -> None:
    assert not judge([Case("f()", value=4)], [answer(value)])[0].passed
    assert not judge([Case("f()", value=[4])], [answer([value])])[0].passed
    assert not judge([Case("f()", value={4: 1})], [answer({value: 1} if not isinstance(value, list) else {})])[0].passed
    assert judge([Case("f()", value=4)], [answer(4)])[0].passed


def test_the_first_answer_counts_and_noise_counts_for_nothing() -> None:
    cases = [Case("f()", value=1), Case("g()", value=2)]
    lines = ["", "[]", "{", "[" * 100_000, answer(0), answer(1), json.dumps({"test": True, "value": 2}), b"\xff\xfe"]
    first, second = judge(cases, lines)
    assert not first.passed
    assert first.ran
    assert first.got == "0"
    assert second == NOT_RUN


def test_tolerance_reaches_into_containers() -> None:
    expected, actual = {"a": [1.0, (2.0, 3)]}, {"a": [1.0 + 1e-9, (2.0, 3)]}
    assert not same(expected, actual)
    assert same(expected, actual, 1e-6)
    assert same({1.0, 2.0}, {1.0 + 1e-9, 2.0}, 1e-6)
    assert not same({1.0, 2.0}, {1.0, 1.0 + 1e-9}, 1e-6)
    assert not same(0.0, Opaque("0.0"), 1.0)
    assert not same(Opaque("x"), Opaque("x"))
