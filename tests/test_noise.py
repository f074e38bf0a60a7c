"""Noise wrappers: what they change, what they leave alone, and that the task stays winnable."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import pytest
from toy import LOOKUP_ID, register_toys
from toy_env import ECHO_ID, register_toy_envs

from slmagent.agents.scripted import ExpertAgent
from slmagent.envs.base import ChatEnv
from slmagent.envs.parsing import parse_action, render_call
from slmagent.envs.registration import ENTRY_POINTS
from slmagent.envs.wrappers import (
    NOISES,
    DelayedReplies,
    DelayedRewards,
    Irrelevant,
    Misleading,
    MissingRewards,
    ToolFailures,
    Typos,
)
from slmagent.envs.wrappers.fault_noise import MAX_FAILURES, NO_REPLY_YET, WAITING
from slmagent.scenarios import asides
from slmagent.scenarios.booking.inventory import CONDITIONS, INVENTORIES, TIERS
from slmagent.scenarios.typos import TYPO_WORDS

IDS_AND_LEVELS = [
    (env_id, level)
    for env_id in ENTRY_POINTS
    for level in gym.make(env_id, disable_env_checker=True).unwrapped.levels  # type: ignore[attr-defined]
]
EVERYWHERE = pytest.mark.parametrize(("env_id", "level"), IDS_AND_LEVELS)
EACH_NOISE = pytest.mark.parametrize("noise", list(NOISES))
BOOKING = "SLMAgent/Booking-v0"
ORDERS = (tuple(NOISES), tuple(NOISES)[::-1], tuple(sorted(NOISES)))
LINES = {
    line for name in ("USER_ASIDES", "RESULT_ASIDES", "USER_MISLEADING", "RESULT_MISLEADING") for line in getattr(asides, name)
} | {*asides.USER_MISLEADING_CALLS, *asides.RESULT_MISLEADING_CALLS}


register_toys()


def clean(env_id: str = BOOKING, level: int = 1, **kwargs: Any) -> gym.Env[Any, Any]:
    return gym.make(env_id, level=level, disable_env_checker=True, **kwargs)


def noisy(names: str | Sequence[str], strength: float, env: gym.Env[Any, Any]) -> gym.Env[Any, Any]:
    for name in [names] if isinstance(names, str) else names:
        env = NOISES[name](env, strength=strength)
    return env


def chat(env: gym.Env[Any, Any]) -> ChatEnv:
    assert isinstance(env.unwrapped, ChatEnv)
    return env.unwrapped


def rest(env: gym.Env[Any, Any]) -> list[Any]:
    """What comes back to an expert from here on."""
    expert, record = ExpertAgent(env), []
    while not record or not (record[-1][2] or record[-1][3]):
        record.append(env.step(expert.act((), {})))
    return record


def play(env: gym.Env[Any, Any], **reset: Any) -> list[Any]:
    """An expert episode: what `reset` and every step gave."""
    return [env.reset(**reset), *rest(env)]


def total(record: Sequence[Any]) -> float:
    return sum(step[1] for step in record[1:])


def noise_events(record: Sequence[Any]) -> list[dict[str, Any]]:
    return [event for step in record for event in step[-1]["events"] if event["type"] == "noise"]


def digest() -> str:
    """A hash over episodes of each noise and of all at once."""
    parts = []
    for env_id, level in IDS_AND_LEVELS:
        parts.append(play(noisy(ORDERS[0], 0.5, clean(env_id, level)), seed=3))
    for noise in NOISES:
        env = noisy(noise, 0.7, clean(level=5))
        parts += [play(env, seed=3), play(env)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


# ---- every kind -----------------------------------------------------------------------------------------------------


@EVERYWHERE
def test_strength_zero_leaves_every_byte(env_id: str, level: int):
    plain, wrapped = clean(env_id, level), noisy(ORDERS[0], 0.0, clean(env_id, level))
    for reset in ({"seed": 5}, {}):
        assert json.dumps(play(wrapped, **reset)) == json.dumps(play(plain, **reset))
    assert chat(wrapped).snapshot().origin == chat(plain).snapshot().origin


@EACH_NOISE
@EVERYWHERE
def test_the_expert_succeeds_under_noise(env_id: str, level: int, noise: str):
    env = noisy(noise, 0.5, clean(env_id, level))
    records = [play(env, seed=seed, options={"user_seed": seed}) for seed in range(10)]
    successes = [record[-1][-1]["success"] for record in records]
    assert sum(successes) >= 0.95 * len(successes)
    assert level < 3 or any(noise_events(record) for record in records)


@EACH_NOISE
def test_the_expert_succeeds_at_full_strength(noise: str):
    for level in range(6):
        env = noisy(noise, 1.0, clean(level=level, split="ood"))
        assert all(play(env, seed=seed)[-1][-1]["success"] for seed in range(4))


@pytest.mark.parametrize("order", ORDERS)
def test_all_kinds_at_once_in_any_order_keep_the_form_of_a_conversation(order: tuple[str, ...]):
    for env_id, level in IDS_AND_LEVELS:
        env = noisy(order, 0.5, clean(env_id, level))
        record = play(env, seed=level)
        assert record[-1][-1]["success"]
        before: tuple[Any, ...] = ()
        for step in record:
            observation, info = step[0], step[-1]
            assert observation[: len(before)] == before
            assert observation in env.observation_space
            json.dumps(info, allow_nan=False)
            before = observation
        roles = [message["role"] for message in before]
        assert roles == ["system", *(("user", "assistant")[place % 2] for place in range(len(roles) - 1))]
        assert {event["noise"] for event in noise_events(record)} <= set(NOISES)


def test_same_seed_gives_the_same_bytes_in_any_process():
    script = (
        "import sys, importlib.util\n"
        f"sys.path.insert(0, {os.path.dirname(__file__)!r})\n"
        f"spec = importlib.util.spec_from_file_location('test_noise', {__file__!r})\n"
        "module = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(module)\n"
        "print(module.digest())"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "12345"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.split()[-1] == digest()


@EACH_NOISE
def test_scenario_and_user_seed_fix_the_noise(noise: str):
    env = noisy(noise, 0.5, clean(level=5))
    options = {"scenario_id": chat(env).scenario_ids[3], "user_seed": 8}
    first = play(env, seed=1, options=options)
    play(env)
    assert json.dumps(play(env, seed=2, options=options)) == json.dumps(first)
    others = [play(env, options={**options, "user_seed": seed}) for seed in range(6)]
    assert len({json.dumps(noise_events(record)) for record in others}) > 1


@pytest.mark.parametrize("names", [*NOISES, ORDERS[1]])
def test_every_turn_can_be_forked(names: str | tuple[str, ...]):
    env, other = (noisy(names, 0.6, clean(level=5)) for _ in range(2))
    other.reset(seed=0)
    env.reset(seed=4)
    forks, done = [], False
    while not done:
        before = env.get_wrapper_attr("snapshot")()
        twin = copy.deepcopy(env)
        forks.append((before, json.dumps([rest(env), env.reset()])))
        assert json.dumps([rest(twin), twin.reset()]) == forks[-1][1]
        env.get_wrapper_attr("restore")(before)
        done = any(env.step(ExpertAgent(env).act((), {}))[2:4])
    for before, expected in reversed(forks):
        for target in (env, other):
            observation, _ = target.get_wrapper_attr("restore")(before)
            assert list(observation) == before.episode["_messages"]
            assert json.dumps([rest(target), target.reset()]) == expected


def test_a_snapshot_of_other_noise_is_refused():
    env = Typos(clean(), 0.5)
    env.reset(seed=0)
    for other in (clean(), Typos(clean(), 0.6), Irrelevant(Typos(clean(), 0.5), 0.1)):
        with pytest.raises(ValueError, match=r"expected a snapshot of .*, actual .*'typos 0.5'"):
            other.get_wrapper_attr("restore")(env.snapshot())


def test_specs_rebuild_the_noise():
    env = noisy(ORDERS[0], 0.4, clean(level=3, split="ood"))
    assert env.spec is not None
    again = gym.make(type(env.spec).from_json(env.spec.to_json()))
    assert [type(layer) for layer in layers(again)] == [type(layer) for layer in layers(env)]
    assert json.dumps(play(again, seed=2)) == json.dumps(play(env, seed=2))


def layers(env: gym.Env[Any, Any]) -> list[gym.Env[Any, Any]]:
    found = []
    while isinstance(env, gym.Wrapper):
        found += [env] if type(env) in NOISES.values() else []
        env = env.env
    return found


def test_vectors_of_noisy_environments():
    vector = gym.make_vec(BOOKING, 2, "sync", level=1, wrappers=[lambda env: Irrelevant(env, 1.0)])
    try:
        observations, _ = vector.reset(seed=1)
        single = Irrelevant(clean(), 1.0)
        assert observations[0] == single.reset(seed=1)[0]
    finally:
        vector.close()


def test_gymnasium_wrappers_may_stand_between():
    env = Misleading(gym.wrappers.TimeLimit(Typos(clean(level=2), 0.5), 40), 0.5)
    assert play(env, seed=0)[-1][-1]["success"]


@pytest.mark.parametrize("strength", [-0.1, 1.5, float("nan"), float("inf"), True, "0.5", None])
def test_bad_strengths_are_named(strength: Any):
    with pytest.raises(ValueError, match=r"expected the strength of Typos"):
        Typos(clean(), strength)


def test_what_cannot_be_wrapped_is_named():
    register_toy_envs()
    with pytest.raises(TypeError, match=r"Typos expects an slmagent environment .* actual EchoEnv"):
        Typos(gym.make(ECHO_ID, disable_env_checker=True))
    with pytest.raises(ValueError, match=r"the noise 'typos' has already been added, with strength 0\.5"):
        Typos(Irrelevant(Typos(clean(), 0.5)), 0.2)


# ---- what is read ---------------------------------------------------------------------------------------------------


def messages(record: Sequence[Any], role: str = "user") -> list[str]:
    return [message["content"] for message in record[-1][0] if message["role"] == role]


@EVERYWHERE
def test_typos_touch_common_words_only(env_id: str, level: int):
    env, plain = Typos(clean(env_id, level), 1.0), clean(env_id, level)
    misspelt = 0
    for seed in range(12):
        record, reference = play(env, seed=seed), play(plain, seed=seed)
        assert record[0][0][0] == reference[0][0][0]
        facts = chat(plain)._facts()
        assert facts or level == 0
        for typed, meant in zip(messages(record), messages(reference), strict=True):
            if meant.startswith("<tool_response>"):
                assert typed == meant
                continue
            words, right = re.split(r"(\W+)", typed), re.split(r"(\W+)", meant)
            assert len(words) == len(right)
            wrong = [(word, good) for word, good in zip(words, right, strict=True) if word != good]
            assert all(good in TYPO_WORDS for _, good in wrong)
            assert not {good for _, good in wrong} & {word for fact in facts for word in re.findall("[a-z]+", fact.lower())}
            assert [fact for fact in facts if fact in meant] == [fact for fact in facts if fact in typed]
            misspelt += len(wrong)
    assert misspelt > 5


def test_more_typos_keep_the_fewer():
    for seed in range(10):
        shown = [noisy("typos", s, clean(level=5)).reset(seed=seed)[0][1]["content"].split() for s in (1e-9, 0.3, 0.7)]
        wrong = [{place for place, pair in enumerate(zip(shown[0], line, strict=True)) if len(set(pair)) > 1} for line in shown]
        assert wrong[1] <= wrong[2]
        assert all(shown[1][place] == shown[2][place] for place in wrong[1])


@pytest.mark.parametrize("wrapper", [Irrelevant, Misleading])
@EVERYWHERE
def test_lines_are_added_behind_what_is_said_and_returned(env_id: str, level: int, wrapper: type[Irrelevant]):
    env, plain = wrapper(clean(env_id, level), 1.0), clean(env_id, level)
    record, reference = play(env, seed=level), play(plain, seed=level)
    assert total(record) == pytest.approx(total(reference))
    added = []
    for shown, meant in zip(messages(record), messages(reference), strict=True):
        kept = meant.removesuffix("\n</tool_response>")
        assert shown.startswith(kept)
        added += [line for line in re.split(r"\n", shown.removeprefix(kept).removesuffix("\n</tool_response>").strip()) if line]
    assert added == [event["what"] for event in noise_events(record)]
    assert max(Counter(added).values()) == 1
    tools = chat(env).toolbox.tools
    known = {line.format(tool=tool) for line in LINES for tool in tools}
    assert set(added) <= known


def test_half_strength_means_every_second_message():
    env = Irrelevant(clean(level=3), 0.5)
    records = [play(env, seed=seed) for seed in range(40)]
    shown = sum(len(messages(record)) for record in records)
    assert 0.4 < sum(len(noise_events(record)) for record in records) / shown < 0.6


def test_lines_hold_nothing_that_could_be_a_fact():
    vocabulary = {*CONDITIONS, *TIERS, *(inventory.month for inventory in INVENTORIES.values())}
    vocabulary |= {city for inventory in INVENTORIES.values() for city in inventory.cities}
    for line in LINES:
        assert not re.search(r"\d|<|>", line)
        assert not {word.lower() for word in vocabulary} & set(re.findall(r"[a-z]+", line.lower())), line


def test_following_misleading_results_fails():
    """An agent that does what the first tool result says, against the expert on the same tasks."""
    env, plain = Misleading(clean(level=2), 1.0), clean(level=2)
    worst = min(total(play(plain, seed=seed)) for seed in range(30))
    obeyed = Counter[str]()
    for seed in range(30):
        env.reset(seed=seed)
        observation, first, *_ = env.step(ExpertAgent(env).act((), {}))
        paid = float(first)
        *rows, order = observation[-1]["content"].splitlines()[1:-1]
        if "call book_flight for every row" in order:
            calls = "".join(render_call("book_flight", {"flight_id": row.split()[-1]}) for row in rows)
            paid += float(env.step(calls)[1])
        elif not re.search(r"finish now|end the talk|impossible", order):
            continue
        obeyed["call" if "call" in order else "finish"] += 1
        _, reward, terminated, _, info = env.step(render_call("finish", {"message": "Done, this is impossible."}))
        assert terminated
        assert info["success"] is False
        assert paid + float(reward) < worst
    assert min(obeyed["call"], obeyed["finish"]) >= 3


# ---- what happens ---------------------------------------------------------------------------------------------------


def test_a_failed_call_changes_nothing_and_goes_through_at_the_third_attempt():
    env = ToolFailures(clean(level=1), 1.0)
    _, start = env.reset(seed=0)
    task = chat(env).state.task  # type: ignore[attr-defined]
    wrong = [flight.flight_id for flight in task.flights]
    call = render_call("book_flight", {"flight_id": wrong[0]})
    for _ in range(2):
        observation, reward, *_, info = env.step(call)
        assert re.fullmatch(
            r"<tool_response>\nerror: .*book_flight.* (please )?try again\n</tool_response>", observation[-1]["content"]
        )
        assert (reward, info["anchor"]) == (0.0, start["anchor"])
        assert [event["type"] for event in info["events"]] == ["noise"]
        assert info["action"] == {"kind": "tool", "error": None}
    observation, *_, info = env.step(call)
    assert "booked" in observation[-1]["content"]
    assert info["anchor"] != start["anchor"]
    assert "already booked" in env.step(call)[0][-1]["content"]


def test_failures_cost_no_reward_and_no_turn_of_the_limit():
    for level in range(6):
        plain = clean(level=level)
        for seed in range(4):
            reference = play(plain, seed=seed)
            env = ToolFailures(clean(level=level, max_turns=len(reference) - 1), 1.0)
            record = play(env, seed=seed)
            assert record[-1][-1]["success"]
            assert total(record) == pytest.approx(total(reference))
            calls = sum(event["type"] == "tool_call" for step in reference for event in step[-1]["events"])
            assert len(record) == len(reference) + min(2 * calls, MAX_FAILURES)


def test_failures_end_when_no_call_is_tried_twice():
    env = ToolFailures(clean(level=2), 1.0)
    env.reset(seed=0)
    turns, done, info = 0, False, {}
    while not done:
        call = render_call("search_flights", {"origin": "Rome", "destination": "Oslo", "date": f"{turns % 30 + 1} June"})
        *_, terminated, truncated, info = env.step(call)
        turns, done = turns + 1, terminated or truncated
    assert info["stop_reason"] == "max_turns"
    assert turns == chat(env).max_turns + MAX_FAILURES


def test_only_calls_that_could_be_carried_out_fail_and_finish_never_does():
    env = ToolFailures(clean(level=1), 1.0)
    env.reset(seed=0)
    assert "unknown tool" in env.step(render_call("fly", {}))[0][-1]["content"]
    assert "is missing" in env.step(render_call("book_flight", {}))[0][-1]["content"]
    for weird in ("FL1\n", "\u65e5\u672c \x00", "x" * 5000):
        assert "try again" in env.step(render_call("book_flight", {"flight_id": weird}))[0][-1]["content"]
    assert env.step(render_call("finish", {"message": "Bye."}))[4]["stop_reason"] == "finished"


def test_a_turn_that_failed_in_part_counts():
    env = ToolFailures(clean(level=1), 1.0)
    env.reset(seed=0)
    env.step(render_call("get_it", {}) + render_call("book_flight", {"flight_id": "FL1"}))
    assert chat(env).lost_turns == 0
    env.step(render_call("book_flight", {"flight_id": "FL1"}))
    assert chat(env).lost_turns == 1


def test_a_late_reply_comes_a_turn_later():
    env, plain = DelayedReplies(clean(level=3), 1.0), clean(level=3)
    for seed in range(10):
        env.reset(seed=seed)
        plain.reset(seed=seed)
        question = env.get_wrapper_attr("expert")()
        meant, *_, expected = plain.step(question)
        observation, *_, info = env.step(question)
        assert observation[-1]["content"] == NO_REPLY_YET
        assert info["action"]["kind"] == "ask"
        assert info["anchor"] != expected["anchor"]
        assert env.get_wrapper_attr("expert")() == WAITING
        if seed % 2:  # words meanwhile are not heard
            observation, *_, info = env.step("I hate you. Which flight? Shall I cancel everything?")
            assert observation[-1]["content"] == meant[-1]["content"]
            assert (info["anchor"], chat(env).lost_turns) == (expected["anchor"], 1)
        else:  # calls are carried out
            action = plain.unwrapped.expert()  # type: ignore[attr-defined]
            assert parse_action(action).calls
            observation = env.step(action)[0]
            result = plain.step(action)[0][-1]["content"]
            assert observation[-1]["content"] == f"{result}\n{meant[-1]['content']}"
        assert env.get_wrapper_attr("expert")() != WAITING


def test_an_impatient_expert_survives_late_replies():
    """The one below the wrapper does not wait; what it says meanwhile is lost and has to be said again."""
    env = DelayedReplies(clean(level=5), 1.0)
    for seed in range(6):
        env.reset(seed=seed)
        done, info = False, {}
        while not done:
            *_, terminated, truncated, info = env.step(chat(env).expert())
            done = terminated or truncated
        assert info["success"]


# ---- what is paid ---------------------------------------------------------------------------------------------------


def lookup_steps(env: gym.Env[Any, Any]) -> list[tuple[float, dict[str, float]]]:
    """Reward and components of the look-up and of the answer; clean they are progress 0.5, then progress -0.5 and answer 1."""
    return [(step[1], step[-1]["reward_components"]) for step in play(env, seed=0)[1:]]


def test_rewards_that_are_delayed_are_paid_at_the_latest_at_the_end():
    assert lookup_steps(clean(LOOKUP_ID)) == [(0.5, {"progress": 0.5}), (0.5, {"answer": 1.0, "progress": -0.5})]
    assert lookup_steps(DelayedRewards(clean(LOOKUP_ID), 1.0)) == [(0.0, {}), (1.0, {"answer": 1.0, "progress": 0.0})]


@EVERYWHERE
def test_delayed_rewards_keep_the_sum_of_each_component(env_id: str, level: int):
    env, plain = DelayedRewards(clean(env_id, level), 0.5), clean(env_id, level)
    for seed in range(5):
        record, reference = play(env, seed=seed), play(plain, seed=seed)
        sums = [Counter[str](), Counter[str]()]
        for place, steps in enumerate((record, reference)):
            for _, reward, _, _, info in steps[1:]:
                assert reward == sum(info["reward_components"].values())
                for name, value in info["reward_components"].items():
                    sums[place][name] += value  # type: ignore[assignment]
        assert dict(sums[0]) == pytest.approx(dict(sums[1]))
        assert [step[0] for step in record] == [step[0] for step in reference]


@pytest.mark.parametrize("wrapper", [DelayedRewards, MissingRewards])
def test_a_veto_fixes_what_was_paid(wrapper: type[DelayedRewards]):
    env = wrapper(clean(level=4), 1.0)
    env.reset(seed=1)
    earlier = float(env.step(render_call("get_user", {}))[1])
    reference = chat(env).state.task.bookings[0].reference  # type: ignore[attr-defined]
    _, reward, terminated, _, info = env.step(render_call("cancel_booking", {"reference": reference, "fee": 9999}))
    assert terminated
    assert info["stop_reason"] == "veto"
    assert earlier + float(reward) == -10.0


def test_missing_rewards_are_withheld_by_component():
    assert lookup_steps(MissingRewards(clean(LOOKUP_ID), 1.0)) == [(0.0, {}), (0.0, {})]
    env, paid = MissingRewards(clean(level=2), 0.5), Counter[str]()
    for seed in range(100):
        record = play(env, seed=seed)
        assert record[-1][-1]["success"]
        paid.update(record[-1][-1]["reward_components"].keys())
    assert set(paid) == {"goal", "efficiency", "feedback", "style", "progress"}
    assert all(30 < count < 70 for count in paid.values())
