"""Low-rank adapters: attach, fold into the base, start afresh."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from torch import nn

from slmagent.agents.policy import LORA_TARGETS, Policy


def lora_config(rank: int, alpha: int | None = None) -> LoraConfig:
    """LoRA on all attention and MLP projections, without dropout (Hu et al. 2021).

    Args:
        rank: r.
        alpha: Scale; None takes 2r.
    """
    return LoraConfig(
        r=rank, lora_alpha=alpha or 2 * rank, lora_dropout=0.0, target_modules=list(LORA_TARGETS), task_type="CAUSAL_LM"
    )


def attach_lora(policy: Policy, rank: int, alpha: int | None = None, *, seed: int = 0) -> Policy:
    """Puts a fresh adapter on a policy; its B matrices are zero, so nothing it says has changed.

    The adapter has the base's precision. The A matrices come from `seed`; the global generator is left as it was.
    """
    if isinstance(policy.model, PeftModel):
        raise ValueError("the policy has an adapter already; fold it in first (merge_and_reinitialise)")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = get_peft_model(policy.model, lora_config(rank, alpha))
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.data = parameter.data.to(policy.dtype)
    return Policy(model, policy.tokenizer)


def fold(policy: Policy) -> Policy:
    """Adds the adapter to the base weights, in float32, and removes it. A policy without an adapter is returned as it is."""
    if not isinstance(policy.model, PeftModel):
        return policy
    dtype = policy.base_model.dtype
    merged: Any = policy.model.float().merge_and_unload()
    return Policy(merged.to(dtype), policy.tokenizer)


def merge_and_reinitialise(policy: Policy, rank: int, alpha: int | None = None, *, seed: int = 0) -> Policy:
    """Folds the adapter in and attaches a fresh one: what was learnt so far becomes the reference policy of what follows."""
    return attach_lora(fold(policy), rank, alpha, seed=seed)


@contextmanager
def reference(policy: Policy) -> Iterator[None]:
    """Inside, the policy answers as without its adapter: the reference policy, with no second copy of the weights."""
    with policy.model.disable_adapter():
        yield


def trainable_parameters(policy: Policy) -> dict[str, nn.Parameter]:
    """Name -> parameter of everything that is to be trained, in a fixed order."""
    return {name: parameter for name, parameter in policy.model.named_parameters() if parameter.requires_grad}
