"""What an agent is: something that reads a conversation and says the next thing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from slmagent.types import EpisodeRequest, Message, StopReason


@runtime_checkable
class Agent(Protocol):
    """Plays any environment whose observation is a conversation. One method is enough."""

    def act(self, observation: Sequence[Message], info: Mapping[str, Any]) -> str:
        """The assistant's next text.

        Args:
            observation: The conversation so far, system message first, the user's turn last.
            info: What the environment says about it; `info["tools"]` holds the tools' JSON schemas.
        """
        ...


@runtime_checkable
class BatchAgent(Agent, Protocol):
    """An agent that answers many conversations at once."""

    def act_batch(self, observations: Sequence[Sequence[Message]], infos: Sequence[Mapping[str, Any]]) -> list[str]:
        """The next text of each conversation, in order."""
        ...


@runtime_checkable
class EpisodeAware(Protocol):
    """An agent that wants to know when an episode begins, to seed its sampling or to clear its memory."""

    def begin_episode(self, request: EpisodeRequest) -> None:
        """Called before the first `act` of an episode; `request.sampling_seed` seeds whatever the agent draws."""
        ...


class OneByOne:
    """Mixin that gives an agent with `act` a plain `act_batch`."""

    def act_batch(self: Agent, observations: Sequence[Sequence[Message]], infos: Sequence[Mapping[str, Any]]) -> list[str]:
        """Calls `act` for each conversation."""
        return [self.act(observation, info) for observation, info in zip(observations, infos, strict=True)]


class Reply(str):
    """An agent's text with the reason why its generation ended; a plain `str` counts as ended by itself (`eos`)."""

    stop_reason: StopReason

    def __new__(cls, text: str, stop_reason: StopReason = "eos") -> Reply:
        """A string like `text`."""
        reply = super().__new__(cls, text)
        reply.stop_reason = stop_reason
        return reply
