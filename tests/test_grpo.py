"""Whole runs on a tiny model: they learn, they can be stopped anywhere, and they say what is wrong."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny import tiny_model, tiny_tokenizer
from torch import Tensor
from toy_env import PARITY_ID, EchoEnv, ParityEnv, register_toy_envs

import slmagent.trainers.grpo as grpo_module
from slmagent.agents.policy import Policy, load_policy
from slmagent.agents.rollout import rollout
from slmagent.errors import RecordError, SlmagentError
from slmagent.records import write_trajectories
from slmagent.trainers.advantages import returns_to_go
from slmagent.trainers.batch import Sample
from slmagent.trainers.checkpoint import latest_checkpoint, load_checkpoint
from slmagent.trainers.grpo import GRPOConfig, GRPORun, train_grpo
from slmagent.trainers.lora import fold
from slmagent.trainers.metrics import read_metrics
from slmagent.trainers.safety import TrainingStopped
from slmagent.types import EpisodeRequest, Trajectory, TrajectoryGroup

register_toy_envs()
TOY: dict[str, Any] = {
    "model": "the tiny one",
    "env_id": PARITY_ID,
    "level": 1,
    "updates": 4,
    "tasks": 3,
    "samples": 4,
    "max_new_tokens": 3,
    "max_context": 300,
    "rollout_batch_size": 16,
    "minibatches": 2,
    "lora_rank": 4,
    "learning_rate": 5e-3,
    "tensorboard": False,
}


def small_policy() -> Policy:
    return Policy(tiny_model(layers=1, hidden=32), tiny_tokenizer())


def make_run(folder: Path, *, policy: Policy | None = None, make_env: Any = None, **settings: Any) -> GRPORun:
    return GRPORun(GRPOConfig(output_dir=str(folder), **(TOY | settings)), policy or small_policy(), make_env)


def finish(run: GRPORun) -> list[dict[str, Any]]:
    metrics = []
    while not run.finished:
        metrics.append(run.step())
    return metrics


# ---- learning ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [0, 1], ids=["one turn", "two or three turns"])
def test_the_policy_gradient_alone_learns(tmp_path: Path, level: int) -> None:
    """Even first bytes pay; chance is a little below a half. Nothing is imitated, and no reference holds the policy."""
    run = make_run(
        tmp_path,
        policy=Policy(tiny_model(), tiny_tokenizer()),
        level=level,
        updates=8,
        tasks=6,
        samples=8,
        max_new_tokens=2,
        rollout_batch_size=48,
        minibatches=4,
        learning_rate=1e-2,
        imitation_coef=0.0,
    )
    metrics = finish(run)
    hits = [update["rollout/mean_return"] / update["rollout/turns_per_episode"] for update in metrics]
    assert 0.2 < hits[0] < 0.6
    assert sum(hits[-2:]) / 2 > 0.85
    assert all(update["train/imitation_tokens"] == 0 for update in metrics)
    assert all(update["safety/rollbacks"] == 0 for update in metrics)


def test_what_is_trained_is_what_was_credited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups that all succeed or all fail cost nothing; of the others, turns with a small advantage are left out."""
    played: list[Trajectory] = []

    def spy(*arguments: Any, **more: Any) -> list[Trajectory]:
        played.extend(rollout(*arguments, **more))
        return list(played)

    monkeypatch.setattr(grpo_module, "rollout", spy)
    metrics = make_run(
        tmp_path, level=0, tasks=6, samples=3, imitation_coef=0.0, whiten_rewards=False, min_advantage=0.4
    ).step()
    groups = [played[first : first + 3] for first in range(0, 18, 3)]
    tokens = dead = 0
    for group in groups:
        mean = sum(member.total_reward for member in group) / 3
        trained = [member for member in group if abs(member.total_reward - mean) > 0.4]
        tokens += sum(member.num_trained_tokens for member in trained)
        dead += not trained
    assert metrics["train/trained_tokens"] == tokens
    assert metrics["rollout/dead_groups"] == pytest.approx(dead / 6)
    assert 0 < tokens < sum(member.num_trained_tokens for member in played)


def test_blame_is_softened_where_it_was_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blame of a rare token shrinks by its probability; credit stays as it was."""
    batches: dict[bool, list[Sample]] = {}
    for soften in (False, True):
        run = make_run(tmp_path / str(soften), level=0, tasks=6, samples=3, imitation_coef=0.0, soften_blame=soften)
        monkeypatch.setattr(run.learner, "learn", lambda samples, *_, soften=soften: batches.update({soften: samples}) or {})
        run.step()
    blamed = 0
    for plain, softened in zip(batches[False], batches[True], strict=True):
        assert plain.token_ids == softened.token_ids
        for before, after, logprob in zip(plain.advantages, softened.advantages, plain.old_logprobs, strict=True):
            assert after == pytest.approx(before * math.exp(logprob) if before < 0 else before)
            blamed += before < 0
    assert blamed


def test_demonstrations_are_drawn_anew_for_each_update(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_run(
        tmp_path,
        demonstrations=demonstrations(tmp_path / "d.jsonl"),
        demonstrations_per_update=1,
        successes_per_task=0,
        updates=9,
    )
    drawn: list[int] = []
    learn = run.learner.learn

    def spy(samples: Any, imitation: Any, update: int) -> dict[str, Any]:
        drawn.extend(run.demonstrations.index(sample) for sample in imitation)
        return learn(samples, imitation, update)

    monkeypatch.setattr(run.learner, "learn", spy)
    finish(run)
    assert len(drawn) == 9
    assert set(drawn) == {0, 1, 2}


# ---- stop and resume --------------------------------------------------------------------------------------------------------


class Recorder:
    """Remembers which episodes were begun, and can break off."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.scenarios: list[str] = []
        self.calls = 0
        self.break_at: int | None = None
        reset, step = ParityEnv.reset, ParityEnv.step

        def spy_reset(env: ParityEnv, **arguments: Any) -> Any:
            self.scenarios.append(f"{env.split} {(arguments.get('options') or {}).get('scenario_id')}")
            return reset(env, **arguments)

        def spy_step(env: ParityEnv, action: str) -> Any:
            self.calls += 1
            if self.calls == self.break_at:
                raise KeyboardInterrupt
            return step(env, action)

        monkeypatch.setattr(ParityEnv, "reset", spy_reset)
        monkeypatch.setattr(ParityEnv, "step", spy_step)


def demonstrations(path: Path) -> str:
    """Three talks by hand."""
    talks = []
    for number in range(3):
        env = ParityEnv(level=1)
        observation, _ = env.reset(options={"scenario_id": f"echo-{number}"})
        done = False
        while not done:
            observation, _, done, _, _ = env.step("Bond"[number:])
        talks.append(demonstration(observation, f"echo-{number}"))
    write_trajectories(path, talks)
    return str(path)


def demonstration(messages: Any, scenario_id: str) -> Trajectory:
    return Trajectory(
        token_ids=(),
        loss_mask=(),
        logprobs=(),
        turns=(),
        messages=tuple(messages),
        env_id=PARITY_ID,
        scenario_id=scenario_id,
        level=1,
        split="train",
        seed=0,
        user_seed=0,
        group_id="",
        temperature=0.0,
        terminated=True,
        truncated=False,
        stop_reason="finished",
        success=True,
    )


def untimed(metrics: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in line.items() if not name.startswith("time/")} for line in metrics]


def flat(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Leaves of a checkpoint with their paths; tensors as bytes."""
    if isinstance(value, Tensor):
        yield name, (value.dtype, tuple(value.shape), value.contiguous().numpy().tobytes())
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from flat(item, f"{name}/{key}")
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from flat(item, f"{name}/{index}")
    else:
        yield name, value


def saved(folder: Path) -> dict[str, Any]:
    newest = latest_checkpoint(folder / "checkpoints")
    assert newest is not None
    return {name: value for name, value in flat(load_checkpoint(newest)) if name not in ("/seconds", "/config/output_dir")}


@pytest.mark.parametrize("every", [1, 2])
@pytest.mark.parametrize("where", ["between updates", "in a rollout", "in training"])
def test_stopped_and_resumed_equals_uninterrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, every: int
) -> None:
    """Bit for bit: weights, optimizer, whitener, counters, order of tasks and what was logged."""
    settings: dict[str, Any] = {
        "checkpoint_every": every,
        "demonstrations": demonstrations(tmp_path / "demonstrations.jsonl"),
        "demonstrations_per_update": 2,
        "kl_coef": 0.05,
        "epochs": 2,
        "eval_every": 2,
        "eval_tasks": 2,
        "rehearse_level": 0,
    }
    recorder = Recorder(monkeypatch)
    whole = make_run(tmp_path / "whole", **settings)
    finish(whole)
    scenarios, calls = recorder.scenarios, recorder.calls

    recorder.scenarios, recorder.calls = [], 0
    broken = make_run(tmp_path / "broken", **settings)
    for _ in range(2):
        broken.step()
    first_half = len(recorder.scenarios)
    if where == "in a rollout":
        recorder.break_at = recorder.calls + (calls - recorder.calls) // 4
        with pytest.raises(KeyboardInterrupt):
            broken.step()
    elif where == "in training":
        with monkeypatch.context() as patch:
            steps = 0
            original = broken.learner.optimizer.step

            def step(*arguments: Any) -> None:
                nonlocal steps
                steps += 1
                original(*arguments)
                if steps == 3:
                    raise KeyboardInterrupt

            patch.setattr(broken.learner.optimizer, "step", step)
            with pytest.raises(KeyboardInterrupt):
                broken.step()
    recorder.break_at = None
    recorder.scenarios = recorder.scenarios[:first_half]
    resumed = make_run(tmp_path / "broken", **settings)
    assert resumed.update == 2
    finish(resumed)

    assert recorder.scenarios == scenarios
    expected, actual = saved(tmp_path / "whole"), saved(tmp_path / "broken")
    assert actual == expected
    assert any("exp_avg_sq" in name for name in expected)
    assert expected["/whitener/count"] > 50
    logs = [untimed(read_metrics(tmp_path / name / "metrics.jsonl")) for name in ("whole", "broken")]
    assert logs[0] == logs[1]
    assert [line["step"] for line in logs[0]] == [0, 1, 2, 3]
    assert sum("eval/success_rate" in line for line in logs[0]) == 2
    for name, parameter in whole.learner.parameters.items():
        assert torch.equal(parameter, resumed.learner.parameters[name])


def test_a_log_ahead_of_the_checkpoint_is_cut_back(tmp_path: Path) -> None:
    """A kill between writing the log and saving, in the middle of a line."""
    run = make_run(tmp_path, checkpoint_every=4)
    for _ in range(3):
        run.step()
    log = tmp_path / "metrics.jsonl"
    log.write_bytes(log.read_bytes()[:-40])
    again = make_run(tmp_path, checkpoint_every=4)
    assert again.update == 0
    finish(again)
    assert [line["step"] for line in read_metrics(log)] == [0, 1, 2, 3]


def test_updates_play_new_tasks_in_an_order_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[EpisodeRequest]] = []

    def spy(policy: Policy, requests: Sequence[EpisodeRequest], **more: Any) -> list[Trajectory]:
        asked.append(list(requests))
        return rollout(policy, requests, **more)

    monkeypatch.setattr(grpo_module, "rollout", spy)
    finish(make_run(tmp_path / "a", tasks=4, updates=4, rehearse_level=0, rehearse_share=0.25))
    finish(make_run(tmp_path / "b", tasks=4, updates=4, rehearse_level=0, rehearse_share=0.25))
    finish(make_run(tmp_path / "c", tasks=4, updates=4, rehearse_level=0, rehearse_share=0.25, seed=1))
    first, second, third = asked[:4], asked[4:8], asked[8:]
    assert first == second
    assert first != third
    for requests in first:
        assert [request.level for request in requests] == [1] * 12 + [0] * 4
        assert len({request.group_id for request in requests}) == 4
        assert len({request.sampling_seed for request in requests}) == 16
    main = [request.scenario_id for requests in first for request in requests[:12:4]]
    assert sorted(main) == sorted(f"echo-{task}" for task in range(12))  # all twelve tasks before one comes again
    everything = [request.sampling_seed for requests in first for request in requests]
    assert len(set(everything)) == len(everything)


def test_a_run_stops_when_its_time_is_up_and_saves(tmp_path: Path) -> None:
    run = make_run(tmp_path, max_seconds=1e-6, checkpoint_every=100)
    assert len(finish(run)) == 1
    assert saved(tmp_path)["/update"] == 1
    assert make_run(tmp_path, max_seconds=1e-6).finished
    assert not make_run(tmp_path, max_seconds=1e6).finished


def test_no_update_is_begun_that_would_overrun_the_time_limit(tmp_path: Path) -> None:
    run = make_run(tmp_path, max_seconds=600.0, updates=10)
    assert not run.finished  # there is always a first one
    run.update, run.seconds = 3, 377.0
    assert not run.finished  # 126 s an update: four take 503 s
    run.seconds = 451.0
    assert run.finished  # four would take 601 s


def test_a_finished_run_gives_its_model_and_gives_it_again(tmp_path: Path) -> None:
    config = GRPOConfig(output_dir=str(tmp_path), **TOY)
    folder = train_grpo(config, policy=small_policy())
    assert folder == tmp_path / "final"
    log = (tmp_path / "metrics.jsonl").read_text()
    weights = load_policy(folder, device="cpu").model.state_dict()
    trained = make_run(tmp_path)
    for name, value in fold(trained.policy).model.state_dict().items():
        assert torch.equal(weights[name], value)
    assert not all(torch.equal(weights[name], value) for name, value in small_policy().model.state_dict().items())
    (folder / "model.safetensors").unlink()
    train_grpo(config, policy=small_policy())
    assert (tmp_path / "metrics.jsonl").read_text() == log
    again = load_policy(folder, device="cpu").model.state_dict()
    assert all(torch.equal(weights[name], value) for name, value in again.items())


# ---- safety layers in a run -------------------------------------------------------------------------------------------------


def test_whitening_can_be_switched_off(tmp_path: Path) -> None:
    on, off = make_run(tmp_path / "on"), make_run(tmp_path / "off", whiten_rewards=False)
    assert on.step()["safety/reward_std"] == pytest.approx(on.whitener.std) != 1.0
    assert on.whitener.count == sum(2 + task % 2 for task in tasks_of_first_update()) * 4
    assert off.step()["safety/reward_std"] == 1.0
    assert off.whitener.count == 0


def tasks_of_first_update() -> list[int]:
    from slmagent.agents.episodes import requests_for

    requests = requests_for(PARITY_ID, 1, "train", 3, shuffle_seed=1)
    return [int(request.scenario_id[5:]) for request in requests]


def test_credit_is_given_for_whitened_rewards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Divided by the deviation of all returns so far, those of this update included."""
    credited: list[tuple[list[list[float]], list[list[float]]]] = []
    original = grpo_module.turn_advantages

    def spy(group: TrajectoryGroup, rewards: list[list[float]], *arguments: Any, **more: Any) -> list[list[float]]:
        credited.append(([[turn.reward for turn in member.turns] for member in group.trajectories], rewards))
        return original(group, rewards, *arguments, **more)

    monkeypatch.setattr(grpo_module, "turn_advantages", spy)
    run = make_run(tmp_path)
    run.step()
    run.step()
    assert len(credited) == 6
    returns: list[float] = []
    for update in (credited[:3], credited[3:]):
        returns += [total for raw, _ in update for member in raw for total in returns_to_go(member, 1.0)]
        deviation = float(np.std(returns))
        for raw, whitened in update:
            assert whitened == [pytest.approx([reward / deviation for reward in member]) for member in raw]


def test_an_update_that_breaks_is_undone_with_its_statistics_and_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(tmp_path)
    run.step()
    before, whitener = saved(tmp_path), run.whitener.state_dict()
    with monkeypatch.context() as patch:
        patch.setattr("slmagent.trainers.learner.clipped_policy_loss", broken_loss)
        metrics = run.step()
    assert metrics["safety/incident"] == "a non-finite policy loss"
    assert run.whitener.state_dict() == whitener
    after = saved(tmp_path)
    changed = {name for name in after if after[name] != before[name]}
    # What was played stays played: the next tasks are others, and how these ended is known.
    assert {name for name in changed if not name.startswith("/tasks/")} <= {
        "/update",
        "/learner/restores/0",
        "/learner/restores/1",
        "/learner/optimizer/param_groups/0/lr",
    }
    assert after["/update"] == 2
    assert "safety/incident" not in run.step()
    # The file holds no bare NaN, and the next update played other tasks.
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert json.loads(lines[1], parse_constant=pytest.fail)["safety/rollbacks"] == 1


def broken_loss(logprobs: Tensor, *arguments: Any, **more: Any) -> Any:
    from slmagent.trainers.losses import PolicyLoss

    return PolicyLoss(logprobs.sum() * math.nan, torch.tensor(0))


def test_wrong_log_probabilities_of_the_rollout_stop_the_first_update(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As they would be if rollouts forgot the temperature, say."""

    def wrong(*arguments: Any, **more: Any) -> list[Trajectory]:
        episodes = rollout(*arguments, **more)
        return [dataclasses.replace(episode, temperature=1.0) for episode in episodes]

    monkeypatch.setattr(grpo_module, "rollout", wrong)
    with pytest.raises(TrainingStopped, match="importance ratios are off"):
        make_run(tmp_path, temperature=0.7).step()
    assert latest_checkpoint(tmp_path / "checkpoints") is None


# ---- episodes that fail -----------------------------------------------------------------------------------------------------


def failing_env(share: int, fail_at: int = 0) -> Any:
    """Every `share`-th environment that is made raises."""
    made: list[EchoEnv] = []

    def make_env(request: EpisodeRequest) -> EchoEnv:
        made.append(ParityEnv(level=request.level, fail_at=fail_at if len(made) % share == 0 else None))
        return made[-1]

    return make_env


@pytest.mark.parametrize("fail_at", [-1, 0, 1])
def test_failed_episodes_are_dropped_and_counted(tmp_path: Path, fail_at: int) -> None:
    """Also those that had earned something before."""
    metrics = make_run(tmp_path, make_env=failing_env(6, fail_at), max_error_share=0.25).step()
    assert metrics["rollout/failed_episodes"] == 2
    assert metrics["rollout/episodes"] == 10


def test_too_many_failed_episodes_stop_the_run(tmp_path: Path) -> None:
    with pytest.raises(
        TrainingStopped, match=r"4 of 12 episodes failed for technical reasons, the first with: RuntimeError: the tool"
    ):
        make_run(tmp_path / "some", make_env=failing_env(3), max_error_share=0.25).step()
    with pytest.raises(TrainingStopped, match=r"12 of 12 episodes failed.*RuntimeError: no database"):
        make_run(tmp_path / "all", make_env=failing_env(1, -1), max_error_share=0.9).step()


def test_prompts_that_leave_no_room_stop_the_run_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(
        TrainingStopped, match=r"12 of 12 episodes failed.*no room for an action: the prompt takes \d+ of 30 tokens"
    ):
        make_run(tmp_path, max_context=30).step()


# ---- bad input --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changed",
    [
        {"model": "another"},
        {"level": 0},
        {"lora_rank": 8},
        {"seed": 9},
        {"tasks": 4},
        {"samples": 5},
        {"gamma": 0.9},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_a_run_is_not_resumed_as_another_run(tmp_path: Path, changed: dict[str, Any]) -> None:
    make_run(tmp_path).step()
    (name, value), *_ = changed.items()
    with pytest.raises(
        RecordError, match=f"belongs to a run with another {name} .{TOY.get(name, GRPOConfig.__dict__[name])!r}.*{value!r}"
    ):
        make_run(tmp_path, **changed)
    assert make_run(tmp_path, learning_rate=1e-5, updates=9).update == 1  # may be changed in between


def test_a_damaged_checkpoint_stops_a_resume_and_nothing_is_lost(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    for _ in range(2):
        run.step()
    newest = latest_checkpoint(tmp_path / "checkpoints")
    assert newest is not None
    state = newest / "state.pt"
    state.write_bytes(state.read_bytes()[:-10])
    log = (tmp_path / "metrics.jsonl").read_text()
    with pytest.raises(RecordError, match=r"is damaged.*remove the folder"):
        make_run(tmp_path)
    assert (tmp_path / "metrics.jsonl").read_text() == log
    import shutil

    shutil.rmtree(newest)
    assert make_run(tmp_path).update == 1


def test_a_missing_model_is_one_clear_error(tmp_path: Path) -> None:
    settings: dict[str, Any] = TOY | {"model": str(tmp_path / "nowhere")}
    with pytest.raises(SlmagentError, match="nowhere"):
        train_grpo(GRPOConfig(output_dir=str(tmp_path), **settings))


def test_missing_demonstrations_are_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"cannot read trajectories from .*none\.jsonl"):
        make_run(tmp_path, demonstrations=str(tmp_path / "none.jsonl"))


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        *[
            (name, 0, "of at least 1, actual 0")
            for name in ("updates", "tasks", "samples", "epochs", "minibatches", "lora_rank")
        ],
        *[(name, 0, "of at least 1, actual 0") for name in ("max_new_tokens", "max_context", "rollout_batch_size")],
        *[(name, 0, "of at least 1, actual 0") for name in ("checkpoint_every", "microbatch_tokens", "eval_tasks")],
        *[(name, -1, "of at least 0, actual -1") for name in ("eval_every", "warmup_updates", "successes_per_task")],
        *[(name, -0.1, "of at least 0, actual -0.1") for name in ("kl_coef", "imitation_coef", "policy_coef", "min_advantage")],
        *[(name, 0.0, "above 0, actual 0.0") for name in ("temperature", "learning_rate", "clip_low", "max_grad_norm")],
        ("learning_rate", math.nan, "above 0, actual nan"),
        ("learning_rate", math.inf, "above 0, actual inf"),
        ("max_seconds", -5.0, "above 0, actual -5.0"),
        ("max_ratio", 1.0, "above 1, actual 1.0"),
        ("gamma", 1.5, r"in \[0, 1\], actual 1.5"),
        ("rehearse_share", 1.0, r"in \[0, 1\), actual 1.0"),
        ("max_error_share", 1.0, r"in \[0, 1\), actual 1.0"),
        ("rehearse_level", 1, "to differ from level, actual 1 for both"),
    ],
)
def test_a_value_out_of_range_is_named(name: str, value: Any, expected: str) -> None:
    with pytest.raises(ValueError, match=f"^expected {name} {expected}$"):
        GRPOConfig(**{name: value})


def test_a_run_must_have_something_to_learn_from() -> None:
    with pytest.raises(ValueError, match="nothing to learn from"):
        GRPOConfig(policy_coef=0.0, imitation_coef=0.0)


def test_a_checkpoint_of_an_older_version_is_refused_in_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_run(tmp_path).step()
    newest = latest_checkpoint(tmp_path / "checkpoints")
    assert newest is not None
    state = load_checkpoint(newest)
    del state["tasks"]
    monkeypatch.setattr("slmagent.trainers.checkpoint.load_checkpoint", lambda _: state)
    with pytest.raises(RecordError, match="older version; choose another output_dir"):
        make_run(tmp_path)
