"""Registers the environments with Gymnasium; safe to call more than once."""

from __future__ import annotations

import gymnasium

ENTRY_POINTS = {
    "SLMAgent/Booking-v0": "slmagent.envs.booking:BookingEnv",
    "SLMAgent/CodeAssist-v0": "slmagent.envs.code_assist:CodeAssistEnv",
    "SLMAgent/CustomerService-v0": "slmagent.envs.customer_service:CustomerServiceEnv",
    "SLMAgent/UserSim-v0": "slmagent.envs.usersim:UserSimEnv",
}
"""Environment id -> entry point, as a string so that nothing is imported before it is made."""


def register_all() -> None:
    """Registers every id that Gymnasium does not know yet."""
    for env_id, entry_point in ENTRY_POINTS.items():
        if env_id not in gymnasium.registry:
            gymnasium.register(id=env_id, entry_point=entry_point)
