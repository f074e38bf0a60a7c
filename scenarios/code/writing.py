"""Writes a task down: the file around it, the request, its tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from slmagent.scenarios.code.copying import copied_share
from slmagent.scenarios.code.families.family import Family
from slmagent.scenarios.code.families.instance import Instance, Part
from slmagent.scenarios.code.records import Check, Clarification, CodeTask, TaskKind

Draw = Callable[[str], int]
"""A large number that belongs to this task and to what it is drawn for."""
MOST_OPEN = 2
"""Choices that a request leaves open at most."""
LONG_FILE = 500
"""Lines of a long file, at least."""
_TRIES = 20
_ABOUT = ("Small helpers.", "Helpers for the daily report.", "What the importer needs.", "Shared by the scripts.")
_ABOUT_OOD = ("Odds and ends.", "For the village almanac.", "Kept from the old workshop.", "Used by the museum's guide.")
_REQUESTS: Mapping[bool, Mapping[TaskKind, str]] = {
    False: {
        "line": "Please finish the line at the cursor in `{name}`.",
        "expression": "Please write the expression at the cursor in `{name}`. For example, {example}.",
        "body": "Please write the body of `{name}`.",
        "method": "Please write the body of the method `{name}`.",
        "intent": "Please write the body of `{name}`. Ask me if it is not clear what it should do.",
        "repair": "`{name}` does not do what it says: {example}. Please write a body that works.",
        "explain": "What does `{name}` do? One sentence without code will do.",
    },
    True: {
        "line": "The line at the cursor in `{name}` breaks off, would you complete it?",
        "expression": "An expression is missing at the cursor in `{name}`, can you supply it? As a sample, {example}.",
        "body": "`{name}` has no body so far, can you supply one?",
        "method": "The method `{name}` has no body so far, can you supply one?",
        "intent": "`{name}` has no body so far, can you supply one? Check back with me where the wish is vague.",
        "repair": "There is a fault in `{name}`: {example}. Can you supply a body that is right?",
        "explain": "I cannot make out what `{name}` is for, can you tell me in a sentence and without code?",
    },
}


def write_task(
    name: str,
    level: int,
    kind: TaskKind,
    instance: Instance,
    part: Part,
    pool: Sequence[Family],
    draw: Draw,
    *,
    ood: bool,
) -> CodeTask:
    """Writes a task.

    Args:
        name: Its name.
        level: Of the environment; files get long at 4.
        kind: What is asked for.
        instance: The code, rightly done.
        part: What is missing of it.
        pool: Where the other code of the file comes from.
        draw: Source of numbers.
        ood: Whether to word it as in the `ood` split.
    """
    checks = instance.checks()
    clarifications: tuple[Clarification, ...] = ()
    if kind == "intent":
        instance, clarifications = _left_open(instance, part)
    head, reference, tail = instance.around(part)
    broken, example = "", checks[_example(checks)]
    if kind == "repair":
        broken, example = _broken(instance, part, checks, draw)
    elif kind == "explain":
        broken, reference = reference, _docstring(head)
        head = _without_docstring(head)
    before, after = _file(instance, reference, pool, draw, ood=ood, long=level == 4 and draw("long") % 3 == 0)
    called = part.name if kind == "method" else ""
    shown = (example,) if kind in ("expression", "repair") else ()
    return CodeTask(
        name=name,
        kind=kind,
        file_name=_file_name(instance, draw),
        before=before + head,
        after=tail + after,
        reference=reference,
        request=_REQUESTS[ood][kind].format(
            name=instance.piece(called) or instance.name, example=_told(example) if kind != "repair" else _told_wrong(example)
        ),
        checks=tuple(check for check in checks if check not in shown),
        examples=shown,
        broken=broken,
        clarifications=clarifications,
        names=_gist(instance, part) if kind == "explain" else (),
    )


def _example(checks: Sequence[Check]) -> int:
    """The first test that gives a value with something in it."""
    telling = [number for number, check in enumerate(checks) if check.kind == "value" and check.expect not in _EMPTY]
    return telling[0] if telling else 0


_EMPTY = ("[]", "{}", "''", "0", "None", "False", "-1")


def _told(check: Check) -> str:
    return f"`{check.code}` gives `{check.expect}`"


def _told_wrong(check: Check) -> str:
    if check.kind == "raises":
        return f"`{check.code}` should raise {check.expect}"
    return f"`{check.code}` should give `{check.expect}`"


def _left_open(instance: Instance, part: Part) -> tuple[Instance, tuple[Clarification, ...]]:
    """The docstring without some of the choices, and what the programmer says about them."""
    family = instance.family
    left = [key for key in part.choices if family.choices[key].topic][:MOST_OPEN]
    said = []
    for key in left:
        choice = family.choices[key]
        answer = instance.piece(choice.options[instance.work[key]].answer)
        cues = tuple(map(instance.piece, choice.cues))
        said.append(Clarification(choice.topic, cues, answer, choice.question))
    return Instance(family, instance.work, instance.naming, frozenset(left)), tuple(said)


def _broken(instance: Instance, part: Part, checks: Sequence[Check], draw: Draw) -> tuple[str, Check]:
    """The part with another option in one place or, now and then, in two, and the first test that notices."""
    family = instance.family
    keys = sorted(part.choices, key=lambda key: draw(f"fault {key}"))
    faults = 2 if draw("faults") % 4 == 0 else 1
    for turn in range(_TRIES):
        work = dict(instance.work)
        for key in (*keys, *keys)[turn % len(keys) :][:faults]:
            others = len(family.choices[key].options) - 1
            work[key] = (work[key] + 1 + (draw(f"wrong {key}") + turn) % others) % (others + 1)
        text = Instance(family, work, instance.naming).around(part)[1]
        noticing = _noticing(instance, part, text, checks)
        if len(noticing) > 1:
            return text, noticing[0]
    raise AssertionError(f"no fault of {family.name} shows in two tests")


def _noticing(instance: Instance, part: Part, text: str, checks: Sequence[Check]) -> list[Check]:
    """The tests whose outcome changes when a part reads otherwise."""
    head, _, tail = instance.around(part)
    outcomes = instance.outcomes(f"{head}{text}{tail}")
    return [check for check, other in zip(checks, outcomes, strict=True) if check != other]


def _gist(instance: Instance, part: Part) -> tuple[str, ...]:
    family = instance.family
    chosen = (family.choices[key].options[instance.work[key]].gist for key in part.choices)
    return tuple(words for words in (*family.gist, *chosen) if words)


def _docstring(head: str) -> str:
    return next(line.strip().strip('"') for line in head.splitlines() if line.lstrip().startswith('"""'))


def _without_docstring(head: str) -> str:
    return "".join(line for line in head.splitlines(keepends=True) if not line.lstrip().startswith('"""'))


# ---- the file ---------------------------------------------------------------------------------------------------------


def _file_name(instance: Instance, draw: Draw) -> str:
    folders = ("app", "lib", "report", "tools")
    return f"{folders[draw('folder') % len(folders)]}/{next(iter(instance.naming.values())).lower()}.py"


def _file(instance: Instance, reference: str, pool: Sequence[Family], draw: Draw, *, ood: bool, long: bool) -> tuple[str, str]:
    """What stands above and below the piece: a few other pieces, or very many; from none could the reference be copied."""
    about = _ABOUT_OOD if ood else _ABOUT
    taken = {instance.name}
    above: list[str] = []
    below: list[str] = []
    lines = 0
    wanted = LONG_FILE if long else 1
    number = 0
    while lines < wanted and number < 400:
        number += 1
        family = pool[draw(f"other {number}") % len(pool)]
        if family.name == instance.family.name or (family.kind == "class" and not long):
            continue
        work = {key: draw(f"{number} {key}") % len(choice.options) for key, choice in family.choices.items()}
        other = Instance(family, work, family.namings[draw(f"naming {number}") % len(family.namings)])
        if other.name in taken:
            continue
        text = other.text()
        if copied_share(reference, text) > 0:
            continue
        taken.add(other.name)
        (above if draw(f"side {number}") % 2 else below).append(text)
        lines += text.count("\n") + 3
    start = "\n\n\n".join([f'"""{about[draw("about") % len(about)]}"""', *above])
    return f"{start}\n\n\n", "".join(f"\n\n\n{text}" for text in below) + "\n"
