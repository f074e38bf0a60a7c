"""The example configurations are the recipe of the demo and of docs/results.md."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from slmagent.config import load_config

pytest.importorskip("torch")

from slmagent import recipe
from slmagent.demo import DemoConfig
from slmagent.trainers.grpo import GRPOConfig
from slmagent.trainers.sft import SFTConfig

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
PATHS = ("model", "output_dir", "demonstrations")


def settings(config: SFTConfig | GRPOConfig) -> dict[str, object]:
    """All fields that are not paths of a run."""
    values = dataclasses.asdict(config)
    return {name: value for name, value in values.items() if name not in PATHS or isinstance(value, int)}


def test_sft_example_is_the_recipe() -> None:
    given = load_config(SFTConfig, EXAMPLES / "booking_sft.toml", ignore=["trainer"])
    demonstrations = DemoConfig().demonstrations
    expected = recipe.sft_config(Path("x"), model="m", level=1, demonstrations=demonstrations, seed=0)
    assert settings(given) == settings(expected)


def test_grpo_example_is_the_recipe() -> None:
    given = load_config(GRPOConfig, EXAMPLES / "booking_grpo.toml", ignore=["trainer"])
    expected = recipe.grpo_config(
        Path("x"), model=Path("m"), demonstrations=Path("d"), level=1, seed=0, updates=recipe.BOOKING.updates
    )
    assert settings(given) == settings(expected)


@pytest.mark.model
@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("name", recipe.RECIPES)
def test_expert_actions_fit_the_recipe(default_model: Path, name: str, level: int) -> None:
    """What the expert says must be sayable, or nothing could reach it."""
    from transformers import AutoTokenizer

    from slmagent.agents.chat import ChatFormat
    from slmagent.trainers.demonstrations import expert_demonstrations

    chat = ChatFormat(AutoTokenizer.from_pretrained(default_model))
    episodes = expert_demonstrations(recipe.RECIPES[name].env_id, level, 30)
    said = [message["content"] for episode in episodes for message in episode.messages if message["role"] == "assistant"]
    assert max(len(chat.encode_action(text)) for text in said) <= recipe.RECIPES[name].max_new_tokens
