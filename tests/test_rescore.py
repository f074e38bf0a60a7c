"""Stored episodes scored again are what fresh scoring gives, exactly; what cannot be played again is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
from chat_server import running
from gymnasium.wrappers import ClipReward, TimeLimit, TransformReward

from slmagent.agents.cheaters import CHEATERS
from slmagent.agents.episodes import requests_for, run_episodes
from slmagent.agents.making import make_env_for
from slmagent.agents.replay import Rescored, rescore
from slmagent.agents.scripted import ExpertAgent, RandomAgent
from slmagent.cli import main
from slmagent.cli.names import environment_class
from slmagent.cli.rescore import parse_weights
from slmagent.envs.registration import ENTRY_POINTS
from slmagent.errors import UsageError
from slmagent.records import read_trajectories, trajectory_from_json, trajectory_to_json, write_trajectories
from slmagent.types import EpisodeRequest, Trajectory

BOOKING = "SLMAgent/Booking-v0"
IDS_AND_LEVELS = [(env_id, level) for env_id in ENTRY_POINTS for level in environment_class(env_id).levels]
AGENTS: list[Callable[[Any], Any]] = [ExpertAgent, *CHEATERS.values(), lambda env: RandomAgent(1)]


def played(agent: Callable[[Any], Any], level: int, n: int = 1, env_id: str = BOOKING, **kwargs: Any) -> list[Trajectory]:
    """Episodes as they come back from a file."""

    def make(request: EpisodeRequest) -> gym.Env[Any, Any]:
        return make_env_for(request, kwargs=kwargs)

    episodes = run_episodes(agent, requests_for(env_id, level, "test", n), make_env=make)
    assert {episode.status for episode in episodes} == {"ok"}
    return [trajectory_from_json(trajectory_to_json(episode)) for episode in episodes]


def with_tokens(trajectory: Trajectory) -> Trajectory:
    """The episode as a token-exact rollout would have stored it: its spans and tokens must survive."""
    turns = tuple(replace(turn, start=10 * i, stop=10 * i + 7) for i, turn in enumerate(trajectory.turns))
    length = 10 * len(turns)
    return replace(
        trajectory, turns=turns, token_ids=tuple(range(length)), loss_mask=(1,) * length, logprobs=(-0.5,) * length, seed=9
    )


# ---- equal to fresh scoring -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("env_id", "level"), IDS_AND_LEVELS)
def test_rescored_episodes_equal_fresh_ones(env_id: str, level: int) -> None:
    names = list(environment_class(env_id).default_weights)
    weights = {name: 0.3 + 0.7 * place for place, name in enumerate(names) if name != "veto"} | {"veto": -3.25, names[0]: 0.0}
    different = paid = 0
    for agent in AGENTS:
        (stored,) = played(agent, level, env_id=env_id)
        (fresh,) = played(agent, level, env_id=env_id, reward_weights=weights)
        assert rescore(stored, weights) == Rescored(fresh)
        different += stored.total_reward != fresh.total_reward
        paid += stored.total_reward != 0.0
    assert different > paid / 2 > 0


def test_without_a_change_nothing_changes_and_tokens_stay() -> None:
    for level in range(6):
        (episode,) = played(ExpertAgent, level)
        assert rescore(with_tokens(episode)).trajectory == with_tokens(episode)
    (stored,) = map(with_tokens, played(ExpertAgent, 5))
    changed = rescore(stored, {"goal": 1.0}).trajectory
    assert changed is not None
    assert (changed.token_ids, changed.logprobs, changed.seed) == (stored.token_ids, stored.logprobs, 9)
    assert [(turn.start, turn.stop) for turn in changed.turns] == [(turn.start, turn.stop) for turn in stored.turns]
    assert changed.total_reward == pytest.approx(stored.total_reward + 5 * (1.0 - 0.4))


@pytest.mark.parametrize("env_id", list(ENTRY_POINTS))
def test_a_default_that_changed_in_the_code_counts(env_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = played(ExpertAgent, 1, 3, env_id)
    cls = environment_class(env_id)
    doubled = {name: 2 * weight for name, weight in cls.default_weights.items()}
    monkeypatch.setattr(cls, "default_weights", doubled)
    for old, new in zip(stored, played(ExpertAgent, 1, 3, env_id), strict=True):
        assert rescore(old).trajectory == new
        assert new.total_reward == pytest.approx(2 * old.total_reward)


def test_weights_are_laid_over_those_an_episode_was_played_with() -> None:
    (stored,) = played(ExpertAgent, 1, max_turns=4, reward_weights={"goal": 2.0, "style": 0.0})
    assert stored.metadata["env"] == {"kwargs": {"max_turns": 4, "reward_weights": {"goal": 2.0, "style": 0.0}}}
    (fresh,) = played(ExpertAgent, 1, max_turns=4, reward_weights={"goal": 2.0, "style": 1.0})
    assert rescore(stored, {"style": 1.0}).trajectory == fresh


def test_a_changed_success_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    (stored,) = played(ExpertAgent, 1)
    monkeypatch.setattr(environment_class(BOOKING), "_success", lambda self: False)
    (fresh,) = played(ExpertAgent, 1)
    assert rescore(stored).trajectory == fresh
    assert (stored.success, fresh.success) == (True, False)


def test_an_episode_that_was_cut_from_outside_stays_cut() -> None:
    (whole,) = played(ExpertAgent, 4, reward_weights={"progress": 3.0})
    turns = whole.turns[:2]
    cut = replace(
        whole,
        turns=turns,
        messages=whole.messages[:6],
        terminated=False,
        truncated=True,
        stop_reason="context_full",
        success=False,
    )
    assert rescore(cut).trajectory == cut
    other = rescore(cut, {"progress": 1.0}).trajectory
    assert other is not None
    assert other.total_reward == pytest.approx(cut.total_reward / 3)
    assert (other.truncated, other.stop_reason) == (True, "context_full")


def test_wrappers_are_put_on_again() -> None:
    def make(request: EpisodeRequest) -> gym.Env[Any, Any]:
        return ClipReward(TimeLimit(make_env_for(request), max_episode_steps=2), max_reward=0.01)

    for agent in (CHEATERS["silent"], ExpertAgent):
        (stored,) = run_episodes(agent, requests_for(BOOKING, 1, "test", 1), make_env=make)
        assert len(stored.turns) == 2
        assert max(turn.reward for turn in stored.turns) <= 0.01
        assert rescore(stored).trajectory == stored


def test_failed_episodes_come_back_as_they_are() -> None:
    (stored,) = played(ExpertAgent, 1)
    failed = replace(stored, status="env_error", error="x", success=False, turns=stored.turns[:1])
    assert rescore(failed, {"goal": 9.0}).trajectory is failed


def test_a_user_that_a_model_spoke_for_is_not_asked_again() -> None:
    with running() as server:
        (stored,) = played(ExpertAgent, 4, user_llm=server.settings())
        said = len(server.asked)
    (fresh,) = played(ExpertAgent, 4, reward_weights={"goal": 1.0})
    result = rescore(stored, {"goal": 1.0})
    assert result.trajectory is not None
    assert result.trajectory.messages == stored.messages != fresh.messages
    assert [turn.reward_components for turn in result.trajectory.turns] == [turn.reward_components for turn in fresh.turns]
    assert result.trajectory.turns[0].events == stored.turns[0].events
    assert said == len(server.asked)
    index = next(i for i, message in enumerate(stored.messages) if message["content"].startswith("<tool_response>"))
    messages = [message.copy() for message in stored.messages]
    messages[index]["content"] = "<tool_response>\nno flights\n</tool_response>"
    assert rescore(replace(stored, messages=tuple(messages))).trajectory is None


# ---- what cannot be played again ------------------------------------------------------------------------------------


def test_an_environment_that_answers_differently_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    (stored,) = played(ExpertAgent, 1)
    messages = [message.copy() for message in stored.messages]
    messages[3]["content"] = messages[3]["content"].replace("EUR", "USD")
    result = rescore(replace(stored, messages=tuple(messages)))
    assert result.trajectory is None
    assert result.divergence is not None
    assert result.divergence.startswith("after turn 1: expected '...")
    assert "USD" in result.divergence.partition("actual")[0]
    assert "EUR" in result.divergence.partition("actual")[2]
    messages[0]["content"] += " Be nice."
    changed = rescore(replace(stored, messages=tuple(messages)))
    assert str(changed.divergence).startswith("at the start")
    missing = rescore(replace(stored, scenario_id="booking-1-test-99999"))
    assert "cannot play it: ValueError: unknown scenario id" in str(missing.divergence)
    (silent,) = played(CHEATERS["silent"], 1)
    monkeypatch.setattr(environment_class(BOOKING), "_default_max_turns", lambda self: 2)
    assert rescore(silent).divergence == f"it ends after turn 2 (max_turns); expected {len(silent.turns)} turns"
    (short,) = played(CHEATERS["silent"], 1)
    monkeypatch.setattr(environment_class(BOOKING), "_default_max_turns", lambda self: 20)
    assert rescore(short).divergence == "it goes on after turn 2; expected its end (max_turns)"
    cut = replace(silent, stop_reason="context_full", terminated=False, truncated=True)
    assert str(rescore(cut).divergence).endswith("expected it to go on")


def test_settings_that_cannot_be_made_again_are_refused() -> None:
    (stored,) = played(ExpertAgent, 1)
    for changes, said in (
        ({"weights": {"gaol": 1.0}}, "unknown reward component 'gaol'; expected one of goal"),
        ({"env_id": "SLMAgent/Bokking-v0"}, "cannot make SLMAgent/Bokking-v0"),
        ({"metadata": {"env": {"kwargs": {"moon": 1}}}}, "moon"),
        ({"metadata": {"env": {"wrappers": [{"name": "X", "entry_point": "no.such:X", "kwargs": {}}]}}}, "no"),
    ):
        weights = changes.pop("weights", None)
        with pytest.raises(UsageError, match=said):
            rescore(replace(stored, **changes), weights)  # type: ignore[arg-type]

    def make(request: EpisodeRequest) -> gym.Env[Any, Any]:
        return TransformReward(make_env_for(request), lambda reward: -float(reward))

    (unknown,) = run_episodes(ExpertAgent, requests_for(BOOKING, 1, "test", 1), make_env=make)
    with pytest.raises(UsageError, match="cannot be made again"):
        rescore(unknown)


# ---- the command ----------------------------------------------------------------------------------------------------


def test_the_command_writes_and_tells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "episodes.jsonl", tmp_path / "episodes.rescored.jsonl"
    stored = [*played(ExpertAgent, 1, 3), *played(CHEATERS["silent"], 1, 1)]
    failed = replace(stored[0], status="agent_error", error="x", success=False)
    write_trajectories(path, [*stored, failed])
    before = path.read_bytes()
    assert main(["rescore", str(path), "--weights", "goal=1", "style=0"]) == 0
    shown = capsys.readouterr()
    assert path.read_bytes() == before
    assert read_trajectories(out) == [rescore(episode, {"goal": 1.0, "style": 0.0}).trajectory for episode in [*stored, failed]]
    rows = {line.split()[0]: line.split()[1:] for line in shown.out.splitlines() if len(line.split()) == 4}
    mean = sum(episode.total_reward for episode in stored) / 4
    assert rows["goal"] == ["1.500", "3.750", "+2.250"]
    assert rows["success"] == ["0.750", "0.750", "+0.000"]
    assert float(rows["return"][0]) == pytest.approx(mean, abs=6e-4)
    assert sum(float(row[1]) for name, row in rows.items() if name not in ("return", "success")) == pytest.approx(
        float(rows["return"][1]), abs=5e-3
    )
    assert "5 of 5 episodes written" in " ".join(shown.err.split())
    assert "1 failed episodes were copied" in shown.err
    assert main(["rescore", str(path)]) == 2
    assert "exists already" in capsys.readouterr().err
    assert main(["rescore", str(path), "--out", str(path), "--overwrite", "--weights", "goal=0"]) == 0
    assert [episode.total_reward for episode in read_trajectories(path)[:3]] != [episode.total_reward for episode in stored[:3]]


def test_the_command_leaves_out_what_diverged_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "episodes.jsonl"
    good, bad = played(ExpertAgent, 1, 2)
    bad = replace(bad, messages=({**bad.messages[0], "content": "Another prompt"}, *bad.messages[1:]))
    write_trajectories(path, [good, bad])
    assert main(["rescore", str(path)]) == 1
    told = capsys.readouterr().err
    assert f"episode 2 ({bad.scenario_id}): at the start: expected 'Another prompt'" in told
    assert read_trajectories(tmp_path / "episodes.rescored.jsonl") == [good]
    write_trajectories(path, [bad])
    assert main(["rescore", str(path), "--out", str(tmp_path / "none.jsonl")]) == 2
    assert "none of the episodes can be played again" in capsys.readouterr().err
    assert sorted(file.name for file in tmp_path.iterdir()) == ["episodes.jsonl", "episodes.rescored.jsonl"]


@pytest.mark.parametrize(
    ("content", "words", "said"),
    [
        (None, [], "cannot read trajectories"),
        ("", [], "holds no episodes"),
        ("{}\n", [], "line 1: expected a trajectory"),
        ("[1\n", [], "line 1: expected one JSON object"),
        (json.dumps({"format": "slmagent.trajectory/1"}), [], "is missing"),
        ("", ["--weights", "goal"], "NAME=NUMBER"),
    ],
)
def test_the_command_explains_bad_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | None, words: list[str], said: str
) -> None:
    path = tmp_path / "episodes.jsonl"
    if content is not None:
        path.write_text(content)
    assert main(["rescore", str(path), *words]) == 2
    assert said in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "episodes.rescored.jsonl").exists()


@pytest.mark.parametrize("word", ["goal", "goal=", "goal=x", "goal=nan", "goal=inf", "=1", "goal=1=2"])
def test_weights_that_are_no_numbers_are_refused(word: str) -> None:
    with pytest.raises(UsageError, match=f"expected a weight as NAME=NUMBER.*{word}"):
        parse_weights([word])


def test_weights_are_read() -> None:
    assert parse_weights(["goal=1", "veto=-2.5e1"]) == {"goal": 1.0, "veto": -25.0}
    with pytest.raises(UsageError, match="given twice"):
        parse_weights(["goal=1", "goal=2"])
