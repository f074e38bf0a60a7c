"""Micro-batches: how samples are cut and put together never shows in the numbers."""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from toy_env import chatty_policy, made_episode

from slmagent.agents.policy import Policy
from slmagent.trainers.batch import (
    Sample,
    collate,
    deal_minibatches,
    sample_from_turns,
    split_into_microbatches,
    without_turns,
)
from slmagent.trainers.forward import token_statistics
from slmagent.trainers.lora import trainable_parameters
from slmagent.trainers.losses import clipped_policy_loss
from slmagent.trainers.selection import own_successes

CPU = torch.device("cpu")
TOKEN = st.integers(3, 258)


@functools.cache
def policy() -> Policy:
    return chatty_policy(adapter=True)


def made_sample(*actions: Sequence[int], prompt: Sequence[int] = (5, 6, 7, 8), advantage: float = 1.0) -> Sample:
    episode = made_episode([0.0] * len(actions), actions=actions, prompt=prompt)
    found = sample_from_turns(episode, [advantage + index for index in range(len(actions))], [True] * len(actions))
    assert found is not None
    return found


@st.composite
def batches(draw: st.DrawFn) -> list[Sample]:
    """Samples of which many begin alike, some are the same, and all differ in length."""
    prompts = draw(st.lists(st.lists(TOKEN, min_size=2, max_size=12), min_size=1, max_size=2))
    action = st.lists(st.sampled_from([10, 11, 2]), min_size=1, max_size=8)
    return [
        made_sample(
            *draw(st.lists(action, min_size=1, max_size=3)),
            prompt=draw(st.sampled_from(prompts)),
            advantage=draw(st.sampled_from([-2.0, 0.5])),
        )
        for _ in range(draw(st.integers(1, 7)))
    ]


# ---- from trajectories to samples -------------------------------------------------------------------------------------------


def test_a_sample_holds_the_sampled_tokens_of_the_kept_turns() -> None:
    # Tokens: 5 6 7 8 | 30 31 2 | 9 | 40 2 | 9 | 50 2
    episode = made_episode([0, 0, 0], actions=[[30, 31, 2], [40, 2], [50, 2]], temperature=0.7)
    whole = sample_from_turns(episode, [1, 2, 3], [True, True, True])
    assert whole == Sample(
        token_ids=(5, 6, 7, 8, 30, 31, 2, 9, 40, 2, 9, 50, 2),
        positions=(4, 5, 6, 8, 9, 11, 12),
        old_logprobs=(-0.04, -0.05, -0.06, -0.08, -0.09, -0.11, -0.12),
        advantages=(1, 1, 1, 2, 2, 3, 3),
        turns=(0, 0, 0, 1, 1, 2, 2),
        temperature=0.7,
        group="g",
    )
    middle = sample_from_turns(episode, [1, 2, 3], [False, True, False])
    assert middle is not None
    assert (middle.token_ids, middle.positions) == ((5, 6, 7, 8, 30, 31, 2, 9, 40, 2), (8, 9))  # nothing behind what is trained
    assert (middle.advantages, middle.turns) == ((2, 2), (1, 1))
    assert sample_from_turns(episode, [1, 2, 3], [False] * 3) is None


def test_a_greedy_episode_is_trained_at_temperature_1() -> None:
    """The log-probabilities of a greedy rollout are the unscaled ones."""
    found = sample_from_turns(made_episode([0], temperature=0.0), [1], [True])
    assert found is not None
    assert found.temperature == 1.0


def test_own_successes_are_the_shortest_of_tasks_not_solved_every_time() -> None:
    short, long, longest = ([[30, 2]], [[30, 31, 32, 2]], [[30, 2], [31, 2]])

    def episode(actions: Sequence[Sequence[int]], group: str, success: bool = True):
        return made_episode([0] * len(actions), actions=actions, group_id=group, success=success)

    episodes = [
        *[episode(actions, "mixed") for actions in (longest, long, short)],
        episode(short, "mixed", success=False),
        episode(short, "always"),
        episode(short, "always"),
        episode(short, "never", success=False),
        episode(long, "single failure", success=False),
    ]
    chosen = own_successes(episodes, 2)
    assert [sample.token_ids[4:] for sample in chosen] == [(30, 2), (30, 31, 32, 2)]
    assert [len(own_successes(episodes, count)) for count in (0, 1, 3, 9)] == [0, 1, 3, 3]
    assert own_successes(episodes, 9)[2].positions == (4, 5, 7, 8)  # all turns, end marks included


# ---- collating --------------------------------------------------------------------------------------------------------------


def test_a_micro_batch_by_hand() -> None:
    first = made_sample([30, 2], [31, 2])  # 5 6 7 8 | 30 2 | 9 | 31 2
    second = made_sample([30, 32], advantage=-1.0)  # 5 6 7 8 | 30 32
    batch = collate([first, second], CPU)
    # The first trained token is at 4; what predicts it, at 3, is in the suffix.
    assert batch.prefix_P.tolist() == [5, 6, 7]
    assert batch.suffix_BS.tolist() == [[8, 30, 2, 9, 31, 2], [8, 30, 32, 0, 0, 0]]
    assert batch.rows_N.tolist() == [0, 0, 0, 0, 1, 1]
    assert batch.columns_N.tolist() == [0, 1, 3, 4, 0, 1]
    assert batch.targets_N.tolist() == [30, 2, 31, 2, 30, 32]
    assert batch.old_logprobs_N.tolist() == pytest.approx([-0.04, -0.05, -0.07, -0.08, -0.04, -0.05])
    assert batch.advantages_N.tolist() == [1, 1, 2, 2, -1, -1]
    assert (batch.turns_N.tolist(), batch.num_turns) == ([0, 0, 1, 1, 2, 2], 3)
    assert (batch.num_tokens, batch.forward_tokens, batch.temperature) == (6, 3 + 2 * 6, 1.0)


def test_turns_left_out_do_not_leave_numbers_out() -> None:
    episode = made_episode([0, 0, 0])
    samples = [sample_from_turns(episode, [1, 2, 3], keep) for keep in ([False, True, True], [True, False, True])]
    batch = collate([sample for sample in samples if sample is not None], CPU)
    assert (batch.turns_N.tolist(), batch.num_turns) == ([0, 0, 1, 1, 2, 2, 3, 3], 4)


def test_one_temperature_a_micro_batch() -> None:
    sample = made_sample([30, 2])
    with pytest.raises(ValueError, match=r"one temperature, actual \[0.5, 1.0\]"):
        collate([sample, replace(sample, temperature=0.5)], CPU)
    assert len(split_into_microbatches([sample, replace(sample, temperature=0.5), sample], 1000)) == 2


@settings(max_examples=40, deadline=None)
@given(samples=batches(), data=st.data())
def test_turns_can_be_left_out_later(samples: list[Sample], data: st.DataObject) -> None:
    count = collate(samples, CPU).num_turns
    keep = data.draw(st.lists(st.booleans(), min_size=count, max_size=count))
    left = without_turns(samples, keep)
    before = collate(samples, CPU)
    kept = [bool(keep[turn]) for turn in before.turns_N.tolist()]
    assert len(left) <= len(samples)
    if not any(keep):
        assert left == []
        return
    after = collate(left, CPU)
    for name in ("targets_N", "old_logprobs_N", "advantages_N"):
        assert getattr(after, name).tolist() == getattr(before, name)[kept].tolist()
    assert all(sample.positions[-1] == len(sample.token_ids) - 1 for sample in left)
    assert without_turns(samples, [True] * count) == samples


@settings(max_examples=40, deadline=None)
@given(samples=batches(), max_tokens=st.integers(1, 200))
def test_micro_batches_hold_every_sample_once_within_the_limit(samples: list[Sample], max_tokens: int) -> None:
    chunks = split_into_microbatches(samples, max_tokens)
    assert sorted(repr(sample) for chunk in chunks for sample in chunk) == sorted(map(repr, samples))
    alone = sum(len(sample.token_ids) for sample in samples)
    computed = [collate(chunk, CPU).forward_tokens for chunk in chunks]
    assert sum(computed) <= alone
    assert all(cost <= max_tokens or len(chunk) == 1 for cost, chunk in zip(computed, chunks, strict=True))


def test_members_of_a_group_share_their_history() -> None:
    prompt = list(range(10, 110))
    samples = [made_sample([30 + member, 2], prompt=prompt) for member in range(4)]
    (chunk,) = split_into_microbatches(samples, 2048)
    assert collate(chunk, CPU).forward_tokens == 99 + 4 * 3


@settings(max_examples=40, deadline=None)
@given(groups=st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=9), imitated=st.integers(0, 4), count=st.integers(1, 6))
def test_minibatches_deal_everything_once_and_keep_groups_together(groups: list[str], imitated: int, count: int) -> None:
    """Samples without a group stand alone."""
    samples = [replace(made_sample([10 + index]), group=group) for index, group in enumerate(groups)]
    imitation = [replace(made_sample([100 + index]), group="") for index in range(imitated)]
    dealt = deal_minibatches(samples, imitation, count, random.Random(0))
    assert dealt == deal_minibatches(samples, imitation, count, random.Random(0))
    units = len(set(groups) - {""}) + groups.count("")
    assert len(dealt) == min(count, max(units, imitated))
    for part, kind in enumerate((samples, imitation)):
        assert sorted(map(repr, kind)) == sorted(repr(sample) for pair in dealt for sample in pair[part])
    for name in set(groups) - {""}:
        assert sum(any(sample.group == name for sample in pair[0]) for pair in dealt) == 1


def test_another_seed_deals_in_another_way() -> None:
    samples = [made_sample([10 + index]) for index in range(8)]
    samples = [replace(sample, group=str(index)) for index, sample in enumerate(samples)]
    assert deal_minibatches(samples, [], 2, random.Random(0)) != deal_minibatches(samples, [], 2, random.Random(1))


# ---- the numbers do not depend on it ----------------------------------------------------------------------------------------


def loss_and_gradient(chunks: Sequence[Sequence[Sample]], tokens: int) -> tuple[float, dict[str, Tensor]]:
    """Clipped loss over all chunks, as a trainer sums it, and the gradient of every adapter weight."""
    parameters = trainable_parameters(policy())
    for parameter in parameters.values():
        parameter.grad = None
    total = 0.0
    for chunk in chunks:
        batch = collate(chunk, CPU)
        logprobs = token_statistics(policy(), batch).logprobs_N
        # Old log-probabilities near the present ones, so that some tokens are clipped and most are not.
        old = logprobs.detach() + 0.3 * torch.sin(batch.targets_N.float())
        loss = clipped_policy_loss(logprobs, old, batch.advantages_N, clip_low=0.2, clip_high=0.2).loss / tokens
        loss.backward()
        total += float(loss.detach())
    return total, {name: parameter.grad.clone() for name, parameter in parameters.items() if parameter.grad is not None}


@settings(max_examples=7, deadline=None, derandomize=True)
@given(samples=batches(), max_tokens=st.sampled_from([1, 30, 60, 10_000]), seed=st.integers(0, 5))
def test_loss_and_gradient_depend_on_neither_split_nor_order(samples: list[Sample], max_tokens: int, seed: int) -> None:
    tokens = sum(len(sample.positions) for sample in samples)
    expected, expected_gradients = loss_and_gradient([[sample] for sample in samples], tokens)
    shuffled = random.Random(seed).sample(samples, len(samples))
    actual, gradients = loss_and_gradient(split_into_microbatches(shuffled, max_tokens), tokens)
    assert actual == pytest.approx(expected, abs=1e-5)
    assert gradients.keys() == expected_gradients.keys()
    assert len(gradients) == len(trainable_parameters(policy()))
    scale = max(float(gradient.abs().max()) for gradient in expected_gradients.values())
    for name, gradient in gradients.items():
        torch.testing.assert_close(gradient, expected_gradients[name], atol=1e-4 * max(scale, 1e-3), rtol=0)


def statistics_of(samples: Sequence[Sample]) -> list[list[float]]:
    """Log-probabilities of a micro-batch, per sample."""
    batch = collate(samples, CPU)
    with torch.no_grad():
        values = token_statistics(policy(), batch).logprobs_N
    return [values[batch.rows_N == row].tolist() for row in range(len(samples))]


@settings(max_examples=10, deadline=None, derandomize=True)
@given(samples=batches())
def test_sequences_that_go_together_do_not_see_each_other(samples: list[Sample]) -> None:
    """Each has the log-probabilities that the plain model gives it alone."""
    for sample, actual in zip(samples, statistics_of(samples), strict=True):
        with torch.no_grad():
            logits = policy().model(input_ids=torch.tensor([sample.token_ids]), use_cache=False).logits[0].float()
        logprobs = torch.log_softmax(logits, dim=-1)
        expected = [float(logprobs[position - 1, sample.token_ids[position]]) for position in sample.positions]
        assert actual == pytest.approx(expected, abs=1e-4)


def test_what_a_neighbour_says_changes_nothing() -> None:
    """Longer or shorter, before or behind, in prefix sharing or not: only the neighbour's own numbers move."""
    prompt = list(range(20, 60))
    watched = made_sample([100, 101, 2], [102, 2], prompt=prompt)
    (alone,) = statistics_of([watched])
    neighbours = [
        made_sample([100, 101, 2], [103, 104, 105, 106, 2], prompt=prompt),
        made_sample([200, 201, 2], [102, 2], prompt=prompt),
        made_sample([200] * 30, prompt=prompt),
        made_sample([2], prompt=prompt[:10]),
        made_sample([50, 2], prompt=prompt[::-1]),
    ]
    for first in neighbours:
        for second in neighbours:
            for order in ([watched, first, second], [first, watched, second], [first, second, watched]):
                assert statistics_of(order)[order.index(watched)] == pytest.approx(alone, abs=1e-4)
    changed = statistics_of([watched, neighbours[0]])[1]
    assert changed[:3] == pytest.approx(alone[:3], abs=1e-4)
    assert changed[3] != pytest.approx(alone[3], abs=1e-3)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_log_probabilities_and_entropy_are_those_of_the_scaled_distribution(temperature: float) -> None:
    sample = replace(made_sample([30, 31, 2], [40, 2]), temperature=temperature)
    with torch.no_grad():
        statistics = token_statistics(policy(), collate([sample], CPU))
        logits = policy().model(input_ids=torch.tensor([sample.token_ids]), use_cache=False).logits[0].float()
    distribution = torch.distributions.Categorical(logits=logits[[position - 1 for position in sample.positions]] / temperature)
    targets = torch.tensor([sample.token_ids[position] for position in sample.positions])
    torch.testing.assert_close(statistics.logprobs_N, distribution.log_prob(targets), atol=1e-4, rtol=1e-5)
    torch.testing.assert_close(statistics.entropy_N, distribution.entropy(), atol=1e-4, rtol=1e-5)
    assert not statistics.entropy_N.requires_grad


def test_scores_are_computed_where_tokens_are_trained_and_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes: list[tuple[int, ...]] = []
    original = Policy.logits

    def spy(self: Policy, hidden: Tensor) -> Tensor:
        shapes.append(tuple(hidden.shape))
        return original(self, hidden)

    monkeypatch.setattr(Policy, "logits", spy)
    samples = [made_sample([30, 2], prompt=range(3, 100)), made_sample([31, 32, 33, 2], prompt=range(3, 100))]
    token_statistics(policy(), collate(samples, CPU))
    assert shapes == [(6, 64)]
