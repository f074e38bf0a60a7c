"""Compares what a program answered with what was expected; runs on the asking side only, where the program never was."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from slmagent.sandbox.cases import MISSING, Case, Verdict
from slmagent.sandbox.streams import scrub
from slmagent.sandbox.values import Opaque, decode

GOT_CHARS = 200
NOT_RUN = Verdict(False, "did not run", ran=False)
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


def judge(cases: Sequence[Case], answers: Iterable[str | bytes]) -> tuple[Verdict, ...]:
    """Gives one verdict for each test.

    Args:
        cases: The tests, in the order they were asked.
        answers: Lines that came from the tested process, see `child`. Nothing is assumed about them: what cannot be read
            counts for nothing, and of several answers to one test the first counts.
    """
    found: dict[int, dict[str, Any]] = {}
    for answer in read_answers(answers):
        number = answer.get("test")
        if type(number) is int and number not in found:
            found[number] = answer
    return tuple(_verdict(case, found[number]) if number in found else NOT_RUN for number, case in enumerate(cases))


def read_answers(lines: Iterable[str | bytes]) -> list[dict[str, Any]]:
    """The lines that are JSON objects."""
    answers = []
    for line in lines:
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if type(answer) is dict:
            answers.append(answer)
    return answers


def _verdict(case: Case, answer: dict[str, Any]) -> Verdict:
    shown = str(answer.get("shown", ""))
    raised = answer.get("raised")
    if type(raised) is dict:
        names = raised.get("names")
        text = f"{raised.get('type')}: {raised.get('message')}".removesuffix(": ")
        passed = case.raises is not None and type(names) is list and case.raises in names
        return Verdict(passed, _short(text), raised=not passed)
    if case.output is not None:
        got, wanted = (scrub(text).rstrip("\n") for text in (shown, case.output))
        return Verdict(_same_text(wanted, got, case.tolerance), _short(got))
    if case.raises is not None:
        return Verdict(False, _short(scrub(shown).rstrip("\n") or "no exception"))
    try:
        value = decode(answer["value"])
        text = _repr(value)
        passed = same(case.value, value, case.tolerance)
    except (KeyError, ValueError, RecursionError):
        return Verdict(False, "an answer that is no value")
    return Verdict(passed, _short(text))


def _short(text: str) -> str:
    text = scrub(text)
    return text if len(text) <= GOT_CHARS else f"{text[: GOT_CHARS - 3]}..."


def _repr(value: Any) -> str:
    try:
        return repr(value)
    except ValueError:  # more digits than may be turned into decimals
        return hex(value) if type(value) is int else f"{type(value).__name__} with huge numbers"


# ---- equality ---------------------------------------------------------------------------------------------------------


def same(expected: Any, actual: Any, tolerance: float = 0.0) -> bool:
    """Whether two values have the same types and contents all through.

    Args:
        expected: None, bool, int, float, complex, str, bytes, or list, tuple, dict, set, frozenset of such.
        actual: What came.
        tolerance: Absolute and relative error allowed in floats; nan equals nan.
    """
    kind = type(expected)
    if kind is not type(actual) or kind is Opaque or expected is MISSING:
        return False
    if kind is float:
        return _close(expected, actual, tolerance)
    if kind is complex:
        return _close(expected.real, actual.real, tolerance) and _close(expected.imag, actual.imag, tolerance)
    if kind in (list, tuple):
        return len(expected) == len(actual) and all(
            same(mine, other, tolerance) for mine, other in zip(expected, actual, strict=True)
        )
    if kind is dict:
        others = {_key(key): item for key, item in actual.items()}
        return len(expected) == len(actual) and all(
            (frozen := _key(key)) in others and same(item, others[frozen], tolerance) for key, item in expected.items()
        )
    if kind in (set, frozenset):
        return len(expected) == len(actual) and _same_members(expected, actual, tolerance)
    return expected == actual


def _close(expected: float, actual: float, tolerance: float) -> bool:
    if math.isnan(expected) or math.isnan(actual):
        return math.isnan(expected) and math.isnan(actual)
    return expected == actual or math.isclose(expected, actual, rel_tol=tolerance, abs_tol=tolerance)


def _same_members(expected: Iterable[Any], actual: Iterable[Any], tolerance: float) -> bool:
    wanted = {_key(item): item for item in expected}
    there = {_key(item): item for item in actual}
    exact = wanted.keys() & there.keys()
    left = [item for key, item in there.items() if key not in exact]
    for key, item in wanted.items():
        if key in exact:
            continue
        near = next((position for position, other in enumerate(left) if tolerance and same(item, other, tolerance)), None)
        if near is None:
            return False
        del left[near]
    return not left


def _key(value: Any) -> Any:
    """Equal and hashes alike exactly for values that are the same."""
    kind = type(value)
    if kind is float and math.isnan(value):
        return kind, "nan"
    if kind is complex:
        return kind, _key(value.real), _key(value.imag)
    if kind is tuple:
        return kind, tuple(map(_key, value))
    if kind is frozenset:
        return kind, frozenset(map(_key, value))
    return kind, value


def _same_text(expected: str, actual: str, tolerance: float) -> bool:
    if expected == actual or not tolerance:
        return expected == actual
    if _NUMBER.split(expected) != _NUMBER.split(actual):
        return False
    pairs = zip(_NUMBER.findall(expected), _NUMBER.findall(actual), strict=True)
    return all(mine == other or _close(float(mine), float(other), tolerance) for mine, other in pairs)
