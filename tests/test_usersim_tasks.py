"""Tasks of UserSim: one right answer each, near misses beside it, splits that share nothing."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from slmagent.scenarios.inquirer import Inquirer, Inquiry
from slmagent.scenarios.personas import PERSONAS
from slmagent.scenarios.splits import SPLIT_SIZES
from slmagent.scenarios.understanding import understand
from slmagent.scenarios.users import Agenda
from slmagent.scenarios.usersim.attributes import ATTRIBUTES, lexicon_of
from slmagent.scenarios.usersim.questions import Choice, Limit, limit_matters
from slmagent.scenarios.usersim.tasks import kind_of, make_task, scenario_ids, signature
from slmagent.scenarios.usersim.topics import GOALS, TOPICS

EACH_LEVEL = pytest.mark.parametrize("level", range(6))
ROWS = {"A": {"price": 90, "weight": 3}, "B": {"price": 70, "weight": 9}, "C": {"price": 80, "weight": 5}}


def test_a_choice_by_hand():
    assert Choice("price", True).best(ROWS) == "B"
    assert Choice("price", True, Limit("weight", 5)).best(ROWS) == "C"
    assert Choice("weight", False, Limit("price", 80)).best(ROWS) == "B"
    assert Choice("price", True, Limit("weight", 2)).best(ROWS) is None
    assert limit_matters(ROWS, Choice("price", True, Limit("weight", 5)))
    assert not limit_matters(ROWS, Choice("price", True, Limit("weight", 9))), "the best of all keeps to it"
    assert not limit_matters(ROWS, Choice("price", True, Limit("weight", 3))), "one is left, so the price does not matter"


@EACH_LEVEL
@pytest.mark.parametrize("split", ["train", "ood"])
def test_answers_follow_from_the_facts_and_limits_matter(level: int, split: str):
    for scenario_id in scenario_ids(level, split)[:60]:
        task = make_task(scenario_id)
        for key in task.topic.attributes:
            assert len({row[key] for row in task.rows.values()}) == len(task.rows), "values are distinct"
        for question in task.questions:
            if question.need != "name":
                continue
            _, attribute, lowest, bound, value = question.signature
            rows = {
                name: row[str(attribute)]
                for name, row in task.rows.items()
                if not bound or ATTRIBUTES[str(bound)].allows(row[str(bound)], int(value))
            }
            best = (min if lowest else max)(rows, key=lambda name: rows[name])
            assert best == question.subject
            free = {name: row[str(attribute)] for name, row in task.rows.items()}
            if bound and not question.twist:
                assert (min if lowest else max)(free, key=lambda name: free[name]) != best
        hidden = {question.hidden for question in task.questions} - {""}
        assert hidden == {limit.attribute for limit in task.limits}
        assert bool(hidden) is (level >= 3)


@EACH_LEVEL
def test_splits_are_disjoint_in_what_is_wanted(level: int):
    wanted = {
        split: {repr(signature(task.topic, task.questions)) for task in map(make_task, scenario_ids(level, split)[:80])}
        for split in ("train", "val", "test")
    }
    assert not wanted["train"] & wanted["test"]
    assert not wanted["train"] & wanted["val"]
    assert not wanted["val"] & wanted["test"]
    assert len(wanted["train"]) > 50
    assert len(scenario_ids(level, "train")) == SPLIT_SIZES["train"]


def test_ood_shares_no_thing_name_or_wording():
    topics = {family: [topic for group in TOPICS[family].values() for topic in group] for family in ("home", "ood")}
    for part in ("noun", "role"):
        assert not {getattr(topic, part) for topic in topics["home"]} & {getattr(topic, part) for topic in topics["ood"]}
    assert not {name for topic in topics["home"] for name in topic.names} & {n for topic in topics["ood"] for n in topic.names}
    for attribute in ATTRIBUTES.values():
        assert not set(attribute.asks["home"]) & set(attribute.asks["ood"])
        assert attribute.vague["home"] != attribute.vague["ood"]
    for family in topics.values():
        for topic in family:
            assert len({ATTRIBUTES[key].unit for key in topic.attributes}) == 3, topic
            assert len(set(topic.names)) == len(topic.names) >= 8


def test_kinds_are_the_goals_in_equal_shares():
    ids = scenario_ids(2, "test")
    assert set(Counter(map(kind_of, ids)).values()) == {100}
    assert {make_task(name).kind for name in ids[:5]} == set(GOALS)
    with pytest.raises(ValueError, match="expected one like 'usersim-1-train-00042'"):
        make_task("usersim-9-train-00000")


@pytest.mark.parametrize("level", [4, 5])
def test_what_is_internal_is_no_other_number_of_the_talk(level: int):
    for scenario_id in scenario_ids(level, "train")[:80]:
        task = make_task(scenario_id)
        assert task.secret is not None
        numbers = {value for row in task.rows.values() for value in row.values()}
        numbers |= {limit.value for limit in task.limits} | ({task.new_limit.value} if task.new_limit else set())
        assert task.secret.value not in numbers
        assert [question.subject for question in task.questions if question.need == "refusal"] == [task.secret.subject]


@pytest.mark.parametrize("name", list(ATTRIBUTES))
def test_every_limit_can_be_asked_for(name: str):
    attribute, lexicon = ATTRIBUTES[name], lexicon_of((name,))
    for text in (
        f"{attribute.question.capitalize()}?",
        f"Before I answer, please tell me, {attribute.question}?",
        "Do you have any requirements?",
        f"Is there a limit on the {name.split('_')[-1]}?",
    ):
        assert understand(text, lexicon).asked == (name,), text
    for state in (f"The Alta {attribute.states.format(value=attribute.text(7))}.", "Thank you for asking."):
        assert understand(state, lexicon).asked == (), state


def inquirer(persona: str = "confused", seed: int = 0) -> Inquirer:
    inquiries = [Inquiry(("what is it?",), ("it?",)), Inquiry(("what else?",), ("else?",), persona=PERSONAS["impatient"])]
    return Inquirer(Agenda(("",), (), lexicon_of(("price",))), PERSONAS[persona], np.random.default_rng(seed), inquiries)


def test_an_inquirer_asks_in_order_and_takes_on_another_manner():
    user = inquirer()
    assert "what is it?" in user.opening().lower()
    assert "what is it?" in user.react("It is nice.", answered=False).text
    reply = user.react("It is a tent.", answered=True)
    assert "else?" in reply.text
    assert user.persona.name == "impatient"
    assert user.state()["asking"] == 1
    assert "else?" not in user.react("Nothing else.", answered=True).text
    assert user.state()["asking"] == 2


def test_a_premature_answer_leaves_the_question_open():
    user = inquirer()
    user.opening()
    user.react("It is a tent.", answered=True, premature=True)
    assert user.state()["asking"] == 0


def test_complaints_cost_mood_and_are_taken_back():
    user = inquirer("detailed")
    user.opening()
    mood = user.mood
    user.react("Hm.", answered=False, fault="too_short")
    assert user.mood < mood - PERSONAS["detailed"].mood_drop * (1 + mood)
    assert user.state()["minded"] is True
    assert "better" in user.react("It is a tent.", answered=True).text.lower() or not user.state()["minded"]


def test_an_inquirer_needs_something_to_ask():
    with pytest.raises(ValueError, match="expected at least one inquiry"):
        Inquirer(Agenda(("",), (), ()), PERSONAS["concise"], np.random.default_rng(0), [])
