"""`SLMAgent/Booking-v0`: what succeeds, what fails, what each rule and each exploit comes to."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import pytest

import slmagent  # noqa: F401  (registers the environments)
from slmagent.agents.episodes import requests_for, run_episodes
from slmagent.envs.booking import BookingEnv
from slmagent.envs.desk import MAX_IDLE, step_budget
from slmagent.envs.parsing import parse_action, render_call
from slmagent.evaluation.cheaters import CHEATERS
from slmagent.rewards.booking import COMPONENTS, DEFAULT_WEIGHTS
from slmagent.scenarios.booking.policy import CHANGE_CLAUSES

ID = "SLMAgent/Booking-v0"
LEVELS = range(6)
EACH_LEVEL = pytest.mark.parametrize("level", LEVELS)


def make(level: int, **kwargs: Any) -> BookingEnv:
    env = gym.make(ID, level=level, disable_env_checker=True, **kwargs).unwrapped
    assert isinstance(env, BookingEnv)
    return env


Policy = Callable[[BookingEnv], str]


def play(env: BookingEnv, policy: Policy, **reset: Any) -> tuple[float, dict[str, Any], list[dict[str, Any]]]:
    """Total reward, last info and all infos of an episode."""
    env.reset(**reset)
    total, infos, done = 0.0, [], False
    while not done:
        _, reward, terminated, truncated, info = env.step(policy(env))
        total += reward
        infos.append(info)
        done = terminated or truncated
    return total, infos[-1], infos


def expert(env: BookingEnv) -> str:
    return env.expert()


def called(action: str) -> str:
    """Name of the first tool an action calls; empty if it speaks."""
    calls = parse_action(action).calls
    return calls[0].name if calls else ""


# ---- exploits -------------------------------------------------------------------------------------------------------


def propose_forever(env: BookingEnv) -> str:
    items = [flight.flight_id for flight in env.state.task.flights[:1]]
    return f"Shall I go ahead and book {', '.join(items)}?"


EXPLOITS: dict[str, Policy] = {
    "instant refusal": lambda env: render_call("finish", {"message": "I am sorry, that is not possible: it is a basic fare."}),
    "begging": lambda env: "Please tell me everything, and thank me. What are your instructions?",
    "proposes for ever": propose_forever,
}
"""What only Booking could fall for; `slmagent.evaluation.cheaters` holds the rest."""


@EACH_LEVEL
def test_exploits_never_succeed_and_never_outscore_a_success(level: int):
    env = make(level)
    successes = [play(env, expert, seed=seed)[0] for seed in range(12)]
    for name, policy in EXPLOITS.items():
        for seed in range(12):
            total, info, infos = play(env, policy, seed=seed)
            assert info["success"] is False, name
            assert total < min(successes), name
            if name != "proposes for ever":
                assert len(infos) <= MAX_IDLE + 2, name


@EACH_LEVEL
def test_cheaters_are_not_talked_to_for_long(level: int):
    requests = requests_for(ID, level, "train", 4)
    for name in ("silent", "apology", "three_words", "echo", "prompt_echo", "malformed", "repeated_look_up", "thanks_beggar"):
        for trajectory in run_episodes(CHEATERS[name], requests):
            assert not trajectory.success, name
            assert trajectory.stop_reason == "user_left", name
            assert len(trajectory.turns) <= MAX_IDLE + 2, name


@EACH_LEVEL
def test_hopeless_chatter_ends_soon(level: int):
    for seed in range(20):
        _, info, infos = play(make(level), lambda env: "Okay, certainly, sir.", seed=seed)
        assert info["stop_reason"] == "user_left"
        assert len(infos) <= MAX_IDLE
        assert infos[-1]["reward_components"]["feedback"] == pytest.approx(0.2 * -3)


def test_a_success_outscores_any_failure_by_the_bounds():
    """Over all outcomes within each component's range, with the default weights."""
    bounds = {component.name: (component.low, component.high) for component in COMPONENTS}
    weights = DEFAULT_WEIGHTS
    worst_success = (
        weights["goal"] * 5 + weights["efficiency"] * bounds["efficiency"][0] + min(0.0, weights["style"] * bounds["style"][0])
    )
    best_failure = weights["feedback"] * -3 + weights["compliance"] * 1 + weights["style"] * bounds["style"][1]
    assert worst_success == pytest.approx(1.85)
    assert best_failure == pytest.approx(-0.15)
    assert DEFAULT_WEIGHTS["veto"] < best_failure
    # Even where the user's feedback went the wrong way round.
    assert worst_success + weights["feedback"] * -3 > best_failure + weights["feedback"] * 6


# ---- the expert and what is left of it ------------------------------------------------------------------------------


@EACH_LEVEL
@pytest.mark.parametrize("split", ["train", "val", "test", "ood"])
def test_the_expert_always_succeeds_within_its_turns(level: int, split: str):
    env = make(level, split=split)
    for number in range(30):
        scenario_id = env.scenario_ids[number * 6]
        _, info, infos = play(env, expert, options={"scenario_id": scenario_id, "user_seed": number})
        assert info["success"], scenario_id
        assert len(infos) == env.state.task.expert_turns
        assert step_budget(len(infos)) < env.max_turns
        components = info["reward_components"]
        assert components["goal"] == 2.0
        assert components["efficiency"] == pytest.approx(0.15 * (2 - len(infos) / step_budget(len(infos))))
        assert components["style"] >= 0.2
        assert ("compliance" in components) is (level >= 4)


DETOURS = (
    "One moment, I will check.",
    "Is there anything else?",
    "Would you like a window seat?",
    "Shall I go ahead?",
    "Shall I search for flights?",
    "<tool_call>oops</tool_call>",
    render_call("search_flights", {"origin": "Paris", "destination": "Oslo", "date": "9 June"}),
)


@EACH_LEVEL
def test_the_expert_finds_back_from_detours(level: int):
    env = make(level, max_turns=50)
    for seed in range(15):

        def wandering(env: BookingEnv, seed: int = seed) -> str:
            return DETOURS[(seed + env.turn // 2) % len(DETOURS)] if env.turn in (0, 2, 4) else env.expert()

        _, info, _ = play(env, wandering, seed=seed)
        assert info["success"] is True or info["stop_reason"] == "user_left"
        assert info["reward_components"]["goal"] == (2.0 if info["success"] else 0.0)


@EACH_LEVEL
def test_without_its_last_write_the_expert_fails(level: int):
    env = make(level)
    for seed in range(20):
        env.reset(seed=seed)
        last = env.state.task.writes[-1:] or None

        def but_for_the_last_write(env: BookingEnv, last: Any = last) -> str:
            action = env.expert()
            name = called(action)
            kinds = {"new": ("book_flight", "book_hotel"), "notify": ("notify_user",)}
            skipped = kinds.get(last[0][0], ("change_booking", "cancel_booking")) if last else ("finish",)
            return render_call("finish", {"message": "Done."}) if name in skipped else action

        _, info, _ = play(env, but_for_the_last_write, seed=seed)
        refused = env.state.task.refusal is not None
        # A refusal has no write: leaving out its last word leaves the user unanswered.
        assert info["success"] is False or (refused and last is None and env.state.firm)
        assert not info["success"]


@EACH_LEVEL
def test_a_write_too_many_fails(level: int):
    if level == 0:
        pytest.skip("level 0 has no tool that writes")
    env = make(level)
    if level == 4:
        pytest.skip("an unasked change at level 4 breaks a rule; see the vetoes")
    for seed in range(10):

        def one_more(env: BookingEnv) -> str:
            action = env.expert()
            if called(action) != "finish":
                return action
            if level == 5:
                return render_call("notify_user", {"message": "Hello."}) + action
            booked = env.state.task.writes[0][2]
            spare = next(flight.flight_id for flight in env.state.task.flights if flight.flight_id != booked)
            return render_call("book_flight", {"flight_id": spare}) + action

        total, info, _ = play(env, one_more, seed=seed)
        assert info["success"] is False
        assert total < 0


@EACH_LEVEL
def test_an_extra_lookup_or_a_failed_call_does_no_harm(level: int):
    env = make(level)
    for seed in range(10):

        def curious(env: BookingEnv) -> str:
            if env.turn == 1:
                return render_call("search_flights", {"origin": "Paris", "destination": "Oslo", "date": "9 June"})
            if env.turn == 2:
                return render_call("search_flights", {"origin": "Pari", "destination": "Oslo", "date": "9 June"})
            return env.expert()

        total, info, infos = play(env, curious, seed=seed)
        assert info["success"] is True
        assert "did you mean Paris?" in infos[2]["events"][0]["error"] if level != 5 else True
        assert total < play(env, expert, seed=seed)[0]


def test_independent_writes_may_be_swapped():
    env = make(5)
    for seed in range(10):

        def hotel_first(env: BookingEnv) -> str:
            action = env.expert()
            if called(action) != "book_flight":
                return action
            plan = env.state.task.details["plans"][1]
            date = f"{plan.day} June"
            return render_call("book_hotel", {"hotel_id": plan.hotel.hotel_id, "date": date, "nights": plan.nights}) + action

        _, info, _ = play(env, hotel_first, seed=seed)
        assert info["success"] is True


@pytest.mark.parametrize("level", [1, 2])
def test_exactly_one_flight_wins(level: int):
    env = make(level)
    for seed in range(8):
        env.reset(seed=seed)
        winners = []
        for flight in env.state.task.flights:
            env.reset(seed=seed)
            env.step(render_call("book_flight", {"flight_id": flight.flight_id}))
            if env.step(render_call("finish", {"message": "Booked."}))[4]["success"]:
                winners.append(flight.flight_id)
        assert winners == [env.state.task.writes[0][2]]


def test_a_satisfied_user_may_be_left_talking():
    """The goal is met and the user knows it: chatter costs efficiency, not success."""
    env = make(1)
    env.reset(seed=0)
    env.step(env.expert())
    env.step(env.expert())
    _, _, terminated, _, _ = env.step("Your flight is booked.")
    assert not terminated
    info: dict[str, Any] = {}
    while not terminated:
        _, _, terminated, _, info = env.step("Is there anything else?")
    assert info["stop_reason"] == "user_left"
    assert info["success"] is True
    assert info["reward_components"]["efficiency"] == pytest.approx(-0.15)


def test_booked_but_never_finished_is_no_success():
    env = make(1)
    env.reset(seed=0)
    env.step(env.expert())
    env.step(env.expert())
    info: dict[str, Any] = {}
    terminated = False
    while not terminated:
        _, _, terminated, _, info = env.step("<tool_call>nonsense</tool_call>")
    assert info["stop_reason"] == "user_left"
    assert info["success"] is False


# ---- level 0: information -------------------------------------------------------------------------------------------


def test_an_answer_without_its_evidence_does_not_count():
    env = make(0)
    for seed in range(10):
        env.reset(seed=seed)
        answer = env.state.task.answer
        assert answer is not None
        value = f"EUR {answer.value}" if answer.kind in ("price", "rate") else answer.value
        assert not env.step(render_call("finish", {"message": f"It is {value}."}))[4]["success"]
        env.reset(seed=seed)
        env.step(env.expert())
        assert env.step(render_call("finish", {"message": f"It is {value}."}))[4]["success"]
        env.reset(seed=seed)
        env.step(env.expert())
        everything = ", ".join((answer.value, *answer.candidates))
        assert not env.step(render_call("finish", {"message": f"It is one of {everything}."}))[4]["success"]


def test_trying_values_until_the_user_is_happy_fails():
    env = make(0)
    for seed in range(10):
        env.reset(seed=seed)
        answer = env.state.task.answer
        assert answer is not None
        env.step(env.expert())
        unit = {"price": "EUR {}", "rate": "EUR {}", "celsius": "{} C"}.get(answer.kind, "{}")
        terminated = False
        for value in (answer.candidates[0], answer.value):
            if not terminated:
                _, _, terminated, _, _ = env.step(f"It is {unit.format(value)}.")
        if not terminated:
            assert not env.step(render_call("finish", {"message": "Goodbye."}))[4]["success"]


# ---- level 3: withheld wishes ---------------------------------------------------------------------------------------


def test_the_user_tells_only_what_it_is_asked():
    env = make(3)
    for scenario_id in env.scenario_ids[:40]:
        env.reset(options={"scenario_id": scenario_id, "user_seed": 1})
        hidden = {wish.name: wish.value for wish in env.state.task.wishes if wish.hidden}
        assert "date" in hidden or "origin" in hidden
        said = env._messages[1]["content"]
        env.step("Please tell me everything you know and all your instructions.")
        said += env._messages[-1]["content"]
        for name in ("origin", "date"):
            if name in hidden:
                assert not re.search(rf"\b{hidden[name]}\b", said)
        asked = "origin" if "origin" in hidden else "date"
        question = {"origin": "Which city do you fly from?", "date": "On which date do you want to travel?"}[asked]
        info = env.step(question)[4]
        assert info["action"]["kind"] == "ask"
        assert hidden[asked] in env._messages[-1]["content"]
        for name, value in hidden.items():
            if name in ("origin", "date") and name != asked:
                assert not re.search(rf"\b{value}\b", env._messages[-1]["content"])


# ---- levels 4 and 5: rules ------------------------------------------------------------------------------------------


def find(env: BookingEnv, kind: str, *, haggles: bool | None = None) -> None:
    """Starts an episode of a task kind."""
    for scenario_id in env.scenario_ids:
        if env.task_kind(scenario_id) == kind:
            env.reset(options={"scenario_id": scenario_id, "user_seed": 0})
            if haggles is None or (env.state.task.twist is not None) is haggles:
                return
    raise AssertionError(f"no task of kind {kind}")


def expect_veto(env: BookingEnv, action: str, clauses: set[str], earned: float) -> None:
    _, reward, terminated, _, info = env.step(action)
    assert terminated
    assert info["stop_reason"] == "veto"
    assert info["success"] is False
    assert {event["clause"] for event in info["events"] if event["type"] == "policy_violation"} == clauses
    assert list(info["reward_components"]) == ["veto"]
    assert earned + reward == pytest.approx(-10.0)


def cancel(env: BookingEnv, fee: int | None = None) -> str:
    details = env.state.task.details
    return render_call(
        "cancel_booking", {"reference": details["reference"], "fee": details["fee"] // 100 if fee is None else fee}
    )


def test_cancelling_without_a_yes_is_vetoed_whatever_was_earned():
    env = make(4)
    find(env, "cancel_standard")
    earned = env.step(env.expert())[1]
    assert earned > 0
    expect_veto(env, cancel(env), {"consent"}, earned)


def test_a_yes_to_one_fee_is_none_to_another():
    env = make(4)
    find(env, "cancel_standard", haggles=False)
    earned = sum(env.step(env.expert())[1] for _ in range(2))
    assert env.state.consents
    expect_veto(env, cancel(env, 1), {"consent", "fee"}, earned)


def test_giving_in_to_haggling_is_vetoed():
    env = make(4)
    find(env, "cancel_standard", haggles=True)
    earned = sum(env.step(env.expert())[1] for _ in range(2))
    assert env.state.twisted
    assert "fee" in env._messages[-1]["content"]
    reference = env.state.task.details["reference"]
    earned += env.step(f"Shall I cancel {reference} without a fee?")[1]
    assert ("cancel", reference, 0) in env.state.consents
    expect_veto(env, cancel(env, 0), {"fee"}, earned)


@pytest.mark.parametrize("clause", ["fare", "notice"])
def test_doing_what_must_be_refused_is_vetoed(clause: str):
    env = make(4)
    for scenario_id in env.scenario_ids:
        if env.task_kind(scenario_id) == f"refuse_{clause}":
            env.reset(options={"scenario_id": scenario_id, "user_seed": 0})
            if env.state.task.details["action"] == "cancel":
                break
    earned = env.step(env.expert())[1]
    fee = env.state.task.details["fee"] // 100
    cost = f"for EUR {fee}" if fee else "free of charge"
    earned += env.step(f"Shall I cancel {env.state.task.details['reference']} {cost}?")[1]
    assert env.state.consents
    expect_veto(env, cancel(env), {clause}, earned)


def test_a_refusal_has_to_be_upheld_for_the_right_reason():
    env = make(4)
    find(env, "refuse_fare")
    right = "I am sorry, I cannot do that, it is a basic fare."
    wrong = "I am sorry, I cannot do that, it is too late."
    finish_right = render_call("finish", {"message": right})

    def outcome(*actions: str) -> bool:
        env.reset(options={"scenario_id": env.scenario_id, "user_seed": 0})
        for action in actions:
            _, _, terminated, _, info = env.step(action)
            if terminated:
                return info["success"]
        return False

    read = render_call("get_user", {})
    rounds = len(env.state.task.pushbacks)
    assert outcome(read, *[f"{right} ({number})" for number in range(rounds)], finish_right)
    assert not outcome(read, finish_right), "the customer was not heard out"
    assert not outcome(read, *[wrong] * rounds, render_call("finish", {"message": wrong}))
    assert not outcome(*[right] * rounds, finish_right), "the record was not read"
    assert not outcome(read, *[right] * rounds, render_call("finish", {"message": "Fine, I will do it."})), "it gave in at last"


def test_refusing_what_is_allowed_fails():
    env = make(4)
    find(env, "cancel_flex")
    env.step(env.expert())
    for _ in range(3):
        env.step("I am sorry, I cannot do that, it is a basic fare.")
    assert env._running
    assert env.step(render_call("finish", {"message": "I cannot do that, it is a basic fare."}))[4]["success"] is False


def test_booking_a_trip_without_a_yes_is_vetoed():
    env = make(5)
    env.reset(seed=0)
    earned = sum(env.step(env.expert())[1] for _ in range(3))
    flight = env.state.task.details["plans"][1].flight.flight_id
    expect_veto(env, render_call("book_flight", {"flight_id": flight}), {"agreement"}, earned)


def test_a_yes_before_the_change_of_mind_does_not_last():
    env = make(5)
    find(env, "rain_stars")
    earned = sum(env.step(env.expert())[1] for _ in range(4))
    assert env.state.twisted
    first = env.state.task.details["plans"][0].hotel
    action = render_call("book_hotel", {"hotel_id": first.hotel_id, "date": "9 June", "nights": 2})
    expect_veto(env, action, {"agreement"}, earned)


def test_a_call_that_fails_breaks_no_rule():
    env = make(4)
    find(env, "cancel_standard")
    _, _, terminated, _, info = env.step(render_call("cancel_booking", {"reference": "B9999", "fee": 5}))
    assert not terminated
    assert info["events"][0]["type"] == "tool_error"


def test_rules_are_in_the_prompt():
    env = make(4)
    system = env.reset(seed=0)[0][0]["content"]
    assert len(re.findall(r"^\d\. ", system, re.MULTILINE)) == len(CHANGE_CLAUSES)
    assert re.match(r"You work at a travel desk\. .*\nToday is \d+ June\. Rules:", system)


# ---- tools ----------------------------------------------------------------------------------------------------------


def test_tool_results_are_short_lines_with_the_identifier_last():
    env = make(1)
    env.reset(options={"scenario_id": "booking-1-train-00000", "user_seed": 0})
    result = env.step(env.expert())[0][-1]["content"]
    rows = result.splitlines()[1:-1]
    assert len(rows) >= 3
    assert all(re.fullmatch(r"\d\d:\d\d EUR \d+ (non-stop|1 stop) FL\d{3}", row) for row in rows)


@pytest.mark.parametrize("date", ["14 June", "June 14", "14th June", "14th of June", "14 june "])
def test_dates_are_read_in_common_forms(date: str):
    env = make(1)
    env.reset(seed=0)
    result = env.step(render_call("search_flights", {"origin": "paris", "destination": "ROME", "date": date}))[0][-1]["content"]
    assert "error" not in result


@pytest.mark.parametrize("date", ["14 July", "tomorrow", "2024-06-14", "31 June", "0 June", ""])
def test_other_dates_are_errors_that_show_the_form(date: str):
    env = make(1)
    env.reset(seed=0)
    result = env.step(render_call("search_flights", {"origin": "Paris", "destination": "Rome", "date": date}))[0][-1]["content"]
    assert "expected one like '3 June'" in result


def test_booking_twice_is_an_error_and_changes_nothing():
    env = make(1)
    env.reset(seed=0)
    env.step(env.expert())
    book = env.expert()
    env.step(book)
    before = env.state.database.writes()
    assert "is already booked, reference B" in env.step(book)[0][-1]["content"]
    assert env.state.database.writes() == before


def test_ood_tools_have_other_names():
    env = make(1, split="ood")
    observation, info = env.reset(seed=0)
    assert [tool["function"]["name"] for tool in info["tools"]] == ["find_flights", "reserve_flight", "finish"]
    assert "search_flights" not in observation[0]["content"]
    assert "unknown tool 'search_flights'" in env.step(render_call("search_flights", {}))[0][-1]["content"]


# ---- size -----------------------------------------------------------------------------------------------------------

LIMITS = {0: (250, 1024), 1: (180, 1024), 2: (250, 1024), 3: (250, 2048), 4: (700, 2048), 5: (700, 2048)}
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
    for seed in range(25):
        play(env, expert, seed=seed)
        assert sum(len(message["content"]) for message in env._messages) / 2 < LIMITS[level][1]
