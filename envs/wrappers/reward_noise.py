"""Noise in the reward: components paid later, or never. What the agent reads stays as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from slmagent.envs.disturbance import Disturbance, Scene
from slmagent.envs.wrappers.noise import NoiseWrapper


class Arrears(Disturbance):
    """Pays later."""

    name: ClassVar[str] = "delayed_rewards"

    def __init__(self, strength: float, scene: Scene) -> None:
        super().__init__(strength, scene)
        self._owed: dict[str, float] = {}

    def paid(self, components: Mapping[str, float], *, done: bool) -> tuple[dict[str, float], str] | None:
        """Nothing when the step is put off; else its components and all that is owed."""
        put_off = self._draw("reward").chance(self.strength) and not done
        if not (put_off or self._owed):
            return None
        due = {name: self._owed.get(name, 0.0) + components.get(name, 0.0) for name in {**self._owed, **components}}
        self._owed = due if put_off else {}
        return ({}, "put off") if put_off else (due, "paid late")


class DelayedRewards(NoiseWrapper):
    """Rewards that come later.

    `strength` is the probability that a step's components are put off to the next step; a step may be put off again, and the
    last step pays all that is owed. At 1 everything is paid at the end. Each component's sum over the episode is the clean
    one's; a veto still fixes the total. With `shaping_gamma` below 1, late progress no longer cancels out in the discounted
    return.
    """

    disturbance = Arrears


class Withholding(Disturbance):
    """Does not pay."""

    name: ClassVar[str] = "missing_rewards"

    def paid(self, components: Mapping[str, float], *, done: bool) -> tuple[dict[str, float], str] | None:
        """The components that are left."""
        draw = self._draw("reward")
        withheld = [name for name in sorted(components) if draw.chance(self.strength)]
        kept = {name: value for name, value in components.items() if name not in withheld}
        return (kept, " ".join(withheld)) if withheld else None


class MissingRewards(NoiseWrapper):
    """Rewards that never come.

    `strength` is the probability that a component of a step is withheld: it is absent from `info["reward_components"]` and from
    the reward. A veto is never withheld. Withholding does not look at values, so shaping still cancels out on average, but one
    episode's success need not out-score another's failure. `info["success"]` is always told.
    """

    disturbance = Withholding
