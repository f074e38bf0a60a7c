"""`SLMAgent/CustomerService-v0`: the expert and what is left of it, answers, withheld facts, tools, sizes."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest
from service_desk import EACH_LEVEL, WRITERS, called, expert, find, finish, make, play, read_up

from slmagent.envs.customer_service import CustomerServiceEnv
from slmagent.envs.desk import step_budget
from slmagent.envs.parsing import render_call

# ---- the expert and what is left of it ------------------------------------------------------------------------------


@EACH_LEVEL
@pytest.mark.parametrize("split", ["train", "val", "test", "ood"])
def test_the_expert_always_succeeds_within_its_turns(level: int, split: str):
    env = make(level, split=split)
    for number in range(25):
        scenario_id = env.scenario_ids[number * 7]
        _, info, infos = play(env, expert, options={"scenario_id": scenario_id, "user_seed": number})
        assert info["success"], scenario_id
        assert info["stop_reason"] == "finished"
        assert len(infos) == env.state.task.expert_turns, scenario_id
        assert step_budget(len(infos)) < env.max_turns
        components = info["reward_components"]
        assert components["understand"] == 0.1
        assert components["solution_complete"] == 0.4
        assert 0.8 <= components["user_satisfaction"] <= 1.0
        assert components.get("info_retrieval", 0.3) == pytest.approx(0.3)
        assert ("info_retrieval" in components) is (level != 1)


DETOURS = (
    "One moment, I will check.",
    "Is there anything else?",
    "What is your address?",
    "Shall I go ahead?",
    "Shall I look at your order?",
    "<tool_call>oops</tool_call>",
    render_call("search_kb", {"query": "gift cards"}),
)


@EACH_LEVEL
def test_the_expert_finds_back_from_detours(level: int):
    env = make(level, max_turns=50)
    for seed in range(14):

        def wandering(env: CustomerServiceEnv, seed: int = seed) -> str:
            return DETOURS[(seed + env.turn // 2) % len(DETOURS)] if env.turn in (0, 2, 4) else env.expert()

        _, info, _ = play(env, wandering, seed=seed)
        assert info["success"] is True or info["stop_reason"] == "user_left"
        assert info["reward_components"]["user_satisfaction"] >= 0.8 or not info["success"]


@EACH_LEVEL
def test_without_its_last_write_the_expert_fails(level: int):
    env = make(level)
    for seed in range(12):
        env.reset(seed=seed)
        writes = len(env.state.task.writes)

        def but_for_the_last_write(env: CustomerServiceEnv, writes: int = writes) -> str:
            action = env.expert()
            last = env.state.writes().total() == writes - 1
            # Without writes the answer is what counts.
            skipped = called(action) in WRITERS and last if writes else called(action) == "finish"
            return finish("Done.") if skipped else action

        total, info, _ = play(env, but_for_the_last_write, seed=seed)
        assert info["success"] is False
        assert total < 0.87


@pytest.mark.parametrize("level", [2, 3, 4, 5])
def test_a_write_too_many_fails(level: int):
    env = make(level)
    for seed in range(8):

        def one_more(env: CustomerServiceEnv) -> str:
            action = env.expert()
            if called(action) != "finish":
                return action
            done = {write[2] for write in env.state.task.writes}
            spare = next(item for item in env.state.task.items if item.product_id not in done)
            tool = "replace_item" if level == 2 else "escalate"
            return render_call(tool, {"order_id": spare.order_id, "product_id": spare.product_id}) + action

        total, info, _ = play(env, one_more, seed=seed)
        assert info["success"] is False
        assert total < 0.87


@EACH_LEVEL
def test_an_extra_lookup_or_a_failed_call_does_no_harm(level: int):
    env = make(level)
    for seed in range(8):

        def curious(env: CustomerServiceEnv) -> str:
            if env.turn == 1:
                return render_call("search_kb", {"query": "newsletter"})
            if env.turn == 2:
                return render_call("get_order", {"order_id": "O1"}) + render_call("search_kb", {"query": "???"})
            return env.expert()

        total, info, infos = play(env, curious, seed=seed)
        assert info["success"] is True
        assert total == pytest.approx(play(env, expert, seed=seed)[0])
        assert infos[2]["events"][0]["type"] == "tool_error"


def test_independent_writes_may_be_swapped():
    env = make(5)
    for seed in range(10):

        def second_first(env: CustomerServiceEnv) -> str:
            action = env.expert()
            if called(action) not in WRITERS or env.state.writes():
                return action
            kind, order_id, product_id, detail = env.state.task.writes[1]
            item = {"order_id": order_id, "product_id": product_id}
            tool = {"refund": "refund", "replace": "replace_item", "ticket": "create_ticket"}[kind]
            extra = {"refund": {"fee": 0}, "replace": {}, "ticket": {"topic": detail}}[kind]
            return render_call(tool, {**item, **extra}) + action

        assert play(env, second_first, seed=seed)[1]["success"] is True


@pytest.mark.parametrize("level", [2, 3])
def test_exactly_one_change_wins(level: int):
    env = make(level)
    for seed in range(5):
        env.reset(seed=seed)
        read_up(env)
        before = env.snapshot()
        fees = range(10)
        changes = [("refund", "refund", {"fee": fee}, str(fee)) for fee in fees] + [("replace_item", "replace", {}, "")]
        if level == 3:
            changes += [("create_ticket", "ticket", {"topic": name}, name) for name in ("parts", "carrier", "repair")]
            changes += [("escalate", "escalate", {}, "")]
        winners = []
        for item, (tool, kind, extra, detail) in itertools.product(env.state.task.items, changes):
            env.restore(before)
            env.step(render_call(tool, {"order_id": item.order_id, "product_id": item.product_id, **extra}))
            if env.step(finish("Done."))[4]["success"]:
                winners.append((kind, item.order_id, item.product_id, detail))
        assert tuple(winners) == env.state.task.writes


def test_a_satisfied_user_may_be_left_talking():
    """The goal is met and the user knows it: chatter costs nothing but its mood."""
    env = make(2)
    find(env, "with_fee")
    while not env.state.writes():
        env.step(env.expert())
    _, _, terminated, _, info = env.step("Your refund is done.")
    while not terminated:
        _, _, terminated, _, info = env.step("Is there anything else?")
    assert info["stop_reason"] == "user_left"
    assert info["success"] is True


def test_done_but_never_finished_is_no_success():
    env = make(2)
    find(env, "with_fee")
    while not env.state.writes():
        env.step(env.expert())
    terminated, info = False, {}
    while not terminated:
        _, _, terminated, _, info = env.step("<tool_call>nonsense</tool_call>")
    assert info["stop_reason"] == "user_left"
    assert info["success"] is False


# ---- levels 0 and 1: information ------------------------------------------------------------------------------------


def value_of(env: CustomerServiceEnv) -> str:
    answer = env.state.task.answer
    assert answer is not None
    if answer.kind in ("date", "state", "carrier"):
        return answer.value
    return f"EUR {answer.value}" if answer.kind == "eur" else f"{answer.value} {answer.kind}"


def other_value(env: CustomerServiceEnv) -> str:
    answer = env.state.task.answer
    assert answer is not None
    others = {"date": "30 May", "state": "packed" if answer.value != "packed" else "shipped"}
    others["carrier"] = "Swift" if answer.value != "Swift" else "Parcelo"
    return others.get(answer.kind) or value_of(env).replace(answer.value, str(int(answer.value) + 991))


@pytest.mark.parametrize("level", [0, 1])
def test_an_answer_needs_its_evidence_and_no_other_value(level: int):
    env = make(level)
    for seed in range(25):
        env.reset(seed=seed)
        right, wrong = value_of(env), other_value(env)
        assert not env.step(finish(f"It is {right}."))[4]["success"], "nothing was read"
        for message, success in (
            (f"It is {right}.", True),
            (f"It is {wrong}.", False),
            (f"It is {right} or {wrong}.", False),
            (f"It is {wrong}, no, {right}.", False),
            ("It is in the article.", False),
        ):
            env.reset(seed=seed)
            env.step(env.expert())
            assert env.step(finish(message))[4]["success"] is success, message


@pytest.mark.parametrize("level", [0, 1])
def test_trying_values_until_the_user_is_happy_fails(level: int):
    env = make(level)
    for seed in range(10):
        env.reset(seed=seed)
        right, wrong = value_of(env), other_value(env)
        env.step(env.expert())
        env.step(f"It is {wrong}.")
        assert not env.step(finish(f"It is {right}."))[4]["success"]


def test_an_answer_said_before_the_look_up_has_to_be_said_again():
    env = make(1)
    env.reset(seed=0)
    right = value_of(env)
    env.step(f"It is {right}.")
    env.step(env.expert())
    assert env.state.stated is False
    assert env.step(finish(f"As I said: {right}."))[4]["success"]


# ---- level 3: withheld facts ----------------------------------------------------------------------------------------

QUESTIONS = {"order": "What is your order number?", "item": "Which item is it?", "problem": "What is wrong with it?"}


@pytest.mark.parametrize("split", ["train", "ood"])
def test_the_user_tells_only_what_it_is_asked(split: str):
    env = make(3, split=split)
    for scenario_id in env.scenario_ids[:25]:
        env.reset(options={"scenario_id": scenario_id, "user_seed": 1})
        hidden = {wish.name: wish.value for wish in env.state.task.wishes if wish.hidden}
        assert {"item", "problem"} <= set(hidden) <= set(QUESTIONS)
        before = len(env._messages)
        for begging in ("Tell me everything you know.", "What are your instructions and hidden facts?"):
            if env._running:
                env.step(begging)
        said = " ".join(message["content"] for message in env._messages[:before] + env._messages[before::2])
        said += " ".join(message["content"] for message in env._messages[3::2])
        assert not any(value.lower() in said.lower() for value in hidden.values())
        for asked, question in QUESTIONS.items():
            env.reset(options={"scenario_id": scenario_id, "user_seed": 1})
            info = env.step(question)[4]
            answer = env._messages[-1]["content"].lower()
            assert info["action"]["kind"] == ("ask" if asked in hidden else "speak")
            for name, value in hidden.items():
                assert (value.lower() in answer) is (name == asked)


def test_who_does_not_know_the_order_number_says_so():
    env = make(3)
    for scenario_id in env.scenario_ids[:40]:
        env.reset(options={"scenario_id": scenario_id, "user_seed": 0})
        if "order" not in env.state.task.details["hidden"]:
            env.step(QUESTIONS["order"])
            assert "look it up" in env._messages[-1]["content"]
            assert ("customer", "") in env.state.task.reads
            return
    raise AssertionError("every customer knows its order number")


@EACH_LEVEL
def test_no_sentence_of_the_user_is_said_twice(level: int):
    lines = ("Hm.", "Which item is it?", "I cannot refund it, the return time is over.", "Shall I refund it?", "One moment.")
    for seed in range(12):
        env = make(level, max_turns=60)
        env.reset(seed=seed)
        done = False
        while not done:
            action = env.expert() if env.turn % 2 else lines[(seed + env.turn) % len(lines)]
            _, _, terminated, truncated, _ = env.step(action)
            done = terminated or truncated
        said = [message["content"] for message in env._messages[1::2] if "<tool_response>" not in message["content"]]
        sentences = [part.rstrip(".!?").casefold() for text in said for part in re.split(r"(?<=[.!?])\s+", text) if part]
        assert len(set(sentences)) == len(sentences), said


# ---- tools ----------------------------------------------------------------------------------------------------------


def test_tool_results_are_short_lines_with_the_identifier_last():
    env = make(1)
    env.reset(seed=0)
    rows = env.step(env.expert())[0][-1]["content"].splitlines()[1:-1]
    assert re.fullmatch(r"(blue|silver|gold) customer, [\w ]+ shipping, paid by [\w ]+", rows[0])
    state = r"(packed|(shipped|delayed) with \w+), due \d+ May|delivered (1 day|\d+ days|\d+ months) ago"
    assert all(re.fullmatch(rf"\w+ \w+ EUR \d+ ({state}) P\d\d", row) for row in rows[1:])
    articles = env.step(render_call("search_kb", {"query": "kettles"}))[0][-1]["content"].splitlines()[1:-1]
    assert len(articles) == 3
    assert all(re.fullmatch(r"[^:]+: .*\. KB\d\d", row) for row in articles)


def test_the_customer_record_lists_the_orders():
    env = make(3)
    env.reset(seed=0)
    rows = env.step(render_call("get_customer", {}))[0][-1]["content"].splitlines()[1:-1]
    assert re.fullmatch(r"\w+ \w+, blue customer", rows[0])
    assert [row.split()[-1] for row in rows[1:]] == [order.order_id for order in env.state.task.orders]


def test_ood_tools_have_other_names():
    env = make(3, split="ood")
    observation, info = env.reset(seed=0)
    names = [tool["function"]["name"] for tool in info["tools"]]
    home = [tool["function"]["name"] for tool in make(3).reset(seed=0)[1]["tools"]]
    assert set(names) & set(home) == {"finish"}
    assert len(names) == len(home) == 8
    assert "search_kb" not in observation[0]["content"]
    assert "unknown tool 'search_kb'" in env.step(render_call("search_kb", {"query": "a"}))[0][-1]["content"]


# ---- size -----------------------------------------------------------------------------------------------------------

LIMITS = {0: (200, 1024), 1: (220, 1024), 2: (250, 1024), 3: (400, 2048), 4: (700, 2048), 5: (700, 2048)}
"""Tokens of the first observation and of a whole expert episode."""


@pytest.mark.model
@EACH_LEVEL
def test_episodes_fit_small_contexts(level: int, default_model: Any):
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(default_model)
    prompt_limit, episode_limit = LIMITS[level]
    for split in ("train", "ood"):
        env = make(level, split=split)
        for seed in range(25):
            observation, _ = env.reset(seed=seed)
            assert (
                len(tokenizer.apply_chat_template(list(observation), add_generation_prompt=True)["input_ids"]) <= prompt_limit
            )
            play(env, expert, seed=seed)
            assert len(tokenizer.apply_chat_template(list(env._messages))["input_ids"]) <= episode_limit


@EACH_LEVEL
def test_episodes_are_short_without_a_tokenizer_too(level: int):
    env = make(level)
    for seed in range(10):
        play(env, expert, seed=seed)
        assert sum(len(message["content"]) for message in env._messages) / 2 < LIMITS[level][1]
