"""Losses as pure functions of log-probabilities. All arguments are float32 tensors over N trained tokens; results are sums
over tokens, to be divided by the number of trained tokens of the whole batch."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class PolicyLoss:
    """The clipped surrogate and what is logged about it."""

    loss: Tensor
    """Scalar, a sum over tokens."""
    clipped: Tensor
    """Number of tokens whose gradient the clip removed."""


def clipped_policy_loss(
    logprobs_N: Tensor, old_logprobs_N: Tensor, advantages_N: Tensor, *, clip_low: float, clip_high: float
) -> PolicyLoss:
    """-sum min(r A, clip(r, 1 - clip_low, 1 + clip_high) A), r = exp(logprob - old_logprob) (Schulman et al. 2017, eq. 7)."""
    ratio_N = torch.exp(logprobs_N - old_logprobs_N)
    plain_N = ratio_N * advantages_N
    clipped_N = torch.clamp(ratio_N, 1.0 - clip_low, 1.0 + clip_high) * advantages_N
    return PolicyLoss(-torch.minimum(plain_N, clipped_N).sum(), (clipped_N < plain_N).sum())


def kl_estimate(logprobs_N: Tensor, reference_logprobs_N: Tensor) -> Tensor:
    """k3 estimate of KL(policy || reference) per token: exp(d) - d - 1, d = reference - policy (Schulman 2020); >= 0."""
    difference_N = reference_logprobs_N - logprobs_N
    return torch.exp(difference_N) - difference_N - 1.0


def imitation_loss(logprobs_N: Tensor) -> Tensor:
    """Negative log-likelihood, a sum over tokens."""
    return -logprobs_N.sum()
