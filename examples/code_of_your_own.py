"""From code of your own to an environment: mine its functions for tasks, play them with the expert."""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import gymnasium as gym

CODE = '''
"""Prices."""


def net(price, tax):
    """Return the price before a tax of so many percent was added.

    >>> net(119, 19)
    100.0
    >>> net(50, 0)
    50.0
    >>> net(0, 7)
    0.0
    """
    factor = 1 + tax / 100
    return round(price / factor, 2)


def cheapest(prices, limit):
    """Return the lowest prices, `limit` at most, in order.

    >>> cheapest([5, 3, 9, 1], 2)
    [1, 3]
    >>> cheapest([2], 5)
    [2]
    >>> cheapest([], 1)
    []
    """
    ordered = sorted(prices)
    return ordered[:limit]
'''

with tempfile.TemporaryDirectory() as folder:
    source, tasks = Path(folder, "prices.py"), Path(folder, "tasks.jsonl")
    source.write_text(CODE)
    command = [sys.executable, "-m", "slmagent.cli", "scenarios", "mine", str(source), "--output", str(tasks)]
    subprocess.run(command, check=True, capture_output=True)
    env: Any = gym.make("slmagent:SLMAgent/CodeAssist-v0", level=2, split="ood", tasks=str(tasks)).unwrapped
    for name in env.scenario_ids:
        observation, info = env.reset(options={"scenario_id": name, "user_seed": 0})
        done = False
        while not done:
            observation, reward, terminated, truncated, info = env.step(env.expert())
            done = terminated or truncated
        print(f"{name}: {'solved' if info['success'] else 'failed'}")
