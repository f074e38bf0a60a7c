"""GRPO with credit per turn, an imitation term and three safety layers. Reads top to bottom: config, run, update.

One update: sample a few episodes of each of many tasks -> whiten rewards -> compare turns that started from the same state
-> clipped policy-gradient steps on what differs, joined by imitation of demonstrations and of the policy's own successes.

What differs from the textbook version (Shao et al. 2024), and why:
* credit per turn instead of per episode, by the environment's own state key (turn_advantages);
* no division by the group's standard deviation (it inflates almost-solved and almost-hopeless groups), but whitening by
  the running deviation of returns, which does not depend on the group;
* loss normalised by trained tokens of the whole minibatch, so length is neither rewarded nor punished;
* tasks that all members solve or fail alike have no advantage and cost nothing;
* the imitation term (`imitation_coef`): log-likelihood of own successes on tasks that are not solved every time, and of a few
  demonstrations, in the same gradient step.
"""

from __future__ import annotations

import dataclasses
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from slmagent.agents.episodes import requests_for, stable_seed
from slmagent.agents.policy import Policy, load_policy
from slmagent.agents.rollout import MakeEnv, SamplingConfig, rollout
from slmagent.errors import RecordError
from slmagent.records import read_trajectories
from slmagent.trainers import checkpoint as ckpt
from slmagent.trainers.advantages import groups_of, returns_to_go, soften_blame, turn_advantages
from slmagent.trainers.batch import Sample, sample_from_turns
from slmagent.trainers.demonstrations import encode_demonstrations
from slmagent.trainers.grpo_config import GRPOConfig
from slmagent.trainers.learner import Learner
from slmagent.trainers.lora import attach_lora, fold
from slmagent.trainers.metrics import MetricsLog
from slmagent.trainers.safety import RewardWhitener, TrainingStopped
from slmagent.trainers.selection import own_successes
from slmagent.trainers.statistics import rollout_metrics
from slmagent.trainers.tasks import TaskSampler
from slmagent.types import EpisodeRequest, Trajectory

__all__ = ["GRPOConfig", "GRPORun", "train_grpo"]


def train_grpo(config: GRPOConfig, *, policy: Policy | None = None, make_env: MakeEnv | None = None) -> Path:
    """Trains and returns the folder of the finished model (`output_dir/final`, adapter folded in).

    Args:
        config: The settings.
        policy: A loaded model without adapter, instead of `config.model`.
        make_env: Makes the environment of an episode, instead of `gymnasium.make`.

    Raises:
        TrainingStopped: Training cannot go on, with the diagnosis.
    """
    from slmagent.trainers.progress import TrainingProgress

    run = GRPORun(config, policy or load_policy(config.model, device=config.device, dtype=config.dtype), make_env)
    with TrainingProgress(f"GRPO level {config.level}", config.updates, run.update) as progress:
        while not run.finished:
            metrics = run.step(progress.episodes)
            progress.update(run.update, metrics)
    final = Path(config.output_dir) / "final"
    fold(run.policy).save(final)
    run.log.close()
    return final


class GRPORun:
    """The state of a run, and one `step` per update.

    Args:
        config: The settings.
        policy: Model without adapter.
        make_env: Makes the environment of an episode.
    """

    def __init__(self, config: GRPOConfig, policy: Policy, make_env: MakeEnv | None = None) -> None:
        self.config = config
        self.make_env = make_env
        self.folder = Path(config.output_dir)
        self.policy = attach_lora(fold(policy), config.lora_rank, seed=stable_seed("adapter", config.seed))
        self.policy.model.eval()
        self.learner = Learner(self.policy, config)
        self.whitener = RewardWhitener()
        self.update = 0
        self.seconds = 0.0
        if config.demonstrations:
            self.demonstrations = encode_demonstrations(self.policy.chat, read_trajectories(config.demonstrations))
        else:
            self.demonstrations = []
        levels = [config.level, *([] if config.rehearse_level is None else [config.rehearse_level])]
        self.samplers = [
            TaskSampler(config.env_id, level, samples=config.samples, seed=config.seed, by_learnability=config.by_learnability)
            for level in levels
        ]
        self._resume()
        self.learner.protect({"whitener": self.whitener})
        self.log = MetricsLog(self.folder, first_step=self.update, tensorboard=config.tensorboard)

    @property
    def finished(self) -> bool:
        """All updates are done, or one more would, at the pace so far, overrun the time limit."""
        limit = self.config.max_seconds
        if limit is None or self.update == 0:
            return self.update >= self.config.updates
        return self.update >= self.config.updates or self.seconds * (self.update + 1) / self.update > limit

    def step(self, on_progress: Callable[[int, int, int], None] | None = None) -> dict[str, Any]:
        """One update: rollout, credit, optimizer steps, log, checkpoint. Returns what was logged."""
        started = time.monotonic()
        requests = self._requests()
        trajectories = self._rollout(requests, self.config.temperature, on_progress)
        rolled_out = time.monotonic()
        for sampler in self.samplers:
            sampler.observe(trajectories)
        samples, metrics = self._credit(trajectories)
        metrics |= rollout_metrics(trajectories, rolled_out - started)
        for kind, rate in self.samplers[0].success_rates().items():
            if kind:
                metrics[f"tasks/success_rate/{kind}"] = rate
        metrics["rollout/failed_episodes"] = len(requests) - len(trajectories)
        metrics |= self.learner.learn(samples, self._imitation(trajectories), self.update)
        metrics["time/train_seconds"] = time.monotonic() - rolled_out
        self.update += 1
        every = self.config.eval_every
        if every and self.update % every == 0:
            requests = requests_for(self.config.env_id, self.config.level, "val", self.config.eval_tasks)
            episodes = self._rollout(requests, 0.0, None)
            metrics["eval/success_rate"] = sum(episode.success for episode in episodes) / len(episodes)
        self.seconds += time.monotonic() - started
        metrics["time/seconds"] = self.seconds
        self.log.write(self.update - 1, metrics)
        if self.update % self.config.checkpoint_every == 0 or self.finished:
            self._save()
        return metrics

    # ---- episodes and credit ------------------------------------------------------------------------------------

    def _requests(self) -> list[EpisodeRequest]:
        """This update's tasks."""
        config = self.config
        rehearsed = round(config.tasks * config.rehearse_share) if config.rehearse_level is not None else 0
        counts = [config.tasks - rehearsed, rehearsed]
        return [request for sampler, count in zip(self.samplers, counts, strict=False) for request in sampler.draw(count)]

    def _rollout(
        self, requests: Sequence[EpisodeRequest], temperature: float, on_progress: Callable[[int, int, int], None] | None
    ) -> list[Trajectory]:
        config = self.config
        sampling = SamplingConfig(temperature, config.max_new_tokens, config.max_context, config.rollout_batch_size)
        episodes = rollout(self.policy, requests, sampling=sampling, make_env=self.make_env, on_progress=on_progress)
        sound = [episode for episode in episodes if episode.status == "ok" and episode.turns]
        if len(sound) < (1 - config.max_error_share) * len(episodes):
            broken = next(episode for episode in episodes if episode.status != "ok" or not episode.turns)
            full = f"no room for an action: the prompt takes {len(broken.token_ids)} of {config.max_context} tokens"
            raise TrainingStopped(
                f"{len(episodes) - len(sound)} of {len(episodes)} episodes failed for technical reasons, "
                f"the first with: {broken.error or full}"
            )
        return sound

    def _credit(self, trajectories: Sequence[Trajectory]) -> tuple[list[Sample], dict[str, Any]]:
        """Training samples of all turns that differ from their comparison, and what is to be known about them."""
        config = self.config
        groups = groups_of(trajectories)
        if config.whiten_rewards:
            for trajectory in trajectories:
                self.whitener.observe(returns_to_go([turn.reward for turn in trajectory.turns], config.gamma))
        samples: list[Sample] = []
        clipped = dead = 0
        for group in groups:
            rewards = [[turn.reward for turn in member.turns] for member in group.trajectories]
            if config.whiten_rewards:
                whitened = [self.whitener.whiten(member) for member in rewards]
                rewards = [values for values, _ in whitened]
                clipped += sum(count for _, count in whitened)
            credit = turn_advantages(group, rewards, config.gamma, unmatched=config.unmatched_credit)
            dead += not any(abs(value) > config.min_advantage for member in credit for value in member)
            for member, advantages in zip(group.trajectories, credit, strict=True):
                sample = sample_from_turns(member, advantages, [abs(value) > config.min_advantage for value in advantages])
                if sample is None:
                    continue
                if config.soften_blame:
                    softened = soften_blame(sample.advantages, sample.old_logprobs)
                    sample = dataclasses.replace(sample, advantages=tuple(softened))
                samples.append(sample)
        metrics = {
            "rollout/dead_groups": dead / len(groups),
            "rollout/trained_samples": len(samples),
            "safety/reward_std": self.whitener.std,
            "safety/rewards_clipped": clipped,
        }
        return samples, metrics

    def _imitation(self, trajectories: Sequence[Trajectory]) -> list[Sample]:
        if not self.config.imitation_coef:
            return []
        rng = random.Random(stable_seed("imitation", self.config.seed, self.update))
        count = min(self.config.demonstrations_per_update, len(self.demonstrations))
        return own_successes(trajectories, self.config.successes_per_task) + rng.sample(self.demonstrations, count)

    # ---- checkpoints --------------------------------------------------------------------------------------------

    def _save(self) -> None:
        ckpt.save_checkpoint(
            self.folder / "checkpoints",
            self.update,
            {
                "config": dataclasses.asdict(self.config),
                "update": self.update,
                "seconds": self.seconds,
                "learner": self.learner.state_dict(),
                "whitener": self.whitener.state_dict(),
                "tasks": [sampler.state_dict() for sampler in self.samplers],
            },
        )

    def _resume(self) -> None:
        """Goes on from the newest checkpoint in the run's folder, if there is one."""
        newest = ckpt.latest_checkpoint(self.folder / "checkpoints")
        if newest is None:
            return
        state = ckpt.load_checkpoint(newest)
        differing = [
            name
            for name, value in dataclasses.asdict(self.config).items()
            if name in _FIXED and state["config"].get(name) != value
        ]
        if differing:
            raise RecordError(
                f"{newest} belongs to a run with another {differing[0]} ({state['config'].get(differing[0])!r}, "
                f"now {getattr(self.config, differing[0])!r}); choose another output_dir or remove the checkpoints"
            )
        if "tasks" not in state:
            raise RecordError(f"{newest} was written by an older version; choose another output_dir or remove the checkpoints")
        self.learner.load_state_dict(state["learner"])
        self.whitener.load_state_dict(state["whitener"])
        for sampler, counted in zip(self.samplers, state["tasks"], strict=True):
            sampler.load_state_dict(counted)
        self.update, self.seconds = state["update"], state["seconds"]


_FIXED = ("model", "env_id", "level", "rehearse_level", "lora_rank", "seed", "tasks", "samples", "gamma")
"""Settings that a resumed run must share with its checkpoint; the others may be changed in between."""
