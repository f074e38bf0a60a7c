"""Whether one policy is better than another on the same tasks: a paired interval and an exact test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from slmagent.evaluation.statistics import (
    RESAMPLES,
    Interval,
    Outcomes,
    bootstrap_means,
    common_tasks,
    outcome_grid,
    percentile_interval,
    wilson_interval,
)

MAX_EXACT_STATES = 200_000
"""Sign-flip tests with at most this many reachable sums are exact; beyond it they are sampled."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Policy A against policy B on the same tasks; differences are A minus B."""

    label_a: str
    label_b: str
    mean_a: float
    mean_b: float
    difference: Interval
    p_value: float
    """Two-sided, for "the two are exchangeable on every task"."""
    test: Literal["exact McNemar", "exact sign flip", "sampled sign flip"]
    tasks: int
    """Tasks both were evaluated on."""
    wins: int
    """Tasks on which A's mean is higher."""
    losses: int
    unpaired_tasks: int = 0
    """Tasks that only one of them was evaluated on; left out."""

    @property
    def distinguishable(self) -> bool:
        """The interval excludes 0 *and* the p-value is below 1 - confidence; a bootstrap of few tasks alone is too narrow."""
        low, high = self.difference.low, self.difference.high
        excludes_zero = low is not None and high is not None and (low > 0 or high < 0)
        return excludes_zero and self.p_value < 1 - self.difference.confidence

    @property
    def verdict(self) -> str:
        """`A better`, `B better` (with their labels) or `not distinguishable`."""
        if not self.distinguishable:
            return "not distinguishable"
        return f"{self.label_a if self.difference.estimate > 0 else self.label_b} better"


def compare(
    runs_a: Sequence[Outcomes],
    runs_b: Sequence[Outcomes],
    *,
    labels: tuple[str, str] = ("A", "B"),
    paired_seeds: bool = False,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Comparison:
    """Difference of two methods on the same tasks, each with one or several training seeds.

    The interval is a paired bootstrap: each replicate draws tasks with replacement and uses the same draw for A and for B,
    so what makes a task hard for both cancels. Training seeds are drawn as in `pooled_interval`, separately for A and for B,
    or with one draw for both when `paired_seeds` (seed i of A and seed i of B have something in common, such as the
    checkpoint they started from). Where all tasks show the same difference, a bootstrap has no width and would claim
    certainty; for rates, the interval then is what is left possible when at most the share U of all tasks is different,
    U being the Wilson upper end for none of the tasks at hand.

    The p-value is that of a two-sided sign-flip test on the tasks' differences (trials and seeds averaged): it holds for
    these models, not for new training seeds. With one model each and one trial a task it is McNemar's exact test.

    Args:
        runs_a: Outcomes by task, one entry a training seed.
        runs_b: The same for the other method.
        labels: Names of the two.
        paired_seeds: Draw the same seeds for both; needs equally many.
        confidence: Coverage aimed at.
        resamples: Number of bootstrap replicates.
        seed: Seeds the resampling.

    Raises:
        ValueError: No common task, or paired seeds of different number.
    """
    if paired_seeds and len(runs_a) != len(runs_b):
        raise ValueError(f"expected as many seeds of A as of B to pair them, actual {len(runs_a)} and {len(runs_b)}")
    tasks = common_tasks([*runs_a, *runs_b])
    seen = set[str]().union(*runs_a, *runs_b)
    grid_a, grid_b = outcome_grid(runs_a, tasks), outcome_grid(runs_b, tasks)
    differences = grid_a.mean(axis=0) - grid_b.mean(axis=0)
    means_a, means_b = bootstrap_means([grid_a, grid_b], resamples=resamples, seed=seed, paired_seeds=paired_seeds)
    estimate, replicates = float(differences.mean()), means_a - means_b
    if float(np.ptp(replicates)) < 1e-12 and _all_rates(grid_a, grid_b):
        interval = _bound_without_spread(estimate, len(tasks), confidence)
    else:
        seeds = max(len(runs_a), len(runs_b))
        interval = percentile_interval(estimate, replicates, tasks=len(tasks), seeds=seeds, confidence=confidence)
    single = all(len(run[task]) == 1 for run in [*runs_a, *runs_b] for task in tasks) and len(runs_a) == len(runs_b) == 1
    binary = bool(np.isin(np.concatenate([grid_a, grid_b]), (0.0, 1.0)).all())
    if single and binary:
        test, p_value = "exact McNemar", mcnemar_exact(int((differences > 0).sum()), int((differences < 0).sum()))
    else:
        exact, p_value = sign_flip_test(differences.tolist(), seed=seed)
        test = "exact sign flip" if exact else "sampled sign flip"
    tolerance = 1e-9
    return Comparison(
        label_a=labels[0],
        label_b=labels[1],
        mean_a=float(grid_a.mean()),
        mean_b=float(grid_b.mean()),
        difference=interval,
        p_value=p_value,
        test=test,
        tasks=len(tasks),
        wins=int((differences > tolerance).sum()),
        losses=int((differences < -tolerance).sum()),
        unpaired_tasks=len(seen) - len(tasks),
    )


def mcnemar_exact(only_a: int, only_b: int) -> float:
    """Two-sided exact p-value of McNemar's test.

    Args:
        only_a: Tasks on which only A succeeded.
        only_b: Tasks on which only B succeeded.
    """
    if only_a < 0 or only_b < 0:
        raise ValueError(f"expected counts >= 0, actual {only_a} and {only_b}")
    if only_a + only_b == 0:
        return 1.0
    from scipy.stats import binomtest

    return float(binomtest(only_a, only_a + only_b, 0.5).pvalue)


def sign_flip_test(differences: Sequence[float], *, samples: int = 20_000, seed: int = 0) -> tuple[bool, float]:
    """Two-sided randomisation test of "each difference is as likely as its opposite".

    Exact, by adding up the whole distribution of the sum, when the differences are multiples of a common fraction (means of few
    trials are); otherwise from `samples` random flips, with the observed one counted in.

    Returns:
        Whether the p-value is exact, and the p-value: the chance of a sum at least as far from 0 as the observed one.
    """
    values = np.asarray([value for value in differences if value != 0.0], dtype=np.float64)
    if values.size == 0:
        return True, 1.0
    whole = _as_integers(values)
    if whole is not None and 2 * int(np.abs(whole).sum()) + 1 <= MAX_EXACT_STATES:
        span = int(np.abs(whole).sum())
        chances = np.zeros(2 * span + 1)  # index = sum + span
        chances[span] = 1.0
        for step in np.abs(whole):
            chances = 0.5 * (np.roll(chances, step) + np.roll(chances, -step))  # never wraps: the sums stay within the span
        sums = np.arange(-span, span + 1)
        return True, min(1.0, float(chances[np.abs(sums) >= abs(int(whole.sum()))].sum()))
    rng = np.random.default_rng(seed)
    signs = rng.integers(0, 2, size=(samples, values.size), dtype=np.int8) * 2 - 1
    extreme = np.abs(signs @ values) >= abs(float(values.sum())) - 1e-12 * float(np.abs(values).sum())
    return False, float((extreme.sum() + 1) / (samples + 1))


def _all_rates(*grids: np.ndarray) -> bool:
    return all(bool(((grid >= 0) & (grid <= 1)).all()) for grid in grids)


def _bound_without_spread(difference: float, tasks: int, confidence: float) -> Interval:
    unseen = wilson_interval(0, tasks, confidence=confidence).high or 0.0
    low, high = (max(-1.0, min(1.0, difference * (1 - unseen) + sign * unseen)) for sign in (-1, 1))
    return Interval(difference, min(low, difference), max(high, difference), tasks, "bound without spread", confidence)


def _as_integers(values: np.ndarray) -> np.ndarray | None:
    """The values times the smallest of 1..5040 that makes them whole numbers, None if there is none."""
    for factor in (*range(1, 61), 120, 360, 420, 840, 2520, 5040):
        scaled = values * factor
        if np.abs(scaled - np.round(scaled)).max() < 1e-9 * max(1.0, float(np.abs(scaled).max())):
            return np.round(scaled).astype(np.int64)
    return None
