"""Token-exact rollouts of a local model, many episodes at once.

The ids that were sampled are the ids in the trajectory: an action's tokens are appended as they were drawn, the
environment's answer as the template's delta, and nothing is encoded twice. Every episode keeps its own keys and values for
its whole life, so a turn costs only its new tokens; the part of the prompt that all tasks share is computed once, and a
group's prompt once for all its members. Episodes do not wait for each other: as soon as one ends, the next takes its row.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
import torch
from torch import Tensor

from slmagent.agents.episodes import close_quietly
from slmagent.agents.generation import Generator, common_prefix, sample, seeded
from slmagent.agents.kv_cache import KeyValues
from slmagent.agents.making import make_env_for, task_facts
from slmagent.agents.policy import Policy
from slmagent.types import EpisodeRequest, Message, StopReason, Trajectory, TrajectoryStatus, Turn

logger = logging.getLogger(__name__)
_WAITING_SHARE = 0.25
"""Rows that must wait for the environment's answer to be read, as a share of the live ones, before they are served."""
_PATIENCE = 8
"""Steps after which they are served however few they are."""
MakeEnv = Callable[[EpisodeRequest], gymnasium.Env[Any, Any]]
Progress = Callable[[int, int, int], None]


@dataclass(frozen=True, slots=True)
class SamplingConfig:
    """How actions are drawn."""

    temperature: float = 1.0
    """Divides the scores before sampling; 0 is greedy."""
    max_new_tokens: int = 96
    """Longest action in tokens; a longer one is cut and given an end mark that is not trained."""
    max_context: int = 1024
    """Longest episode in tokens; one that would grow past it is cut there."""
    batch_size: int = 32
    """Episodes played at once."""


@dataclass(slots=True)
class _Episode:
    """An episode while it is played."""

    request: EpisodeRequest
    env: gymnasium.Env[Any, Any]
    observation: Sequence[Message]
    info: dict[str, Any]
    rng: np.random.Generator
    token_ids: list[int]
    loss_mask: list[int]
    logprobs: list[float]
    turns: list[Turn] = field(default_factory=list)
    turn_start: int = 0
    unfed: list[int] = field(default_factory=list)
    """Tokens to run through the model before the next one can be drawn; empty while an action is being sampled."""
    follows: _Episode | None = None
    """Member of the same group that computes the prompt for both."""
    prompting: bool = False
    """`unfed` is the whole prompt."""
    terminated: bool = False
    truncated: bool = False
    stop_reason: StopReason = "error"
    status: TrajectoryStatus = "ok"
    error: str | None = None

    def append(self, token_ids: Sequence[int]) -> None:
        """Adds tokens that were not sampled."""
        self.token_ids += token_ids
        self.loss_mask += [0] * len(token_ids)
        self.logprobs += [0.0] * len(token_ids)

    def append_sampled(self, token_id: int, logprob: float) -> None:
        self.token_ids.append(token_id)
        self.loss_mask.append(1)
        self.logprobs.append(logprob)

    def finished(self, temperature: float) -> Trajectory:
        return Trajectory(
            token_ids=tuple(self.token_ids),
            loss_mask=tuple(self.loss_mask),
            logprobs=tuple(self.logprobs),
            turns=tuple(self.turns),
            messages=tuple(self.observation),
            env_id=self.request.env_id,
            scenario_id=self.info.get("scenario_id", self.request.scenario_id),
            level=self.request.level,
            split=self.request.split,
            seed=self.request.sampling_seed,
            user_seed=self.request.user_seed,
            group_id=self.request.group_id,
            temperature=temperature,
            terminated=self.terminated,
            truncated=self.truncated,
            stop_reason=self.stop_reason,
            success=self.status == "ok" and bool(self.info.get("success", False)),
            status=self.status,
            error=self.error,
            metadata=task_facts(self.env, self.request.scenario_id) if self.status == "ok" else {},
        )


def rollout(
    policy: Policy,
    requests: Sequence[EpisodeRequest],
    *,
    sampling: SamplingConfig | None = None,
    make_env: MakeEnv | None = None,
    on_progress: Progress | None = None,
    on_trajectory: Callable[[Trajectory], None] | None = None,
) -> list[Trajectory]:
    """Plays episodes with a local model.

    An environment that raises ends its episode with status `env_error`; the others go on.

    Args:
        policy: The model; put into evaluation mode, no gradients.
        requests: The episodes; members of a group (same scenario and user seed) should stand together.
        sampling: Temperature and limits.
        make_env: Makes the environment of a request; `gymnasium.make` with level and split by default. It serves later
            requests of the same id, level and split, too, and is closed in the end.
        on_progress: Called with (episodes done, episodes in all, tokens sampled so far).
        on_trajectory: Called with each trajectory as its episode ends, so that an interrupted run keeps what it has.

    Returns:
        One trajectory per request, in the order of the requests.

    Raises:
        ValueError: A limit that cannot be met (an empty action, a context beyond what the model was made for).
    """
    sampling = sampling or SamplingConfig()
    _check(sampling, policy)
    was_training = policy.model.training
    policy.model.eval()
    try:
        with torch.inference_mode():
            return _Rollout(policy, requests, sampling, make_env or make_env_for, on_progress, on_trajectory).run()
    finally:
        policy.model.train(was_training)


def _check(sampling: SamplingConfig, policy: Policy) -> None:
    if sampling.temperature < 0 or sampling.max_new_tokens < 1 or sampling.batch_size < 1:
        raise ValueError(f"expected temperature >= 0, max_new_tokens >= 1 and batch_size >= 1, actual {sampling}")
    if not 1 <= sampling.max_context <= policy.max_positions:
        raise ValueError(
            f"expected max_context between 1 and the model's {policy.max_positions}, actual {sampling.max_context}"
        )


class _Rollout:
    """One call of `rollout`: rows of the cache, and which episode lives in each."""

    def __init__(
        self,
        policy: Policy,
        requests: Sequence[EpisodeRequest],
        sampling: SamplingConfig,
        make_env: MakeEnv,
        on_progress: Progress | None,
        on_trajectory: Callable[[Trajectory], None] | None,
    ) -> None:
        self.policy, self.sampling, self.make_env, self.on_progress = policy, sampling, make_env, on_progress
        self.on_trajectory = on_trajectory
        self.requests = requests
        self.results: list[Trajectory | None] = [None] * len(requests)
        self.pending = deque(range(len(requests)))
        self.live: list[tuple[int, _Episode]] = []
        self.idle_envs: dict[tuple[str, int, str], list[gymnasium.Env[Any, Any]]] = {}
        self.made_envs: list[gymnasium.Env[Any, Any]] = []
        rows = min(sampling.batch_size, len(requests))
        self.generator = Generator(policy, max(rows, 1), sampling.max_context + sampling.max_new_tokens + 1)
        self.beginning: tuple[list[int], KeyValues] | None = None
        self._idle = 0
        self.sampled_tokens = 0

    def run(self) -> list[Trajectory]:
        try:
            self._play_all()
        finally:
            for env in self.made_envs:
                close_quietly(env)
        return [result for result in self.results if result is not None]

    def _play_all(self) -> None:
        while self.pending or self.live:
            while self.pending and len(self.live) < self.generator.cache.num_rows:
                self._admit(self.pending.popleft())
            waiting = [row for row, (_, episode) in enumerate(self.live) if episode.unfed or episode.follows]
            # A prefill is worth more the more rows share it, and rows that wait cost the batched step next to nothing.
            if waiting and (len(waiting) >= _WAITING_SHARE * len(self.live) or self._idle >= _PATIENCE):
                self._prefill(waiting)
                self._idle = 0
                continue
            self._idle += bool(waiting)
            if self.live:
                logits_BV = self.generator.step([episode.token_ids[-1] for _, episode in self.live])
                self._forget_waiting(waiting)
                sampling = [row for row in range(len(self.live)) if row not in set(waiting)]
                self._draw(sampling, logits_BV[sampling])

    # ---- rows ---------------------------------------------------------------------------------------------------

    def _forget_waiting(self, rows: Sequence[int]) -> None:
        """A step writes into all rows; in those that wait, the written token does not count and is overwritten."""
        for row in rows:
            self.generator.cache.lengths[row] -= 1

    def _admit(self, index: int) -> None:
        """Starts an episode in the next free row."""
        request = self.requests[index]
        episode = self._reset(request)
        if episode is None:
            self._done(index, self._failed(request))
            return
        prompt = self.policy.chat.encode_prompt(episode.observation)
        episode.append(prompt)
        episode.turn_start = len(prompt)
        row = len(self.live)
        self.live.append((index, episode))
        if len(prompt) >= self.sampling.max_context:
            episode.truncated, episode.stop_reason = True, "context_full"
            self._release(row)
            return
        leader = next((other for _, other in self.live[:-1] if other.unfed == prompt and other.prompting), None)
        self.generator.start(row)
        if leader is not None:
            episode.follows = leader
        else:
            episode.unfed, episode.prompting = prompt, True

    def _prefill(self, rows: Sequence[int]) -> None:
        """Feeds what waits: first what new prompts share, then the rest of each, then copies for group members."""
        leaders = [row for row in rows if self.live[row][1].unfed]
        self._share_beginning([row for row in leaders if self.live[row][1].prompting])
        cache = self.generator.cache
        tokens = [self.live[row][1].unfed[cache.lengths[row] if self.live[row][1].prompting else 0 :] for row in leaders]
        logits_RV = self.generator.prefill(leaders, tokens)
        row_of = {id(self.live[row][1]): number for number, row in enumerate(leaders)}
        order, scores = list(leaders), [logits_RV]
        for row in rows:
            leader = self.live[row][1].follows
            if leader is None:
                continue
            number = row_of[id(leader)]
            cache.move(leaders[number], row)
            order.append(row)
            scores.append(logits_RV[number][None])
        for row in order:
            episode = self.live[row][1]
            episode.unfed, episode.follows, episode.prompting = [], None, False
        self._draw(order, torch.cat(scores))

    def _share_beginning(self, rows: Sequence[int]) -> None:
        """Puts the beginning that new prompts have in common into their rows; it is computed once a rollout."""
        prompts = [self.live[row][1].unfed for row in rows]
        if self.beginning is None and len(prompts) > 1:
            shared = min(common_prefix(prompts), *(len(prompt) - 1 for prompt in prompts))
            if shared:
                self.generator.prefill([rows[0]], [prompts[0][:shared]])
                self.beginning = (prompts[0][:shared], self.generator.cache.copy_out(rows[0]))
        if self.beginning is None:
            return
        tokens, states = self.beginning
        for row, prompt in zip(rows, prompts, strict=True):
            if prompt[: len(tokens)] == tokens and len(prompt) > len(tokens):
                self.generator.start(row, states)

    def _draw(self, rows: Sequence[int], logits_BV: Tensor) -> None:
        """Samples a token for each row; rows whose turn ends there play on in their environment."""
        uniforms = [float(self.live[row][1].rng.random()) for row in rows] if self.sampling.temperature > 0 else []
        tokens, logprobs = sample(logits_BV, self.sampling.temperature, uniforms)
        self.sampled_tokens += len(rows)
        ended: list[tuple[int, StopReason]] = []
        for row, token, logprob in zip(rows, tokens, logprobs, strict=True):
            episode = self.live[row][1]
            episode.append_sampled(token, logprob)
            if token in self.policy.chat.stop_ids:
                ended.append((row, "eos"))
            elif len(episode.token_ids) >= self.sampling.max_context:
                ended.append((row, "context_full"))
            elif len(episode.token_ids) - episode.turn_start >= self.sampling.max_new_tokens:
                ended.append((row, "length"))
        # From the last row down: releasing a row moves the last live one into it.
        for row, reason in sorted(ended, reverse=True):
            self._end_turn(row, reason)

    def _end_turn(self, row: int, reason: StopReason) -> None:
        _, episode = self.live[row]
        reply = self._play(episode, reason)
        if reply is None:
            self._release(row)
            return
        chat = self.policy.chat
        last = episode.token_ids[-1]
        closing = [] if last == chat.end_mark_id else [chat.end_mark_id]
        delta = [*closing, *chat.encode_delta(reply)]
        if len(episode.token_ids) + len(delta) >= self.sampling.max_context:
            episode.truncated, episode.stop_reason = True, "context_full"
            self._release(row)
            return
        episode.append(delta)
        episode.turn_start = len(episode.token_ids)
        episode.unfed = [last, *delta]

    def _release(self, row: int) -> None:
        """Takes a finished episode out; the last live row moves into its place."""
        index, episode = self.live[row]
        if episode.status == "ok":  # an environment that raised is not trusted with another episode
            key = (episode.request.env_id, episode.request.level, episode.request.split)
            self.idle_envs.setdefault(key, []).append(episode.env)
        last = len(self.live) - 1
        if row != last:
            self.generator.cache.move(last, row)
            self.live[row] = self.live[last]
        self.live.pop()
        self._done(index, episode.finished(self.sampling.temperature))

    def _done(self, index: int, trajectory: Trajectory) -> None:
        self.results[index] = trajectory
        if self.on_trajectory is not None:
            self.on_trajectory(trajectory)
        if self.on_progress is not None:
            done = sum(result is not None for result in self.results)
            self.on_progress(done, len(self.results), self.sampled_tokens)

    # ---- environments -------------------------------------------------------------------------------------------

    def _reset(self, request: EpisodeRequest) -> _Episode | None:
        key = (request.env_id, request.level, request.split)
        try:
            idle = self.idle_envs.get(key)
            env = idle.pop() if idle else self._make(request)
            options = {"scenario_id": request.scenario_id, "user_seed": request.user_seed}
            observation, info = env.reset(seed=request.user_seed, options=options)
        except Exception as problem:
            logger.exception("reset of %s failed", request.scenario_id)
            self._problem = f"{type(problem).__name__}: {problem}"
            return None
        return _Episode(request, env, observation, info, seeded(request.sampling_seed), [], [], [])

    def _make(self, request: EpisodeRequest) -> gymnasium.Env[Any, Any]:
        self.made_envs.append(self.make_env(request))
        return self.made_envs[-1]

    def _failed(self, request: EpisodeRequest) -> Trajectory:
        env: Any = None
        episode = _Episode(request, env, (), {}, seeded(0), [], [], [], status="env_error", error=self._problem)
        return episode.finished(self.sampling.temperature)

    def _play(self, episode: _Episode, reason: StopReason) -> str | None:
        """Gives the finished action to the environment; returns its reply, or None when the episode is over."""
        stop = len(episode.token_ids)
        text = self.policy.chat.decode_action(episode.token_ids[episode.turn_start : stop])
        anchor = str(episode.info.get("anchor", ""))
        try:
            observation, reward, terminated, truncated, info = episode.env.step(text)
        except Exception as problem:
            logger.exception("step of %s failed", episode.request.scenario_id)
            episode.status, episode.error = "env_error", f"{type(problem).__name__}: {problem}"
            return None
        action = info.get("action", {})
        episode.turns.append(
            Turn(
                start=episode.turn_start,
                stop=stop,
                text=text,
                kind=action.get("kind", "speak"),
                stop_reason=reason,
                reward=float(reward),
                reward_components=info.get("reward_components", {}),
                anchor=anchor,
                parse_error=action.get("error"),
                events=tuple(info.get("events", ())),
            )
        )
        episode.observation, episode.info = observation, info
        episode.terminated, episode.truncated = bool(terminated), bool(truncated)
        if terminated or truncated:
            episode.stop_reason = info.get("stop_reason") or ("finished" if terminated else "max_turns")
            return None
        if reason == "context_full":
            episode.truncated, episode.stop_reason = True, "context_full"
            return None
        return observation[-1]["content"]
