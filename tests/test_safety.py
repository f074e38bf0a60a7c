"""The three safety layers and the gates of the first step, each on its own, with faults put in by hand."""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

import slmagent  # noqa: F401  (registers the environments)
from slmagent.trainers.advantages import returns_to_go
from slmagent.trainers.safety import (
    RewardWhitener,
    Rollback,
    TrainingStopped,
    all_finite,
    check_first_ratios,
    check_moved,
    check_optimizer_covers,
    check_trainable,
    trusted_turns,
)

NAN, INF = math.nan, math.inf
FINISH = '<tool_call>{"name": "finish", "arguments": {"message": "Done."}}</tool_call>'


# ---- layer 1: whitening -----------------------------------------------------------------------------------------------------


def test_rewards_are_divided_by_the_deviation_of_returns_and_clipped() -> None:
    whitener = RewardWhitener()
    whitener.observe([1, 2, 3, 6])  # mean 3, squared deviations 4 + 1 + 0 + 9
    deviation = math.sqrt(14 / 4)
    assert whitener.std == pytest.approx(deviation)
    values, clipped = whitener.whiten([0, deviation, -2 * deviation, 10, -10, 3 * deviation + 1e-3])
    assert values == pytest.approx([0, 1, -2, 3, -3, 3])
    assert clipped == 3


def test_nothing_is_centred() -> None:
    """A reward of zero stays zero whatever the others earn: the number of turns is neither paid nor taxed."""
    whitener = RewardWhitener()
    whitener.observe([5, 6, 7])
    assert whitener.whiten([0.0, 0.0])[0] == [0.0, 0.0]


def test_before_there_are_statistics_rewards_stay_as_they_are_but_for_the_clip() -> None:
    whitener = RewardWhitener()
    assert whitener.whiten([0.5, -7]) == ([0.5, -3], 1)
    whitener.observe([2])
    assert whitener.std == 1.0


def test_without_variance_the_divisor_has_a_floor() -> None:
    whitener = RewardWhitener(clip=50, min_std=0.1)
    whitener.observe([0.5] * 10)
    assert whitener.whiten([0.5])[0] == pytest.approx([5.0])


@given(st.lists(st.floats(-20, 20), min_size=2, max_size=40), st.integers(0, 40))
def test_statistics_run_over_everything_seen(returns: list[float], cut: int) -> None:
    whitener = RewardWhitener(min_std=0)
    whitener.observe(returns[:cut])
    resumed = RewardWhitener(min_std=0)
    resumed.load_state_dict(copy.deepcopy(whitener.state_dict()))
    resumed.observe(returns[cut:])
    assert resumed.std == pytest.approx(float(np.std(returns)), abs=1e-6)
    assert resumed.mean == pytest.approx(float(np.mean(returns)), abs=1e-6)


@pytest.mark.parametrize("bad", [NAN, INF, -INF])
def test_a_return_that_is_no_number_does_not_spoil_the_statistics(bad: float) -> None:
    whitener, clean = RewardWhitener(), RewardWhitener()
    whitener.observe([1, bad, 4])
    clean.observe([1, 4])
    assert whitener.state_dict() == clean.state_dict()


@functools.cache
def booking_episodes(level: int) -> tuple[tuple[bool, tuple[float, ...]], ...]:
    """(success, rewards) of scripted behaviour in the real environment: the expert, and what goes wrong."""

    def expert_until(turn: int, then: str) -> Callable[[Any, int], str]:
        return lambda env, now: env.expert() if now < turn else then

    behaviours = [
        lambda env, now: env.expert(),
        lambda env, now: env.expert() if now % 2 == 0 else "Hm.",
        lambda env, now: "",
        *[expert_until(turn, FINISH) for turn in range(5)],
        *[expert_until(turn, "One moment, please.") for turn in range(5)],
    ]
    env = gymnasium.make("SLMAgent/Booking-v0", level=level, disable_env_checker=True)
    played = []
    for behaviour in behaviours:
        for task in range(2):
            env.reset(seed=0, options={"scenario_id": env.unwrapped.scenario_ids[task], "user_seed": task})  # type: ignore[attr-defined]
            rewards, done, info = [], False, {}
            while not done:
                _, reward, terminated, truncated, info = env.step(behaviour(env.unwrapped, len(rewards)))
                rewards.append(float(reward))
                done = terminated or truncated
            played.append((bool(info["success"]), tuple(rewards)))
    played.append((False, (0.33, 0.33, -10.66)))  # a veto fixes the total at -10
    return tuple(played)


@pytest.mark.parametrize("level", [0, 1, 3, 5])
@pytest.mark.parametrize("success_share", [0.0, 0.02, 0.5, 0.98, 1.0])
def test_after_clipping_a_booking_still_outscores_a_failure(level: int, success_share: float) -> None:
    """Whatever the run has seen so far: hardly a success, hardly a failure, or a mixture."""
    episodes = booking_episodes(level)
    wins, failures = [[rewards for success, rewards in episodes if success is kind] for kind in (True, False)]
    assert len(wins) >= 4
    assert len(failures) >= 5
    whitener = RewardWhitener()
    rng = np.random.default_rng(0)
    for _ in range(200):
        kind = wins if rng.random() < success_share else failures
        whitener.observe(returns_to_go(kind[int(rng.integers(len(kind)))], 1.0))
    worst_win = min(sum(whitener.whiten(rewards)[0]) for rewards in wins)
    best_failure = max(sum(whitener.whiten(rewards)[0]) for rewards in failures)
    assert worst_win > best_failure


# ---- layer 2: the ratio guard -----------------------------------------------------------------------------------------------


def trusted(*turns: Sequence[float], max_ratio: float = 5.0) -> list[bool]:
    """Verdicts on turns given by their tokens' ratios."""
    ratios = [ratio for turn in turns for ratio in turn]
    numbers = torch.tensor([number for number, turn in enumerate(turns) for _ in turn])
    old = torch.full((len(ratios),), -2.0)
    return trusted_turns(old + torch.tensor(ratios).log(), old, numbers, len(turns), max_ratio=max_ratio).tolist()


def test_turns_out_of_bounds_are_dropped() -> None:
    verdicts = {
        (1.0, 1.0): True,
        (4.9, 4.9): True,
        (5.1, 5.1): False,
        (9.0, 1.2): False,  # the mean is 5.1
        (9.0, 0.8): True,  # the mean is 4.9
        (0.21, 0.21): True,
        (0.19, 0.19): False,
        (0.02, 1.0): False,  # exp(mean log) = sqrt(0.02) = 0.14
        (0.05, 1.0): True,  # 0.22
        (NAN,): False,
        (1.0, 1.0, NAN): False,
        (INF,): False,
        (0.0, 1.0): False,
    }
    assert trusted(*verdicts) == list(verdicts.values())


def test_the_bound_of_the_guard_can_be_set() -> None:
    assert trusted((1.4,), (1.6,), (0.7,), (0.6,), max_ratio=1.5) == [True, False, True, False]


def test_tokens_of_a_turn_need_not_stand_together() -> None:
    new, old = torch.tensor([0.0, 3.0, 0.0, 0.0]), torch.zeros(4)
    assert trusted_turns(new, old, torch.tensor([0, 1, 0, 1]), 2).tolist() == [True, False]  # (e^3 + 1) / 2 = 10.5


# ---- layer 3: rollback ------------------------------------------------------------------------------------------------------


class Training:
    """A small regression with everything that a rollback has to bring back."""

    def __init__(self) -> None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            self.model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.05)
        self.schedule = torch.optim.lr_scheduler.LinearLR(self.optimizer, total_iters=20)
        self.whitener = RewardWhitener()
        self.parameters = dict(self.model.named_parameters())
        others = {"optimizer": self.optimizer, "schedule": self.schedule, "whitener": self.whitener}
        self.rollback = Rollback(self.parameters, others, limit=3)

    def step(self, number: int, *, spoil: Callable[[Training], None] | None = None) -> None:
        inputs = torch.linspace(-1, 1, 15).reshape(5, 3) * (number + 1)
        self.optimizer.zero_grad(set_to_none=True)
        self.model(inputs).square().mean().backward()
        if spoil is not None:
            spoil(self)
        self.optimizer.step()
        self.schedule.step()
        self.whitener.observe([float(number), 2.0])

    def state(self) -> list[Tensor]:
        moments = [value for entry in self.optimizer.state.values() for value in entry.values()]
        rates = [group["lr"] for group in self.optimizer.param_groups]
        numbers = [*rates, self.schedule.last_epoch, *self.whitener.state_dict().values()]
        return [*(value.detach().clone() for value in (*self.parameters.values(), *moments)), torch.tensor(numbers).double()]


def same(first: Iterable[Tensor], second: Iterable[Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def spoil_gradient(training: Training) -> None:
    gradient = training.model[0].weight.grad
    assert isinstance(gradient, Tensor)
    gradient[0, 0] = NAN


def spoil_weight(training: Training) -> None:
    with torch.no_grad():
        training.model[1].bias.fill_(INF)  # type: ignore[operator]


@pytest.mark.parametrize("spoil", [spoil_gradient, spoil_weight])
@pytest.mark.parametrize("good_steps", [0, 3])
def test_a_rollback_leaves_no_trace(spoil: Callable[[Training], None], good_steps: int) -> None:
    training, clean = Training(), Training()
    for number in range(good_steps):
        training.step(number)
        training.rollback.accept()
        clean.step(number)
    before = training.state()
    training.step(90)
    training.step(91, spoil=spoil)
    assert not all_finite(training.parameters.values())
    training.rollback.restore("a test")
    assert same(training.state(), before)
    assert all(parameter.grad is None for parameter in training.parameters.values())
    for number in range(good_steps, good_steps + 3):
        training.step(number)
        clean.step(number)
    assert same(training.state(), clean.state())
    assert (training.rollback.restores, training.rollback.restores_in_a_row) == (1, 1)


def test_the_snapshot_survives_what_follows_a_restore() -> None:
    training = Training()
    training.step(0)
    training.rollback.accept()
    before = training.state()
    for _ in range(2):
        training.step(1)
        training.rollback.restore("a test")
        assert same(training.state(), before)


def test_too_many_rollbacks_in_a_row_stop_the_training_in_the_last_good_state() -> None:
    training = Training()
    training.step(0)
    training.rollback.accept()
    before = training.state()
    for _ in range(2):
        training.step(1, spoil=spoil_gradient)
        training.rollback.restore("a non-finite gradient")
    training.step(1, spoil=spoil_gradient)
    with pytest.raises(TrainingStopped, match=r"3 updates in a row.*because of a non-finite gradient.*learning rate"):
        training.rollback.restore("a non-finite gradient")
    assert same(training.state(), before)


def test_a_good_update_ends_the_row() -> None:
    training = Training()
    for number in range(6):
        training.step(number, spoil=spoil_gradient)
        training.rollback.restore("a test")
        if number % 2:
            training.step(number)
            training.rollback.accept()
    assert (training.rollback.restores, training.rollback.restores_in_a_row) == (6, 0)


def test_all_finite() -> None:
    good = torch.zeros(3)
    assert all_finite([good, None, torch.zeros(0)])
    for bad in (NAN, INF, -INF):
        assert not all_finite([good, torch.tensor([1.0, bad])])


# ---- gates of the first step ------------------------------------------------------------------------------------------------


def test_the_optimizer_must_hold_every_trainable_parameter() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    parameters = dict(model.named_parameters())
    check_optimizer_covers(parameters, torch.optim.SGD(model.parameters(), lr=1))
    with pytest.raises(TrainingStopped, match=r"2 trainable parameters are not in the optimizer, 1\.weight for one"):
        check_optimizer_covers(parameters, torch.optim.SGD(model[0].parameters(), lr=1))
    check_trainable(parameters)
    with pytest.raises(TrainingStopped, match="no parameter is trainable"):
        check_trainable({})


def test_a_copy_of_a_parameter_does_not_count() -> None:
    """The classic: an optimizer made before the weights were replaced."""
    model = nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=1)
    model.weight = nn.Parameter(model.weight.detach().clone())
    with pytest.raises(TrainingStopped, match="1 trainable parameters are not in the optimizer, weight"):
        check_optimizer_covers(dict(model.named_parameters()), optimizer)


def test_ratios_before_the_first_step_are_1() -> None:
    check_first_ratios(torch.tensor([0.0, 9e-5, -9e-5]))
    check_first_ratios(torch.zeros(0))
    for wrong in (2e-4, -2e-4, NAN, INF):
        with pytest.raises(
            TrainingStopped, match=r"ratios are off by up to .* before the first update \(expected at most 1e-04\)"
        ):
            check_first_ratios(torch.tensor([0.0, wrong]))


def test_what_should_move_must_move() -> None:
    def adapter() -> dict[str, nn.Parameter]:
        return {name: nn.Parameter(torch.zeros(2)) for name in ("q.lora_A", "q.lora_B", "v.lora_A", "v.lora_B")}

    def moved(*names: str) -> None:
        parameters = adapter()
        before = {name: parameter.detach().clone() for name, parameter in parameters.items()}
        for name in names:
            parameters[name].data += 1e-8
        check_moved(before, parameters)

    moved("q.lora_B", "v.lora_B")  # with B at zero the A matrices have no gradient in the first step
    for names in (("q.lora_B",), ("q.lora_A", "v.lora_A", "q.lora_B"), ()):
        with pytest.raises(TrainingStopped, match=r"left trainable weights unchanged \([qv]\.lora_B\)"):
            moved(*names)


def test_without_adapters_something_must_move() -> None:
    parameters = {name: nn.Parameter(torch.zeros(2)) for name in ("embedding", "head")}
    before = {name: parameter.detach().clone() for name, parameter in parameters.items()}
    with pytest.raises(TrainingStopped, match="unchanged"):
        check_moved(before, parameters)
    parameters["head"].data += 1.0
    check_moved(before, parameters)
