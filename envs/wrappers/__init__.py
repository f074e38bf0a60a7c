"""Wrappers around conversational environments."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from slmagent.envs.wrappers.fault_noise import DelayedReplies, ToolFailures
from slmagent.envs.wrappers.noise import NoiseWrapper
from slmagent.envs.wrappers.reward_noise import DelayedRewards, MissingRewards
from slmagent.envs.wrappers.text_noise import Irrelevant, Misleading, Typos

__all__ = [
    "NOISES",
    "DelayedReplies",
    "DelayedRewards",
    "Irrelevant",
    "Misleading",
    "MissingRewards",
    "NoiseWrapper",
    "ToolFailures",
    "Typos",
]

NOISES: Mapping[str, type[NoiseWrapper]] = MappingProxyType(
    {
        wrapper.disturbance.name: wrapper
        for wrapper in (Typos, Irrelevant, Misleading, ToolFailures, DelayedReplies, DelayedRewards, MissingRewards)
    }
)
"""The kinds of noise by name."""
