"""The recipe behind the demo and behind docs/results.md: one place for its settings.

Tuned on the validation split of Booking level 1; the test split was used for nothing but the final tables. What differs between
environments is in `RECIPES`, the rest is the same for all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from slmagent.trainers.grpo import GRPOConfig
from slmagent.trainers.sft import SFTConfig


@dataclass(frozen=True, slots=True)
class Recipe:
    """What an environment asks for."""

    env_id: str
    max_new_tokens: int
    """Longest action in tokens, in training and in evaluation; the expert's longest at levels 1 and 2 fits."""
    demonstrations: int = 32
    """Expert episodes for the warm start."""
    epochs: float = 6
    """Passes over them."""
    batch_size: int = 2
    """Of them in an optimizer step."""
    updates: int = 4
    """GRPO updates."""


BOOKING = Recipe("SLMAgent/Booking-v0", max_new_tokens=72)
RECIPES: Mapping[str, Recipe] = {
    "booking": BOOKING,
    "code-assist": Recipe("SLMAgent/CodeAssist-v0", max_new_tokens=80, demonstrations=256, epochs=2, batch_size=4, updates=16),
    "customer-service": Recipe("SLMAgent/CustomerService-v0", max_new_tokens=88),
    "usersim": Recipe("SLMAgent/UserSim-v0", max_new_tokens=88, demonstrations=64, updates=10),
}
"""The recipes by the name of their results."""
NEXT_TASKS = 12
"""Tasks in an update of the next level, which the demo only begins with."""


def sft_config(folder: Path, *, model: str, level: int, demonstrations: int, seed: int, recipe: Recipe = BOOKING) -> SFTConfig:
    """Warm start on a few expert episodes."""
    return SFTConfig(
        model=model,
        output_dir=str(folder),
        env_id=recipe.env_id,
        level=level,
        demonstrations=demonstrations,
        seed=seed,
        epochs=recipe.epochs,
        learning_rate=5e-4,
        batch_size=recipe.batch_size,
        dtype="auto",
    )


def grpo_config(
    folder: Path,
    *,
    model: Path,
    demonstrations: Path,
    level: int,
    seed: int,
    updates: int,
    max_seconds: float | None = None,
    rehearse_level: int | None = None,
    tasks: int = 24,
    recipe: Recipe = BOOKING,
) -> GRPOConfig:
    """Reinforcement learning from the warm start."""
    return GRPOConfig(
        model=str(model),
        output_dir=str(folder),
        env_id=recipe.env_id,
        level=level,
        rehearse_level=rehearse_level,
        seed=seed,
        updates=updates,
        max_seconds=max_seconds,
        demonstrations=str(demonstrations),
        tasks=tasks,
        samples=4,
        temperature=0.8,
        rollout_batch_size=64,
        learning_rate=5e-4,
        minibatches=3,
        unmatched_credit=0.0,
        soften_blame=True,
        policy_coef=0.5,
        imitation_coef=1.0,
        successes_per_task=2,
        demonstrations_per_update=8,
        max_new_tokens=recipe.max_new_tokens,
        dtype="auto",
    )
