"""The three safety layers: reward whitening, the importance-ratio guard, weight rollback.

Each is a small object or function of its own, can be switched off in the trainer's config, and counts what it did.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from slmagent.errors import SlmagentError


class TrainingStopped(SlmagentError):
    """Training cannot go on; the message is the diagnosis."""


class Stateful(Protocol):
    """Anything with a state that a rollback or a checkpoint has to bring back."""

    def state_dict(self) -> dict[str, Any]:
        """The state as plain values and tensors."""
        ...

    def load_state_dict(self, state: dict[str, Any], /) -> Any:
        """Takes a state back."""
        ...


class RewardWhitener:
    """Layer 1: divides rewards by the running standard deviation of discounted returns and clips them.

    The statistics run over all turns' returns since the start of training, so that the clip can act on a small batch too;
    nothing is centred, because subtracting a mean from every turn's reward would tax or pay the number of turns.

    Args:
        clip: Bound of a whitened reward, in standard deviations.
        min_std: Smallest divisor, so that a start without any variance does not blow rewards up.
    """

    def __init__(self, clip: float = 3.0, min_std: float = 0.1) -> None:
        self.clip, self.min_std = clip, min_std
        self.count, self.mean, self.m2 = 0, 0.0, 0.0

    @property
    def std(self) -> float:
        """Running standard deviation of the returns (1.0 before two were seen), at least `min_std`."""
        return max(math.sqrt(self.m2 / self.count), self.min_std) if self.count > 1 else 1.0

    def observe(self, returns: Iterable[float]) -> None:
        """Adds discounted returns to the statistics (Welford's update)."""
        for value in returns:
            if math.isfinite(value):
                self.count += 1
                delta = value - self.mean
                self.mean += delta / self.count
                self.m2 += delta * (value - self.mean)

    def whiten(self, rewards: Sequence[float]) -> tuple[list[float], int]:
        """Scaled and clipped rewards, and how many the clip changed."""
        scaled = [reward / self.std for reward in rewards]
        clipped = [min(max(value, -self.clip), self.clip) for value in scaled]
        return clipped, sum(a != b for a, b in zip(scaled, clipped, strict=True))

    def state_dict(self) -> dict[str, Any]:
        """Running count, mean and sum of squared deviations."""
        return {"count": self.count, "mean": self.mean, "m2": self.m2}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Takes the statistics back."""
        self.count, self.mean, self.m2 = state["count"], state["mean"], state["m2"]


def trusted_turns(
    logprobs_N: Tensor, old_logprobs_N: Tensor, turns_N: Tensor, num_turns: int, *, max_ratio: float = 5.0
) -> Tensor:
    """Layer 2: which turns may be trained, [num_turns] booleans.

    A turn is dropped when its mean token ratio is not finite or above `max_ratio`, or when exp(mean log-ratio) is below
    1 / max_ratio. The mask is for selecting tokens *before* the loss: multiplying a NaN by zero would keep it.
    """
    log_ratio_N = (logprobs_N - old_logprobs_N).detach()
    size_K = torch.zeros(num_turns, device=logprobs_N.device).index_add_(0, turns_N, torch.ones_like(log_ratio_N))
    ratio_K = torch.zeros_like(size_K).index_add_(0, turns_N, torch.exp(log_ratio_N)) / size_K
    mean_log_K = torch.zeros_like(size_K).index_add_(0, turns_N, log_ratio_N) / size_K
    return torch.isfinite(ratio_K) & (ratio_K <= max_ratio) & (mean_log_K >= -math.log(max_ratio))


def all_finite(tensors: Iterable[Tensor | None]) -> bool:
    """Whether every entry of every tensor is finite; None counts as finite."""
    return all(bool(torch.isfinite(tensor).all()) for tensor in tensors if tensor is not None)


class Rollback:
    """Layer 3: the last good state of everything that training changes, and the way back to it.

    Args:
        parameters: What is trained, by name.
        others: Optimizer, scheduler, controllers and running statistics, by name.
        limit: Restores in a row after which training stops.
    """

    def __init__(self, parameters: Mapping[str, nn.Parameter], others: Mapping[str, Stateful], *, limit: int = 3) -> None:
        self.parameters, self.others, self.limit = parameters, others, limit
        self.restores = 0
        self.restores_in_a_row = 0
        self.capture()

    def capture(self) -> None:
        """Remembers the present state as good."""
        self._weights = {name: parameter.detach().clone() for name, parameter in self.parameters.items()}
        self._states = {name: copy.deepcopy(other.state_dict()) for name, other in self.others.items()}

    def accept(self) -> None:
        """An update went well: remember its state."""
        self.restores_in_a_row = 0
        self.capture()

    def restore(self, reason: str) -> None:
        """Brings back the last good state, bit for bit.

        Raises:
            TrainingStopped: It was the `limit`-th time in a row.
        """
        with torch.no_grad():
            for name, parameter in self.parameters.items():
                parameter.copy_(self._weights[name])
                parameter.grad = None
        for name, other in self.others.items():
            other.load_state_dict(copy.deepcopy(self._states[name]))
        self.restores += 1
        self.restores_in_a_row += 1
        if self.restores_in_a_row >= self.limit:
            raise TrainingStopped(
                f"{self.restores_in_a_row} updates in a row had to be undone, the last because of {reason}; "
                "the weights are those of the last good update. Lower the learning rate; metrics.jsonl has the incidents"
            )


def check_trainable(parameters: Mapping[str, nn.Parameter]) -> None:
    """Refuses to start when there is nothing to train.

    Raises:
        TrainingStopped: No parameter is trainable.
    """
    if not parameters:
        raise TrainingStopped("no parameter is trainable; is the adapter attached and unfrozen?")


def check_optimizer_covers(parameters: Mapping[str, nn.Parameter], optimizer: torch.optim.Optimizer) -> None:
    """Refuses to start when something trainable would not be trained.

    Raises:
        TrainingStopped: A trainable parameter is missing from the optimizer.
    """
    known = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
    missing = [name for name, parameter in parameters.items() if id(parameter) not in known]
    if missing:
        raise TrainingStopped(f"{len(missing)} trainable parameters are not in the optimizer, {missing[0]} for one")


def check_first_ratios(log_ratios: Tensor, *, tolerance: float = 1e-4) -> None:
    """Before the first step the policy that learns is the policy that sampled: every ratio must be 1.

    Raises:
        TrainingStopped: Some ratio is off by more than `tolerance`, so rollouts and training do not compute the same model.
    """
    worst = float((torch.exp(log_ratios) - 1.0).abs().max()) if log_ratios.numel() else 0.0
    if not worst <= tolerance:
        raise TrainingStopped(
            f"importance ratios are off by up to {worst:.2e} before the first update (expected at most {tolerance:.0e}): "
            "rollout and training forward disagree. Low-precision weights do that; load the policy in float32"
        )


def check_moved(before: Mapping[str, Tensor], parameters: Mapping[str, nn.Parameter]) -> None:
    """After the first step every LoRA B matrix (or, without adapters, some parameter) must have changed.

    Raises:
        TrainingStopped: Something stood still.
    """
    moved = {name for name, parameter in parameters.items() if not torch.equal(before[name], parameter)}
    expected = {name for name in parameters if "lora_B" in name}
    still = sorted(expected - moved)
    if still or not moved:
        example = still[0] if still else next(iter(parameters))
        raise TrainingStopped(f"the first step left trainable weights unchanged ({example}); gradients do not reach them")
