"""CodeAssist's tasks: what they are made of, that splits share no work, and that the sandbox agrees with them."""

from __future__ import annotations

import ast
import itertools
import subprocess
import sys

import pytest

from slmagent.envs.code_assist.answers import counts, prose_in, read_answer, solution
from slmagent.envs.code_assist.episode import judge, named
from slmagent.envs.code_assist.verification import run_checks, verify
from slmagent.sandbox import make
from slmagent.scenarios.code.families import CLASS_FAMILIES, CLASS_FAMILIES_OOD, FAMILIES, FAMILIES_OOD
from slmagent.scenarios.code.families.family import Choice, Family, Option, render, used_in
from slmagent.scenarios.code.families.instance import Instance, bodies_of, lines_of
from slmagent.scenarios.code.records import Check
from slmagent.scenarios.code.tasks import KINDS, SIZES, kind_of, make_task, persona_of, scenario_ids, signature_of
from slmagent.types import SPLITS, Split

EVERY_FAMILY = (*FAMILIES, *FAMILIES_OOD, *CLASS_FAMILIES, *CLASS_FAMILIES_OOD)
EACH_LEVEL = pytest.mark.parametrize("level", range(6))

GREET = Family(
    name="greet",
    source='def greet(<x>):\n    """Return <how!> of a <x>."""\n    words = ~<x>.split()\n    return ~<how>',
    namings=({"x": "name"}, {"x": "entry"}),
    calls=("f('ada l')", "f('')"),
    choices={"how": Choice((Option("words[0]", "the first word"), Option("len(words)", "the number of words")))},
)


# ---- families -------------------------------------------------------------------------------------------------------------


def test_a_family_is_filled_in() -> None:
    first = Instance(GREET, {"how": 0}, {"x": "name"})
    assert first.name == "greet"
    assert (
        first.text()
        == 'def greet(name):\n    """Return the first word of a name."""\n    words = name.split()\n    return words[0]'
    )
    assert "of an entry" in Instance(GREET, {"how": 1}, {"x": "entry"}).text()
    assert first.checks() == (
        Check("greet('ada l')", "value", "'ada'", 1e-9),
        Check("greet('')", "raises", "IndexError"),
    )
    assert used_in(GREET, "return ~<how>") == ("how",)
    assert used_in(GREET, "Return <how!>") == ()
    assert render(GREET, "<how!> <x>", {"how": 1}, {"x": "name"}) == "the number of words name"


def test_the_parts_of_a_family() -> None:
    (line,) = lines_of(GREET, whole=False)  # the other line depends on no choice
    assert Instance(GREET, {"how": 1}, {"x": "name"}).around(line)[1] == "len(words)"
    (body,) = bodies_of(GREET)
    before, missing, after = Instance(GREET, {"how": 0}, {"x": "name"}).around(body)
    assert before.endswith('"""\n    ')
    assert missing == "words = name.split()\n    return words[0]"
    assert after == ""


@pytest.mark.parametrize("family", EVERY_FAMILY, ids=lambda family: family.name)
def test_every_choice_of_a_family_shows_in_its_tests(family: Family) -> None:
    """So a near miss, any other option, fails; and no more than half of the tests are about exceptions."""
    for naming in (family.namings[0], family.namings[-1]):
        seen: dict[tuple[Check, ...], tuple[int, ...]] = {}
        for numbers in itertools.product(*(range(len(choice.options)) for choice in family.choices.values())):
            checks = Instance(family, dict(zip(family.choices, numbers, strict=True)), naming).checks()
            assert checks not in seen, (numbers, seen.get(checks))
            seen[checks] = numbers
            assert 2 * sum(check.kind == "raises" for check in checks) <= len(checks)
    assert len(family.namings) >= 4 or family.kind == "class"


@EACH_LEVEL
@pytest.mark.parametrize("split", SPLITS)
def test_every_reference_is_read_and_counts_as_an_answer(level: int, split: Split) -> None:
    """`benchmarks/code_tasks.py` also runs them all; this finds those that pass their tests and are refused all the same."""
    for name in scenario_ids(level, split):
        task = make_task(name)
        if task.kind != "explain":
            answer = read_answer(task, solution(task))
            assert counts(task, answer), (name, answer)
            assert ast.dump(ast.parse(answer.program)) == ast.dump(ast.parse(f"{task.before}{task.reference}{task.after}"))


# ---- splits ---------------------------------------------------------------------------------------------------------------


@EACH_LEVEL
def test_sizes_kinds_and_ids(level: int) -> None:
    for split in SPLITS:
        ids = scenario_ids(level, split)
        assert len(ids) == SIZES[split]
        assert ids[3] == f"code-{level}-{split}-00003"
        assert {kind_of(scenario_id) for scenario_id in ids} == set(KINDS[level])
        assert len({persona_of(scenario_id) for scenario_id in ids}) >= 6


@EACH_LEVEL
def test_no_split_shares_work_with_another_and_no_task_comes_twice(level: int) -> None:
    works: dict[str, set[object]] = {}
    for split in SPLITS:
        ids = scenario_ids(level, split)
        tasks = [make_task(scenario_id) for scenario_id in ids]
        assert len({(task.before, task.after, task.reference, task.broken) for task in tasks}) == len(tasks)
        works[split] = {signature_of(scenario_id) for scenario_id in ids}
    for one, other in itertools.combinations(SPLITS, 2):
        assert not works[one] & works[other]
    families = {split: {signature[0] for signature in works[split]} for split in SPLITS}  # type: ignore[index]
    assert not families["ood"] & (families["train"] | families["test"])
    if level <= 2:
        assert len(works["test"]) >= 60
        assert len(works["train"]) >= 200


def test_long_files_are_long() -> None:
    lengths = [(task.before + task.after).count("\n") for task in map(make_task, scenario_ids(4, "test"))]
    assert sum(length >= 500 for length in lengths) >= len(lengths) // 4


def test_tasks_are_the_same_in_every_process() -> None:
    code = (
        "from slmagent.scenarios.code.tasks import make_task, scenario_ids\n"
        "print([hash_ for level in range(6) for split in ('train', 'ood')"
        " for hash_ in [repr(make_task(scenario_ids(level, split)[5]))]])"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    here = [repr(make_task(scenario_ids(level, split)[5])) for level in range(6) for split in ("train", "ood")]
    assert outputs == {f"{here}\n"}


def test_unknown_ids_are_refused() -> None:
    for name in ("code-9-train-00000", "code-0-train-99999", "booking-0-train-00000", ""):
        with pytest.raises(ValueError, match="unknown scenario id"):
            make_task(name)


# ---- in the sandbox -------------------------------------------------------------------------------------------------------


@EACH_LEVEL
def test_references_pass_and_doing_nothing_does_not(level: int) -> None:
    with make("process") as sandbox:
        for split in ("train", "test", "ood"):
            ids = scenario_ids(level, split)
            for scenario_id in ids[:: len(ids) // 8]:
                assert verify(make_task(scenario_id), sandbox) == [], scenario_id


def test_every_family_passes_in_the_sandbox() -> None:
    with make("process") as sandbox:
        for family in EVERY_FAMILY:
            instance = Instance(family, dict.fromkeys(family.choices, 1), family.namings[1])
            checks = instance.checks()
            assert run_checks(sandbox, instance.text(), checks).passed, family.name


def test_special_cases_for_the_shown_test_do_not_repair() -> None:
    for scenario_id in scenario_ids(5, "test")[:24]:
        task = make_task(scenario_id)
        if task.kind != "repair" or task.examples[0].kind != "value":
            continue
        assert not judge(task, f"return {task.examples[0].expect}").accepted, scenario_id


def test_explanations_are_named_by_the_docstring_and_not_by_another_one() -> None:
    tasks = [make_task(name) for split in ("train", "ood") for name in scenario_ids(5, split) if kind_of(name) == "explain"]
    assert all(named(task, prose_in(task.reference)) == 1.0 for task in tasks)
    others = [named(task, prose_in(other.reference)) for task, other in itertools.pairwise(tasks)]
    assert sum(share == 1.0 for share in others) <= len(others) // 20
