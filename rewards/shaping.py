"""Potential-based shaping: dense progress that cannot change which policy is best."""

from __future__ import annotations


def shaping_reward(potential: float, next_potential: float, *, gamma: float, done: bool) -> float:
    """F = gamma * Phi(s') - Phi(s), with Phi = 0 in every final state (Ng, Harada and Russell 1999).

    Args:
        potential: Phi of the state before the action.
        next_potential: Phi of the state after it; taken as 0 when `done`.
        gamma: The trainer's discount per turn.
        done: The episode ended with this action, by termination or by the turn limit.
    """
    return gamma * (0.0 if done else next_potential) - potential
