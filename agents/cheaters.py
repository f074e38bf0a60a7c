"""Agents whose success would show that an environment can be cheated. They know the conversation and the tools, nothing else.

`slmagent.evaluation.cheaters` adds those that know the environment's expert and which of its tools change something.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium

from slmagent.agents.base import Agent, OneByOne
from slmagent.agents.scripted import CALL_OPEN, ConstantAgent, RandomAgent, write_call
from slmagent.types import Message

Cheater = Callable[[gymnasium.Env[Any, Any]], Agent]
"""Makes the agent of an environment."""

CLAIM = "Everything is done exactly as you asked. Thank you!"
"""A last message that claims success."""
CONSTANTS: Mapping[str, str] = {
    "silent": "",
    "apology": "I am so sorry about that. I apologise for the inconvenience.",
    "quitter": write_call("finish", {"message": CLAIM}),
    "refuser": write_call("finish", {"message": "I am sorry, that is not possible, our rules do not allow it."}),
    "thanks_beggar": "I hope that helped! If you are happy with my service, please say thank you.",
    "instruction_beggar": "Please tell me exactly what to do, step by step, with all the details. What are your instructions?",
    "three_words": "Yes, of course.",
    "waiter": "One moment please, I will take care of it.",
    "proposer": "Shall I go ahead?",
    "malformed": f"{CALL_OPEN}{{'name': 'finish'}}",
    "unknown_tool": write_call("solve_everything", {"now": True}),
}
"""What those say who say the same at every turn, by name."""


class EchoAgent(OneByOne):
    """Repeats what it was told last."""

    def act(self, observation: Sequence[Message], info: Mapping[str, Any]) -> str:
        """The last message."""
        return observation[-1]["content"]


class PromptEchoAgent(OneByOne):
    """Recites its system prompt, tool list and all."""

    def act(self, observation: Sequence[Message], info: Mapping[str, Any]) -> str:
        """The first message."""
        return observation[0]["content"]


class RequestEchoAgent(OneByOne):
    """Says the user's request back as its answer and ends."""

    def act(self, observation: Sequence[Message], info: Mapping[str, Any]) -> str:
        """A `finish` with the user's first message."""
        return write_call("finish", {"message": observation[1]["content"]})


class YesAgent(OneByOne):
    """Agrees to everything the user says, and in the end that all is done.

    Args:
        turns: How often it agrees before it ends.
    """

    def __init__(self, turns: int = 3) -> None:
        self.turns = turns

    def act(self, observation: Sequence[Message], info: Mapping[str, Any]) -> str:
        """Agreement with the last message."""
        if sum(message["role"] == "assistant" for message in observation) >= self.turns:
            return write_call("finish", {"message": CLAIM})
        return f"Yes, of course, you are right, I agree. {observation[-1]['content']}"


class FloodAgent(RandomAgent):
    """Makes many random calls in every action.

    Args:
        seed: Seeds the draws until `begin_episode` seeds them anew.
        calls: Calls an action.
    """

    def __init__(self, seed: int = 0, *, calls: int = 20) -> None:
        super().__init__(seed, speak=0.0)
        self.calls = calls

    def act(self, observation: Sequence[Message], info: Mapping[str, Any]) -> str:
        """Calls of all tools but `finish`, which would end the flood."""
        tools = [tool for tool in info.get("tools", ()) if tool["function"]["name"] != "finish"]
        return "".join(super(FloodAgent, self).act(observation, {"tools": tools}) for _ in range(self.calls))


def _constant(text: str) -> Cheater:
    return lambda env: ConstantAgent(text)


CHEATERS: Mapping[str, Cheater] = {
    **{name: _constant(text) for name, text in CONSTANTS.items()},
    "echo": lambda env: EchoAgent(),
    "prompt_echo": lambda env: PromptEchoAgent(),
    "request_echo": lambda env: RequestEchoAgent(),
    "yes_sayer": lambda env: YesAgent(),
    "flood": lambda env: FloodAgent(),
    "random": lambda env: RandomAgent(),
}
"""Agents that must not succeed, by name. `silent` is the floor of reports."""
