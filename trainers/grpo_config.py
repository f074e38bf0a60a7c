"""Settings of GRPO; each field's docstring is its help on the command line."""

from __future__ import annotations

import math
from dataclasses import dataclass

from slmagent.config import check_fields


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
    """Begin no update that would, at the pace so far, end after this much time; there is always a first one."""
    tasks: int = 24
    """Different tasks in each update."""
    by_learnability: bool = True
    """Take more tasks of the kinds that are solved about half the time, where the environment names kinds."""
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
    unmatched_credit: float = 1.0
    """Factor on the advantage of turns in situations that no other member of the group visited (there it is the episode's)."""
    min_advantage: float = 0.1
    """Turns with a smaller advantage (in deviations of the return) are left out: they cost as much and teach little."""
    soften_blame: bool = False
    """Weight the negative credit of each token by its probability: rare slips weigh less than a likely wrong choice."""
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
    dtype: str = "float32"
    """Precision of the weights: `float32` (rollout and training agree to 1e-4), `bfloat16` (about twice as fast where the
    hardware has it; old log-probabilities are then computed again by the training pass), or `auto`: bfloat16 on such
    hardware."""
    tensorboard: bool = True
    """Write TensorBoard event files beside metrics.jsonl."""

    def __post_init__(self) -> None:
        counts = ("updates", "tasks", "samples", "max_new_tokens", "max_context", "rollout_batch_size", "epochs", "minibatches")
        more = ("microbatch_tokens", "lora_rank", "eval_tasks", "checkpoint_every")
        check_fields(self, "of at least 1", lambda value: value >= 1, *counts, *more)
        limits = ("warmup_updates", "demonstrations_per_update", "successes_per_task", "eval_every", "unmatched_credit")
        weights = ("min_advantage", "policy_coef", "kl_coef", "imitation_coef", "imitation_decay")
        check_fields(self, "of at least 0", lambda value: 0 <= value < math.inf, *limits, *weights)
        positive = ("temperature", "learning_rate", "clip_low", "clip_high", "max_grad_norm", "max_seconds")
        check_fields(self, "above 0", lambda value: 0 < value < math.inf, *positive)
        check_fields(self, "above 1", lambda value: value > 1, "max_ratio")
        check_fields(self, "in [0, 1]", lambda value: 0 <= value <= 1, "gamma")
        check_fields(self, "in [0, 1)", lambda value: 0 <= value < 1, "rehearse_share", "max_error_share")
        if self.rehearse_level == self.level:
            raise ValueError(f"expected rehearse_level to differ from level, actual {self.level} for both")
        if not self.policy_coef and not self.imitation_coef:
            raise ValueError("expected policy_coef or imitation_coef above 0; there is nothing to learn from")
