"""From trajectories to tensors: which tokens are trained, with which credit, in which micro-batches."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

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
    group: str = ""
    """Samples of one group begin alike; empty for a sample that stands alone."""


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
        group=trajectory.group_id,
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
    prefix = _shared_prefix(samples)
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


def without_turns(samples: Sequence[Sample], keep: Sequence[bool]) -> list[Sample]:
    """Leaves turns out; a sample without any left goes altogether.

    Args:
        samples: As given to `collate`.
        keep: One a turn, numbered as in the micro-batch that `collate` makes of them.
    """
    kept: list[Sample] = []
    number = 0
    for sample in samples:
        chosen: dict[int, bool] = {}
        for turn in dict.fromkeys(sample.turns):
            chosen[turn] = keep[number]
            number += 1
        columns = [column for column, turn in enumerate(sample.turns) if chosen[turn]]
        if columns:
            positions = tuple(sample.positions[column] for column in columns)
            kept.append(
                replace(
                    sample,
                    token_ids=sample.token_ids[: positions[-1] + 1],
                    positions=positions,
                    old_logprobs=tuple(sample.old_logprobs[column] for column in columns),
                    advantages=tuple(sample.advantages[column] for column in columns),
                    turns=tuple(sample.turns[column] for column in columns),
                )
            )
    return kept


def split_into_microbatches(samples: Sequence[Sample], max_tokens: int) -> list[list[Sample]]:
    """Cuts samples into micro-batches that compute few positions and at most `max_tokens` each (or are one sample).

    Samples are put into the order of their tokens, so that those with a common beginning stand together, and one joins the
    batch before it when that is cheaper than going alone. Members of a group thus share their whole history up to where
    they part. How samples are cut does not matter to the loss, which is normalised over the whole batch.
    """
    batches: list[list[Sample]] = []
    for sample in sorted(samples, key=lambda sample: (sample.temperature, sample.token_ids)):
        if batches and batches[-1][0].temperature == sample.temperature:
            together = _positions_computed([*batches[-1], sample])
            apart = _positions_computed(batches[-1]) + len(sample.token_ids)
            if together <= min(apart, max_tokens):
                batches[-1].append(sample)
                continue
        batches.append([sample])
    return batches


def _shared_prefix(samples: Sequence[Sample]) -> int:
    """Tokens that can be computed once: common to all, and in front of the output that predicts the first trained token."""
    return min(common_prefix([sample.token_ids for sample in samples]), *(sample.positions[0] - 1 for sample in samples))


def _positions_computed(samples: Sequence[Sample]) -> int:
    prefix = _shared_prefix(samples)
    return prefix + len(samples) * (max(len(sample.token_ids) for sample in samples) - prefix)


def deal_minibatches(
    samples: Sequence[Sample], imitation: Sequence[Sample], count: int, rng: random.Random
) -> list[tuple[list[Sample], list[Sample]]]:
    """Deals both kinds at random into `count` optimizer steps; members of a group, which share computation, stay together."""
    parts: list[list[list[Sample]]] = []
    for kind in (samples, imitation):
        units: dict[str, list[Sample]] = {}
        for index, sample in enumerate(kind):
            units.setdefault(sample.group or f"alone {index}", []).append(sample)
        shuffled = rng.sample(list(units.values()), len(units))
        parts.append([[sample for unit in shuffled[index::count] for sample in unit] for index in range(count)])
    return [pair for pair in zip(*parts, strict=True) if pair[0] or pair[1]]
