"""The form that all noise wrappers share."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import gymnasium

from slmagent.envs.base import ChatEnv, Observation, Snapshot
from slmagent.envs.disturbance import Disturbance


class NoiseWrapper(gymnasium.Wrapper[Observation, str, Observation, str], gymnasium.utils.RecordConstructorArgs):
    """Adds one kind of noise to a `ChatEnv`, from its next episode on.

    The noise is fixed by the episode (task and user seed) and the actions: the same ones give the same bytes in any process.
    It is part of the episode, so snapshots fork it exactly, and it shows up in `info["events"]` as entries of type `noise`.
    Wrappers of different kinds can be stacked in any order, also with those of Gymnasium in between. The environment below
    carries the noise out: it stays noisy when it is used without its wrapper.

    Args:
        env: A `ChatEnv`, in any wrappers.
        strength: In [0, 1]; 0 leaves every byte as it is. What it is the probability of is up to the kind.

    Raises:
        TypeError: `env` is no `ChatEnv`.
        ValueError: A strength outside [0, 1], or the kind has already been added.
    """

    disturbance: ClassVar[type[Disturbance]]

    def __init__(self, env: gymnasium.Env[Observation, str], strength: float = 0.5) -> None:
        gymnasium.utils.RecordConstructorArgs.__init__(self, strength=strength)
        super().__init__(env)
        chat = env.unwrapped
        if not isinstance(chat, ChatEnv):
            raise TypeError(f"{type(self).__name__} expects an slmagent environment (a ChatEnv), actual {type(chat).__name__}")
        if isinstance(strength, bool) or not (isinstance(strength, int | float) and math.isfinite(strength)):
            raise ValueError(f"expected the strength of {type(self).__name__} to be a number in [0, 1], actual {strength!r}")
        if not 0.0 <= strength <= 1.0:
            raise ValueError(f"expected the strength of {type(self).__name__} in [0, 1], actual {strength!r}")
        self.strength = float(strength)
        self.chat = chat
        """The environment that carries the noise out."""
        chat.disturb(self.disturbance, self.strength)

    def expert(self, *, evidence: bool = True) -> str:
        """The scripted expert's next action under this noise."""
        return self.env.get_wrapper_attr("expert")(evidence=evidence)

    def snapshot(self) -> Snapshot:
        """The episode as it stands, noise included; see `ChatEnv.snapshot`."""
        return self.env.get_wrapper_attr("snapshot")()

    def restore(self, snapshot: Snapshot) -> tuple[Observation, dict[str, Any]]:
        """Goes on from a snapshot of an environment with the same noise; see `ChatEnv.restore`."""
        return self.env.get_wrapper_attr("restore")(snapshot)
