"""Which tasks an update learns from: stratified over kinds of task, most of the kinds that are solved about half the time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from slmagent.agents.episodes import group_of_requests, task_order, tasks_of
from slmagent.types import EpisodeRequest, Trajectory

FLOOR = 0.1
"""Least weight of a kind: one that seems mastered or hopeless is still looked at now and then."""
MEMORY = 0.7
"""Factor on what was counted before, at each update: the policy changes, so old episodes say less."""


def learnability(success_rate: float) -> float:
    """4 p (1 - p): 1 where the outcome is open, 0 where it is certain (Tzannetos et al. 2023, up to the factor)."""
    return 4.0 * success_rate * (1.0 - success_rate)


def apportion(weights: Mapping[str, float], count: int) -> dict[str, int]:
    """Splits `count` in proportion to the weights by largest remainders; of equal remainders the first key's is larger."""
    total = sum(weights.values())
    exact = {key: count * weight / total for key, weight in weights.items()}
    shares = {key: int(value) for key, value in exact.items()}
    by_remainder = sorted(exact, key=lambda key: shares[key] - exact[key])
    for key in by_remainder[: count - sum(shares.values())]:
        shares[key] += 1
    return shares


class TaskSampler:
    """Hands out a level's training tasks, each once before any comes again, and learns which kinds are worth the effort.

    A kind's weight is its share of the level's tasks times (FLOOR + learnability of its success rate). Where the environment
    names no kinds, tasks come in a random order and nothing else happens.

    Args:
        env_id: A registered id.
        level: Curriculum level.
        samples: Episodes of each task.
        seed: Order of tasks, users and sampling derive from it.
        by_learnability: Weight kinds by their success rates; otherwise by their share alone.
    """

    def __init__(self, env_id: str, level: int, *, samples: int, seed: int, by_learnability: bool = True) -> None:
        self.env_id, self.level, self.samples, self.seed = env_id, level, samples, seed
        self.by_learnability = by_learnability
        tasks = tasks_of(env_id, level, "train")
        self._queues: dict[str, list[str]] = defaultdict(list)
        for index in task_order(len(tasks), seed + 1, env_id, level, "train"):
            scenario_id, kind = tasks[int(index)]
            self._queues[kind].append(scenario_id)
        self._queues = dict(sorted(self._queues.items()))
        self._shares = {kind: len(queue) / len(tasks) for kind, queue in self._queues.items()}
        self._drawn = dict.fromkeys(self._queues, 0)
        # One success and one failure to begin with: unknown kinds count as open.
        self._solved = dict.fromkeys(self._queues, 1.0)
        self._played = dict.fromkeys(self._queues, 2.0)

    def success_rates(self) -> dict[str, float]:
        """Estimate per kind, recent episodes counting most."""
        return {kind: self._solved[kind] / self._played[kind] for kind in self._queues}

    def draw(self, count: int) -> list[EpisodeRequest]:
        """Requests for the next `count` tasks, all members of a group next to each other."""
        weights = dict(self._shares)
        if self.by_learnability:
            rates = self.success_rates()
            weights = {kind: share * (FLOOR + learnability(rates[kind])) for kind, share in weights.items()}
        requests: list[EpisodeRequest] = []
        for kind, number in apportion(weights, count).items():
            queue = self._queues[kind]
            for position in range(self._drawn[kind], self._drawn[kind] + number):
                lap, index = divmod(position, len(queue))
                requests += group_of_requests(
                    self.env_id, self.level, "train", queue[index], samples=self.samples, seed=self.seed, lap=lap
                )
            self._drawn[kind] += number
        return requests

    def observe(self, trajectories: Sequence[Trajectory]) -> None:
        """Counts one update's episodes; those of other levels are ignored."""
        for kind in self._queues:
            self._solved[kind] = 1.0 + MEMORY * (self._solved[kind] - 1.0)
            self._played[kind] = 2.0 + MEMORY * (self._played[kind] - 2.0)
        for trajectory in trajectories:
            kind = str(trajectory.metadata.get("task_kind", ""))
            if trajectory.env_id == self.env_id and trajectory.level == self.level and kind in self._queues:
                self._solved[kind] += trajectory.success
                self._played[kind] += 1.0

    def state_dict(self) -> dict[str, Any]:
        """What was handed out and counted so far."""
        return {"drawn": dict(self._drawn), "solved": dict(self._solved), "played": dict(self._played)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Takes it back."""
        self._drawn, self._solved, self._played = (dict(state[name]) for name in ("drawn", "solved", "played"))
