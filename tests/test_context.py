"""The context budget in `info`: an estimate without a tokenizer, on the safe side, and cheap."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slmagent.envs.base import ChatEnv
from slmagent.envs.context import count_pieces, estimate_tokens, token_budget
from slmagent.envs.registration import ENTRY_POINTS
from slmagent.envs.wrappers import NOISES

LARGEST_EXCESS = 1.2
"""An expert episode's estimate is at most this multiple of its true length, and never below it."""


def expert_episode(env_id: str, level: int, seed: int, noise: str | None = None, **kwargs: Any) -> tuple[Any, list[Any]]:
    """The last observation and the context of every turn."""
    env = gym.make(env_id, level=level, disable_env_checker=True, **kwargs)
    if noise is not None:
        env = NOISES[noise](env, strength=0.5)
    chat = env.unwrapped
    assert isinstance(chat, ChatEnv)
    observation, info = env.reset(seed=seed)
    contexts, done = [info["context"]], False
    while not done:
        observation, _, terminated, truncated, info = env.step(chat.expert())
        contexts.append(info["context"])
        done = terminated or truncated
    return observation, contexts


def estimate(observation: Any) -> int:
    return estimate_tokens(sum(count_pieces(message["content"]) for message in observation), len(observation))


@pytest.mark.parametrize("level", range(6))
@pytest.mark.parametrize("env_id", list(ENTRY_POINTS))
def test_info_tells_the_budget_and_what_is_taken(env_id: str, level: int):
    for seed in range(5):
        observation, contexts = expert_episode(env_id, level, seed)
        assert {context["budget"] for context in contexts} == {1024 if level < 3 else 2048}
        tokens = [context["tokens"] for context in contexts]
        assert tokens == sorted(set(tokens))
        assert tokens[0] == estimate(observation[:2])
        assert tokens[-1] == estimate(observation)
        assert tokens[-1] <= token_budget(level)


def test_forks_and_new_episodes_count_anew():
    env = gym.make("SLMAgent/Booking-v0", level=1, disable_env_checker=True)
    chat = env.unwrapped
    assert isinstance(chat, ChatEnv)
    _, start = env.reset(seed=0)
    before = chat.snapshot()
    longer = env.step("Hello. " * 50)[4]["context"]["tokens"]
    assert longer > start["context"]["tokens"] + 100
    assert chat.restore(before)[1]["context"] == start["context"]
    assert env.reset(seed=0)[1]["context"] == start["context"]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("", 0),
        ("Hi", 1),
        ("the reference", 3),  # the, refere, nce
        ("14:30 EUR 456", 9),  # 1 4 : 3 0 EUR 4 5 6
        ('"}}', 2),
        ("a\n\nb", 3),
        ("\u00e9", 2),  # its bytes
        ("\u65e5\u672c", 6),
        ("\U0001f600", 4),
        ("\ud800", 3),
    ],
)
def test_pieces_by_hand(text: str, pieces: int):
    assert count_pieces(text) == pieces


def test_tokens_by_hand():
    assert estimate_tokens(100, 4) == 130  # 1.06 * (100 + 4 * 5.5) = 129.32


@given(st.text(), st.text())
def test_more_text_is_never_less(left: str, right: str):
    assert max(count_pieces(left), count_pieces(right)) <= count_pieces(f"{left} {right}")


@pytest.mark.model
def test_the_estimate_is_close_and_on_the_safe_side(default_model: Any):
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(default_model)
    ratios: dict[str, list[float]] = {"compact": [], "json": []}
    for env_id in ENTRY_POINTS:
        for level in range(6):
            for split in ("train", "ood"):
                for style in ("compact", "json"):
                    observation, contexts = expert_episode(env_id, level, 7, split=split, prompt_style=style)
                    true = len(tokenizer.apply_chat_template(list(observation))["input_ids"])
                    ratios[style].append(contexts[-1]["tokens"] / true)
    for style, largest_mean in (("compact", 1.1), ("json", 1.15)):
        assert min(ratios[style]) >= 1.0
        assert max(ratios[style]) <= LARGEST_EXCESS
        assert sum(ratios[style]) / len(ratios[style]) < largest_mean
    for noise in NOISES:
        observation, contexts = expert_episode("SLMAgent/Booking-v0", 5, 7, noise)
        assert contexts[-1]["tokens"] >= len(tokenizer.apply_chat_template(list(observation))["input_ids"])
