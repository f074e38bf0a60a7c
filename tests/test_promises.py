"""What every environment promises, at every level and for seeds 0 to 49.

`slmagent audit ENV --episodes 50` plays every cheater on every task; here each plays every fifth, each task has four or five.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import pytest

import slmagent  # noqa: F401  (registers the environments)
from slmagent.agents.scripted import OneByOne
from slmagent.envs.base import ChatEnv
from slmagent.envs.registration import ENTRY_POINTS
from slmagent.evaluation.audit import ReplayAgent, without_last_change
from slmagent.evaluation.cheaters import CHEATERS, chat_env, is_look_up

SEEDS = range(50)
EACH_CHEATER = 5
"""Every cheater plays one seed in so many."""
BY_CHANCE = 1
"""Tasks of a level that `random` may solve: it says words of what it has looked up, so now and then it has answered."""


def made(env_id: str, level: int) -> ChatEnv:
    return chat_env(gymnasium.make(env_id, level=level, disable_env_checker=True))


LEVELS = [(env_id, level) for env_id in ENTRY_POINTS for level in made(env_id, 0).levels]
EVERYWHERE = pytest.mark.parametrize(("env_id", "level"), LEVELS)


def played(env: ChatEnv, seed: int, agent: Any) -> tuple[float, bool]:
    """Return and success of an agent's episode; checks each reward against its components on the way."""
    observation, info = env.reset(seed=seed)
    total, done = 0.0, False
    while not done:
        observation, reward, terminated, truncated, info = env.step(agent.act(observation, info))
        assert reward == sum(info["reward_components"].values())
        total += float(reward)
        done = terminated or truncated
    return total, info["success"]


class Expert(OneByOne):
    """The environment's expert; notes what it does."""

    def __init__(self, env: ChatEnv) -> None:
        self.env = env
        self.actions: list[str] = []

    def act(self, observation: Any, info: Any) -> str:
        self.actions.append(self.env.expert())
        return self.actions[-1]


class Twice(Expert):
    """Carries its first look-up out a second time."""

    again = ""
    done = False

    def act(self, observation: Any, info: Any) -> str:
        if self.again:
            action, self.again, self.done = self.again, "", True
            return action
        action = super().act(observation, info)
        if not self.done and is_look_up(self.env, action):
            self.again = action
        return action


@EVERYWHERE
def test_the_expert_wins_and_nothing_else_does(env_id: str, level: int) -> None:
    env = made(env_id, level)
    successes: list[float] = []
    failures: dict[str, tuple[float, bool]] = {}
    for seed in SEEDS:
        expert = Expert(env)
        total, success = played(env, seed, expert)
        assert success, seed
        successes.append(total)
        rest = without_last_change(env, expert.actions)
        if rest is not None:
            failures[f"seed {seed}: the expert without its last change"] = played(env, seed, ReplayAgent(rest))
        for number, (name, cheater) in enumerate(CHEATERS.items()):
            if number % EACH_CHEATER == seed % EACH_CHEATER:
                env.reset(seed=seed)  # some look at the episode that they are made for
                failures[f"seed {seed}: {name}"] = played(env, seed, cheater(env))
    won = [name for name, (_, success) in failures.items() if success]
    assert all("random" in name for name in won), won
    assert len(won) <= BY_CHANCE, won
    for name in won:
        del failures[name]
    best = max(failures, key=lambda name: failures[name][0])
    assert failures[best][0] < min(successes), (best, failures[best], min(successes))


@EVERYWHERE
def test_looking_up_once_more_does_no_harm(env_id: str, level: int) -> None:
    env = made(env_id, level)
    for seed in SEEDS:
        agent = Twice(env)
        _, success = played(env, seed, agent)
        assert success, seed
