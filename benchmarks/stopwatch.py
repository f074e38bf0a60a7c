"""How many steps a second an environment makes. Standard library only: the other suites' interpreter runs it, too."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

Play = Callable[[int], tuple[int, bool]]
"""Plays the episode with a number, from reset to end: how many steps it had, and whether it was solved."""


def measure(play: Play, *, episodes: int, repeats: int) -> dict[str, Any]:
    """Plays episodes 0 to n-1 once to warm up, then `repeats` times by the clock.

    Args:
        play: Reset, policy and steps are all inside.
        episodes: Episodes of a pass.
        repeats: Timed passes.

    Returns:
        Steps per second: `cpu` by process time, `wall` by the clock, each with median, low and high over the passes; `first` is
        the warm-up pass by process time, in which everything is seen for the first time.
    """
    first, steps, solved = _pass(play, episodes)
    passes = [_pass(play, episodes)[0] for _ in range(repeats)]
    return {
        "episodes": episodes,
        "steps": steps,
        "solved": solved / episodes,
        "repeats": repeats,
        "first": steps / first[0],
        "cpu": _spread([steps / cpu for cpu, _ in passes]),
        "wall": _spread([steps / wall for _, wall in passes]),
    }


def _pass(play: Play, episodes: int) -> tuple[tuple[float, float], int, int]:
    """Seconds by process time and by the clock, steps, and solved episodes."""
    steps = solved = 0
    cpu, wall = time.process_time(), time.perf_counter()
    for number in range(episodes):
        played, success = play(number)
        steps += played
        solved += success
    return (time.process_time() - cpu, time.perf_counter() - wall), steps, solved


def _spread(rates: list[float]) -> dict[str, float]:
    return {"median": statistics.median(rates), "low": min(rates), "high": max(rates)}
