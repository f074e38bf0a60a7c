"""Token-level generation over many live sequences: prefill, one batched step, sampling with a seed per sequence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from slmagent.agents.kv_cache import KeyValues, SlotCache
from slmagent.agents.policy import Policy


class Generator:
    """Holds up to `num_rows` sequences in a cache and gives the next-token scores of each.

    Live sequences are always rows 0 to n-1, so that a step is one forward pass over views of the cache.

    Args:
        policy: The model.
        num_rows: Sequences held at once.
        capacity: Longest sequence in tokens.
    """

    def __init__(self, policy: Policy, num_rows: int, capacity: int) -> None:
        self.policy = policy
        self.cache = SlotCache(num_rows, capacity)
        self.prefilled_tokens = 0
        """Tokens run through the model other than one at a time."""

    def prefill(self, rows: Sequence[int], token_ids: Sequence[Sequence[int]]) -> Tensor:
        """Appends tokens to some rows in one pass; returns the scores behind the last token of each, [rows, vocab]."""
        device = self.policy.device
        counts = [len(tokens) for tokens in token_ids]
        positions_RT = self.cache.begin_rows(rows, counts, device)
        padded = [[*tokens, *[0] * (max(counts) - len(tokens))] for tokens in token_ids]
        hidden_RTD = self._pass(torch.tensor(padded, device=device), positions_RT)
        self.prefilled_tokens += sum(counts)
        last_R = torch.tensor(counts, device=device) - 1
        return self.policy.logits(hidden_RTD[torch.arange(len(counts), device=device), last_R])

    def step(self, token_ids: Sequence[int]) -> Tensor:
        """Appends one token to each of the first rows; returns the scores behind them, [rows, vocab]."""
        device = self.policy.device
        positions_R1 = self.cache.begin_step(len(token_ids), device)
        return self.policy.logits(self._pass(torch.tensor(token_ids, device=device)[:, None], positions_R1)[:, 0])

    def _pass(self, input_ids: Tensor, positions: Tensor) -> Tensor:
        hidden = self.policy.hidden(input_ids, position_ids=positions, attention_mask=self.cache.visible(), cache=self.cache)
        self.cache.advance()
        return hidden

    def start(self, row: int, states: KeyValues | None = None) -> None:
        """Empties a row, or fills it with the states of a sequence computed before."""
        if states is None:
            self.cache.lengths[row] = 0
        else:
            self.cache.copy_in(row, states)


def sample(logits_BV: Tensor, temperature: float, uniforms: Sequence[float]) -> tuple[list[int], list[float]]:
    """Draws one token a row by inverting the cumulative distribution.

    Args:
        logits_BV: Scores, [batch, vocab], float32.
        temperature: Divides the scores; 0 takes the most likely token.
        uniforms: One number in [0, 1) a row; unused at temperature 0.

    Returns:
        Token ids, and their log-probabilities under the distribution sampled from (at temperature 0: under the unscaled one).
    """
    scaled = logits_BV / temperature if temperature > 0 else logits_BV
    logprobs_BV = torch.log_softmax(scaled.float(), dim=-1)
    if temperature > 0:
        cumulative_BV = logprobs_BV.exp().cumsum(-1)
        total_B1 = cumulative_BV[:, -1:]
        # A number just below 1 becomes 1 in float32; it must not draw behind the last token of positive probability.
        below_B1 = torch.nextafter(total_B1, torch.zeros_like(total_B1))
        draws_B1 = torch.tensor(uniforms, device=logits_BV.device, dtype=torch.float32)[:, None] * total_B1
        draws_B1 = torch.minimum(draws_B1, below_B1)
        tokens_B = torch.searchsorted(cumulative_BV, draws_B1, right=True)[:, 0].clamp_(max=logits_BV.shape[-1] - 1)
    else:
        tokens_B = logprobs_BV.argmax(-1)
    chosen_B = logprobs_BV.gather(1, tokens_B[:, None])[:, 0]
    return tokens_B.tolist(), chosen_B.tolist()


def seeded(seed: int) -> np.random.Generator:
    """The random numbers of one sequence; they do not depend on what else is in the batch."""
    return np.random.default_rng(np.random.SeedSequence(seed))


def common_prefix(sequences: Sequence[Sequence[int]]) -> int:
    """Number of leading tokens that all sequences share."""
    if not sequences:
        return 0
    first = sequences[0]
    length = min(len(sequence) for sequence in sequences)
    for sequence in sequences[1:]:
        length = next((index for index in range(length) if sequence[index] != first[index]), length)
    return length
