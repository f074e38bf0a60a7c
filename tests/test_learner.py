"""Optimizer steps with faults injected: what is bad never stays, and what is good is as if the bad had never been."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
import torch
from tiny import tiny_model, tiny_tokenizer
from torch import Tensor
from toy_env import EchoEnv, chatty_policy, echo_requests

import slmagent.trainers.learner as learner_module
from slmagent.agents.policy import Policy
from slmagent.agents.rollout import SamplingConfig, rollout
from slmagent.trainers.batch import Sample, collate, sample_from_turns
from slmagent.trainers.forward import token_statistics
from slmagent.trainers.grpo_config import GRPOConfig
from slmagent.trainers.learner import Learner
from slmagent.trainers.lora import attach_lora, fold, merge_and_reinitialise, reference, trainable_parameters
from slmagent.trainers.losses import PolicyLoss, kl_estimate
from slmagent.trainers.safety import RewardWhitener, TrainingStopped


def fresh_policy() -> Policy:
    """Always the same: a reference policy that is not the pretrained model, and a new adapter on it."""
    policy = merge_and_reinitialise(chatty_policy(adapter=True), 4, seed=5)
    policy.model.eval()
    return policy


def make_learner(policy: Policy | None = None, **settings: Any) -> Learner:
    defaults: dict[str, Any] = {
        "updates": 4,
        "minibatches": 2,
        "learning_rate": 1e-2,
        "imitation_coef": 0.0,
        "warmup_updates": 0,
    }
    return Learner(policy or fresh_policy(), GRPOConfig(**(defaults | settings)))


@functools.cache
def batch() -> tuple[Sample, ...]:
    """Twelve real episodes; the turns of every second one have positive credit, of the others negative."""
    sampling = SamplingConfig(1.0, 8, 400, 16)
    episodes = rollout(fresh_policy(), echo_requests(4, 3), sampling=sampling, make_env=lambda request: EchoEnv())
    samples = []
    for index, episode in enumerate(episodes):
        credit = [(1.0 if index % 2 else -1.0) + 0.1 * turn for turn in range(len(episode.turns))]
        samples.append(sample_from_turns(episode, credit, [True] * len(episode.turns)))
    return tuple(samples)


@functools.cache
def mark() -> int:
    """A token that occurs in no sample unless a test puts it there."""
    return next(token for token in range(3, 259) if not any(token in sample.token_ids for sample in batch()))


def logprobs(policy: Policy, samples: Sequence[Sample]) -> list[Tensor]:
    with torch.no_grad():
        return [token_statistics(policy, collate([sample], policy.device)).logprobs_N for sample in samples]


def bits(learner: Learner) -> list[Tensor]:
    """Copies of everything that a step changes."""
    moments = [value for entry in learner.optimizer.state.values() for value in entry.values()]
    return [value.detach().clone() for value in (*learner.parameters.values(), *learner.working.values(), *moments)]


def same(first: Sequence[Tensor], second: Sequence[Tensor]) -> bool:
    return len(first) == len(second) and all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


# ---- learning ---------------------------------------------------------------------------------------------------------------


def test_credit_moves_probabilities_its_way() -> None:
    learner = make_learner(learning_rate=3e-3, epochs=2)
    before = logprobs(learner.policy, batch())
    metrics = learner.learn(batch(), [], 0)
    changes = [float((after - old).mean()) for after, old in zip(logprobs(learner.policy, batch()), before, strict=True)]
    praised, blamed = changes[1::2], changes[0::2]
    assert min(praised) > max(blamed)
    assert sum(praised) > 0 > sum(blamed)
    assert metrics["train/steps"] == 4
    assert metrics["train/trained_tokens"] == 2 * sum(len(sample.positions) for sample in batch())
    assert "safety/incident" not in metrics


@pytest.mark.parametrize("settings", [{"microbatch_tokens": 1}, {"microbatch_tokens": 300}, {"microbatch_tokens": 100_000}])
def test_an_update_does_not_depend_on_micro_batches(settings: dict[str, Any]) -> None:
    expected, actual = make_learner(), make_learner(**settings)
    # SGD in place of Adam: the latter divides by the gradient, and so makes rounding of tiny gradients large.
    for learner in (expected, actual):
        learner.optimizer = torch.optim.SGD(learner.parameters.values(), lr=0.1)  # pyright: ignore[reportAttributeAccessIssue]
        patch_untouched(learner)
    first, second = expected.learn(batch(), batch()[:2], 1), actual.learn(batch(), batch()[:2], 1)
    for name, parameter in actual.parameters.items():
        torch.testing.assert_close(parameter, expected.parameters[name], atol=1e-5, rtol=1e-4)
    for name, value in first.items():
        assert second[name] == pytest.approx(value, rel=1e-3, abs=1e-5), name


def patch_untouched(learner: Learner) -> None:
    """SGD keeps no state by which the learner could tell that it has stepped."""
    learner.optimizer.state[next(iter(learner.parameters.values()))]["seen"] = torch.tensor(1.0)


def test_the_learning_rate_warms_up_and_decays() -> None:
    learner = make_learner(learning_rate=1.0, updates=4, warmup_updates=2)
    rates = [learner.learn([], [], update)["train/learning_rate"] for update in range(4)]
    assert rates == pytest.approx([0.5 * 1.0, 1.0 * 0.75, 0.5, 0.25])


def test_the_imitation_term_decays_and_raises_likelihood() -> None:
    shown = [replace(sample, advantages=(0.0,) * len(sample.positions)) for sample in batch()[:3]]
    learner = make_learner(imitation_coef=1.0, imitation_decay=0.5, policy_coef=0.0, learning_rate=3e-3)
    before = logprobs(learner.policy, shown)
    losses = []
    for update in range(3):
        metrics = learner.learn(batch(), shown, update)
        losses.append(metrics["train/imitation_loss"])
        assert metrics["train/trained_tokens"] == 0  # policy_coef = 0 leaves the policy's own samples alone
        assert metrics["train/imitation_tokens"] == sum(len(sample.positions) for sample in shown)
    assert losses == sorted(losses, reverse=True)
    assert losses[0] == pytest.approx(-float(torch.cat(before).mean()), abs=0.3)
    after = logprobs(learner.policy, shown)
    assert float(torch.cat(after).mean()) > float(torch.cat(before).mean()) + 0.1

    def gradient(update: int) -> Tensor:
        once = make_learner(imitation_coef=1.0, imitation_decay=0.5, policy_coef=0.0, minibatches=1, max_grad_norm=1e9)
        once.learn([], shown, update)
        return torch.cat([parameter.grad.flatten() for parameter in once.parameters.values() if parameter.grad is not None])

    torch.testing.assert_close(gradient(2), gradient(0) / 4)


def test_an_empty_batch_changes_nothing() -> None:
    learner = make_learner()
    before = bits(learner)
    metrics = learner.learn([], [], 0)
    assert same(bits(learner), before)
    assert metrics["train/steps"] == 0


def test_a_saved_learner_goes_on_bit_for_bit() -> None:
    first, second = make_learner(), make_learner()
    first.learn(batch(), [], 0)
    second.load_state_dict(torch_round_trip(first.state_dict()))
    assert same(bits(first), bits(second))
    assert first.learn(batch(), batch()[:1], 1) == second.learn(batch(), batch()[:1], 1)
    assert same(bits(first), bits(second))


def torch_round_trip(state: dict[str, Any]) -> dict[str, Any]:
    import io

    stream = io.BytesIO()
    torch.save(state, stream)
    stream.seek(0)
    return torch.load(stream, weights_only=True)


# ---- adapter and reference --------------------------------------------------------------------------------------------------


def scores(policy: Policy) -> Tensor:
    ids = torch.arange(3, 60)[None]
    with torch.no_grad():
        return policy.model(input_ids=ids, use_cache=False).logits


def test_folding_and_starting_afresh_changes_no_answer() -> None:
    trained = chatty_policy(adapter=True)
    expected, plain = scores(trained), scores(chatty_policy())
    assert not torch.allclose(expected, plain, atol=0.1)
    folded = fold(chatty_policy(adapter=True))
    afresh = merge_and_reinitialise(trained, 8, seed=3)
    torch.testing.assert_close(scores(folded), expected, atol=1e-4, rtol=0)
    torch.testing.assert_close(scores(afresh), expected, atol=1e-4, rtol=0)
    assert torch.equal(scores(afresh), scores(folded))  # a B of zeros adds exactly nothing
    with reference(afresh):
        assert torch.equal(scores(afresh), scores(folded))
    adapter = trainable_parameters(afresh)
    assert all(bool((parameter == 0).all()) == ("lora_B" in name) for name, parameter in adapter.items())
    assert {parameter.dtype for parameter in adapter.values()} == {torch.float32}
    assert {parameter.shape[0] for name, parameter in adapter.items() if "lora_A" in name} == {8}


def test_the_reference_stays_while_the_policy_moves() -> None:
    learner = make_learner(kl_coef=0.05, minibatches=1)
    with reference(learner.policy):
        expected = logprobs(learner.policy, batch())
    for now, then in zip(logprobs(learner.policy, batch()), expected, strict=True):
        assert bool((kl_estimate(now, then) == 0).all())  # exactly 0 before the first step
    kl = [learner.learn(batch(), [], update)["train/kl_to_reference"] for update in range(3)]
    assert kl[0] == 0.0
    assert 0 < kl[1] < kl[2]
    with reference(learner.policy):
        actual = logprobs(learner.policy, batch())
    assert same(actual, expected)
    assert not same(logprobs(learner.policy, batch()), expected)


def test_the_kl_term_holds_the_policy_back() -> None:
    def distance(kl_coef: float) -> float:
        learner = make_learner(kl_coef=kl_coef, updates=6, learning_rate=5e-3)
        for update in range(4):
            learner.learn(batch(), [], update)
        with reference(learner.policy):
            expected = logprobs(learner.policy, batch())
        pairs = zip(logprobs(learner.policy, batch()), expected, strict=True)
        return sum(float(kl_estimate(now, then).mean()) for now, then in pairs)

    assert distance(3.0) < 0.5 * distance(0.0)


def test_the_adapters_first_weights_come_from_the_seed_and_from_nothing_else() -> None:
    torch.manual_seed(1)
    first = trainable_parameters(attach_lora(chatty_policy(), 4, seed=7))
    state = torch.random.get_rng_state()
    torch.manual_seed(2)
    second = trainable_parameters(attach_lora(chatty_policy(), 4, seed=7))
    third = trainable_parameters(attach_lora(chatty_policy(), 4, seed=8))
    torch.manual_seed(1)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert all(torch.equal(parameter, second[name]) for name, parameter in first.items())
    assert not all(torch.equal(parameter, third[name]) for name, parameter in first.items())


def test_a_second_adapter_on_top_is_refused() -> None:
    with pytest.raises(ValueError, match="has an adapter already; fold it in first"):
        attach_lora(chatty_policy(adapter=True), 4)
    plain = chatty_policy()
    assert fold(plain) is plain


# ---- layer 2 inside an update -----------------------------------------------------------------------------------------------


def stepped(**settings: Any) -> Learner:
    """A learner past a small first update, so that the gate on first ratios is open."""
    learner = make_learner(learning_rate=1e-3, **settings)
    learner.learn(batch(), [], 0)
    return learner


def with_turn(sample: Sample, turn: int, **changes: Callable[[float], float]) -> Sample:
    """A sample with the numbers of one turn changed."""
    values = {
        name: tuple(
            change(value) if number == turn else value
            for value, number in zip(getattr(sample, name), sample.turns, strict=True)
        )
        for name, change in changes.items()
    }
    return replace(sample, **values)


@pytest.mark.parametrize("fault", [-3.0, 3.0, math.nan, math.inf, -math.inf])
def test_a_turn_out_of_bounds_has_no_part_in_the_update(fault: float) -> None:
    """The same weights come out as if that turn had no credit."""
    samples = list(batch())
    faulty = [with_turn(samples[0], 1, old_logprobs=lambda value: value + fault), *samples[1:]]
    harmless = [with_turn(samples[0], 1, advantages=lambda value: 0.0), *samples[1:]]
    actual, expected = stepped(minibatches=1), stepped(minibatches=1)
    metrics = actual.learn(faulty, [], 1)
    assert expected.learn(harmless, [], 1)["safety/ratio_dropped_turns"] == 0
    assert metrics["safety/ratio_dropped_turns"] == 1
    assert "safety/incident" not in metrics
    assert metrics["train/trained_tokens"] == sum(len(sample.positions) for sample in samples) - samples[0].turns.count(1)
    for name, parameter in actual.parameters.items():
        torch.testing.assert_close(parameter, expected.parameters[name], atol=2e-5, rtol=0)


@contextmanager
def nan_behind_the_mark(policy: Policy) -> Iterator[None]:
    """The model itself breaks down on one token: its hidden states, and all that attend to them, are NaN."""

    def spoil(module: Any, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
        return torch.where((inputs[0] == mark())[..., None], torch.full_like(output, math.nan), output)

    handle = policy.base_model.get_input_embeddings().register_forward_hook(spoil)
    try:
        yield
    finally:
        handle.remove()


def marked(sample: Sample, position: int) -> Sample:
    tokens = list(sample.token_ids)
    tokens[position] = mark()
    return replace(sample, token_ids=tuple(tokens))


@pytest.mark.parametrize("where", ["prompt", "second turn"])
def test_a_nan_in_the_forward_pass_stays_in_its_episode(where: str) -> None:
    """Zero times NaN is NaN: broken turns must leave the graph before the backward pass, not be masked behind it.

    For the same reason attention carries a NaN from a later turn, which is masked, into earlier ones of its sequence.
    """
    broken, *others = batch()
    position = 3 if where == "prompt" else broken.positions[broken.turns.index(1)]
    actual, expected = stepped(minibatches=1), stepped(minibatches=1)
    with nan_behind_the_mark(actual.policy):
        metrics = actual.learn([marked(broken, position), *others], [], 1)
    expected.learn([replace(broken, advantages=(0.0,) * len(broken.positions)), *others], [], 1)
    assert metrics["safety/ratio_dropped_turns"] == len(set(broken.turns)) == 2
    assert "safety/incident" not in metrics
    assert metrics["train/steps"] == 1
    for name, parameter in actual.parameters.items():
        torch.testing.assert_close(parameter, expected.parameters[name], atol=2e-5, rtol=0)


def test_when_no_turn_is_trusted_no_step_is_taken() -> None:
    learner = stepped()
    before = bits(learner)
    far = [replace(sample, old_logprobs=tuple(value - 9 for value in sample.old_logprobs)) for sample in batch()]
    metrics = learner.learn(far, [], 1)
    assert metrics["safety/ratio_dropped_turns"] == sum(len(set(sample.turns)) for sample in batch())
    assert metrics["train/steps"] == 0
    assert same(bits(learner), before)


def test_the_guard_can_be_switched_off() -> None:
    faulty = [with_turn(batch()[0], 1, old_logprobs=lambda value: value - 3), *batch()[1:]]  # too likely, and blamed
    guarded, free = stepped(minibatches=1), stepped(minibatches=1, ratio_guard=False)
    assert guarded.learn(faulty, [], 1)["safety/ratio_dropped_turns"] == 1
    metrics = free.learn(faulty, [], 1)
    assert metrics["safety/ratio_dropped_turns"] == 0
    assert metrics["train/trained_tokens"] == sum(len(sample.positions) for sample in batch())
    assert not same(bits(guarded), bits(free))


# ---- layer 3 inside an update -----------------------------------------------------------------------------------------------


def nan_loss(patch: pytest.MonkeyPatch, learner: Learner) -> None:
    original = learner_module.clipped_policy_loss
    calls = 0

    def broken(*arguments: Any, **more: Any) -> PolicyLoss:
        nonlocal calls
        calls += 1
        result = original(*arguments, **more)
        return PolicyLoss(result.loss * (math.nan if calls == 3 else 1.0), result.clipped)

    patch.setattr(learner_module, "clipped_policy_loss", broken)


def nan_imitation(patch: pytest.MonkeyPatch, learner: Learner) -> None:
    patch.setattr(learner_module, "imitation_loss", lambda logprobs: -logprobs.sum() * math.inf)


def nan_gradient(patch: pytest.MonkeyPatch, learner: Learner) -> None:
    original = learner.optimizer.zero_grad
    steps = 0

    def spoil(gradient: Tensor) -> Tensor:
        return gradient if steps < 2 else torch.full_like(gradient, math.nan)

    def count(*arguments: Any, **more: Any) -> None:
        nonlocal steps
        steps += 1
        original(*arguments, **more)

    patch.setattr(learner.optimizer, "zero_grad", count)
    handle = list(learner.working.values())[5].register_hook(spoil)
    patch.setattr(learner, "undo_hook", handle.remove, raising=False)


def infinite_weight(patch: pytest.MonkeyPatch, learner: Learner) -> None:
    original = learner.optimizer.step
    steps = 0

    def step(*arguments: Any, **more: Any) -> None:
        nonlocal steps
        steps += 1
        original(*arguments, **more)
        if steps == 2:
            with torch.no_grad():
                next(iter(learner.parameters.values()))[0, 0] = math.inf

    patch.setattr(learner.optimizer, "step", step)


FAULTS = {
    "a non-finite policy loss": nan_loss,
    "a non-finite imitation loss": nan_imitation,
    "a non-finite gradient": nan_gradient,
    "a non-finite weight": infinite_weight,
}


@contextmanager
def injected(problem: str, learner: Learner) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        FAULTS[problem](patch, learner)
        yield
        getattr(learner, "undo_hook", lambda: None)()


@pytest.mark.parametrize("problem", FAULTS)
@pytest.mark.parametrize("good_updates", [0, 1])
def test_an_update_that_breaks_leaves_no_trace(problem: str, good_updates: int) -> None:
    """Weights, Adam's moments and running statistics come back bit for bit, and the run goes on as if nothing had been."""
    settings: dict[str, Any] = {"minibatches": 3, "microbatch_tokens": 400, "imitation_coef": 0.5}
    shaken, calm = make_learner(**settings), make_learner(**settings)
    whiteners = RewardWhitener(), RewardWhitener()
    for learner, whitener in zip((shaken, calm), whiteners, strict=True):
        learner.protect({"whitener": whitener})
        for update in range(good_updates):
            whitener.observe([1.0, 3.0])
            learner.learn(batch(), batch()[:2], update)
    before = bits(shaken)
    whiteners[0].observe([100.0, -100.0])
    with injected(problem, shaken):
        metrics = shaken.learn(batch(), batch()[:2], good_updates)
    assert metrics["safety/incident"] == problem
    assert metrics["safety/rollbacks"] == 1
    assert same(bits(shaken), before)
    assert whiteners[0].state_dict() == whiteners[1].state_dict()
    after = [learner.learn(batch(), batch()[:2], good_updates + 1) for learner in (shaken, calm)]
    assert same(bits(shaken), bits(calm))
    assert after[0] == after[1] | {"safety/rollbacks": 1}


@pytest.mark.parametrize("problem", FAULTS)
def test_without_rollback_a_run_stops_with_the_reason(problem: str) -> None:
    learner = make_learner(minibatches=3, microbatch_tokens=400, imitation_coef=0.5, weight_rollback=False)
    with injected(problem, learner), pytest.raises(TrainingStopped, match=f"{problem} at update 0.*weight_rollback"):
        learner.learn(batch(), batch()[:2], 0)


def test_a_run_that_breaks_again_and_again_stops_in_its_last_good_state() -> None:
    learner = make_learner()
    learner.learn(batch(), [], 0)
    before = bits(learner)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learner_module, "imitation_loss", lambda logprobs: logprobs.sum() * math.nan)
        for update in (1, 2):
            assert learner.learn(batch(), batch()[:1], update)["safety/rollbacks"] == update
        with pytest.raises(TrainingStopped, match=r"3 updates in a row had to be undone.*non-finite imitation loss"):
            learner.learn(batch(), batch()[:1], 3)
    assert same(bits(learner), before)


def test_restores_are_counted_across_a_resume() -> None:
    learner = make_learner()
    with injected("a non-finite weight", learner):
        learner.learn(batch(), [], 0)
    resumed = make_learner()
    resumed.load_state_dict(torch_round_trip(learner.state_dict()))
    assert resumed.learn([], [], 1)["safety/rollbacks"] == 1


# ---- gates ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", [3e-4, -3e-4, math.nan])
def test_wrong_old_log_probabilities_stop_the_first_update(fault: float) -> None:
    wrong = [*batch()[:5], with_turn(batch()[5], 1, old_logprobs=lambda value: value + fault), *batch()[6:]]
    learner = make_learner(minibatches=1)
    before = bits(learner)
    with pytest.raises(TrainingStopped, match="importance ratios are off by up to"):
        learner.learn(wrong, [], 0)
    assert same(bits(learner), before)


def test_the_gate_waits_for_the_first_step() -> None:
    """An update without anything to train, or one that was undone, does not open it."""
    wrong = [with_turn(batch()[0], 0, old_logprobs=lambda value: value + 0.1)]
    learner = make_learner()
    learner.learn([], [], 0)
    with pytest.raises(TrainingStopped, match="importance ratios"):
        learner.learn(wrong, [], 1)
    undone = make_learner()
    with injected("a non-finite weight", undone):
        undone.learn(batch(), [], 0)
    with pytest.raises(TrainingStopped, match="importance ratios"):
        undone.learn(wrong, [], 1)
    opened = stepped()
    assert opened.learn(wrong, [], 1)["train/steps"] == 1
    resumed = make_learner()
    resumed.load_state_dict(opened.state_dict())
    assert resumed.learn(wrong, [], 2)["train/steps"] == 1


def test_frozen_adapters_stop_a_run_before_it_starts() -> None:
    policy = fresh_policy()
    for parameter in policy.model.parameters():
        parameter.requires_grad_(False)
    with pytest.raises(TrainingStopped, match="no parameter is trainable"):
        make_learner(policy)


@pytest.mark.parametrize("term", ["policy", "imitation"])
def test_an_adapter_that_is_switched_off_stops_a_run(term: str) -> None:
    learner = make_learner(imitation_coef=0.5)
    learner.policy.model.base_model.disable_adapter_layers()
    for parameter in learner.parameters.values():
        parameter.requires_grad_(True)  # as it was when the optimizer was made
    with pytest.raises(TrainingStopped, match="does not depend on any trainable weight"):
        learner.learn(*((batch(), []) if term == "policy" else ([], batch()[:2])), 0)


def test_an_adapter_that_gets_no_gradient_stops_a_run() -> None:
    learner = make_learner()
    name = next(name for name in learner.working if "lora_B" in name)
    learner.working[name].register_hook(torch.zeros_like)
    with pytest.raises(TrainingStopped, match=f"left trainable weights unchanged .{name}"):
        learner.learn(batch(), [], 0)


def test_only_b_frozen_stops_a_run() -> None:
    """With B at zero, A alone has no gradient: such runs train nothing and show a falling loss all the same."""
    policy = fresh_policy()
    for name, parameter in policy.model.named_parameters():
        if "lora_B" in name:
            parameter.requires_grad_(False)
    with pytest.raises(TrainingStopped, match="left trainable weights unchanged"):
        make_learner(policy).learn(batch(), [], 0)


# ---- bfloat16 ---------------------------------------------------------------------------------------------------------------


def low_precision_policy() -> Policy:
    policy = attach_lora(Policy(tiny_model().bfloat16(), tiny_tokenizer()), 4)
    policy.model.eval()
    return policy


@functools.cache
def low_precision_batch() -> tuple[Sample, ...]:
    sampling = SamplingConfig(1.0, 8, 400, 8)
    episodes = rollout(low_precision_policy(), echo_requests(3, 2), sampling=sampling, make_env=lambda request: EchoEnv())
    samples = []
    for index, episode in enumerate(episodes):
        sample = sample_from_turns(episode, [1.0 - index % 2 * 2] * len(episode.turns), [True] * len(episode.turns))
        assert sample is not None
        samples.append(sample)
    return tuple(samples)


def test_in_bfloat16_micro_batches_add_up_once() -> None:
    """Gradients are moved from the working weights to the masters after each of them."""
    norms = []
    for tokens in (1, 100_000):
        learner = make_learner(low_precision_policy(), minibatches=1, microbatch_tokens=tokens)
        norms.append(learner.learn(low_precision_batch(), [], 0)["train/grad_norm"])
        assert all(working.grad is None for working in learner.working.values())
    assert norms[0] == pytest.approx(norms[1], rel=0.1)


def test_a_bfloat16_policy_is_trained_through_float32_masters() -> None:
    learner = make_learner(low_precision_policy(), learning_rate=1e-4)
    samples = low_precision_batch()
    assert {parameter.dtype for parameter in learner.parameters.values()} == {torch.float32}
    assert {parameter.dtype for parameter in learner.working.values()} == {torch.bfloat16}
    before = {name: parameter.detach().clone() for name, parameter in learner.parameters.items()}
    metrics = learner.learn(samples, [], 0)  # passes the gate: old log-probabilities were computed again
    assert metrics["train/steps"] == 2
    assert metrics["train/rollout_logprob_gap"] > 0
    for name, master in learner.parameters.items():
        assert torch.equal(learner.working[name], master.to(torch.bfloat16))
    # Steps that are smaller than bfloat16 can tell apart add up in the masters.
    moved = [master != before[name] for name, master in learner.parameters.items()]
    unseen = [learner.working[name] == before[name].to(torch.bfloat16) for name in learner.parameters]
    assert any(bool((a & b).any()) for a, b in zip(moved, unseen, strict=True))
    state = bits(learner)
    with injected("a non-finite weight", learner):
        assert learner.learn(samples, [], 1)["safety/rollbacks"] == 1
    assert same(bits(learner), state)
