"""Credit per turn. Pure functions over plain numbers, worked out by hand in the tests."""

from __future__ import annotations

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
    if values.size < 2 or np.all(values == values[0]):
        return [0.0] * values.size
    centred = values - values.mean()
    return (centred / values.std() if normalise else centred).tolist()


def leave_one_out_advantages(returns: Sequence[float]) -> list[float]:
    """Each return minus the mean of the others (RLOO, Ahmadian et al. 2024); zero for a constant group or a single member."""
    values = np.asarray(returns, dtype=np.float64)
    if values.size < 2 or np.all(values == values[0]):
        return [0.0] * values.size
    others = (values.sum() - values) / (values.size - 1)
    return (values - others).tolist()


def turn_advantages(group: TrajectoryGroup, rewards: Sequence[Sequence[float]], gamma: float) -> list[list[float]]:
    """Credit of every turn of a group (GiGPO's idea of equal situations, Feng et al. 2025).

    Turns that started from the same state, by the environment's own key, are compared with each other: return-to-go minus their
    mean. A turn whose state no other member visited takes its episode's advantage. Two visits of one member to a state count as one
    situation but never make a comparison by themselves.

    Args:
        group: Members of one task.
        rewards: Per member, one a turn, as they are to be credited (whitened, say).
        gamma: Discount per turn.

    Returns:
        Per member, one advantage a turn.
    """
    to_go = [returns_to_go(member, gamma) for member in rewards]
    episode = group_advantages([member[0] if member else 0.0 for member in to_go])
    visits: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for member, trajectory in enumerate(group.trajectories):
        for index, turn in enumerate(trajectory.turns):
            visits[turn.anchor].append((member, index))
    advantages = [[episode[member]] * len(trajectory.turns) for member, trajectory in enumerate(group.trajectories)]
    for places in visits.values():
        if len({member for member, _ in places}) < 2:
            continue
        for (member, index), credit in zip(
            places, group_advantages([to_go[member][index] for member, index in places]), strict=True
        ):
            advantages[member][index] = credit
    return advantages


def groups_of(trajectories: Sequence[Trajectory]) -> list[TrajectoryGroup]:
    """Collects trajectories by group id, in order of first appearance."""
    members: dict[str, list[Trajectory]] = defaultdict(list)
    for trajectory in trajectories:
        members[trajectory.group_id].append(trajectory)
    return [TrajectoryGroup(group_id, tuple(found)) for group_id, found in members.items()]
