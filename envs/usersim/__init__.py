"""`SLMAgent/UserSim-v0`: the right facts in the style of a user who shows it only by writing."""

from slmagent.envs.usersim.env import UserSimEnv

__all__ = ["UserSimEnv"]
