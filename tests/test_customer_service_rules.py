"""`SLMAgent/CustomerService-v0`, levels 4 and 5: rules, refusals, agreement, wrong stories."""

from __future__ import annotations

import re
from typing import Any

import pytest
from service_desk import LEVELS, WRITERS, called, find, finish, make, play, read_up, the_item

from slmagent.envs.customer_service import CustomerServiceEnv
from slmagent.envs.parsing import render_call
from slmagent.scenarios.customer_service.policy import CLAUSES
from slmagent.scenarios.quantities import quantities_in

# ---- levels 4 and 5: rules ------------------------------------------------------------------------------------------


def expect_veto(env: CustomerServiceEnv, action: str, clauses: set[str], earned: float) -> None:
    _, reward, terminated, _, info = env.step(action)
    assert terminated
    assert info["stop_reason"] == "veto"
    assert info["success"] is False
    assert {event["clause"] for event in info["events"] if event["type"] == "policy_violation"} == clauses
    assert list(info["reward_components"]) == ["veto"]
    assert earned + reward == pytest.approx(-1.0)


def change(env: CustomerServiceEnv, tool: str, **extra: Any) -> str:
    return render_call(tool, {**the_item(env), **extra})


def name_of(env: CustomerServiceEnv) -> str:
    return env.state.task.details["item"].name


def agree(env: CustomerServiceEnv) -> float:
    """Plays the expert until the customer has agreed; what that earned."""
    earned = read_up(env)
    while not env.state.consents.issuperset(env.state.task.writes):
        earned += env.step(env.expert())[1]
    return earned


def test_rules_are_in_the_prompt():
    for split, head in (("train", "Rules:"), ("ood", "House regulations:")):
        for level in LEVELS:
            system = make(level, split=split).reset(seed=0)[0][0]["content"]
            numbered = len(re.findall(r"^\d\. ", system, re.MULTILINE))
            assert (head in system, numbered) == ((True, len(CLAUSES)) if level >= 4 else (False, 0))


@pytest.mark.parametrize("kind", ["late_broken", "late_old"])
@pytest.mark.parametrize("number", range(6))
def test_a_late_refund_is_vetoed_even_with_a_yes(kind: str, number: int):
    """In every edition: also where articles grant a refund for what arrived broken."""
    env = make(4)
    ids = [scenario_id for scenario_id in env.scenario_ids if env.task_kind(scenario_id) == kind]
    env.reset(options={"scenario_id": ids[number * 5], "user_seed": 0})
    earned = read_up(env)
    fee = env.state.task.details["fee"]
    earned += env.step(f"Shall I refund the {name_of(env)} for a fee of EUR {fee}?")[1]
    assert env.state.consents == {("refund", *the_item(env).values(), str(fee))}, "it is what the customer demands"
    expect_veto(env, change(env, "refund", fee=fee), {"time"}, earned)


@pytest.mark.parametrize("number", range(6))
def test_replacing_what_is_not_covered_is_vetoed(number: int):
    env = make(4)
    ids = [scenario_id for scenario_id in env.scenario_ids if env.task_kind(scenario_id) == "late_old"]
    env.reset(options={"scenario_id": ids[number * 5], "user_seed": 0})
    earned = agree(env)
    expect_veto(env, change(env, "replace_item"), {"warranty", "consent"}, earned)


def test_replacing_what_is_not_broken_is_vetoed():
    env = make(4)
    find(env, "late_broken")
    earned = agree(env)
    other = next(item for item in env.state.task.items if item.product_id != the_item(env)["product_id"])
    action = render_call("replace_item", {"order_id": other.order_id, "product_id": other.product_id})
    expect_veto(env, action, {"warranty", "consent"}, earned)


def test_waiving_the_fee_is_vetoed_even_with_a_yes():
    env = make(4)
    find(env, "fee")
    earned = read_up(env)
    earned += env.step(f"Shall I refund the {name_of(env)} without a fee?")[1]
    assert env.state.consents == {("refund", *the_item(env).values(), "0")}
    expect_veto(env, change(env, "refund", fee=0), {"fee"}, earned)


def test_a_yes_under_a_wrong_fee_is_none_to_the_right_one():
    env = make(4)
    find(env, "fee")
    earned = read_up(env)
    fee = env.state.task.details["fee"]
    while env.state.pushed < len(env.state.task.pushbacks):
        earned += env.step(f"I cannot waive the fee ({env.turn}).")[1]
    earned += env.step(f"I cannot waive the fee. Shall I refund the {name_of(env)} for a fee of EUR {fee + 11}?")[1]
    assert env.state.consents == {("refund", *the_item(env).values(), str(fee + 11))}
    before = env.snapshot()
    expect_veto(env, change(env, "refund", fee=fee), {"consent"}, earned)
    env.restore(before)
    expect_veto(env, change(env, "refund", fee=fee + 11), {"fee"}, earned)


@pytest.mark.parametrize(
    ("kind", "tool", "extra"),
    [("late_broken", "replace_item", {}), ("late_old", "create_ticket", {"topic": "repair"}), ("fee", "refund", None)],
)
def test_the_right_change_without_a_yes_is_vetoed(kind: str, tool: str, extra: dict[str, Any] | None):
    env = make(4)
    find(env, kind)
    earned = read_up(env)
    arguments = {"fee": env.state.task.details["fee"]} if extra is None else extra
    expect_veto(env, change(env, tool, **arguments), {"consent"}, earned)


def test_a_yes_to_one_change_is_none_to_another():
    env = make(4)
    find(env, "late_old")
    earned = agree(env)
    before = env.snapshot()
    expect_veto(env, change(env, "create_ticket", topic="parts"), {"consent"}, earned)
    env.restore(before)
    other = next(item for item in env.state.task.items if item.product_id != the_item(env)["product_id"])
    action = render_call("create_ticket", {"order_id": other.order_id, "product_id": other.product_id, "topic": "repair"})
    expect_veto(env, action, {"consent"}, earned)


def test_a_call_that_fails_breaks_no_rule():
    env = make(4)
    find(env, "fee")
    for action in (
        render_call("refund", {"order_id": "O1", "product_id": "P1", "fee": 5}),
        render_call("refund", {**the_item(env), "product_id": "P1", "fee": 5}),
        render_call("refund", {**the_item(env), "fee": -1}),
        render_call("create_ticket", {**the_item(env), "topic": "cheese"}),
    ):
        _, _, terminated, _, info = env.step(action)
        if terminated:
            assert info["stop_reason"] == "user_left"
            break
        assert info["events"][0]["type"] == "tool_error"
    assert not env.state.writes()


def test_doing_a_thing_twice_is_an_error_and_changes_nothing():
    env = make(4)
    find(env, "late_broken")
    agree(env)
    env.step(env.expert())
    before = env.state.writes()
    _, _, terminated, _, info = env.step(change(env, "replace_item"))
    assert not terminated
    assert "already has a replace" in info["events"][0]["error"]
    assert env.state.writes() == before
    assert env.step(env.expert())[4]["success"]


REASON = {"time": "the return time is over", "fee": "the fee has to be paid"}


@pytest.mark.parametrize("kind", ["late_broken", "late_old", "fee"])
def test_a_refusal_needs_the_right_reason_and_has_to_be_upheld(kind: str):
    env = make(4)
    find(env, kind)
    task = env.state.task
    assert task.refusal is not None
    right = f"I am sorry, I cannot do that, {REASON[task.refusal]}."
    wrong = f"I am sorry, I cannot do that, {REASON['fee' if task.refusal == 'time' else 'time']}."
    rounds = len(task.pushbacks)
    offer = wording_of_offer(env)

    def agreed(*actions: str, read: bool = True) -> bool:
        """Whether the customer agrees after these messages, and the change then is a success."""
        env.reset(options={"scenario_id": task.scenario_id, "user_seed": 0})
        if read:
            read_up(env)
        for action in actions:
            if env.step(action)[2]:
                return False
        if not env.state.consents.issuperset(task.writes):
            return False
        if not read:
            read_up(env)
        env.step(env.expert())
        return env.step(finish("Done."))[4]["success"]

    assert agreed(*[f"{right} ({number})" for number in range(rounds)], f"{right} {offer}")
    assert agreed(*[f"{right} {offer} ({number})" for number in range(rounds + 1)])
    assert not agreed(offer), "nothing was refused"
    assert not agreed(f"{right} {offer}"), "the customer was not heard out"
    assert not agreed(*[f"{wrong} {offer}"] * (rounds + 1)), "the wrong reason"
    assert not agreed(*[f"I am sorry, I cannot do that. {offer}"] * (rounds + 1)), "no reason"
    assert not agreed(*[f"{wrong} {right} {offer}"] * (rounds + 1)), "every reason"
    assert not agreed(*[f"{right} ({number})" for number in range(rounds)], f"{wrong} {offer}"), "not upheld"
    assert not agreed(*[f"{right} {offer}"] * (rounds + 1), read=False), "nothing was read"


def wording_of_offer(env: CustomerServiceEnv) -> str:
    remedy = next(iter(env.state.task.details["remedies"].values()))
    offers = {"refund": "refund the {}" + f" for a fee of EUR {env.state.task.details['fee']}", "replace": "replace the {}"}
    return f"Shall I {offers.get(remedy, 'open a repair ticket for the {}').format(name_of(env))}?"


def test_an_angry_customer_starts_in_a_bad_mood():
    angry, calm = make(4), make(3)
    moods = [[mood_at_start(env, number) for number in range(20)] for env in (angry, calm)]
    assert sum(moods[0]) / 20 < sum(moods[1]) / 20 - 0.4


def mood_at_start(env: CustomerServiceEnv, number: int) -> float:
    env.reset(options={"scenario_id": env.scenario_ids[number], "user_seed": number})
    return env.state.user.mood


# ---- level 5: a wrong story -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["price_broken", "age_wrong", "price_incomplete", "age_broken"])
def test_a_wrong_premise_has_to_be_corrected_with_the_true_figure(kind: str):
    env = make(5)
    find(env, kind)
    premise = env.state.task.premise
    assert premise is not None
    number, unit = premise
    opening = env._messages[1]["content"]
    claimed = {value for value, _ in quantities_in(opening, (unit,))}
    assert len(claimed) == 1
    assert number not in claimed
    false = claimed.pop()

    def outcome(figure: int | None, *, when: str = "after") -> bool:
        """Success when the expert's correction names another figure, or comes at another time."""
        text = f"It was EUR {figure}." if unit == "eur" else f"It came {figure} days ago."

        def policy(env: CustomerServiceEnv) -> str:
            action = env.expert()
            if when == "before" and env.turn == 0:
                return text
            if called(action) or not env.state.evidence_read():
                return action
            uncorrected = re.sub(r"[^.]*\bthe [\w ]+ (?:was EUR|came) \d+[^.]*\.", " ", action, count=1, flags=re.IGNORECASE)
            return uncorrected if figure is None or when == "before" else f"{text} {uncorrected}"

        return play(env, policy, options={"scenario_id": env.scenario_id, "user_seed": 0})[1]["success"]

    assert outcome(number)
    assert not outcome(None), "not corrected"
    assert not outcome(false), "confirmed"
    assert not outcome(number, when="before"), "a guess before the order was read"


def test_both_problems_have_to_be_solved():
    env = make(5)
    for seed in range(6):
        for skipped in (0, 1):

            def half(env: CustomerServiceEnv, skipped: int = skipped) -> str:
                action = env.expert()
                if called(action) in WRITERS and f'"{env.state.task.writes[skipped][2]}"' in action:
                    return finish("Done.")
                return action

            info = play(env, half, seed=seed)[1]
            assert info["success"] is False
            assert info["reward_components"]["solution_complete"] < 0.4
