"""Losses and their gradients against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from slmagent.trainers.losses import clipped_policy_loss, imitation_loss, kl_estimate

LOGPROB = st.floats(-30, 0)


def surrogate(ratio: float, advantage: float, low: float = 0.2, high: float = 0.3) -> tuple[float, float, int]:
    """Loss, gradient by the log-probability, and clipped tokens of one token with a given ratio."""
    old = torch.tensor([-1.0])
    new = (old + math.log(ratio)).requires_grad_()
    result = clipped_policy_loss(new, old, torch.tensor([advantage]), clip_low=low, clip_high=high)
    result.loss.backward()
    assert new.grad is not None
    return float(result.loss.detach()), float(new.grad), int(result.clipped)


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss", "gradient", "clipped"),
    [
        # At the old policy: the gradient is the plain policy gradient, -A.
        (1.0, 2.0, -2.0, -2.0, 0),
        (1.0, -2.0, 2.0, 2.0, 0),
        # Inside the bounds: -r A.
        (1.2, 2.0, -2.4, -2.4, 0),
        (0.9, -2.0, 1.8, 1.8, 0),
        # Better than expected and already more likely: no further push.
        (1.5, 2.0, -2.6, 0.0, 1),
        # Worse than expected and already less likely: no further push.
        (0.5, -2.0, 1.6, 0.0, 1),
        # Moved the wrong way: the clip never stands in the way back.
        (0.5, 2.0, -1.0, -1.0, 0),
        (1.5, -2.0, 3.0, 3.0, 0),
        # Nothing to learn.
        (1.5, 0.0, 0.0, 0.0, 0),
    ],
)
def test_the_clip_works_in_one_direction_only(
    ratio: float, advantage: float, loss: float, gradient: float, clipped: int
) -> None:
    assert surrogate(ratio, advantage) == (pytest.approx(loss, abs=1e-6), pytest.approx(gradient, abs=1e-6), clipped)


def test_the_bounds_are_separate() -> None:
    assert surrogate(1.25, 1.0, high=0.2)[1:] == (0.0, 1)
    assert surrogate(1.25, 1.0, high=0.3)[1:] == (pytest.approx(-1.25), 0)
    assert surrogate(0.75, -1.0, low=0.2)[1:] == (0.0, 1)
    assert surrogate(0.75, -1.0, low=0.3)[1:] == (pytest.approx(0.75), 0)


def test_the_policy_loss_is_a_sum_over_tokens() -> None:
    old = torch.tensor([-1.0, -2.0, -3.0])
    new = old + torch.tensor([1.5, 0.9, 1.0]).log()
    result = clipped_policy_loss(new, old, torch.tensor([1.0, -1.0, 4.0]), clip_low=0.2, clip_high=0.2)
    assert float(result.loss) == pytest.approx(-1.2 + 0.9 - 4.0, abs=1e-5)
    assert int(result.clipped) == 1


def test_no_tokens_have_no_loss() -> None:
    none = torch.zeros(0, requires_grad=True)
    result = clipped_policy_loss(none, torch.zeros(0), torch.zeros(0), clip_low=0.2, clip_high=0.2)
    assert (float(result.loss.detach()), int(result.clipped)) == (0.0, 0)
    assert float(imitation_loss(none).detach()) == 0.0


def test_the_kl_estimate_by_hand() -> None:
    policy = torch.tensor([math.log(0.5), math.log(0.2), -1.0], requires_grad=True)
    reference = torch.tensor([math.log(0.25), math.log(0.8), -1.0])
    estimate = kl_estimate(policy, reference)
    # d = log(1/2), log 4, 0: exp(d) - d - 1.
    assert estimate.tolist() == pytest.approx([0.5 + math.log(2) - 1, 4 - math.log(4) - 1, 0.0], abs=1e-6)
    estimate.sum().backward()
    assert policy.grad is not None
    assert policy.grad.tolist() == pytest.approx([1 - 0.5, 1 - 4, 0.0], abs=1e-6)  # 1 - exp(d)


@given(st.lists(st.tuples(LOGPROB, LOGPROB), min_size=1, max_size=20))
def test_the_kl_estimate_is_never_negative(pairs: list[tuple[float, float]]) -> None:
    policy, reference = (torch.tensor(values) for values in zip(*pairs, strict=True))
    estimate = kl_estimate(policy, reference)
    assert bool((estimate >= -1e-6).all())
    assert bool((kl_estimate(policy, policy) == 0).all())


def test_the_kl_estimate_is_unbiased() -> None:
    """Over the policy's own distribution its mean is the divergence itself."""
    policy, reference = (torch.tensor(values).log() for values in ([0.5, 0.3, 0.2], [0.1, 0.6, 0.3]))
    divergence = (policy.exp() * (policy - reference)).sum()
    torch.testing.assert_close((policy.exp() * kl_estimate(policy, reference)).sum(), divergence)


def test_imitation_is_the_negative_log_likelihood() -> None:
    logprobs = torch.tensor([-1.0, -0.5, -4.0], requires_grad=True)
    loss = imitation_loss(logprobs)
    loss.backward()
    assert float(loss.detach()) == 5.5
    assert logprobs.grad is not None
    assert logprobs.grad.tolist() == [-1.0, -1.0, -1.0]
