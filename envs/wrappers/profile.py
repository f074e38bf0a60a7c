"""Tells the agent about the user: a sentence made of the user's past messages, in the system message."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
from gymnasium.utils import RecordConstructorArgs

from slmagent.envs.base import Observation, Snapshot


class ProfilePrompt(gymnasium.Wrapper[Observation, str, Observation, str], RecordConstructorArgs):
    """Ends the system message with a sentence about the user, made of `info["past_messages"]` at reset.

    Args:
        env: A conversational environment whose `reset` gives `info["past_messages"]`, what the user wrote in earlier talks.
        describe: Makes the sentence, for example `slmagent.agents.profiles.describe`.
    """

    def __init__(self, env: gymnasium.Env[Observation, str], describe: Callable[[Sequence[str]], str]) -> None:
        RecordConstructorArgs.__init__(self, describe=describe)
        gymnasium.Wrapper.__init__(self, env)
        self.describe = describe
        self._sentence = ""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, dict[str, Any]]:
        """Starts an episode of the environment and describes its user.

        Raises:
            ValueError: The environment does not tell what the user wrote in the past.
        """
        return self._described(*self.env.reset(seed=seed, options=options))

    def step(self, action: str) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Plays one action; the system message stays as it was at reset."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self._with_profile(observation), float(reward), terminated, truncated, info

    def snapshot(self) -> Snapshot:
        """The episode as it stands; see `ChatEnv.snapshot`."""
        return self.env.get_wrapper_attr("snapshot")()

    def restore(self, snapshot: Snapshot) -> tuple[Observation, dict[str, Any]]:
        """Goes on from a snapshot, also of an episode with another user; see `ChatEnv.restore`."""
        return self._described(*self.env.get_wrapper_attr("restore")(snapshot))

    def _described(self, observation: Observation, info: dict[str, Any]) -> tuple[Observation, dict[str, Any]]:
        past = info.get("past_messages")
        if not isinstance(past, (list, tuple)) or not all(isinstance(message, str) for message in past):
            raise ValueError(
                f"ProfilePrompt expected a list of strings in info['past_messages'] at reset, actual {past!r}; "
                f"{self.env.unwrapped} tells nothing of its user's past"
            )
        self._sentence = self.describe(past)
        return self._with_profile(observation), info

    def _with_profile(self, observation: Observation) -> Observation:
        first, *others = observation
        if first["role"] != "system":
            raise ValueError(f"ProfilePrompt expected a system message first, actual one of role {first['role']!r}")
        return ({"role": "system", "content": f"{first['content']}\n\n{self._sentence}"}, *others)
