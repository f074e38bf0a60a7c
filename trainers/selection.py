"""Which of the policy's own episodes are worth imitating."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from slmagent.trainers.advantages import groups_of
from slmagent.trainers.batch import Sample, sample_from_turns
from slmagent.types import Trajectory


def own_successes(trajectories: Sequence[Trajectory], per_task: int) -> list[Sample]:
    """Successful episodes of tasks that were not solved every time, at most `per_task` of each, the shortest first.

    Tasks solved by all members teach nothing new and would only narrow the policy.
    """
    samples: list[Sample] = []
    for group in groups_of(trajectories):
        solved = [member for member in group.trajectories if member.success]
        if len(solved) == len(group.trajectories):
            continue
        for member in sorted(solved, key=lambda member: (len(member.turns), len(member.token_ids)))[:per_task]:
            turns = len(member.turns)
            sample = sample_from_turns(member, [0.0] * turns, [True] * turns)
            # At temperature 1, like any supervised text: what is to become likely is the token under the plain distribution.
            samples += [replace(sample, temperature=1.0)] if sample is not None else []
    return samples
