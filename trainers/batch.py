"""From trajectories to tensors: which tokens are trained, with which credit, in which micro-batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from slmagent.agents.generation import common_prefix
from slmagent.types import Trajectory


@dataclass(frozen=True, slots=True)
class Sample:
    """One sequence with the tokens to train on.

    `positions`, `old_logprobs`, `advantages` and `turns` have one length, the number of trained tokens. The sequence ends
    with its last trained token.
    """

    token_ids: tuple[int, ...]
    positions: tuple[int, ...]
    """Indices into `token_ids` of trained tokens, ascending, at least 1."""
    old_logprobs: tuple[float, ...]
    """Log-probabilities under the policy that sampled them; 0.0 for demonstrations."""
    advantages: tuple[float, ...]
    """Credit per token: its turn's advantage."""
    turns: tuple[int, ...]
    """Which turn of the sequence a token belongs to."""
    temperature: float = 1.0


def sample_from_turns(trajectory: Trajectory, advantages: Sequence[float], keep: Sequence[bool]) -> Sample | None:
    """The kept turns of a trajectory as a training sample; None when none is kept.

    Args:
        trajectory: A rollout with token ids.
        advantages: One a turn.
        keep: One a turn; False leaves the turn out.
    """
    positions: list[int] = []
    credit: list[float] = []
    turns: list[int] = []
    for index, turn in enumerate(trajectory.turns):
        if keep[index]:
            span = range(turn.start, turn.stop)
            positions += span
            credit += [float(advantages[index])] * len(span)
            turns += [index] * len(span)
    if not positions:
        return None
    return Sample(
        token_ids=trajectory.token_ids[: positions[-1] + 1],
        positions=tuple(positions),
        old_logprobs=tuple(trajectory.logprobs[position] for position in positions),
        advantages=tuple(credit),
        turns=tuple(turns),
        temperature=trajectory.temperature or 1.0,
    )


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """Sequences that go through the model together. B sequences, N trained tokens in all, `_S` the longest suffix.

    The tokens that all sequences begin with are kept once, in `prefix_P`.
    """

    prefix_P: Tensor
    suffix_BS: Tensor
    """Right-padded; padding is never attended to by a real token and never trained."""
    rows_N: Tensor
    columns_N: Tensor
    """Suffix column whose output predicts the trained token."""
    targets_N: Tensor
    old_logprobs_N: Tensor
    advantages_N: Tensor
    turns_N: Tensor
    """Turn of each token, numbered 0..num_turns-1 over the whole micro-batch."""
    num_turns: int
    temperature: float

    @property
    def num_tokens(self) -> int:
        """Trained tokens."""
        return int(self.targets_N.numel())

    @property
    def forward_tokens(self) -> int:
        """Positions that the model computes, padding included."""
        return int(self.prefix_P.numel() + self.suffix_BS.numel())


def collate(samples: Sequence[Sample], device: torch.device) -> MicroBatch:
    """Puts samples of one temperature into a micro-batch."""
    temperatures = {sample.temperature for sample in samples}
    if len(temperatures) != 1:
        raise ValueError(f"expected samples of one temperature, actual {sorted(temperatures)}")
    prefix = common_prefix([sample.token_ids for sample in samples])
    prefix = min(prefix, *(sample.positions[0] - 1 for sample in samples))
    width = max(len(sample.token_ids) for sample in samples) - prefix
    suffix = torch.zeros(len(samples), width, dtype=torch.long)
    rows: list[int] = []
    columns: list[int] = []
    targets: list[int] = []
    turns: list[int] = []
    first_turn = 0
    for row, sample in enumerate(samples):
        ids = torch.tensor(sample.token_ids[prefix:], dtype=torch.long)
        suffix[row, : len(ids)] = ids
        rows += [row] * len(sample.positions)
        columns += [position - 1 - prefix for position in sample.positions]
        targets += [sample.token_ids[position] for position in sample.positions]
        order = {turn: number for number, turn in enumerate(dict.fromkeys(sample.turns))}
        turns += [first_turn + order[turn] for turn in sample.turns]
        first_turn += len(order)

    def longs(values: list[int]) -> Tensor:
        return torch.tensor(values, dtype=torch.long, device=device)

    def floats(values: list[float]) -> Tensor:
        return torch.tensor(values, dtype=torch.float32, device=device)

    return MicroBatch(
        prefix_P=longs(list(samples[0].token_ids[:prefix])),
        suffix_BS=suffix.to(device),
        rows_N=longs(rows),
        columns_N=longs(columns),
        targets_N=longs(targets),
        old_logprobs_N=floats([value for sample in samples for value in sample.old_logprobs]),
        advantages_N=floats([value for sample in samples for value in sample.advantages]),
        turns_N=longs(turns),
        num_turns=first_turn,
        temperature=temperatures.pop(),
    )


def split_by_tokens(samples: Sequence[Sample], max_tokens: int) -> list[list[Sample]]:
    """Cuts samples into micro-batches of similar lengths whose padded size stays within `max_tokens` (or is one sample).

    The order inside the result does not matter to the loss, which is normalised over the whole batch.
    """
    batches: list[list[Sample]] = []
    for sample in sorted(samples, key=lambda sample: (sample.temperature, len(sample.token_ids), sample.token_ids)):
        fits = batches and batches[-1][0].temperature == sample.temperature
        if fits:
            together = [*batches[-1], sample]
            prefix = min(common_prefix([s.token_ids for s in together]), *(s.positions[0] - 1 for s in together))
            fits = prefix + len(together) * (len(sample.token_ids) - prefix) <= max_tokens
        if fits:
            batches[-1].append(sample)
        else:
            batches.append([sample])
    return batches
