"""What a run reports about its episodes and its optimizer steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from slmagent.trainers.losses import PolicyLoss, kl_estimate
from slmagent.types import Trajectory


@dataclass(slots=True)
class StepTotals:
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
    logprob_gap: float = 0.0
    recomputed: int = 0

    def count(self, logprobs_N: Tensor, old_N: Tensor, entropy_N: Tensor, policy_loss: PolicyLoss) -> None:
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
            "train/rollout_logprob_gap": self.logprob_gap / max(self.recomputed, 1),
            "train/grad_norm": self.grad_norm / steps,
            "safety/ratio_dropped_turns": self.dropped_turns,
        }


def rollout_metrics(trajectories: Sequence[Trajectory], seconds: float) -> dict[str, Any]:
    """Rates and means over the episodes of one update, which took `seconds` to play."""
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
        "time/tokens_per_second": tokens / max(seconds, 1e-9),
        "time/rollout_seconds": seconds,
    }
