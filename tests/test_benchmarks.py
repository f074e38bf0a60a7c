"""The benchmark of environments: its clock, and its page, which says what the result file says."""

from __future__ import annotations

import importlib.util
import json
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch):
    """Loads a program of benchmarks/ as a module."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))

    def load(name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)  # dataclasses look their module up
        spec.loader.exec_module(module)
        return module

    return load


def test_the_stopwatch_counts_steps_and_time(script, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = {"cpu": 0.0, "wall": 0.0}
    monkeypatch.setattr(time, "process_time", lambda: clock["cpu"])
    monkeypatch.setattr(time, "perf_counter", lambda: clock["wall"])
    played: list[int] = []

    def play(number: int) -> tuple[int, bool]:
        played.append(number)
        # Passes of two episodes take 4, 1, 2 and 1 s of process time, and twice as long by the clock.
        clock["cpu"] += (2.0, 0.5, 1.0, 0.5)[(len(played) - 1) // 2]
        clock["wall"] = 2 * clock["cpu"]
        return 3 + number, number == 0

    rates = script("stopwatch").measure(play, episodes=2, repeats=3)
    assert played == [0, 1] * 4
    assert (rates["steps"], rates["solved"], rates["episodes"], rates["repeats"]) == (7, 0.5, 2, 3)
    assert rates["first"] == 7 / 4
    assert rates["cpu"] == {"median": 7.0, "low": 3.5, "high": 7.0}
    assert rates["wall"] == {"median": 3.5, "low": 1.75, "high": 3.5}


def test_the_page_is_made_of_the_result_file(script) -> None:
    """`make bench-envs` writes both."""
    results = json.loads((ROOT / "docs" / "results" / "envs.json").read_text())
    assert script("envs").page(results) == (ROOT / "docs" / "benchmarks.md").read_text()
    assert {row["suite"] for row in results["rows"]} == {"slmagent", "gem-llm", "textarena"}
    assert all(row["solved"] == 1.0 for row in results["rows"])


def test_the_expert_is_timed_over_whole_episodes(script) -> None:
    envs = script("envs")
    env = envs.chat_env(envs.gymnasium.make("SLMAgent/Booking-v0", level=1, disable_env_checker=True))
    assert [envs.expert_play(env)(number) for number in range(3)] == [(3, True)] * 3


@pytest.mark.parametrize(("rate", "text"), [(97.4, "97"), (3851.6, "3,850"), (154_960.0, "155,000")])
def test_rates_have_three_digits(script, rate: float, text: str) -> None:
    assert script("envs")._rounded(rate) == text


def test_other_suites_are_played_right(script) -> None:
    other = script("other_suites")
    hanoi = list(other.tower_of_hanoi("Tower of Hanoi with 2 disks."))
    assert hanoi == ["A B", "A C", "B C"]
    guesses = other.guess_the_number("between 1 and 20 (inclusive)")
    assert [next(guesses), guesses.send("it is higher than 10."), guesses.send("guess\nit is lower.")] == ["10", "15", "12"]
