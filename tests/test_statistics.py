"""Intervals and tests against numbers worked out by hand, and their coverage on simulated evaluations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slmagent.evaluation.comparison import compare, mcnemar_exact, sign_flip_test
from slmagent.evaluation.statistics import (
    bootstrap_means,
    mean_interval,
    pass_at_k,
    pass_hat_k,
    pooled_interval,
    success_interval,
    task_mean_interval,
    wilson_interval,
)

binary_outcomes = st.lists(st.booleans(), min_size=1, max_size=30).map(
    lambda wins: {f"t{i}": (float(win),) for i, win in enumerate(wins)}
)


def outcomes(*rates: float) -> dict[str, tuple[float, ...]]:
    return {f"t{i}": (rate,) for i, rate in enumerate(rates)}


# ---- proportions and means --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    # (p + z^2/2n -+ z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n) with z = 1.959964
    [(8, 10, 0.490162, 0.943318), (0, 10, 0.0, 0.277533), (10, 10, 0.722467, 1.0), (50, 100, 0.403832, 0.596168)],
)
def test_wilson_by_hand(successes: int, n: int, low: float, high: float) -> None:
    interval = wilson_interval(successes, n)
    assert interval.estimate == successes / n
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=1e-6)
    assert (interval.n, interval.method) == (n, "wilson")


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_stays_inside_and_around(case: tuple[int, int]) -> None:
    interval = wilson_interval(*case)
    assert interval.low is not None
    assert interval.high is not None
    assert 0 <= interval.low <= interval.estimate + 1e-12
    assert interval.estimate - 1e-12 <= interval.high <= 1


@pytest.mark.parametrize(("successes", "n"), [(1, 0), (-1, 5), (6, 5)])
def test_wilson_refuses_nonsense(successes: int, n: int) -> None:
    with pytest.raises(ValueError, match=f"actual {successes} of {n}"):
        wilson_interval(successes, n)


def test_mean_interval_by_hand() -> None:
    interval = mean_interval([1.0, 2.0, 3.0])  # sd 1, t(0.975, 2) = 4.302653, half = 4.302653 / sqrt(3)
    assert interval.estimate == 2.0
    assert (interval.low, interval.high) == pytest.approx((2 - 2.484138, 2 + 2.484138), abs=1e-5)
    wider = mean_interval([1.0, 2.0, 3.0], confidence=0.99)  # t(0.995, 2) = 9.924843
    assert wider.high == pytest.approx(2 + 9.924843 / math.sqrt(3), abs=1e-5)


def test_a_single_value_has_no_interval_and_none_no_mean() -> None:
    interval = mean_interval([5.0])
    assert (interval.estimate, interval.low, interval.high, interval.method) == (5.0, None, None, "none")
    with pytest.raises(ValueError, match="at least one value"):
        mean_interval([])
    with pytest.raises(ValueError, match="0 < confidence < 1, actual 95"):
        mean_interval([1.0, 2.0], confidence=95)


def test_task_means_count_every_task_the_same() -> None:
    interval = task_mean_interval({"a": [0.0, 1.0, 2.0, 3.0], "b": [4.5]})
    assert interval.estimate == 3.0  # (1.5 + 4.5) / 2, not 10.5 / 5
    assert interval.n == 2


def test_success_interval_is_wilson_for_single_trials_and_clustered_for_several() -> None:
    assert success_interval(outcomes(1, 1, 0, 1)) == wilson_interval(3, 4)
    # Ten tasks, each played 20 times with the same result every time: 200 episodes, but only ten independent facts.
    clustered = success_interval({f"t{i}": [float(i < 5)] * 20 for i in range(10)})
    alone = wilson_interval(100, 200)
    assert clustered.estimate == 0.5
    assert clustered.method == "task bootstrap"
    assert clustered.n == 10
    assert clustered.low is not None
    assert alone.low is not None
    assert clustered.low < alone.low - 0.1
    assert success_interval({"a": [1.0] * 9, "b": [1.0] * 9}) == wilson_interval(2, 2)


def test_pass_at_k_and_pass_hat_k_by_hand() -> None:
    trials = {"a": [1.0, 1.0, 0.0, 0.0], "b": [1.0, 1.0, 1.0, 1.0]}
    assert pass_at_k(trials, 1) == pass_hat_k(trials, 1) == pytest.approx(0.75)
    assert pass_at_k(trials, 2) == pytest.approx((1 - 1 / 6 + 1) / 2)  # C(2,2)/C(4,2) = 1/6
    assert pass_hat_k(trials, 2) == pytest.approx((1 / 6 + 1) / 2)
    assert pass_hat_k(trials, 3) == pytest.approx(0.5)
    with pytest.raises(ValueError, match=r"k within 1\.\.4 .* actual 5"):
        pass_at_k(trials, 5)


# ---- bootstrap over tasks and seeds -----------------------------------------------------------------------------------------


def test_bootstrap_moments_match_theory() -> None:
    grid = np.array([[0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0]])
    (means,) = bootstrap_means([grid], resamples=40_000)
    assert means.mean() == pytest.approx(0.5, abs=0.005)
    assert means.var() == pytest.approx(grid.var() / 8, rel=0.03)  # variance of a mean of 8 draws from these values
    # A pure seed effect: the unbiased variance of a mean of three seeds, whatever the tasks.
    seeds = np.repeat([[0.0], [0.5], [1.0]], 8, axis=1)
    (means,) = bootstrap_means([seeds], resamples=40_000)
    assert means.var() == pytest.approx(seeds[:, 0].var(ddof=1) / 3, rel=0.03)


def test_one_draw_of_tasks_serves_both_policies_and_seeds_only_when_paired() -> None:
    rng = np.random.default_rng(0)
    grid = rng.random((4, 20))
    first, second = bootstrap_means([grid, grid + 0.25], resamples=500, paired_seeds=True)
    assert second - first == pytest.approx(0.25)
    first, second = bootstrap_means([grid, grid + 0.25], resamples=500)
    assert np.std(second - first) > 0.01
    first, second = bootstrap_means([grid[:1], grid[:1] + 0.25], resamples=2_500)  # crosses a chunk border
    assert second - first == pytest.approx(0.25)
    assert len(first) == 2_500


def test_pooled_interval_is_wider_than_one_that_ignores_seeds() -> None:
    tasks = [f"t{i}" for i in range(100)]
    runs = [{task: (float(i < wins),) for i, task in enumerate(tasks)} for wins in (50, 70, 90)]
    pooled = pooled_interval(runs)
    assert pooled.estimate == pytest.approx(0.7)
    assert (pooled.method, pooled.n) == ("task and seed bootstrap", 100)
    single = pooled_interval([runs[1]])
    assert single.method == "task bootstrap"
    assert pooled.low is not None
    assert single.low is not None
    assert pooled.low < single.low
    assert pooled_interval(runs) == pooled  # deterministic


def test_runs_without_common_tasks_are_refused() -> None:
    with pytest.raises(ValueError, match="no task in common"):
        pooled_interval([{"a": (1.0,)}, {"b": (1.0,)}])
    with pytest.raises(ValueError, match="at least one trial of every task, actual none of 'a'"):
        pooled_interval([{"a": ()}])


# ---- paired comparison ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("only_a", "only_b", "p"), [(0, 0, 1.0), (5, 0, 2 / 32), (6, 0, 2 / 64), (1, 9, 22 / 1024), (4, 4, 1)])
def test_mcnemar_by_hand(only_a: int, only_b: int, p: float) -> None:
    assert mcnemar_exact(only_a, only_b) == pytest.approx(p)
    assert mcnemar_exact(only_b, only_a) == pytest.approx(p)


def test_sign_flip_by_hand() -> None:
    assert sign_flip_test([0.5, 0.5, 1.0]) == (True, pytest.approx(2 / 8))
    assert sign_flip_test([1 / 3, 2 / 3, -1 / 3]) == (True, pytest.approx(6 / 8))  # sums of +-1 +-2 +-1: six of eight reach 2
    assert sign_flip_test([0.0, 0.0]) == (True, 1.0)
    assert sign_flip_test([]) == (True, 1.0)


@given(st.integers(0, 15), st.integers(0, 15))
def test_sign_flip_of_single_trials_is_mcnemar(only_a: int, only_b: int) -> None:
    exact, p = sign_flip_test([1.0] * only_a + [-1.0] * only_b + [0.0] * 3)
    assert exact
    assert p == pytest.approx(mcnemar_exact(only_a, only_b), abs=1e-12)


def test_sign_flip_is_sampled_for_arbitrary_numbers() -> None:
    values = list(np.random.default_rng(0).normal(0.9, 1, 12))
    exact, p = sign_flip_test(values)
    signs = np.array(np.meshgrid(*[[-1, 1]] * 12)).reshape(12, -1)
    truth = float((np.abs(values @ signs) >= abs(sum(values)) - 1e-12).mean())
    assert not exact
    assert p == pytest.approx(truth, abs=0.01)


@given(binary_outcomes, st.integers(1, 3))
@settings(max_examples=30, deadline=None)
def test_identical_policies_are_not_distinguishable(results: dict[str, tuple[float, ...]], seeds: int) -> None:
    comparison = compare([results] * seeds, [results] * seeds, resamples=200)
    assert comparison.difference.estimate == 0.0
    assert comparison.p_value == 1.0
    assert not comparison.distinguishable
    assert comparison.verdict == "not distinguishable"
    assert (comparison.wins, comparison.losses) == (0, 0)


def test_a_clear_difference_is_found_and_signed() -> None:
    better, worse = outcomes(*[1] * 18, 0, 0), outcomes(*[1] * 8, *[0] * 12)
    comparison = compare([better], [worse], labels=("RL", "SFT"))
    assert comparison.difference.estimate == pytest.approx(0.5)
    assert (comparison.wins, comparison.losses, comparison.tasks) == (10, 0, 20)
    assert comparison.test == "exact McNemar"
    assert comparison.p_value == pytest.approx(2 / 1024)
    assert comparison.verdict == "RL better"
    assert compare([worse], [better], labels=("SFT", "RL")).verdict == "RL better"


def test_three_wins_of_three_are_not_enough() -> None:
    comparison = compare([outcomes(1, 1, 1)], [outcomes(0, 0, 0)])
    # Wilson's upper end for 0 of 3 is 0.561497: the bootstrap alone would have said [1, 1].
    assert (comparison.difference.low, comparison.difference.high) == (pytest.approx(1 - 2 * 0.561497, abs=1e-6), 1.0)
    assert comparison.difference.method == "bound without spread"
    assert comparison.p_value == pytest.approx(0.25)
    assert not comparison.distinguishable


def test_agreement_on_all_tasks_is_no_proof_of_equality() -> None:
    comparison = compare([outcomes(*[1] * 40)], [outcomes(*[1] * 40)])
    assert comparison.difference.estimate == 0.0
    assert (comparison.difference.low, comparison.difference.high) == pytest.approx((-0.087623, 0.087623), abs=1e-5)
    returns = compare([outcomes(*[3.5] * 4)], [outcomes(*[1.5] * 4)])  # not rates: nothing is known about what is possible
    assert (returns.difference.low, returns.difference.high) == (2.0, 2.0)


def test_several_trials_use_the_exact_sign_flip_and_missing_tasks_are_counted() -> None:
    a = {"x": [1.0, 1.0], "y": [1.0, 0.0], "z": [1.0, 1.0], "only a": [1.0]}
    b = {"x": [0.0, 0.0], "y": [0.0, 0.0], "z": [0.0, 1.0]}
    comparison = compare([a], [b])
    assert (comparison.tasks, comparison.unpaired_tasks) == (3, 1)
    assert comparison.test == "exact sign flip"
    assert comparison.difference.estimate == pytest.approx((1 + 0.5 + 0.5) / 3)
    assert comparison.p_value == pytest.approx(0.25)


def test_pairing_seeds_needs_equal_numbers() -> None:
    with pytest.raises(ValueError, match="actual 2 and 1"):
        compare([outcomes(1)] * 2, [outcomes(1)], paired_seeds=True)


def test_coverage_and_false_alarms_on_simulated_evaluations() -> None:
    """Two policies of equal skill on tasks of different difficulty: at most 5 % alarms, and the interval covers 0."""
    rng = np.random.default_rng(1)
    alarms = covered = found = 0
    runs = 300
    for _ in range(runs):
        skill = rng.beta(1, 1, size=64)
        first, second = (outcomes(*(rng.random(64) < skill)) for _ in range(2))
        same = compare([first], [second], resamples=400)
        alarms += same.distinguishable
        assert same.difference.low is not None
        assert same.difference.high is not None
        covered += same.difference.low <= 0 <= same.difference.high
        stronger = outcomes(*(rng.random(64) < np.minimum(1, skill + 0.3)))
        found += compare([stronger], [first], resamples=400).verdict == "A better"
    assert alarms / runs <= 0.06
    assert covered / runs >= 0.91
    assert found / runs >= 0.7


@pytest.mark.parametrize(("spread", "at_least"), [(0.02, 0.9), (0.08, 0.85)])
def test_pooled_coverage_with_three_seeds(spread: float, at_least: float) -> None:
    """The pooled interval covers the method's true rate far more often than one seed's does, if not always 95 times in 100."""
    rng = np.random.default_rng(2)
    covered = {"pooled": 0, "single": 0}
    runs = 300
    for _ in range(runs):
        rates = np.clip(0.7 + rng.normal(0, spread, size=3), 0, 1)
        grid = [outcomes(*(rng.random(200) < rate)) for rate in rates]
        for name, seeds in (("pooled", grid), ("single", grid[:1])):
            interval = pooled_interval(seeds, resamples=300)
            assert interval.low is not None
            assert interval.high is not None
            covered[name] += interval.low <= 0.7 <= interval.high
    assert covered["pooled"] / runs >= at_least
    assert covered["pooled"] > covered["single"]
