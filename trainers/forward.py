"""Log-probabilities of trained tokens under the current policy."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from transformers.cache_utils import DynamicCache

from slmagent.agents.policy import Policy
from slmagent.trainers.batch import MicroBatch


@dataclass(frozen=True, slots=True)
class TokenStatistics:
    """What the policy thinks of each trained token; float32, [N]."""

    logprobs_N: Tensor
    """Natural logarithm, at the temperature the tokens were sampled with."""
    entropy_N: Tensor
    """Entropy of the distribution the token was drawn from, in nats; carries no gradient."""


def token_statistics(policy: Policy, batch: MicroBatch) -> TokenStatistics:
    """One forward pass over a micro-batch.

    The common prefix is computed once and its keys and values are shared by all rows, gradients included. Scores over the
    vocabulary exist at trained positions only.
    """
    hidden_BSD = _suffix_hidden(policy, batch)
    logits_NV = policy.logits(hidden_BSD[batch.rows_N, batch.columns_N])
    if batch.temperature != 1.0:
        logits_NV = logits_NV / batch.temperature
    normaliser_N = torch.logsumexp(logits_NV, dim=-1)
    logprobs_N = logits_NV.gather(1, batch.targets_N[:, None])[:, 0] - normaliser_N
    with torch.no_grad():
        probabilities_NV = torch.softmax(logits_NV, dim=-1)
        entropy_N = normaliser_N - (probabilities_NV * logits_NV).sum(-1)
    return TokenStatistics(logprobs_N, entropy_N)


def _suffix_hidden(policy: Policy, batch: MicroBatch) -> Tensor:
    device = batch.suffix_BS.device
    prefix, (rows, width) = batch.prefix_P.numel(), batch.suffix_BS.shape
    cache = None
    if prefix:
        cache = DynamicCache()
        policy.hidden(batch.prefix_P[None], position_ids=torch.arange(prefix, device=device)[None], cache=cache)
        if rows > 1:
            cache.batch_repeat_interleave(rows)
    positions_S = torch.arange(prefix, prefix + width, device=device)
    mask_SK = positions_S[:, None] >= torch.arange(prefix + width, device=device)[None, :]
    return policy.hidden(
        batch.suffix_BS,
        position_ids=positions_S[None].expand(rows, -1),
        attention_mask=mask_SK[None, None],
        cache=cache,
    )
