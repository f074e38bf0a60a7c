"""Steps per second of text environments of other suites, as JSON on standard output.

Run by `envs.py` in a virtual environment of its own; it knows nothing of slmagent. Both suites have a number to guess and a
tower of Hanoi, which a few lines of policy play to the end.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Callable, Generator
from importlib.metadata import version

from stopwatch import Play, measure

Policy = Callable[[str], Generator[str, str, None]]
"""Given the first observation, a generator: it yields moves and is sent what is read after each."""


def guess_the_number(prompt: str) -> Generator[str, str, None]:
    """Halves the range."""
    bounds = re.search(r"between (\d+) and (\d+)", prompt)
    assert bounds is not None
    low, high = int(bounds[1]), int(bounds[2])
    while True:
        guess = (low + high) // 2
        heard = yield str(guess)
        if "higher" in heard.split("\n")[-1]:
            low = guess + 1
        else:
            high = guess - 1


def tower_of_hanoi(prompt: str) -> Generator[str, str, None]:
    """The shortest solution."""
    disks = re.search(r"with (\d+) disks", prompt)
    assert disks is not None
    yield from _moves(int(disks[1]), "A", "C", "B")


def _moves(disks: int, source: str, target: str, spare: str) -> Generator[str, str, None]:
    if disks:
        yield from _moves(disks - 1, source, spare, target)
        yield f"{source} {target}"
        yield from _moves(disks - 1, spare, target, source)


def gem_game(env_id: str, policy: Policy) -> Play:
    """An environment of gem-llm: a step returns the answer to the last move."""
    env = importlib.import_module("gem").make(env_id)

    def play(number: int) -> tuple[int, bool]:
        observation, _ = env.reset(seed=number)
        moves = policy(observation)
        move, steps = next(moves), 0
        while True:
            observation, reward, terminated, truncated, _ = env.step(f"\\boxed{{{move}}}")
            steps += 1
            if terminated or truncated:
                return steps, reward > 0
            move = moves.send(observation)

    return play


def textarena_game(env_id: str, policy: Policy) -> Play:
    """An environment of TextArena: a step and the observation after it, which is the whole conversation as one text.

    Made anew for each episode, as in its documentation: one that is reset grows slower from episode to episode.
    """
    make = importlib.import_module("textarena").make

    def play(number: int) -> tuple[int, bool]:
        env = make(env_id)
        env.reset(num_players=1, seed=number)
        _, observation = env.get_observation()
        moves = policy(observation)
        move, steps = next(moves), 0
        while True:
            done, _ = env.step(action=f"[{move}]")
            steps += 1
            if done:
                rewards, _ = env.close()
                return steps, rewards[0] > 0
            _, observation = env.get_observation()
            move = moves.send(observation)

    return play


GAMES: tuple[tuple[str, Callable[[str, Policy], Play], str, Policy], ...] = (
    ("gem-llm", gem_game, "game:GuessTheNumber-v0-hard", guess_the_number),
    ("gem-llm", gem_game, "game:TowerofHanoi-v0-easy", tower_of_hanoi),
    ("textarena", textarena_game, "GuessTheNumber-v0", guess_the_number),
    ("textarena", textarena_game, "TowerOfHanoi-v0", tower_of_hanoi),
)


def main(episodes: int, repeats: int) -> None:
    """Measures every game."""
    rows = []
    for suite, game, env_id, policy in GAMES:
        rates = measure(game(env_id, policy), episodes=episodes, repeats=repeats)
        rows.append({"suite": suite, "version": version(suite), "env_id": env_id, **rates})
    print(json.dumps(rows))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
