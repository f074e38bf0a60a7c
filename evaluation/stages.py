"""Experiments in stages: each leaves its result in a file, and a stage whose file is there is not run again."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from pathlib import Path

from slmagent.agents.episodes import MakeAgent, run_episodes
from slmagent.agents.policy import load_policy
from slmagent.agents.rollout import SamplingConfig, rollout
from slmagent.records import read_trajectories, write_trajectories
from slmagent.types import EpisodeRequest, Trajectory

OnProgress = Callable[[int, int, int], None]
"""Called with (episodes done, episodes in all, tokens sampled)."""


def greedy_episodes(
    path: Path,
    model: str | Path,
    requests: Sequence[EpisodeRequest],
    *,
    max_new_tokens: int,
    max_context: int = 1024,
    batch_size: int = 64,
    device: str | None = None,
    dtype: str = "auto",
    on_progress: OnProgress | None = None,
) -> list[Trajectory]:
    """Episodes of a local model at temperature 0; read from `path` if they are there, else played and written."""
    if path.is_file():
        return read_trajectories(path)
    sampling = SamplingConfig(0.0, max_new_tokens, max_context, batch_size)
    episodes = rollout(load_policy(model, device=device, dtype=dtype), requests, sampling=sampling, on_progress=on_progress)
    write_trajectories(path, episodes)
    gc.collect()
    return episodes


def agent_episodes(path: Path, agent_for: MakeAgent, requests: Sequence[EpisodeRequest]) -> list[Trajectory]:
    """The same for an agent that works on text."""
    if path.is_file():
        return read_trajectories(path)
    episodes = run_episodes(agent_for, requests)
    write_trajectories(path, episodes)
    return episodes


def model_stage(folder: Path, train: Callable[[], Path]) -> Path:
    """A finished model, `folder/final`; trained if it is not there."""
    final = folder / "final"
    return final if (final / "config.json").is_file() else train()
