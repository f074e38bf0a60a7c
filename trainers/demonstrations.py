"""Demonstrations: expert episodes, and their token form."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from slmagent.agents.chat import ChatFormat
from slmagent.agents.episodes import requests_for, run_episodes
from slmagent.agents.scripted import ExpertAgent
from slmagent.errors import RecordError, SlmagentError
from slmagent.trainers.batch import Sample
from slmagent.types import Trajectory


def expert_demonstrations(
    env_id: str,
    level: int,
    n: int,
    *,
    split: str = "train",
    seed: int = 0,
    evidence: bool = True,
    on_progress: Callable[[int, int], None] | None = None,
) -> list[Trajectory]:
    """`n` successful episodes of the environment's scripted expert.

    Args:
        seed: Chooses the tasks (a random order of the split) and the users.
        evidence: Whether the expert writes the line that justifies a call.

    Raises:
        SlmagentError: An episode failed; a scripted expert must not.
    """
    requests = requests_for(env_id, level, split, n, seed=seed, shuffle_seed=seed)
    episodes = run_episodes(lambda env: ExpertAgent(env, evidence=evidence), requests, on_progress=on_progress)
    failed = [episode for episode in episodes if not episode.success]
    if failed:
        raise SlmagentError(f"the expert of {env_id} failed {len(failed)} of {n} tasks, {failed[0].scenario_id} for one")
    return episodes


def encode_demonstration(chat: ChatFormat, trajectory: Trajectory) -> Sample:
    """A conversation as a training sample: all assistant tokens and their end marks are trained, nothing else.

    The token ids are those that a rollout of the same texts would have.

    Raises:
        RecordError: The conversation has no assistant message, or roles do not alternate behind a system message.
    """
    messages = list(trajectory.messages)
    roles = [message["role"] for message in messages]
    if roles != ["system", *["user", "assistant"] * len(roles)][: len(roles)] or len(roles) < 3:
        raise RecordError(
            f"cannot learn from episode {trajectory.scenario_id}: expected the roles system, user, assistant, user, ..., "
            f"actual {', '.join(roles[:6]) or 'no messages'}{', ...' if len(roles) > 6 else ''}"
        )
    ids = chat.encode_prompt(messages[:2])
    positions: list[int] = []
    turns: list[int] = []
    stop = len(ids)
    for index, message in enumerate(messages[2:]):
        if message["role"] == "user":
            ids += chat.encode_delta(message["content"])
            continue
        action = chat.encode_action(message["content"])
        positions += range(len(ids), len(ids) + len(action))
        turns += [index // 2] * len(action)
        ids += action
        stop = len(ids)
    zeros = (0.0,) * len(positions)
    return Sample(tuple(ids[:stop]), tuple(positions), zeros, zeros, tuple(turns))


def encode_demonstrations(chat: ChatFormat, trajectories: Sequence[Trajectory]) -> list[Sample]:
    """`encode_demonstration` of each."""
    return [encode_demonstration(chat, trajectory) for trajectory in trajectories]
