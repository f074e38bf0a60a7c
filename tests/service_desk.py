"""What the tests of CustomerService share: making, playing and reading up on an episode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import pytest

import slmagent  # noqa: F401  (registers the environments)
from slmagent.envs.customer_service import CustomerServiceEnv
from slmagent.envs.parsing import parse_action, render_call

ID = "SLMAgent/CustomerService-v0"
LEVELS = range(6)
EACH_LEVEL = pytest.mark.parametrize("level", LEVELS)


def make(level: int, **kwargs: Any) -> CustomerServiceEnv:
    """The bare environment."""
    env = gym.make(ID, level=level, disable_env_checker=True, **kwargs).unwrapped
    assert isinstance(env, CustomerServiceEnv)
    return env


Policy = Callable[[CustomerServiceEnv], str]
Infos = list[dict[str, Any]]


def play(env: CustomerServiceEnv, policy: Policy, **reset: Any) -> tuple[float, dict[str, Any], Infos]:
    """Total reward, last info and all infos of an episode."""
    env.reset(**reset)
    total, infos, done = 0.0, [], False
    while not done:
        _, reward, terminated, truncated, info = env.step(policy(env))
        assert reward == sum(info["reward_components"].values())
        total += reward
        infos.append(info)
        done = terminated or truncated
    return total, infos[-1], infos


def expert(env: CustomerServiceEnv) -> str:
    """Plays right."""
    return env.expert()


def finish(message: str) -> str:
    """The call that ends an episode."""
    return render_call("finish", {"message": message})


def called(action: str) -> str:
    """Name of the first tool an action calls; empty if it speaks."""
    calls = parse_action(action).calls
    return calls[0].name if calls else ""


def find(env: CustomerServiceEnv, kind: str, user_seed: int = 0) -> None:
    """Starts an episode of a task kind."""
    scenario_id = next(scenario_id for scenario_id in env.scenario_ids if env.task_kind(scenario_id) == kind)
    env.reset(options={"scenario_id": scenario_id, "user_seed": user_seed})


def has_read_up(env: CustomerServiceEnv) -> bool:
    """Whether all withheld facts are told and all evidence is read."""
    return env.state.evidence_read() and env.state.told().issuperset(env.state.task.details.get("hidden", ()))


def read_up(env: CustomerServiceEnv) -> float:
    """Plays the expert up to the point where it has asked and read everything; what that earned."""
    earned = 0.0
    while not has_read_up(env):
        earned += env.step(env.expert())[1]
    return earned


def the_item(env: CustomerServiceEnv) -> dict[str, str]:
    """Arguments that name the item that the task is about; some item where it is about none."""
    task = env.state.task
    item = task.details.get("item") or next(iter(task.items), None)
    return {"order_id": item.order_id, "product_id": item.product_id} if item else {"order_id": "O100", "product_id": "P10"}


WRITERS = ("refund", "replace_item", "create_ticket", "escalate")
"""Tools that change the database."""
