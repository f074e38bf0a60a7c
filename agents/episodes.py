"""Plays whole episodes with any agent, at the level of text, and says which episodes to play.

Local models that are to be trained go through `slmagent.agents.rollout`, which records tokens; here those fields stay empty.
"""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np

from slmagent.agents.base import Agent, EpisodeAware
from slmagent.agents.making import make_env_for, task_facts
from slmagent.errors import UsageError
from slmagent.types import EpisodeRequest, Message, StopReason, Trajectory, TrajectoryStatus, Turn

logger = logging.getLogger(__name__)
MakeEnv = Callable[[EpisodeRequest], gymnasium.Env[Any, Any]]
MakeAgent = Callable[[gymnasium.Env[Any, Any]], Agent]
Progress = Callable[[int, int], None]


def stable_seed(*parts: str | int) -> int:
    """A seed in [0, 2**31) that depends on all parts and is the same in every process and release."""
    digest = hashlib.blake2b(repr(parts).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % 2**31


def requests_for(
    env_id: str,
    level: int,
    split: str,
    n: int,
    *,
    samples: int = 1,
    seed: int = 0,
    offset: int = 0,
    shuffle_seed: int | None = None,
) -> list[EpisodeRequest]:
    """Requests for `n` tasks of an environment, `samples` members each, the members of a group next to each other.

    Tasks come in the environment's own order from `offset` on. Past the last task it goes on with the first, with other user
    seeds, so consecutive offsets never repeat an episode.

    Args:
        env_id: A registered id (import slmagent first).
        level: Curriculum level.
        split: `train`, `val`, `test` or `ood`.
        n: Number of tasks (groups).
        samples: Members of each group: same task and user, different sampling seeds.
        seed: Changes user and sampling seeds, not the tasks: another trial of the same tasks.
        offset: Number of tasks to skip.
        shuffle_seed: Puts the tasks into a random order first; None keeps the environment's.

    Raises:
        UsageError: An id, level or split that does not exist, or a number out of range.
    """
    if n < 0 or samples < 1 or offset < 0:
        raise UsageError(f"expected n >= 0, samples >= 1 and offset >= 0, actual n={n}, samples={samples}, offset={offset}")
    scenario_ids = [scenario_id for scenario_id, _ in tasks_of(env_id, level, split)]
    order = np.arange(len(scenario_ids))
    if shuffle_seed is not None:
        order = task_order(len(scenario_ids), shuffle_seed, env_id, level, split)
    requests: list[EpisodeRequest] = []
    for position in range(offset, offset + n):
        lap, index = divmod(position, len(order))
        scenario_id = scenario_ids[int(order[index])]
        requests += group_of_requests(env_id, level, split, scenario_id, samples=samples, seed=seed, lap=lap)
    return requests


def task_order(count: int, shuffle_seed: int, env_id: str, level: int, split: str) -> np.ndarray:
    """The random order of a level's tasks that belongs to a seed: indices, [count]."""
    return np.random.default_rng(stable_seed("order", shuffle_seed, env_id, level, split)).permutation(count)


def group_of_requests(
    env_id: str, level: int, split: str, scenario_id: str, *, samples: int, seed: int, lap: int = 0
) -> list[EpisodeRequest]:
    """`samples` requests for one task: same user, different sampling seeds. Another `lap` is another trial of the task."""
    key = (env_id, level, split, scenario_id, lap)
    return [
        EpisodeRequest(
            env_id=env_id,
            level=level,
            split=split,
            scenario_id=scenario_id,
            user_seed=stable_seed("user", seed, *key),
            sampling_seed=stable_seed("sampling", seed, *key, member),
            group_id=f"{env_id}|{level}|{split}|{scenario_id}|{lap}|{seed}",
        )
        for member in range(samples)
    ]


def tasks_of(env_id: str, level: int, split: str) -> list[tuple[str, str]]:
    """All tasks of a level in the environment's order: scenario id and kind ("" where the environment names none).

    Raises:
        UsageError: An id, level or split that does not exist, or an environment without a list of tasks.
    """
    try:
        env = gymnasium.make(env_id, level=level, split=split, disable_env_checker=True)
    except (gymnasium.error.Error, ValueError, TypeError) as problem:
        raise UsageError(f"cannot make {env_id}: {problem}") from None
    try:
        scenario_ids = getattr(env.unwrapped, "scenario_ids", None)
        if not scenario_ids:
            raise UsageError(f"{env_id} lists no tasks for level {level}, split {split!r} (expected `scenario_ids`)")
        return [(str(scenario_id), task_facts(env, str(scenario_id)).get("task_kind", "")) for scenario_id in scenario_ids]
    finally:
        env.close()


def run_episodes(
    agent_for: MakeAgent,
    requests: Sequence[EpisodeRequest],
    *,
    make_env: MakeEnv | None = None,
    workers: int = 1,
    on_progress: Progress | None = None,
) -> list[Trajectory]:
    """Plays every request to its end.

    What an environment or an agent raises ends that episode with status `env_error` or `agent_error`; the others go on. A
    `UsageError` (an agent that cannot play this environment, a refused key) would be the same every time and is passed on.

    Args:
        agent_for: Makes the agent of an episode, given its environment. It may return one shared agent, which then must bear
            being called from several threads if there are several workers.
        requests: The episodes.
        make_env: Makes the environment of a request; `gymnasium.make` with level and split by default.
        workers: Episodes played at once, in threads: worth it for agents that wait (endpoints), not for those that compute.
        on_progress: Called with (episodes done, episodes in all) after each, from the thread that called `run_episodes`.

    Returns:
        One trajectory per request, in the order of the requests, whatever the number of workers.
    """
    if workers < 1:
        raise UsageError(f"expected workers >= 1, actual {workers}")
    tell = on_progress or (lambda done, total: None)
    stopped = threading.Event()

    def play(request: EpisodeRequest) -> Trajectory:
        return _play(agent_for, request, make_env or make_env_for, stopped)

    if workers == 1:
        played: list[Trajectory] = []
        for request in requests:
            played.append(play(request))
            tell(len(played), len(requests))
        return played
    with ThreadPoolExecutor(max_workers=workers, thread_name_prefix="episode") as pool:
        futures = [pool.submit(play, request) for request in requests]
        try:
            for done, future in enumerate(as_completed(futures), start=1):
                future.result()
                tell(done, len(requests))
        except BaseException:
            stopped.set()  # Ctrl-C, say: the episodes under way end with their current turn
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        return [future.result() for future in futures]


@dataclass(slots=True)
class _Played:
    """An episode as far as it has been played."""

    messages: tuple[Message, ...] = ()
    info: Mapping[str, Any] = field(default_factory=dict)
    turns: list[Turn] = field(default_factory=list)
    terminated: bool = False
    truncated: bool = False
    temperature: float = 0.0
    stop_reason: StopReason = "error"
    status: TrajectoryStatus = "ok"
    error: str | None = None

    def fail(self, status: TrajectoryStatus, problem: Exception) -> None:
        """Ends the episode with what went wrong."""
        if isinstance(problem, UsageError):
            raise problem
        self.status, self.error, self.stop_reason = status, f"{type(problem).__name__}: {problem}", "error"


def _play(agent_for: MakeAgent, request: EpisodeRequest, make_env: MakeEnv, stopped: threading.Event) -> Trajectory:
    played = _Played()
    env: gymnasium.Env[Any, Any] | None = None
    try:
        try:
            env = make_env(request)
            options = {"scenario_id": request.scenario_id, "user_seed": request.user_seed}
            observation, info = env.reset(seed=request.user_seed, options=options)
            played.messages, played.info = tuple(observation), info
        except Exception as problem:
            played.fail("env_error", problem)
        else:
            _converse(agent_for, request, env, played, stopped)
    finally:
        if env is not None:
            close_quietly(env)
    return Trajectory(
        token_ids=(),
        loss_mask=(),
        logprobs=(),
        turns=tuple(played.turns),
        messages=played.messages,
        env_id=request.env_id,
        scenario_id=request.scenario_id,
        level=request.level,
        split=request.split,
        seed=request.sampling_seed,
        user_seed=request.user_seed,
        group_id=request.group_id,
        temperature=played.temperature,
        terminated=played.terminated,
        truncated=played.truncated,
        stop_reason=played.stop_reason,
        success=played.status == "ok" and bool(played.info.get("success", False)),
        status=played.status,
        error=played.error,
        metadata=task_facts(env, request.scenario_id) if played.status == "ok" else {},
    )


def close_quietly(env: gymnasium.Env[Any, Any]) -> None:
    """Closes an environment whose episodes are over; what that raises is logged, no more."""
    try:
        env.close()
    except Exception:  # the episode itself is whole
        logger.exception("closing %s failed", env)


def _converse(
    agent_for: MakeAgent,
    request: EpisodeRequest,
    env: gymnasium.Env[Any, Any],
    played: _Played,
    stopped: threading.Event,
) -> None:
    try:
        agent = agent_for(env)
        played.temperature = float(getattr(agent, "temperature", 0.0))
        if isinstance(agent, EpisodeAware):
            agent.begin_episode(request)
    except Exception as problem:
        return played.fail("agent_error", problem)
    while not (played.terminated or played.truncated):
        if stopped.is_set():
            return played.fail("agent_error", RuntimeError("the run was stopped"))
        try:
            action = agent.act(played.messages, played.info)
            if not isinstance(action, str):
                raise TypeError(f"expected the agent to return a str, actual {type(action).__name__}")
        except Exception as problem:
            return played.fail("agent_error", problem)
        try:
            observation, reward, terminated, truncated, info = env.step(action)
        except Exception as problem:
            return played.fail("env_error", problem)
        played.turns.append(_turn(action, float(reward), str(played.info.get("anchor", "")), info))
        played.messages, played.info = tuple(observation), info
        played.terminated, played.truncated = bool(terminated), bool(truncated)
    played.stop_reason = played.info.get("stop_reason") or ("finished" if played.terminated else "max_turns")


def _turn(action: str, reward: float, anchor: str, info: Mapping[str, Any]) -> Turn:
    understood = info.get("action", {})
    return Turn(
        start=0,
        stop=0,
        text=str(action),
        kind=understood.get("kind", "speak"),
        stop_reason=getattr(action, "stop_reason", "eos"),
        reward=reward,
        reward_components=info.get("reward_components", {}),
        anchor=anchor,
        parse_error=understood.get("error"),
        events=tuple(info.get("events", ())),
    )
