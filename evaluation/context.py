"""How many tokens the environments take, and whether that keeps to the budgets of small contexts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slmagent.agents.episodes import requests_for, run_episodes
from slmagent.agents.scripted import ExpertAgent
from slmagent.errors import SlmagentError
from slmagent.types import Message

if TYPE_CHECKING:
    from slmagent.agents.chat import ChatFormat

EPISODE_BUDGET = 2048
"""Tokens of a whole expert episode, at every level."""
EASY_EPISODE_BUDGET, EASY_SYSTEM_BUDGET = 1024, 700
"""The same at the easy levels, and the tokens of their system message with its tools."""
EASY_LEVELS = range(3)
SPLITS_MEASURED = ("train", "ood")
"""`val` and `test` are drawn like `train`."""


@dataclass(frozen=True, slots=True)
class LevelContext:
    """What the expert's episodes of one level take."""

    env_id: str
    level: int
    episodes: int
    """Episodes that were measured."""
    turns: tuple[int, int]
    """Fewest and most actions."""
    system: int
    """Tokens of the longest system message, tools included."""
    episode: int
    """Tokens of the longest episode, as a rollout would count them."""

    def broken(self) -> list[str]:
        """Budgets that are not kept, in words."""
        easy = self.level in EASY_LEVELS
        budget = EASY_EPISODE_BUDGET if easy else EPISODE_BUDGET
        problems = [f"an episode takes {self.episode} tokens; at most {budget} are allowed"] if self.episode > budget else []
        if easy and self.system > EASY_SYSTEM_BUDGET:
            problems.append(f"the system message takes {self.system} tokens; at most {EASY_SYSTEM_BUDGET} are allowed")
        return [f"{self.env_id}, level {self.level}: {problem}" for problem in problems]


def measure_level(env_id: str, level: int, chat: ChatFormat, *, tasks: int) -> LevelContext:
    """Plays the expert and counts.

    Args:
        env_id: A registered id.
        level: Curriculum level.
        chat: Format and tokenizer to count with.
        tasks: Tasks of each split in `SPLITS_MEASURED`, from the first on.

    Raises:
        SlmagentError: An episode failed.
    """
    requests = [request for split in SPLITS_MEASURED for request in requests_for(env_id, level, split, tasks)]
    episodes = run_episodes(ExpertAgent, requests)
    failed = next((episode for episode in episodes if episode.status != "ok"), None)
    if failed is not None:
        raise SlmagentError(f"the expert's episode {failed.scenario_id} failed ({failed.status}): {failed.error}")
    turns = [len(episode.turns) for episode in episodes]
    return LevelContext(
        env_id,
        level,
        episodes=len(episodes),
        turns=(min(turns), max(turns)),
        system=max(system_tokens(chat, episode.messages) for episode in episodes),
        episode=max(episode_tokens(chat, episode.messages) for episode in episodes),
    )


def system_tokens(chat: ChatFormat, messages: Sequence[Message]) -> int:
    """Tokens of the system message; the template's marks around an empty first message are counted with it."""
    return len(chat.encode_prompt([messages[0], {"role": "user", "content": ""}]))


def episode_tokens(chat: ChatFormat, messages: Sequence[Message]) -> int:
    """Tokens of a whole conversation, action by action as a rollout appends them."""
    total = len(chat.encode_prompt(messages[:2]))
    for message in messages[2:]:
        text = message["content"]
        total += len(chat.encode_action(text) if message["role"] == "assistant" else chat.encode_delta(text))
    return total
