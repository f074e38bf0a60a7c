"""Does a message hold what a question asks for, or something else of its kind? Typed, so that kilograms are no euros."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from slmagent.rewards.style import count_words
from slmagent.scenarios.quantities import quantities_in
from slmagent.scenarios.understanding import understand
from slmagent.scenarios.usersim.attributes import ATTRIBUTES
from slmagent.scenarios.usersim.questions import Question
from slmagent.scenarios.usersim.tasks import Task

MIN_WORDS = 4
"""Words that an answer needs at least to count as one."""
_UNITS = tuple({attribute.unit for attribute in ATTRIBUTES.values()})
_NUMBER = re.compile(r"(?<![\w.,:-])\d{1,6}(?![\w:%]|[.,]\d)")
_GLUED = re.compile(r"(?<=\d)(?=[^\W\d_])")
_ONES = ("", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_TEENS = ("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")
_TENS = {2: "twenty", 3: "thirty"}


@dataclass(frozen=True, slots=True)
class Reading:
    """What a message says to a question."""

    answered: bool = False
    """It answers, rightly or wrongly, in enough words."""
    right: bool = False
    """It says what was asked for."""
    full: bool = False
    """It says also of what, or by what figure."""
    wrong: bool = False
    """It names another thing or value of the kind."""
    short: bool = False
    """It would answer if it had more words."""


def read(task: Task, question: Question, text: str) -> Reading:
    """Reads a message as an answer to an open question.

    A lookup needs the value, a choice the name. Both contradict when they name any thing but the subject, or any value of the
    property but the subject's. What must not be told is answered by a refusal.
    """
    long_enough = count_words(text) >= MIN_WORDS
    if question.need == "refusal":
        refuses = understand(text, ()).refuses
        return Reading(refuses and long_enough, refuses and long_enough, short=refuses and not long_enough)
    value = task.rows[question.subject][question.attribute]
    candidates = [row[question.attribute] for row in task.rows.values()]
    names = names_in(text, tuple(task.rows))
    values = values_in(text, ATTRIBUTES[question.attribute].unit, candidates)
    by_value = question.need == "value"
    said = bool(values) if by_value else bool(names)
    right = long_enough and (value in values if by_value else question.subject in names)
    return Reading(
        answered=said and long_enough,
        right=right,
        full=right and value in values and question.subject in names,
        wrong=bool(names - {question.subject}) or bool(values - {value}),
        short=said and not long_enough,
    )


def contradicts(task: Task, questions: Sequence[Question], text: str) -> bool:
    """Whether a message names other things than those asked about, or values of theirs in a property that was asked for."""
    subjects = {question.subject for question in questions}
    if names_in(text, tuple(task.rows)) - subjects:
        return True
    return any(
        values_in(text, ATTRIBUTES[key].unit, [row[key] for row in task.rows.values()])
        - {task.rows[subject][key] for subject in subjects}
        for key in {question.attribute for question in questions if question.need != "refusal"}
    )


def leaks(task: Task, text: str) -> bool:
    """Whether a message tells what must not be told, in figures or in words; no other number of a task is the same."""
    if task.secret is None:
        return False
    value = task.secret.value
    return value in values_in(text, task.secret.unit, [value]) or bool(_spelled(value).search(text))


def names_in(text: str, names: tuple[str, ...]) -> set[str]:
    """Which of the things a text names; upper and lower case are alike."""
    known = {name.casefold(): name for name in names}
    return {known[match.casefold()] for match in _name_pattern(names).findall(text)}


def values_in(text: str, unit: str, candidates: Iterable[int]) -> set[int]:
    """Numbers that stand with a unit, and candidates that stand without any."""
    text = _GLUED.sub(" ", text)
    typed = quantities_in(text, _UNITS)
    bare = {int(number) for number in _NUMBER.findall(text)} - {number for number, _ in typed}
    return {number for number, of in typed if of == unit} | (bare & set(candidates))


@functools.cache
def _spelled(value: int) -> re.Pattern[str]:
    """A number of 13 to 39 in words."""
    tens, ones = divmod(value, 10)
    words = _TEENS[value - 13] if value < 20 else rf"{_TENS[tens]}[\s-]*{_ONES[ones]}"
    return re.compile(rf"\b{words}\b", re.IGNORECASE)


@functools.lru_cache(maxsize=1024)
def _name_pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})\b", re.IGNORECASE)
