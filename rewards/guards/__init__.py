"""Guards: penalties and vetoes for how an assistant talks. Made by name with `make_guard`, usable outside our environments."""

from slmagent.rewards.guards.base import Guard
from slmagent.rewards.guards.factory import VARIANTS, make_guard

__all__ = ["VARIANTS", "Guard", "make_guard"]
