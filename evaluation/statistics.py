"""Intervals for evaluations: pure functions, deterministic for given arguments.

The unit that is sampled is the *task*. Episodes of one task are not independent, so wherever a task was played more than
once, tasks are what is resampled, never episodes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

Outcomes = Mapping[str, Sequence[float]]
"""Task (scenario id) -> one number a trial: 1.0 or 0.0 for success, or a return."""
RESAMPLES = 10_000
_CHUNK = 1_000


@dataclass(frozen=True, slots=True)
class Interval:
    """A point estimate with a confidence interval."""

    estimate: float
    low: float | None
    """Lower end; None when the data cannot tell (a mean of one value)."""
    high: float | None
    n: int
    """Number of independent units behind it: episodes, or tasks when a task was played several times."""
    method: str
    """How it was made: `wilson`, `t`, `task bootstrap`, `task and seed bootstrap`, `bound without spread` or `none`."""
    confidence: float = 0.95


def wilson_interval(successes: int, n: int, *, confidence: float = 0.95) -> Interval:
    """Wilson score interval of a proportion (Wilson 1927): never outside [0, 1], sensible at 0 and at n.

    Raises:
        ValueError: `n` is not positive or `successes` is not within 0..n.
    """
    if n < 1 or not 0 <= successes <= n:
        raise ValueError(f"expected 0 <= successes <= n and n >= 1, actual {successes} of {n}")
    from scipy.stats import binomtest

    ends = binomtest(successes, n).proportion_ci(_checked(confidence), method="wilson")
    return Interval(successes / n, float(ends.low), float(ends.high), n, "wilson", confidence)


def mean_interval(values: Sequence[float], *, confidence: float = 0.95) -> Interval:
    """Mean with Student's t interval; without an interval for a single value.

    Raises:
        ValueError: No values.
    """
    data = np.asarray(values, dtype=np.float64)
    if data.size == 0:
        raise ValueError("expected at least one value, actual none")
    _checked(confidence)
    mean = float(data.mean())
    if data.size == 1:
        return Interval(mean, None, None, 1, "none", confidence)
    from scipy.stats import t

    half = float(t.ppf(0.5 + confidence / 2, data.size - 1)) * float(data.std(ddof=1)) / math.sqrt(data.size)
    return Interval(mean, mean - half, mean + half, int(data.size), "t", confidence)


def task_mean_interval(outcomes: Outcomes, *, confidence: float = 0.95) -> Interval:
    """Mean over tasks of each task's mean over its trials, with a t interval over tasks (every task counts the same)."""
    return mean_interval(list(_task_means(outcomes).values()), confidence=confidence)


def success_interval(outcomes: Outcomes, *, confidence: float = 0.95) -> Interval:
    """Success rate with an interval that respects tasks.

    One trial a task: Wilson. Several: the mean over tasks of each task's rate, with a percentile bootstrap over tasks.
    Where that has no width (every task succeeds always, or never), Wilson with the number of tasks as n.

    Args:
        outcomes: Task -> successes (1.0 or 0.0) of its trials; at least one task, at least one trial each.
    """
    means = _task_means(outcomes)
    rates = np.array(list(means.values()))
    single = all(len(trials) == 1 for trials in outcomes.values())
    if single or bool((rates == 0.0).all() or (rates == 1.0).all()):
        return wilson_interval(round(float(rates.sum())), len(rates), confidence=confidence)
    return pooled_interval([outcomes], confidence=confidence, bounds=(0.0, 1.0))


def pass_at_k(outcomes: Outcomes, k: int) -> float:
    """Chance that at least one of k trials of a task succeeds: mean of 1 - C(n-c, k) / C(n, k) (Chen et al. 2021, unbiased).

    Args:
        outcomes: Task -> successes of its n trials, c of them 1.0.
        k: Number of trials, at most the smallest n.
    """
    return _mean_over_tasks(outcomes, k, lambda n, c: 1 - math.comb(n - c, k) / math.comb(n, k))


def pass_hat_k(outcomes: Outcomes, k: int) -> float:
    """Chance that all of k trials of a task succeed: mean of C(c, k) / C(n, k) (Yao et al. 2024, "pass^k", unbiased)."""
    return _mean_over_tasks(outcomes, k, lambda n, c: math.comb(c, k) / math.comb(n, k))


def pooled_interval(
    runs: Sequence[Outcomes],
    *,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
    bounds: tuple[float, float] = (-math.inf, math.inf),
) -> Interval:
    """Mean over several training seeds of one method, all evaluated on the same tasks.

    Trials of a task are averaged first, which gives a grid x[seed, task]. The estimate is the grid's mean. Each bootstrap
    replicate draws as many tasks as there are, with replacement, and independently as many seeds as there are, with
    replacement, and averages the grid over the drawn rows and columns (Owen 2007, the "pigeonhole" bootstrap for crossed
    factors); before that, the seeds' deviations from the common mean are stretched by sqrt(S / (S - 1)), because drawing
    from S seeds alone shows only (S - 1) / S of the variance between seeds. The interval is the percentile interval of the
    replicates. It speaks about new tasks and new training seeds of the same kind. Where seeds differ a lot, three of them
    cannot give 95 % coverage (see the simulation in tests/test_statistics.py); with one seed, the spread between seeds
    is not seen at all, and the interval is about this one model.

    Args:
        runs: One entry a seed; tasks that are not in every run are left out.
        confidence: Coverage aimed at.
        resamples: Number of bootstrap replicates.
        seed: Seeds the resampling.
        bounds: Where the interval is cut: (0, 1) for a rate.
    """
    grid = outcome_grid(runs, common_tasks(runs))
    (means,) = bootstrap_means([grid], resamples=resamples, seed=seed)
    means = np.clip(means, *bounds)
    return percentile_interval(float(grid.mean()), means, tasks=grid.shape[1], seeds=len(runs), confidence=confidence)


def common_tasks(runs: Sequence[Outcomes]) -> list[str]:
    """Tasks that every run has, sorted.

    Raises:
        ValueError: No run, or no task in common.
    """
    if not runs:
        raise ValueError("expected at least one run, actual none")
    common = set(runs[0]).intersection(*runs[1:])
    if not common:
        raise ValueError("the runs have no task in common, so they cannot be compared; evaluate them on the same tasks")
    return sorted(common)


def outcome_grid(runs: Sequence[Outcomes], tasks: Sequence[str]) -> np.ndarray:
    """Means over trials, shape [seeds, tasks]."""
    means = [_task_means({task: run[task] for task in tasks}) for run in runs]
    return np.array([[mean[task] for task in tasks] for mean in means])


def bootstrap_means(
    grids: Sequence[np.ndarray], *, resamples: int = RESAMPLES, seed: int = 0, paired_seeds: bool = False
) -> list[np.ndarray]:
    """Bootstrap replicates of the mean of each grid, as `pooled_interval` says; one draw of tasks serves all grids.

    Args:
        grids: Arrays of shape [seeds, tasks], with equally many tasks.
        resamples: Number of replicates R.
        seed: Seeds the draws.
        paired_seeds: One draw of seeds serves all grids, too (they need equally many).

    Returns:
        One array of shape [R] a grid.
    """
    if resamples < 1:
        raise ValueError(f"expected resamples >= 1, actual {resamples}")
    rng = np.random.default_rng(seed)
    grids = [_stretch_seeds(grid) for grid in grids]
    chunks: list[list[np.ndarray]] = [[] for _ in grids]
    for start in range(0, resamples, _CHUNK):
        count = min(_CHUNK, resamples - start)
        task_weights = _drawn_shares(rng, grids[0].shape[1], count)
        seed_weights = _drawn_shares(rng, grids[0].shape[0], count)
        for index, grid in enumerate(grids):
            if index and not paired_seeds:
                seed_weights = _drawn_shares(rng, grid.shape[0], count)
            chunks[index].append(np.einsum("rn,rn->r", seed_weights @ grid, task_weights))
    return [np.concatenate(parts) for parts in chunks]


def percentile_interval(
    estimate: float, replicates: np.ndarray, *, tasks: int, seeds: int, confidence: float = 0.95
) -> Interval:
    """The percentile bootstrap interval, with the name of what was resampled."""
    tail = 50 * (1 - _checked(confidence))
    low, high = (float(end) for end in np.percentile(replicates, [tail, 100 - tail]))
    method = "task bootstrap" if seeds == 1 else "task and seed bootstrap"
    return Interval(estimate, min(low, estimate), max(high, estimate), tasks, method, confidence)


def _stretch_seeds(grid: np.ndarray) -> np.ndarray:
    """Moves the seeds' means apart, so that drawing seeds with replacement has the variance of new seeds."""
    seeds = grid.shape[0]
    if seeds == 1:
        return grid
    deviations = grid.mean(axis=1, keepdims=True) - grid.mean()
    return grid + deviations * (math.sqrt(seeds / (seeds - 1)) - 1)


def _drawn_shares(rng: np.random.Generator, units: int, count: int) -> np.ndarray:
    """Share of each unit in `count` draws of as many units as there are, with replacement; shape [count, units]."""
    return rng.multinomial(units, np.full(units, 1 / units), size=count) / units


def _checked(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise ValueError(f"expected 0 < confidence < 1, actual {confidence}")
    return confidence


def _task_means(outcomes: Outcomes) -> dict[str, float]:
    if not outcomes:
        raise ValueError("expected at least one task, actual none")
    for task, trials in outcomes.items():
        if not len(trials):
            raise ValueError(f"expected at least one trial of every task, actual none of {task!r}")
    return {task: float(np.mean(np.asarray(trials, dtype=np.float64))) for task, trials in outcomes.items()}


def _mean_over_tasks(outcomes: Outcomes, k: int, rate: Callable[[int, int], float]) -> float:
    fewest = min((len(trials) for trials in outcomes.values()), default=0)
    if not 1 <= k <= fewest:
        raise ValueError(f"expected k within 1..{fewest} (the fewest trials of a task), actual {k}")
    return float(np.mean([rate(len(trials), round(float(sum(trials)))) for trials in outcomes.values()]))
