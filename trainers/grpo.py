"""GRPO with credit per turn, an imitation term and three safety layers. Reads top to bottom: config, run, update.

One update: sample a few episodes of each of many tasks -> whiten rewards -> compare turns that started from the same state -> clipped
policy-gradient steps on what differs, joined by imitation of demonstrations and of the policy's own successes.

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

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from slmagent.agents.episodes import requests_for, stable_seed
from slmagent.agents.policy import Policy, load_policy
from slmagent.agents.rollout import MakeEnv, SamplingConfig, rollout
from slmagent.records import read_trajectories
from slmagent.trainers import checkpoint as ckpt
from slmagent.trainers.advantages import groups_of, returns_to_go, turn_advantages
from slmagent.trainers.batch import Sample, collate, sample_from_turns, split_by_tokens
from slmagent.trainers.demonstrations import encode_demonstrations
from slmagent.trainers.forward import token_statistics
from slmagent.trainers.lora import attach_lora, fold, reference, trainable_parameters
from slmagent.trainers.losses import PolicyLoss, clipped_policy_loss, imitation_loss, kl_estimate
from slmagent.trainers.metrics import MetricsLog
from slmagent.trainers.safety import (
    RewardWhitener,
    Rollback,
    TrainingStopped,
    all_finite,
    check_first_ratios,
    check_moved,
    check_optimizer_covers,
    trusted_turns,
)
from slmagent.trainers.selection import own_successes
from slmagent.types import EpisodeRequest, Trajectory


@dataclass(frozen=True)
class GRPOConfig:
    """Settings of a GRPO run."""

    model: str = "runs/sft/final"
    """Model to start from: a folder, short name or hub id. It is also the reference policy."""
    output_dir: str = "runs/grpo"
    """Where checkpoints, metrics and the final model go; an interrupted run found there is resumed."""
    env_id: str = "SLMAgent/Booking-v0"
    """Environment to learn in."""
    level: int = 1
    """Curriculum level."""
    rehearse_level: int | None = None
    """A level learnt before, mixed in so that it is not forgotten."""
    rehearse_share: float = 0.25
    """Share of tasks taken from `rehearse_level`."""
    updates: int = 10
    """Updates in all; the learning rate decays to zero over them."""
    max_seconds: float | None = None
    """Stop after the update that passes this much time."""
    tasks: int = 24
    """Different tasks in each update."""
    samples: int = 4
    """Episodes of each task: the group that credit is relative to."""
    temperature: float = 1.0
    """Sampling temperature of rollouts; trained log-probabilities are at this temperature."""
    max_new_tokens: int = 96
    """Longest action in tokens."""
    max_context: int = 1024
    """Longest episode in tokens."""
    rollout_batch_size: int = 32
    """Episodes played at once."""
    learning_rate: float = 3e-4
    """Peak rate of AdamW."""
    warmup_updates: int = 1
    """Updates over which the rate rises linearly."""
    epochs: int = 1
    """Passes over each batch of episodes."""
    minibatches: int = 4
    """Optimizer steps per pass."""
    microbatch_tokens: int = 2048
    """Positions that go through the model together, padding included."""
    clip_low: float = 0.2
    """Lower clip of the importance ratio, 1 - clip_low."""
    clip_high: float = 0.2
    """Upper clip of the importance ratio, 1 + clip_high."""
    gamma: float = 1.0
    """Discount per turn; the environments shape progress with the same value."""
    policy_coef: float = 1.0
    """Weight of the policy-gradient term; 0 leaves imitation alone (for ablations)."""
    kl_coef: float = 0.0
    """Weight of the k3 estimate of KL(policy || reference) per token."""
    imitation_coef: float = 0.5
    """Weight of the imitation term at the first update."""
    imitation_decay: float = 1.0
    """Factor on `imitation_coef` from update to update."""
    demonstrations: str | None = None
    """JSONL file of demonstrations for the imitation term."""
    demonstrations_per_update: int = 8
    """Demonstrations mixed into each update."""
    successes_per_task: int = 2
    """Own successes imitated per task, from tasks that are not solved every time."""
    max_grad_norm: float = 1.0
    """Gradients are scaled down to this norm."""
    lora_rank: int = 16
    """Rank of the adapter that is trained; alpha is 2r."""
    whiten_rewards: bool = True
    """Safety layer 1: divide rewards by the running deviation of returns, clip to 3 deviations."""
    ratio_guard: bool = True
    """Safety layer 2: drop turns whose importance ratio is out of bounds before the backward pass."""
    max_ratio: float = 5.0
    """Bound of the ratio guard: mean token ratio above it, or exp(mean log-ratio) below its inverse."""
    weight_rollback: bool = True
    """Safety layer 3: undo an update that produced a non-finite loss, gradient or weight."""
    max_error_share: float = 0.25
    """Share of episodes that may fail for technical reasons before the run stops."""
    eval_every: int = 0
    """Evaluate greedily on the validation split every so many updates; 0 never."""
    eval_tasks: int = 64
    """Validation episodes."""
    checkpoint_every: int = 1
    """Updates between checkpoints."""
    seed: int = 0
    """Everything random derives from it and the update's number."""
    device: str | None = None
    """`cpu`, `cuda`, ...; by default CUDA when present."""
    tensorboard: bool = True
    """Write TensorBoard event files beside metrics.jsonl."""

    def __post_init__(self) -> None:
        if min(self.updates, self.tasks, self.samples, self.epochs, self.minibatches, self.lora_rank) < 1:
            raise ValueError("expected updates, tasks, samples, epochs, minibatches and lora_rank of at least 1")
        if not self.temperature > 0 or self.learning_rate <= 0:
            raise ValueError("expected temperature and learning_rate above 0")
        if not 0 <= self.gamma <= 1 or not 0 <= self.rehearse_share < 1:
            raise ValueError("expected gamma in [0, 1] and rehearse_share in [0, 1)")


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

    run = GRPORun(config, policy or load_policy(config.model, device=config.device), make_env)
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
        self.parameters = trainable_parameters(self.policy)
        self.optimizer = torch.optim.AdamW(self.parameters.values(), lr=config.learning_rate, weight_decay=0.0)
        check_optimizer_covers(self.parameters, self.optimizer)
        self.whitener = RewardWhitener()
        self.update = 0
        self.seconds = 0.0
        if config.demonstrations:
            self.demonstrations = encode_demonstrations(self.policy.chat, read_trajectories(config.demonstrations))
        else:
            self.demonstrations = []
        self._resume()
        others = {"optimizer": self.optimizer, "whitener": self.whitener}
        self.rollback = Rollback(self.parameters, others)
        self.log = MetricsLog(self.folder, first_step=self.update, tensorboard=config.tensorboard)

    @property
    def finished(self) -> bool:
        """All updates are done, or the time is up."""
        limit = self.config.max_seconds
        return self.update >= self.config.updates or (limit is not None and self.seconds >= limit)

    def step(self, on_progress: Callable[[int, int, int], None] | None = None) -> dict[str, Any]:
        """One update: rollout, credit, optimizer steps, log, checkpoint. Returns what was logged."""
        started = time.monotonic()
        trajectories = self._rollout(self._requests(), self.config.temperature, on_progress)
        rolled_out = time.monotonic()
        samples, metrics = self._credit(trajectories)
        metrics |= _rollout_metrics(trajectories, rolled_out - started)
        metrics |= self._learn(samples, self._imitation(trajectories))
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
        """This update's tasks: always new ones, the same for the same seed and update."""
        config, other = self.config, self.config.rehearse_level
        rehearsed = round(config.tasks * config.rehearse_share) if other is not None else 0
        plan = [(config.level, config.tasks - rehearsed)] + ([(other, rehearsed)] if other is not None else [])
        return [
            request
            for level, count in plan
            for request in requests_for(
                config.env_id,
                level,
                "train",
                count,
                samples=config.samples,
                seed=config.seed,
                offset=self.update * count,
                shuffle_seed=config.seed + 1,
            )
        ]

    def _rollout(
        self, requests: Sequence[EpisodeRequest], temperature: float, on_progress: Callable[[int, int, int], None] | None
    ) -> list[Trajectory]:
        config = self.config
        sampling = SamplingConfig(temperature, config.max_new_tokens, config.max_context, config.rollout_batch_size)
        episodes = rollout(self.policy, requests, sampling=sampling, make_env=self.make_env, on_progress=on_progress)
        sound = [episode for episode in episodes if episode.status == "ok" and episode.turns]
        if len(sound) < (1 - config.max_error_share) * len(episodes):
            broken = next(episode for episode in episodes if episode.status != "ok")
            raise TrainingStopped(
                f"{len(episodes) - len(sound)} of {len(episodes)} episodes failed for technical reasons, the first with: {broken.error}"
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
            credit = turn_advantages(group, rewards, config.gamma)
            dead += not any(value for member in credit for value in member)
            for member, advantages in zip(group.trajectories, credit, strict=True):
                sample = sample_from_turns(member, advantages, [abs(value) > 1e-6 for value in advantages])
                samples += [sample] if sample is not None else []
        metrics = {
            "rollout/dead_groups": dead / len(groups),
            "rollout/trained_samples": len(samples),
            "safety/reward_std": self.whitener.std,
            "safety/rewards_clipped": clipped,
        }
        return samples, metrics

    def _imitation(self, trajectories: Sequence[Trajectory]) -> list[Sample]:
        if self._imitation_coef() == 0:
            return []
        rng = random.Random(stable_seed("imitation", self.config.seed, self.update))
        count = min(self.config.demonstrations_per_update, len(self.demonstrations))
        return own_successes(trajectories, self.config.successes_per_task) + rng.sample(self.demonstrations, count)

    def _imitation_coef(self) -> float:
        return self.config.imitation_coef * self.config.imitation_decay**self.update

    # ---- learning -----------------------------------------------------------------------------------------------

    def _learn(self, samples: Sequence[Sample], imitation: Sequence[Sample]) -> dict[str, Any]:
        """Optimizer steps over one batch; undone as a whole when anything turns out non-finite."""
        config = self.config
        samples = samples if config.policy_coef else []
        rate = self._learning_rate()
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        rng = random.Random(stable_seed("minibatches", config.seed, self.update))
        totals = _Totals()
        for _ in range(config.epochs):
            for policy_part, imitation_part in _minibatches(samples, imitation, config.minibatches, rng):
                problem = self._optimizer_step(policy_part, imitation_part, totals)
                if problem is None:
                    continue
                if not config.weight_rollback:
                    raise TrainingStopped(f"{problem} at update {self.update}; switch weight_rollback on to undo such updates")
                self.log.write(self.update, {"incident": problem, "update": self.update})
                self.rollback.restore(problem)
                return {"train/learning_rate": rate, "safety/rollbacks": self.rollback.restores, **totals.metrics()}
        self.rollback.accept()
        return {"train/learning_rate": rate, "safety/rollbacks": self.rollback.restores, **totals.metrics()}

    def _optimizer_step(self, samples: Sequence[Sample], imitation: Sequence[Sample], totals: _Totals) -> str | None:
        """One gradient step; returns what was not finite, if anything was."""
        config = self.config
        self.optimizer.zero_grad(set_to_none=True)
        tokens = sum(len(sample.positions) for sample in samples)
        imitated = sum(len(sample.positions) for sample in imitation)
        for chunk in split_by_tokens(samples, config.microbatch_tokens):
            loss = self._policy_loss(chunk, totals) * (config.policy_coef / tokens)
            if not torch.isfinite(loss):
                return "a non-finite policy loss"
            if loss.requires_grad:
                loss.backward()
        for chunk in split_by_tokens(imitation, config.microbatch_tokens):
            batch = collate(chunk, self.policy.device)
            loss = imitation_loss(token_statistics(self.policy, batch).logprobs_N)
            if not torch.isfinite(loss):
                return "a non-finite imitation loss"
            totals.imitation_loss += float(loss)
            totals.imitation_tokens += batch.num_tokens
            (loss * (self._imitation_coef() / imitated)).backward()
        gradients = [parameter.grad for parameter in self.parameters.values() if parameter.grad is not None]
        if not gradients:
            return None
        if not all_finite(gradients):
            return "a non-finite gradient"
        totals.grad_norm += float(torch.nn.utils.clip_grad_norm_(self.parameters.values(), config.max_grad_norm))
        first = self.update == 0 and totals.steps == 0
        before = {name: value.detach().clone() for name, value in self.parameters.items()} if first else {}
        self.optimizer.step()
        totals.steps += 1
        if not all_finite(self.parameters.values()):
            return "a non-finite weight"
        if first and self._learning_rate() > 0:
            check_moved(before, self.parameters)
        return None

    def _policy_loss(self, chunk: Sequence[Sample], totals: _Totals) -> torch.Tensor:
        """Clipped surrogate (and KL) of one micro-batch, a sum over its trusted tokens."""
        config = self.config
        batch = collate(chunk, self.policy.device)
        statistics = token_statistics(self.policy, batch)
        logprobs_N, old_N = statistics.logprobs_N, batch.old_logprobs_N
        if self.update == 0 and totals.steps == 0:
            check_first_ratios((logprobs_N - old_N).detach())
        if config.ratio_guard:
            trusted_K = trusted_turns(logprobs_N, old_N, batch.turns_N, batch.num_turns, max_ratio=config.max_ratio)
            totals.dropped_turns += int((~trusted_K).sum())
            keep_N = trusted_K[batch.turns_N]
        else:
            keep_N = torch.ones_like(batch.turns_N, dtype=torch.bool)
        kept_N = logprobs_N[keep_N]
        policy_loss = clipped_policy_loss(
            kept_N, old_N[keep_N], batch.advantages_N[keep_N], clip_low=config.clip_low, clip_high=config.clip_high
        )
        loss = policy_loss.loss
        if config.kl_coef:
            with torch.no_grad(), reference(self.policy):
                reference_N = token_statistics(self.policy, batch).logprobs_N
            kl_N = kl_estimate(kept_N, reference_N[keep_N])
            loss = loss + config.kl_coef * kl_N.sum()
            totals.kl += float(kl_N.detach().sum())
        totals.count(kept_N.detach(), old_N[keep_N], statistics.entropy_N[keep_N], policy_loss)
        return loss

    def _learning_rate(self) -> float:
        """Linear warm-up, then linear decay to zero behind the last update."""
        config = self.config
        warm = min(1.0, (self.update + 1) / max(config.warmup_updates, 1))
        return config.learning_rate * warm * (1.0 - self.update / config.updates)

    # ---- checkpoints --------------------------------------------------------------------------------------------

    def _save(self) -> None:
        ckpt.save_checkpoint(
            self.folder / "checkpoints",
            self.update,
            {
                "config": asdict(self.config),
                "update": self.update,
                "seconds": self.seconds,
                "weights": {name: parameter.detach().cpu() for name, parameter in self.parameters.items()},
                "optimizer": self.optimizer.state_dict(),
                "whitener": self.whitener.state_dict(),
            },
        )

    def _resume(self) -> None:
        """Goes on from the newest checkpoint in the run's folder, if there is one."""
        newest = ckpt.latest_checkpoint(self.folder / "checkpoints")
        if newest is None:
            return
        state = ckpt.load_checkpoint(newest)
        with torch.no_grad():
            for name, parameter in self.parameters.items():
                parameter.copy_(state["weights"][name])
        self.optimizer.load_state_dict(state["optimizer"])
        self.whitener.load_state_dict(state["whitener"])
        self.update, self.seconds = state["update"], state["seconds"]


# ---- bookkeeping ------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Totals:
    """Sums over the optimizer steps of one update."""

    steps: int = 0
    tokens: int = 0
    policy_loss: float = 0.0
    clipped: int = 0
    approx_kl: float = 0.0
    entropy: float = 0.0
    kl: float = 0.0
    dropped_turns: int = 0
    imitation_loss: float = 0.0
    imitation_tokens: int = 0
    grad_norm: float = 0.0

    def count(self, logprobs_N: torch.Tensor, old_N: torch.Tensor, entropy_N: torch.Tensor, policy_loss: PolicyLoss) -> None:
        """Adds a micro-batch."""
        self.tokens += logprobs_N.numel()
        self.policy_loss += float(policy_loss.loss.detach())
        self.clipped += int(policy_loss.clipped)
        self.approx_kl += float(kl_estimate(old_N, logprobs_N).sum())
        self.entropy += float(entropy_N.sum())

    def metrics(self) -> dict[str, Any]:
        """Means per trained token, under the names of docs/metrics.md."""
        tokens, steps = max(self.tokens, 1), max(self.steps, 1)
        return {
            "train/steps": self.steps,
            "train/policy_loss": self.policy_loss / tokens,
            "train/approx_kl": self.approx_kl / tokens,
            "train/clip_fraction": self.clipped / tokens,
            "train/entropy": self.entropy / tokens,
            "train/kl_to_reference": self.kl / tokens,
            "train/imitation_loss": self.imitation_loss / max(self.imitation_tokens, 1),
            "train/trained_tokens": self.tokens,
            "train/imitation_tokens": self.imitation_tokens,
            "train/grad_norm": self.grad_norm / steps,
            "safety/ratio_dropped_turns": self.dropped_turns,
        }


def _minibatches(
    samples: Sequence[Sample], imitation: Sequence[Sample], count: int, rng: random.Random
) -> list[tuple[list[Sample], list[Sample]]]:
    """Shuffles both kinds and deals them into `count` optimizer steps."""
    parts: list[list[list[Sample]]] = []
    for kind in (samples, imitation):
        shuffled = rng.sample(list(kind), len(kind))
        parts.append([shuffled[index::count] for index in range(count)])
    return [pair for pair in zip(*parts, strict=True) if pair[0] or pair[1]]


def _rollout_metrics(trajectories: Sequence[Trajectory], seconds: float) -> dict[str, Any]:
    count = len(trajectories)
    tokens = sum(trajectory.num_trained_tokens for trajectory in trajectories)
    turns = [turn for trajectory in trajectories for turn in trajectory.turns]
    return {
        "rollout/episodes": count,
        "rollout/success_rate": sum(trajectory.success for trajectory in trajectories) / count,
        "rollout/mean_return": sum(trajectory.total_reward for trajectory in trajectories) / count,
        "rollout/turns_per_episode": len(turns) / count,
        "rollout/tokens_per_episode": tokens / count,
        "rollout/malformed_calls": sum(turn.parse_error is not None for turn in turns) / len(turns),
        "rollout/cut_actions": sum(turn.stop_reason != "eos" for turn in turns) / len(turns),
        "rollout/veto_rate": sum(trajectory.stop_reason == "veto" for trajectory in trajectories) / count,
        "rollout/tokens_per_second": tokens / max(seconds, 1e-9),
        "time/rollout_seconds": seconds,
    }
