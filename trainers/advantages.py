"""Credit per turn. Pure functions over plain numbers, worked out by hand in the tests."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from slmagent.types import Trajectory, TrajectoryGroup


def returns_to_go(rewards: Sequence[float], gamma: float) -> list[float]:
    """G_k = r_k + gamma * G_{k+1}, one a turn."""
    total = 0.0
    returns: list[float] = []
    for reward in reversed(rewards):
        total = reward + gamma * total
        returns.append(total)
    return returns[::-1]


def group_advantages(returns: Sequence[float], *, normalise: bool = False) -> list[float]:
    """Each return minus the group's mean (GRPO, Shao et al. 2024); exactly zero for a constant group.

    Args:
        returns: One an episode.
        normalise: Divide by the group's standard deviation. Off by default: it inflates groups that are almost solved or
            almost hopeless (Liu et al. 2025).
    """
    values = np.asarray(returns, dtype=np.float64)
    if _constant(values):
        return [0.0] * values.size
    centred = values - values.mean()
    return (centred / values.std() if normalise else centred).tolist()


def leave_one_out_advantages(returns: Sequence[float]) -> list[float]:
    """Each return minus the mean of the others (RLOO, Ahmadian et al. 2024); zero for a constant group or a single member."""
    values = np.asarray(returns, dtype=np.float64)
    if _constant(values):
        return [0.0] * values.size
    others = (values.sum() - values) / (values.size - 1)
    return (values - others).tolist()


def turn_advantages(
    group: TrajectoryGroup, rewards: Sequence[Sequence[float]], gamma: float, *, unmatched: float = 1.0
) -> list[list[float]]:
    """Credit of every turn of a group, from situations that several members shared.

    A situation is the environment's own key of the state before an action. Its value V is the mean return-to-go of all
    visits to it (GiGPO's idea of equal anchors, Feng et al. 2025). A turn in a shared situation earns the one-step
    difference r + gamma * V(next) - V(here), where V(next) is the member's own return-to-go if it is alone there, and 0
    behind the last turn. So a turn after which all members meet again in one state gets no credit for what they did later,
    and the choice that separates them gets all of it. A turn in a situation that no other member visited, or without a
    key (an environment that gives none), takes its episode's advantage.

    Args:
        group: Members of one task.
        rewards: Per member, one a turn, as they are to be credited (whitened, say).
        gamma: Discount per turn.
        unmatched: Factor on the credit of turns without a comparison; with 0, the choice that led there carries all of it.

    Returns:
        Per member, one advantage a turn.
    """
    to_go = [returns_to_go(member, gamma) for member in rewards]
    episode = group_advantages([member[0] if member else 0.0 for member in to_go])
    visits: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for member, trajectory in enumerate(group.trajectories):
        for turn, value in zip(trajectory.turns, to_go[member], strict=True):
            visits[turn.anchor].append((member, value))
    values = {
        anchor: _mean([value for _, value in found])
        for anchor, found in visits.items()
        if anchor and len({member for member, _ in found}) > 1
    }
    advantages: list[list[float]] = []
    for member, trajectory in enumerate(group.trajectories):
        credit: list[float] = []
        for index, turn in enumerate(trajectory.turns):
            if turn.anchor not in values:
                credit.append(unmatched * episode[member])
                continue
            following = 0.0
            if index + 1 < len(trajectory.turns):
                following = values.get(trajectory.turns[index + 1].anchor, to_go[member][index + 1])
            difference = rewards[member][index] + gamma * following - values[turn.anchor]
            credit.append(difference if abs(difference) > 1e-9 else 0.0)
        advantages.append(credit)
    return advantages


def soften_blame(advantages: Sequence[float], logprobs: Sequence[float]) -> list[float]:
    """Negative advantages times the probability of their token; the others unchanged. One a token.

    The gradient of log p grows as p falls, so in a turn that failed the rare tokens (slips of sampling that a greedy policy
    never makes) would outweigh the likely token that decided wrongly; pushing them down further gains nothing. Weighting
    by the probability is Yang et al. 2025 (arXiv:2505.12929) with alpha 1, here on the negative side alone: rare tokens that
    led to success are what exploration is for.
    """
    return [value * math.exp(logprob) if value < 0 else value for value, logprob in zip(advantages, logprobs, strict=True)]


def _constant(values: np.ndarray) -> bool:
    """Whether nothing tells the values apart but the rounding of sums; dividing by that deviation would blow it up."""
    return values.size < 2 or bool(np.ptp(values) <= 1e-9 * max(1.0, float(np.abs(values).max())))


def _mean(numbers: Sequence[float]) -> float:
    """Exact for equal numbers, whatever rounding does to their sum."""
    return numbers[0] if all(number == numbers[0] for number in numbers) else float(np.mean(numbers))


def groups_of(trajectories: Sequence[Trajectory]) -> list[TrajectoryGroup]:
    """Collects trajectories by group id, in order of first appearance."""
    members: dict[str, list[Trajectory]] = defaultdict(list)
    for trajectory in trajectories:
        members[trajectory.group_id].append(trajectory)
    return [TrajectoryGroup(group_id, tuple(found)) for group_id, found in members.items()]
