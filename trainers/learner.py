"""The optimizer steps of one update, with the safety layers around them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from slmagent.agents.episodes import stable_seed
from slmagent.agents.policy import Policy
from slmagent.trainers.batch import Sample, collate, deal_minibatches, split_into_microbatches, without_turns
from slmagent.trainers.forward import token_statistics
from slmagent.trainers.grpo_config import GRPOConfig
from slmagent.trainers.lora import reference, trainable_parameters
from slmagent.trainers.losses import clipped_policy_loss, imitation_loss, kl_estimate
from slmagent.trainers.safety import (
    Rollback,
    Stateful,
    TrainingStopped,
    all_finite,
    check_first_ratios,
    check_moved,
    check_optimizer_covers,
    check_trainable,
    trusted_turns,
)
from slmagent.trainers.statistics import StepTotals


class Learner:
    """Owns the optimizer and turns samples into weight updates that can be refused or undone.

    Args:
        policy: With its adapter on.
        config: Learning rate, clip, coefficients and which safety layers are on.
    """

    def __init__(self, policy: Policy, config: GRPOConfig) -> None:
        self.policy, self.config = policy, config
        self.working = trainable_parameters(policy)
        check_trainable(self.working)
        self.parameters = {name: _master(parameter) for name, parameter in self.working.items()}
        self.optimizer = torch.optim.AdamW(self.parameters.values(), lr=config.learning_rate, weight_decay=0.0)
        check_optimizer_covers(self.parameters, self.optimizer)
        self.update = 0
        self.rollback = Rollback(self.parameters, {"optimizer": self.optimizer})

    def protect(self, others: Mapping[str, Stateful]) -> None:
        """Takes the present state, and from now on that of `others`, too, as the last good one."""
        self.rollback.others = {**self.rollback.others, **others}
        self.rollback.capture()

    # ---- learning -----------------------------------------------------------------------------------------------

    def learn(self, samples: Sequence[Sample], imitation: Sequence[Sample], update: int) -> dict[str, Any]:
        """Optimizer steps over one batch; undone as a whole when anything turns out non-finite.

        Args:
            samples: Credited turns of this update's episodes.
            imitation: Sequences whose likelihood is to rise.
            update: Its number; sets learning rate, coefficient and order.

        Returns:
            What to log; after a rollback, with the reason under `safety/incident`.

        Raises:
            TrainingStopped: Too many rollbacks in a row, or rollbacks are switched off, or the first update does not add up.
        """
        config = self.config
        self.update = update
        samples = samples if config.policy_coef else []
        totals = StepTotals()
        for group in self.optimizer.param_groups:
            group["lr"] = self._learning_rate()
        rng = random.Random(stable_seed("minibatches", config.seed, self.update))
        for epoch in range(config.epochs):
            minibatches = deal_minibatches(samples, imitation, config.minibatches, rng)
            if epoch == 0 and not self._exact:
                minibatches = [(self._recompute(part, totals), other) for part, other in minibatches]
                samples = [sample for part, _ in minibatches for sample in part]
            for policy_part, imitation_part in minibatches:
                problem = self._optimizer_step(policy_part, imitation_part, totals)
                if problem is None:
                    continue
                if not config.weight_rollback:
                    raise TrainingStopped(f"{problem} at update {self.update}; switch weight_rollback on to undo such updates")
                try:
                    self.rollback.restore(problem)
                finally:
                    self._publish()
                return self._report(totals) | {"safety/incident": problem}
        self.rollback.accept()
        return self._report(totals)

    def state_dict(self) -> dict[str, Any]:
        """Trained weights, the optimizer's state, and how often a state had to be restored."""
        weights = {name: parameter.detach().cpu() for name, parameter in self.parameters.items()}
        restores = [self.rollback.restores, self.rollback.restores_in_a_row]
        return {"weights": weights, "optimizer": self.optimizer.state_dict(), "restores": restores}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Takes them back."""
        with torch.no_grad():
            for name, parameter in self.parameters.items():
                parameter.copy_(state["weights"][name])
        self.optimizer.load_state_dict(state["optimizer"])
        self.rollback.restores, self.rollback.restores_in_a_row = state["restores"]
        self.rollback.capture()
        self._publish()

    # ---- low precision ------------------------------------------------------------------------------------------

    @property
    def _exact(self) -> bool:
        """In float32 a rollout and a training pass agree to 1e-4, whatever else is in the batch."""
        return self.policy.dtype == torch.float32

    def _recompute(self, samples: Sequence[Sample], totals: StepTotals) -> list[Sample]:
        """The samples with old log-probabilities from the training pass: in bfloat16 those of the rollout differ from it.

        Micro-batches are those of the optimizer step that comes, so that ratios start at exactly 1.
        """
        renewed: list[Sample] = []
        for chunk in split_into_microbatches(samples, self.config.microbatch_tokens):
            batch = collate(chunk, self.policy.device)
            with torch.no_grad():
                logprobs_N = token_statistics(self.policy, batch).logprobs_N
            totals.logprob_gap += float((logprobs_N - batch.old_logprobs_N).abs().sum())
            totals.recomputed += batch.num_tokens
            values = iter(logprobs_N.tolist())
            renewed += [replace(sample, old_logprobs=tuple(next(values) for _ in sample.positions)) for sample in chunk]
        return renewed

    def _collect_gradients(self) -> None:
        """Adds the working weights' gradients to those of the float32 masters."""
        for name, working in self.working.items():
            master = self.parameters[name]
            if master is not working and working.grad is not None:
                gradient = working.grad.float()
                master.grad = gradient if master.grad is None else master.grad + gradient
                working.grad = None

    def _publish(self) -> None:
        """Copies the float32 masters into the weights that the model computes with."""
        with torch.no_grad():
            for name, working in self.working.items():
                if self.parameters[name] is not working:
                    working.copy_(self.parameters[name])

    def _report(self, totals: StepTotals) -> dict[str, Any]:
        safety = {"safety/rollbacks": self.rollback.restores}
        return {"train/learning_rate": self._learning_rate(), **safety, **totals.metrics()}

    def _optimizer_step(self, samples: Sequence[Sample], imitation: Sequence[Sample], totals: StepTotals) -> str | None:
        """One gradient step; returns what was not finite, if anything was."""
        config = self.config
        self.optimizer.zero_grad(set_to_none=True)
        tokens = sum(len(sample.positions) for sample in samples)
        imitated = sum(len(sample.positions) for sample in imitation)
        for chunk in split_into_microbatches(samples, config.microbatch_tokens):
            loss = self._policy_loss(chunk, totals)
            if loss is None:
                continue
            if not torch.isfinite(loss):
                return "a non-finite policy loss"
            self._backward(loss * (config.policy_coef / tokens))
        for chunk in split_into_microbatches(imitation, config.microbatch_tokens):
            batch = collate(chunk, self.policy.device)
            loss = imitation_loss(token_statistics(self.policy, batch).logprobs_N)
            if not torch.isfinite(loss):
                return "a non-finite imitation loss"
            totals.imitation_loss += float(loss.detach())
            totals.imitation_tokens += batch.num_tokens
            self._backward(loss * (self._imitation_coef() / imitated))
        gradients = [parameter.grad for parameter in self.parameters.values() if parameter.grad is not None]
        if not gradients:
            return None
        if not all_finite(gradients):
            return "a non-finite gradient"
        totals.grad_norm += float(torch.nn.utils.clip_grad_norm_(self.parameters.values(), config.max_grad_norm))
        first = self._untouched
        before = {name: value.detach().clone() for name, value in self.parameters.items()} if first else {}
        self.optimizer.step()
        self._publish()
        totals.steps += 1
        if not all_finite(self.parameters.values()):
            return "a non-finite weight"
        if first and self._learning_rate() > 0:
            check_moved(before, self.parameters)
        return None

    def _backward(self, loss: torch.Tensor) -> None:
        """Adds a loss's gradients to those of this step."""
        if not loss.requires_grad:
            raise TrainingStopped("the loss does not depend on any trainable weight; is the adapter switched off?")
        loss.backward()
        self._collect_gradients()

    def _policy_loss(self, chunk: Sequence[Sample], totals: StepTotals) -> torch.Tensor | None:
        """Clipped surrogate (and KL) of one micro-batch, a sum over its trusted tokens; None when no turn is trusted."""
        config = self.config
        batch = collate(chunk, self.policy.device)
        statistics = token_statistics(self.policy, batch)
        logprobs_N, old_N = statistics.logprobs_N, batch.old_logprobs_N
        if self._untouched:
            check_first_ratios((logprobs_N - old_N).detach())
        if config.ratio_guard:
            trusted_K = trusted_turns(logprobs_N, old_N, batch.turns_N, batch.num_turns, max_ratio=config.max_ratio)
            if not bool(trusted_K.all()):
                # Computed again without them: a NaN left in the graph would turn its zero gradients into NaN.
                totals.dropped_turns += int((~trusted_K).sum())
                kept = without_turns(chunk, trusted_K.tolist())
                if not kept:
                    return None
                batch = collate(kept, self.policy.device)
                statistics = token_statistics(self.policy, batch)
                logprobs_N, old_N = statistics.logprobs_N, batch.old_logprobs_N
        policy_loss = clipped_policy_loss(
            logprobs_N, old_N, batch.advantages_N, clip_low=config.clip_low, clip_high=config.clip_high
        )
        loss = policy_loss.loss
        if config.kl_coef:
            with torch.no_grad(), reference(self.policy):
                reference_N = token_statistics(self.policy, batch).logprobs_N
            kl_N = kl_estimate(logprobs_N, reference_N)
            loss = loss + config.kl_coef * kl_N.sum()
            totals.kl += float(kl_N.detach().sum())
        totals.count(logprobs_N.detach(), old_N, statistics.entropy_N, policy_loss)
        return loss

    @property
    def _untouched(self) -> bool:
        """No step was ever taken (or kept): the policy that learns is still the one that sampled."""
        return not self.optimizer.state

    def _learning_rate(self) -> float:
        """Linear warm-up, then linear decay to zero behind the last update."""
        config = self.config
        warm = min(1.0, (self.update + 1) / max(config.warmup_updates, 1))
        return config.learning_rate * warm * (1.0 - self.update / config.updates)

    def _imitation_coef(self) -> float:
        return self.config.imitation_coef * self.config.imitation_decay**self.update


def _master(parameter: nn.Parameter) -> nn.Parameter:
    """A float32 parameter stands for itself; one of lower precision gets a float32 copy that small steps do not vanish in."""
    return parameter if parameter.dtype == torch.float32 else nn.Parameter(parameter.detach().float())
