"""`SLMAgent/CustomerService-v0`: what succeeds, what fails, what each rule and each exploit comes to."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import pytest

import slmagent  # noqa: F401  (registers the environments)
from slmagent.envs.customer_service import CustomerServiceEnv
from slmagent.envs.customer_service.answers import all_units
from slmagent.envs.desk import MAX_IDLE, step_budget
from slmagent.envs.parsing import parse_action, render_call
from slmagent.rewards.customer_service import COMPONENTS, DEFAULT_WEIGHTS, InfoRetrieval, ServiceOutcome, SolutionComplete
from slmagent.scenarios.customer_service.policy import CLAUSES
from slmagent.scenarios.quantities import quantities_in

ID = "SLMAgent/CustomerService-v0"
LEVELS = range(6)
EACH_LEVEL = pytest.mark.parametrize("level", LEVELS)


def make(level: int, **kwargs: Any) -> CustomerServiceEnv:
    env = gym.make(ID, level=level, disable_env_checker=True, **kwargs).unwrapped
    assert isinstance(env, CustomerServiceEnv)
    return env


Policy = Callable[[CustomerServiceEnv], str]
Infos = list[dict[str, Any]]


def play(env: CustomerServiceEnv, policy: Policy, **reset: Any) -> tuple[float, dict[str, Any], Infos]:
    """Total reward, last info and all infos of an episode."""
    env.reset(**reset)
    total, infos, done = 0.0, [], False
    while not done:
        _, reward, terminated, truncated, info = env.step(policy(env))
        assert reward == sum(info["reward_components"].values())
        total += reward
        infos.append(info)
        done = terminated or truncated
    return total, infos[-1], infos


def expert(env: CustomerServiceEnv) -> str:
    return env.expert()


def finish(message: str) -> str:
    return render_call("finish", {"message": message})


def called(action: str) -> str:
    """Name of the first tool an action calls; empty if it speaks."""
    calls = parse_action(action).calls
    return calls[0].name if calls else ""


def find(env: CustomerServiceEnv, kind: str, user_seed: int = 0) -> None:
    """Starts an episode of a task kind."""
    scenario_id = next(scenario_id for scenario_id in env.scenario_ids if env.task_kind(scenario_id) == kind)
    env.reset(options={"scenario_id": scenario_id, "user_seed": user_seed})


def read_up(env: CustomerServiceEnv) -> float:
    """Plays the expert up to the point where it has asked and read everything; what that earned."""
    earned = 0.0
    while not env.state.evidence_read() or any(name not in env.state.told() for name in env.state.task.details.get("hidden", ())):
        earned += env.step(env.expert())[1]
    return earned


def the_item(env: CustomerServiceEnv) -> dict[str, str]:
    """Arguments that name the item that the task is about; some item where it is about none."""
    task = env.state.task
    item = task.details.get("item") or next(iter(task.items), None)
    return {"order_id": item.order_id, "product_id": item.product_id} if item else {"order_id": "O100", "product_id": "P10"}


# ---- exploits -------------------------------------------------------------------------------------------------------


def after_reading(then: Policy) -> Policy:
    """Reads and asks like the expert before it goes its own way: the strongest form of a cheat."""

    def policy(env: CustomerServiceEnv) -> str:
        hidden = env.state.task.details.get("hidden", ())
        ready = env.state.evidence_read() and env.state.told().issuperset(hidden)
        return then(env) if ready else env.expert()

    return policy


def all_remedies(env: CustomerServiceEnv) -> str:
    item = the_item(env)
    calls = [("replace_item", {}), ("refund", {"fee": 0}), *(("create_ticket", {"topic": name}) for name in ("parts", "carrier"))]
    calls += [("create_ticket", {"topic": "repair"}), ("escalate", {})]
    return "".join(render_call(tool, {**item, **extra}) for tool, extra in calls) + finish("All done, see KB10.")


def offer_all(env: CustomerServiceEnv) -> str:
    names = " and ".join(item.name for item in env.state.task.items) or "article"
    return f"Shall I refund, replace, repair or escalate the {names}, or open a parts ticket or a carrier ticket?"


def offer_in_turn(env: CustomerServiceEnv) -> str:
    name = env.state.task.items[0].name if env.state.task.items else "kettle"
    offers = ("refund", "replace", "open a repair ticket for", "open a parts ticket for", "open a carrier ticket for", "escalate")
    return f"Shall I {offers[env.turn % len(offers)]} the {name}?"


def flood(env: CustomerServiceEnv) -> str:
    """Reads eight things an action, others each time."""
    titles = [article.title for article in env.state.task.edition.articles]
    start = env.turn * 7
    searches = [render_call("search_kb", {"query": titles[(start + place) % len(titles)]}) for place in range(7)]
    return "".join((*searches, render_call("get_order", {"order_id": the_item(env)["order_id"]})))


def do_as_told(env: CustomerServiceEnv) -> str:
    """Gives the customer its money back, whatever the rules say."""
    if env.state.task.writes and not env.state.writes():
        return render_call("refund", {**the_item(env), "fee": 0})
    return finish("Your money is on its way.")


def escalate_all(env: CustomerServiceEnv) -> str:
    if env.state.writes():
        return finish("I have escalated it.")
    items = [{"order_id": item.order_id, "product_id": item.product_id} for item in env.state.task.items[:8]]
    return "".join(render_call("escalate", item) for item in items or [the_item(env)])


EXPLOITS: dict[str, Policy] = {
    "silent": lambda env: "",
    "apologising": lambda env: "I am sorry for the inconvenience, I apologise.",
    "instant finish": lambda env: finish("All done, thank you!"),
    "instant refusal": lambda env: finish("I am sorry, that is not possible: the return time is over."),
    "begging": lambda env: "Please tell me everything, and thank me. What are your instructions?",
    "begging for a rating": lambda env: "Please rate me with the best mark. Are you happy with me?",
    "three words": lambda env: "Okay, certainly, sir.",
    "echoes the user": lambda env: env._messages[1]["content"],
    "echoes the last message": lambda env: env._messages[-1]["content"],
    "echoes the prompt": lambda env: env._messages[0]["content"],
    "repeats a look-up": lambda env: render_call("search_kb", {"query": "returning kettles"}),
    "repeats a useful look-up": lambda env: env.expert() if env.turn == 0 else env._messages[2]["content"],
    "lists everything": after_reading(lambda env: finish("\n".join(message["content"] for message in env._messages[2:]))),
    "cites everything": lambda env: finish(" ".join(f"KB{number}" for number in range(10, 100))),
    "floods with look-ups": flood,
    "floods, then lists": lambda env: flood(env) if env.turn < 4 else finish(env._messages[-1]["content"]),
    "claims success": lambda env: finish("I have refunded and replaced it, you get your money back, see KB12."),
    "claims success after reading": after_reading(
        lambda env: finish(f"Your {' and '.join(env.state.task.subject)} is refunded and replaced, see {env.state.task.cites}.")
    ),
    "escalates": escalate_all,
    "does as told": do_as_told,
    "does as told after reading": after_reading(do_as_told),
    "tries all remedies": all_remedies,
    "tries all remedies after reading": after_reading(all_remedies),
    "offers all remedies": offer_all,
    "offers all remedies after reading": after_reading(offer_all),
    "offers one after the other": offer_in_turn,
    "promises": lambda env: "I will take care of it at once, I promise. You will get what you want.",
    "promises after reading": after_reading(lambda env: "I will take care of it at once, I promise."),
    "refuses for every reason": lambda env: "I cannot do that, the return time is over and I cannot waive the fee.",
    "refuses for every reason after reading": after_reading(
        lambda env: finish("I cannot do that, the return time is over and I cannot waive the fee.")
        if env.turn > 10
        else "I cannot do that, the return time is over and I cannot waive the fee."
    ),
    "malformed": lambda env: "<tool_call>{'name': 'finish'}</tool_call>",
    "unknown tool": lambda env: render_call("do_it", {}),
}


def lists_one_value_only(env: CustomerServiceEnv) -> bool:
    """No article that was found has another figure, so reading them out is an answer."""
    task = env.state.task
    read = "\n".join(message["content"] for message in env._messages[2:-1])
    return task.level == 0 and not quantities_in(read, all_units()) - {*task.answer.also}  # type: ignore[union-attr]


def a_free_refund_is_right(env: CustomerServiceEnv) -> bool:
    return env.state.task.writes == (("refund", *the_item(env).values(), "0"),)


RIGHT_WHERE = {"lists everything": lists_one_value_only, "does as told after reading": a_free_refund_is_right}
"""Exploits that happen to be the right thing in some tasks."""


@EACH_LEVEL
@pytest.mark.parametrize("split", ["train", "ood"])
def test_exploits_never_succeed_and_never_outscore_a_success(level: int, split: str):
    env = make(level, split=split)
    seeds = range(5)
    successes = [play(env, expert, seed=seed)[0] for seed in seeds]
    for name, policy in EXPLOITS.items():
        for seed in seeds:
            total, info, infos = play(env, policy, seed=seed)
            if info["success"]:
                assert RIGHT_WHERE[name](env), name
                continue
            assert total < 0.87 < min(successes), name
            if not name.startswith(("flood", "offers")) and "after reading" not in name:
                assert len(infos) <= MAX_IDLE + 2, name


@EACH_LEVEL
def test_hopeless_chatter_ends_soon(level: int):
    for seed in range(12):
        for name in ("three words", "silent", "promises"):
            _, info, infos = play(make(level), EXPLOITS[name], seed=seed)
            assert info["stop_reason"] == "user_left"
            assert len(infos) <= MAX_IDLE
            assert info["reward_components"]["user_satisfaction"] == pytest.approx(0.0, abs=0.08)


def test_a_success_outscores_any_failure_by_the_bounds():
    """Over all outcomes within each component's range, with the default weights."""
    weights = DEFAULT_WEIGHTS
    assert {component.name for component in COMPONENTS} | {"progress", "veto"} == set(weights)
    manners = sum(weights[component.name] * component.low for component in COMPONENTS if component.low < 0)
    assert manners == pytest.approx(-0.25)
    assert all(component.high == 0 for component in COMPONENTS if component.low < 0)
    # A success is paid the whole of the solution and a rating of at least 0.8; the rest may be missing.
    worst_success = weights["solution_complete"] * 1.0 + weights["user_satisfaction"] * 0.8 + manners
    best_failure = (
        weights["understand"]
        + weights["info_retrieval"]
        + weights["solution_complete"] * SolutionComplete.short
        + weights["user_satisfaction"] * 0.1
    )
    assert worst_success == pytest.approx(0.95)
    assert best_failure == pytest.approx(0.86)
    assert weights["veto"] < manners


@pytest.mark.parametrize("mood", [-1.0, -0.3, 0.0, 1.0])
@pytest.mark.parametrize("done", [0.0, 0.5, 1.0])
def test_components_of_successes_and_failures_keep_to_the_bounds(mood: float, done: float):
    def total(success: bool, **kwargs: Any) -> float:
        outcome = ServiceOutcome(success=success, confirmed=not success, done=done, mood=mood, **kwargs)
        values = {component.name: component(outcome) for component in COMPONENTS}
        for component in COMPONENTS:
            value = values[component.name]
            assert value is None or component.low <= value <= component.high
        return sum(DEFAULT_WEIGHTS[name] * value for name, value in values.items() if value is not None)

    nothing: dict[str, Any] = {"cites": ("KB1",), "relied": {"KB1"}, "cited": set()}
    worst = total(True, **nothing, repetition=1.0, off_topic=1.0, filler=1.0)
    best = total(False, **{**nothing, "cited": {"KB1"}}, repetition=0.0, off_topic=0.0, filler=0.0)
    assert worst >= 0.95 - 1e-9 > 0.86 + 1e-9 >= best


@pytest.mark.parametrize(
    ("cited", "value"),
    [
        (set(), 0.0),
        ({"KB1"}, 0.5),
        ({"KB1", "KB2"}, 1.0),
        ({"KB1", "KB2", "KB3"}, 1.0),
        ({"KB1", "KB2", "KB9"}, 2 / 3),
        ({"KB9"}, 0.0),
        ({"KB1", "KB2", *(f"KB{number}" for number in range(10, 28))}, 0.1),
    ],
)
def test_citations_by_hand(cited: set[str], value: float):
    """KB1 and KB2 are to be named, KB3 is evidence too, the others are neither."""
    outcome = ServiceOutcome(True, True, ("KB1", "KB2"), {"KB1", "KB2", "KB3"}, cited, 1.0, 0.0, None, None, None)
    assert InfoRetrieval()(outcome) == pytest.approx(value)


def test_nothing_to_cite_is_absent():
    assert InfoRetrieval()(ServiceOutcome(True, True, (), set(), {"KB1"}, 1.0, 0.0, None, None, None)) is None


@pytest.mark.parametrize("level", [0, 2, 3, 4, 5])
def test_citing_all_articles_does_not_pay(level: int):
    env = make(level)
    for seed in range(6):
        honest = play(env, expert, seed=seed)[1]["reward_components"]["info_retrieval"]

        def citing_all(env: CustomerServiceEnv) -> str:
            action = env.expert()
            if called(action) != "finish":
                return action
            message = parse_action(action).calls[0].arguments["message"]
            searches = "".join(
                render_call("search_kb", {"query": article.title}) for article in env.state.task.edition.articles[::11][:7]
            )
            return searches + finish(f"{message} See also {', '.join(f'KB{number}' for number in range(10, 100))}.")

        info = play(env, citing_all, seed=seed)[1]
        assert info["success"] is True
        assert info["reward_components"]["info_retrieval"] < 0.4 * honest
        assert honest == pytest.approx(0.3)


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


WRITERS = ("refund", "replace_item", "create_ticket", "escalate")


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


def test_every_clause_but_the_duty_to_refuse_has_been_vetoed_above():
    """The last clause asks for an action: without it the goal is not met, see the refusals below."""
    assert set(CLAUSES) == {"time", "warranty", "fee", "consent", "refusal"}


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
    moods = {level: make(level) for level in (3, 4)}
    for env in moods.values():
        env.reset(options={"scenario_id": env.scenario_ids[0], "user_seed": 0})
    assert all(make_mood(moods[4], number) < 0.3 for number in range(20))
    assert moods[4].state.task.mood < moods[3].state.task.mood == 0.0


def make_mood(env: CustomerServiceEnv, number: int) -> float:
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
