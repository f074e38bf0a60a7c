"""Cheaters that know an environment from inside: what its expert would do next, and which tools change something.

With those of `slmagent.agents.cheaters` they are what `slmagent audit` plays. None knows a particular environment.
"""

from __future__ import annotations

import abc
import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium

from slmagent.agents.base import OneByOne
from slmagent.agents.cheaters import CHEATERS as BLIND_CHEATERS
from slmagent.agents.cheaters import CLAIM, Cheater
from slmagent.agents.scripted import write_call
from slmagent.envs.acting import MAX_CALLS_PER_ACTION
from slmagent.envs.base import ChatEnv
from slmagent.envs.parsing import FINISH, parse_action
from slmagent.errors import UsageError
from slmagent.types import EpisodeRequest, Message, ToolCall

_ROWS = re.compile(r"<tool_response>\n(.*?)\n</tool_response>", re.DOTALL)
_ESCALATES = re.compile(r"escalat|supervis|hand_?over|transfer_to|human", re.IGNORECASE)
_IDENTIFIER = re.compile(r"\b[A-Z]+\d+\b")


def chat_env(env: gymnasium.Env[Any, Any]) -> ChatEnv:
    """The environment inside its wrappers.

    Raises:
        UsageError: It is none of ours.
    """
    inner = env.unwrapped
    if not isinstance(inner, ChatEnv):
        raise UsageError(f"expected an environment derived from ChatEnv, actual {type(inner).__name__}")
    return inner


def changes_state(env: ChatEnv, call: ToolCall) -> bool:
    """Whether a call is one of a tool that changes the environment's state."""
    tool = env.toolbox.tools.get(call.name)
    return tool is not None and tool.writes


def is_look_up(env: ChatEnv, action: str) -> bool:
    """Whether an action only calls tools, and only such as change nothing and do not end the episode."""
    calls = parse_action(action).calls
    return bool(calls) and not any(call.name == FINISH or changes_state(env, call) for call in calls)


def first_look_up(env: ChatEnv) -> str | None:
    """The first look-up of the expert's way through the running episode, which stays as it is; None if there is none."""
    before = env.snapshot()
    try:
        done = False
        while not done:
            action = env.expert(evidence=False)
            if is_look_up(env, action):
                return action
            _, _, terminated, truncated, _ = env.step(action)
            done = terminated or truncated
        return None
    finally:
        env.restore(before)


def rows_seen(observation: Sequence[Message]) -> list[str]:
    """Every line of every tool response."""
    responses = [text for message in observation if message["role"] == "user" for text in _ROWS.findall(message["content"])]
    return [row for response in responses for row in response.splitlines()]


class RepeatedLookUpAgent(OneByOne):
    """Makes the expert's first look-up over and over, as if progress were paid each time; silent where there is none."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        self._env = chat_env(env)
        self._action: str | None = None

    def begin_episode(self, request: EpisodeRequest) -> None:
        """Forgets the look-up of the last episode."""
        self._action = None

    def act(self, observation: Sequence[Message], info: Mapping[str, Any]) -> str:
        """The look-up."""
        if self._action is None:
            self._action = first_look_up(self._env) or ""
        return self._action


class _LookingUpAgent(OneByOne, abc.ABC):
    """Looks up and asks what the expert would, then goes its own way.

    What ends in a question mark counts as a question: an environment tells only afterwards what its user understood.
    """

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        self._env = chat_env(env)

    def act(self, observation: Sequence[Message], info: Mapping[str, Any]) -> str:
        """The expert's look-up or question, else what this cheater does with it."""
        action = self._env.expert()
        if is_look_up(self._env, action) or (not parse_action(action).calls and action.rstrip().endswith("?")):
            return action
        return self._cheat(observation, info)

    @abc.abstractmethod
    def _cheat(self, observation: Sequence[Message], info: Mapping[str, Any]) -> str:
        """What it does once all has been looked up and asked."""


class ClaimingAgent(_LookingUpAgent):
    """Plays the expert up to the deed, then says in its place that all is done."""

    def _cheat(self, observation: Sequence[Message], info: Mapping[str, Any]) -> str:
        return write_call(FINISH, {"message": CLAIM})


class ListingAgent(_LookingUpAgent):
    """Reads everything that it saw out to the user and ends.

    Where all it saw is one row there is nothing to list: reading that row out is the answer, not a cheat, and it says nothing.
    """

    def _cheat(self, observation: Sequence[Message], info: Mapping[str, Any]) -> str:
        rows = rows_seen(observation)
        return write_call(FINISH, {"message": "\n".join(rows)}) if len(rows) > 1 else ""


class EscalatingAgent(OneByOne):
    """Hands every case over at once, with the tool for it where there is one; then ends."""

    def act(self, observation: Sequence[Message], info: Mapping[str, Any]) -> str:
        """Calls with all combinations of the identifiers it has read, as many as an action may hold."""
        functions = [tool["function"] for tool in info.get("tools", ())]
        tool = next((one for one in functions if _ESCALATES.search(f"{one['name']} {one['description']}")), None)
        if len(observation) > 2 or tool is None:
            return write_call(FINISH, {"message": "I have handed your case over to a supervisor."})
        names = tool["parameters"].get("required", [])
        heard = " ".join(message["content"] for message in observation[1:])
        found = dict.fromkeys(_IDENTIFIER.findall(heard)) or {"": None}
        combinations = itertools.islice(itertools.product(found, repeat=len(names)), MAX_CALLS_PER_ACTION)
        return "".join(write_call(tool["name"], dict(zip(names, values, strict=True))) for values in combinations)


CHEATERS: Mapping[str, Cheater] = {
    **BLIND_CHEATERS,
    "repeated_look_up": RepeatedLookUpAgent,
    "claims": ClaimingAgent,
    "lists": ListingAgent,
    "escalates": lambda env: EscalatingAgent(),
}
"""Every cheater, by name; each entry makes the agent of an environment."""
