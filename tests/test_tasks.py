"""Which tasks are drawn, against numbers worked out by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy_env import PARITY_ID, made_episode, register_toy_envs

from slmagent.agents.episodes import tasks_of
from slmagent.trainers.tasks import TaskSampler, apportion, learnability
from slmagent.types import EpisodeRequest, Trajectory

BOOKING = "SLMAgent/Booking-v0"
KINDS = dict(tasks_of(BOOKING, 1, "train"))


def sampler(**more: bool) -> TaskSampler:
    return TaskSampler(BOOKING, 1, samples=2, seed=3, **more)


def drawn_kinds(requests: list[EpisodeRequest]) -> Counter[str]:
    """Tasks per kind."""
    return Counter(KINDS[scenario_id] for scenario_id in {request.scenario_id for request in requests})


def played(requests: list[EpisodeRequest], solved: Callable[[str], bool], level: int = 1) -> list[Trajectory]:
    return [
        replace(
            made_episode([1.0]),
            env_id=BOOKING,
            level=level,
            scenario_id=request.scenario_id,
            success=solved(KINDS[request.scenario_id]),
            metadata={"task_kind": KINDS[request.scenario_id]},
        )
        for request in requests
    ]


def test_learnability_is_highest_where_the_outcome_is_open() -> None:
    assert [learnability(rate) for rate in (0.0, 0.1, 0.5, 1.0)] == pytest.approx([0.0, 0.36, 1.0, 0.0])


def test_apportion_by_largest_remainders() -> None:
    # 1.25, 1.25, 2.5 of 5: the half is the largest remainder. Of 6, 1.5, 1.5, 3: the first of two equal ones.
    weights = {"a": 1.0, "b": 1.0, "c": 2.0}
    assert apportion(weights, 5) == {"a": 1, "b": 1, "c": 3}
    assert apportion(weights, 6) == {"a": 2, "b": 1, "c": 3}
    assert apportion(weights, 0) == {"a": 0, "b": 0, "c": 0}


@given(st.dictionaries(st.text(max_size=2), st.floats(0.01, 10), min_size=1, max_size=6), st.integers(0, 50))
def test_apportion_hands_out_everything(weights: dict[str, float], count: int) -> None:
    shares = apportion(weights, count)
    total = sum(weights.values())
    assert sum(shares.values()) == count
    for key, share in shares.items():
        assert abs(share - count * weights[key] / total) < 1 + 1e-6


def test_every_task_comes_once_before_any_comes_again() -> None:
    register_toy_envs()
    tasks = [scenario_id for scenario_id, _ in tasks_of(PARITY_ID, 0, "train")]
    requests = TaskSampler(PARITY_ID, 0, samples=1, seed=0).draw(2 * len(tasks))
    first, second = requests[: len(tasks)], requests[len(tasks) :]
    assert sorted(request.scenario_id for request in first) == sorted(tasks)
    assert [request.scenario_id for request in first] == [request.scenario_id for request in second]
    assert len({request.group_id for request in requests}) == 2 * len(tasks)
    assert {request.user_seed for request in first}.isdisjoint(request.user_seed for request in second)


def test_members_share_all_but_their_sampling_seed() -> None:
    pairs = sampler().draw(6)
    for one, other in zip(pairs[::2], pairs[1::2], strict=True):
        assert (one.group_id, one.scenario_id, one.user_seed) == (other.group_id, other.scenario_id, other.user_seed)
        assert one.sampling_seed != other.sampling_seed


def test_to_begin_with_kinds_come_by_their_share() -> None:
    shares = Counter(KINDS.values())
    expected = apportion({kind: float(count) for kind, count in sorted(shares.items())}, 20)
    assert drawn_kinds(sampler().draw(20)) == {kind: count for kind, count in expected.items() if count}


def test_what_is_solved_half_the_time_comes_most() -> None:
    tasks = sampler()
    turns = iter(range(10_000))
    for _ in range(4):
        requests = tasks.draw(20)
        tasks.observe(played(requests, lambda kind: kind != "time" or next(turns) % 2 == 0))
    rates = tasks.success_rates()
    assert rates["time"] == pytest.approx(0.5, abs=0.05)
    assert min(rates[kind] for kind in rates if kind != "time") > 0.9
    kinds = drawn_kinds(tasks.draw(20))
    assert kinds["time"] > 12
    assert all(kinds[kind] for kind in rates), "what is mastered is still looked at"
    plain = sampler(by_learnability=False)
    plain.observe(played(plain.draw(20), lambda kind: kind != "time"))
    assert drawn_kinds(plain.draw(20)) == drawn_kinds(sampler().draw(20))


def test_success_is_counted_with_a_fading_memory() -> None:
    tasks = sampler()
    requests = [request for request in tasks.draw(20) if KINDS[request.scenario_id] == "time"][:4]
    tasks.observe(played(requests, lambda _: True))
    # One success and one failure are assumed; four successes: 5 of 6. Then they fade by 0.7: (1 + 2.8) / (2 + 2.8).
    assert tasks.success_rates()["time"] == pytest.approx(5 / 6)
    tasks.observe([])
    assert tasks.success_rates()["time"] == pytest.approx(3.8 / 4.8)
    tasks.observe(played(requests, lambda _: False, level=2))
    assert tasks.success_rates()["time"] == pytest.approx((1 + 4 * 0.49) / (2 + 4 * 0.49)), "another level's do not count"


def test_a_restored_sampler_goes_on_where_it_was() -> None:
    tasks, restored = sampler(), sampler()
    tasks.observe(played(tasks.draw(7), lambda kind: kind == "price"))
    restored.load_state_dict(tasks.state_dict())
    assert restored.draw(9) == tasks.draw(9)
    assert restored.success_rates() == tasks.success_rates()
