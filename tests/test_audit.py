"""The audit: it finds the holes of an environment that has some, and none in ours."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from toy_chat import BUTTONS_ID, ButtonsEnv, register_toy_chat
from toy_env import ECHO_ID, register_toy_envs

import slmagent  # noqa: F401  (registers the environments)
from slmagent.agents.episodes import requests_for, run_episodes
from slmagent.agents.scripted import ExpertAgent, write_call
from slmagent.cli import main
from slmagent.cli.audit import read_budget
from slmagent.envs.parsing import parse_action
from slmagent.envs.registration import ENTRY_POINTS
from slmagent.errors import SlmagentError, UsageError
from slmagent.evaluation.audit import LAST_CHANGE_LEFT_OUT, LevelAudit, PolicyScore, audit_level, score_of, without_last_change
from slmagent.evaluation.cheaters import (
    CHEATERS,
    EscalatingAgent,
    ListingAgent,
    RepeatedLookUpAgent,
    chat_env,
    first_look_up,
)
from slmagent.evaluation.exploits import Budget, search_level
from slmagent.types import Message

register_toy_envs()
register_toy_chat()
PEEK = write_call("peek", {})
ALL_LEVELS = [
    (env_id, level) for env_id in ENTRY_POINTS for level in chat_env(gymnasium.make(env_id, disable_env_checker=True)).levels
]


def buttons(level: int = 0) -> ButtonsEnv:
    env = gymnasium.make(BUTTONS_ID, level=level, disable_env_checker=True).unwrapped
    assert isinstance(env, ButtonsEnv)
    env.reset(options={"scenario_id": "buttons-17"})
    return env


# ---- our environments -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("env_id", "level"), ALL_LEVELS)
def test_no_exploit_pays_in_our_environments(env_id: str, level: int) -> None:
    """A sample of what `test_promises` does for many seeds."""
    audit = audit_level(env_id, level, episodes=2, seed=level)
    assert audit.broken == ()
    assert {score.policy for score in audit.cheaters} >= set(CHEATERS)
    assert audit.worst_success is not None
    assert all(score.best < audit.worst_success for score in audit.cheaters)


def test_a_search_finds_nothing_in_booking_and_is_repeatable() -> None:
    result = search_level("SLMAgent/Booking-v0", 1, Budget(600), tasks=2)
    assert not result.found
    assert result.best is not None
    assert result.best.total_reward < 0.0
    assert 600 <= result.steps <= 602
    assert result.episodes > 50
    assert search_level("SLMAgent/Booking-v0", 1, Budget(600), tasks=2) == result


# ---- an environment with holes --------------------------------------------------------------------------------------


def test_a_sound_environment_keeps_its_promises() -> None:
    audit = audit_level(BUTTONS_ID, 0, episodes=5)
    assert audit.broken == ()
    assert audit.worst_success == pytest.approx(2.7)  # 3 less a tenth for each of three turns
    assert (audit.expert.successes, audit.expert.success_rate) == (5, 1.0)
    assert "the expert succeeds in 5 of 5 tasks, without its last change in none of 5" in audit.verdict
    assert [score.best for score in audit.cheaters] == sorted((score.best for score in audit.cheaters), reverse=True)


@pytest.mark.parametrize(("policy", "episodes", "broken"), [("random", 50, False), ("random", 5, True), ("claims", 50, True)])
def test_only_random_words_may_be_lucky_and_seldom(policy: str, episodes: int, broken: bool) -> None:
    expert = PolicyScore("expert", episodes, episodes, 2.0, 2.0, "t-1", ())
    lucky = PolicyScore(policy, episodes, 1, 1.9, 0.0, "t-2", ("t-2",))
    audit = LevelAudit("SLMAgent/Booking-v0", 0, "train", expert, 1.5, (lucky,), ())
    assert bool(audit.broken) is broken


@pytest.mark.parametrize(
    ("level", "policy", "problem"),
    [
        (1, "repeated_look_up", "repeated_look_up earns 4.80 in buttons-10, the worst success 3.30"),
        (2, "claims", "claims succeeds in 5 of 5 tasks: buttons-10, buttons-11, buttons-12, ..."),
        (3, LAST_CHANGE_LEFT_OUT, f"{LAST_CHANGE_LEFT_OUT} succeeds in 5 of 5 tasks"),
        (3, "lists", "lists succeeds in 5 of 5 tasks"),
        (4, "", "the expert fails in 5 of 5 tasks: buttons-10"),
    ],
)
def test_each_hole_is_found(level: int, policy: str, problem: str) -> None:
    audit = audit_level(BUTTONS_ID, level, episodes=5)
    assert any(text.startswith(problem) for text in audit.broken)
    assert audit.verdict.startswith(f"level {level}: BROKEN: ")
    assert all(score.successes == 0 for score in audit.cheaters if score.policy == "silent")
    assert policy == "" or policy in {score.policy for score in audit.cheaters}


def test_the_search_finds_the_paid_look_up() -> None:
    result = search_level(BUTTONS_ID, 1, Budget(2000), tasks=2)
    assert result.found
    assert result.best is not None
    # Eight turns, and a look-up in each of them: no failure can earn more.
    assert result.best.total_reward == pytest.approx(8 * 0.6)
    assert not result.best.success
    assert all(parse_action(turn.text).calls[0].name == "peek" or "peek" in turn.text for turn in result.best.turns)
    assert result.verdict.startswith("level 1: EXPLOIT: a failure earns 4.80 in buttons-1")
    assert not search_level(BUTTONS_ID, 0, Budget(400), tasks=2).found


def test_a_search_needs_something_to_compare_with() -> None:
    with pytest.raises(SlmagentError, match="nothing to compare with: the expert solves none"):
        search_level(BUTTONS_ID, 4, Budget(100))
    with pytest.raises(UsageError, match="tasks, beam and branch >= 1"):
        search_level(BUTTONS_ID, 0, Budget(100), tasks=0)
    with pytest.raises(UsageError, match="expected a budget above 0, actual 0 seconds"):
        Budget(0, "seconds")


def test_time_can_be_the_budget() -> None:
    shares: list[float] = []
    result = search_level(BUTTONS_ID, 0, Budget(0.3, "seconds"), tasks=2, on_progress=lambda share, best: shares.append(share))
    assert result.steps > 10
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_other_peoples_environments_are_refused() -> None:
    with pytest.raises(UsageError, match="expected an environment derived from ChatEnv, actual EchoEnv"):
        audit_level(ECHO_ID, 0)


# ---- cheaters -------------------------------------------------------------------------------------------------------


def test_the_first_look_up_is_found_without_a_trace() -> None:
    env = buttons()
    before = json.dumps([env._messages, env._canonical_state(), env.turn])
    assert first_look_up(env) == PEEK
    assert json.dumps([env._messages, env._canonical_state(), env.turn]) == before
    agent = RepeatedLookUpAgent(env)
    assert [agent.act((), {}) for _ in range(20)] == [PEEK] * 20
    booking = gymnasium.make("SLMAgent/Booking-v0", level=3, disable_env_checker=True)
    booking.reset(seed=0)
    look_up = first_look_up(chat_env(booking))
    assert look_up is not None
    assert parse_action(look_up).calls[0].name == "search_flights"


def test_a_list_of_one_row_is_no_list() -> None:
    env = buttons(level=3)
    agent = ListingAgent(env)
    observation, *_ = env.step(agent.act((), {}))
    assert agent.act(observation, {}) == write_call("finish", {"message": "right B17\nwrong B99"})
    row: Message = {"role": "user", "content": "<tool_response>\nright B17\n</tool_response>"}
    one_row = (*observation[:-1], row)
    assert agent.act(one_row, {}) == ""


def test_the_escalating_agent_uses_every_identifier_it_has_read() -> None:
    parameters = {"required": ["order_id", "product_id"]}
    tools = [{"function": {"name": "pass_on", "description": "hand it to a supervisor", "parameters": parameters}}]
    talk: tuple[Message, ...] = ({"role": "system", "content": "S1"}, {"role": "user", "content": "Order O12, item P3."})
    calls = parse_action(EscalatingAgent().act(talk, {"tools": tools})).calls
    assert [tuple(call.arguments.values()) for call in calls] == [("O12", "O12"), ("O12", "P3"), ("P3", "O12"), ("P3", "P3")]
    assert {call.name for call in calls} == {"pass_on"}
    assert parse_action(EscalatingAgent().act(talk, {"tools": []})).kind == "finish"


def test_only_the_last_change_is_left_out() -> None:
    env = buttons()
    press, finish = write_call("press", {"button": "B17"}), write_call("finish", {"message": "Pressed."})
    assert without_last_change(env, [PEEK, press, press + PEEK, "Hello.", finish]) == [PEEK, press, PEEK, "Hello.", finish]
    assert without_last_change(env, [PEEK, press, finish]) == [PEEK, finish]
    assert without_last_change(env, [PEEK, finish]) is None


def test_scores_are_sums_and_means() -> None:
    (first, second) = run_episodes(ExpertAgent, requests_for(BUTTONS_ID, 0, "train", 2))
    worse = dataclasses.replace(second, turns=second.turns[:2], success=False)
    score = score_of("x", [worse, first])
    assert (score.episodes, score.successes, score.succeeded) == (2, 1, ("buttons-10",))
    assert (score.best, score.mean) == (pytest.approx(2.7), pytest.approx(1.35))
    assert (score.best_task, score.success_rate) == ("buttons-10", 0.5)


# ---- the command ----------------------------------------------------------------------------------------------------


def test_the_command_prints_a_table_and_writes_the_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "new" / "audit.json"
    assert main(["audit", BUTTONS_ID, "--level", "0", "1", "--episodes", "3", "--json", str(file)]) == 1
    told = capsys.readouterr()
    assert "level 0: kept: the expert succeeds in 3 of 3 tasks" in " ".join(told.out.split())
    assert "repeated_look_up earns 4.80 in buttons-10, the worst success 3.30" in " ".join(told.out.split())
    assert "exploits pay: Toy/Buttons-v0 level 1" in told.err
    sound, holed = json.loads(file.read_text())
    assert (sound["broken"], sound["worst_success"], sound["split"]) == ([], pytest.approx(2.7), "train")
    assert len(holed["broken"]) >= 1
    assert {score["policy"] for score in sound["cheaters"]} == {*CHEATERS, LAST_CHANGE_LEFT_OUT}
    assert main(["audit", BUTTONS_ID, "--level", "0", "--episodes", "2"]) == 0


def test_the_command_searches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "search.json"
    arguments = ["audit", BUTTONS_ID, "--level", "1", "--search", "--budget", "1500", "--episodes", "2", "--json", str(file)]
    assert main(arguments) == 1
    told = " ".join(capsys.readouterr().out.split())
    assert '<tool_call>{"name": "peek", "arguments": {}}</tool_call>' in told
    assert "level 1: EXPLOIT: a failure earns" in told
    (found,) = json.loads(file.read_text())
    assert found["found"] is True
    assert found["best"]["return"] > found["worst_success"] == pytest.approx(3.3)
    assert len(found["best"]["actions"]) == 8


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["boking"], "did you mean 'SLMAgent/Booking-v0'?"),
        (["booking", "--level", "9"], "has no level 9"),
        (["booking", "--episodes", "0"], "expected --episodes >= 1, actual 0"),
        (["booking", "--budget", "soon"], "expected steps or seconds, such as 5000 or 60s"),
        (["booking", "--search", "--budget", "0s"], "expected a budget above 0"),
        (["booking", "--json", "/proc/none/audit.json"], "cannot write /proc/none/audit.json"),
    ],
)
def test_bad_arguments_are_named(arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", *arguments]) == 2
    assert problem in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(("text", "budget"), [("5000", (5000.0, "steps")), (" 1.5s ", (1.5, "seconds"))])
def test_budgets_are_read(text: str, budget: tuple[Any, Any]) -> None:
    assert dataclasses.astuple(read_budget(text)) == budget
