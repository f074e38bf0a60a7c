"""From trajectories to an `EvalResult`: every number of a report with its interval and how many episodes stand behind it."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from slmagent.evaluation.results import ComponentSummary, EvalResult, EvaluationError, TaskTrials
from slmagent.evaluation.statistics import (
    Interval,
    Outcomes,
    mean_interval,
    pass_at_k,
    pass_hat_k,
    pooled_interval,
    success_interval,
    task_mean_interval,
)
from slmagent.types import Trajectory


def evaluate(
    trajectories: Sequence[Trajectory],
    *,
    label: str,
    config: Mapping[str, Any] | None = None,
    confidence: float = 0.95,
    max_error_share: float = 0.1,
) -> EvalResult:
    """Evaluates one policy; see `evaluate_runs`."""
    return evaluate_runs([trajectories], label=label, config=config, confidence=confidence, max_error_share=max_error_share)


def evaluate_runs(
    runs: Sequence[Sequence[Trajectory]],
    *,
    label: str,
    config: Mapping[str, Any] | None = None,
    confidence: float = 0.95,
    max_error_share: float = 0.1,
) -> EvalResult:
    """Evaluates a method of which several models were trained, all on the same tasks.

    Args:
        runs: Episodes, one entry a training seed. The order within an entry does not matter.
        label: Name of the policy in tables.
        config: What the evaluation was made with; JSON data.
        confidence: Coverage of the intervals.
        max_error_share: Largest share of failed episodes that is accepted.

    Raises:
        EvaluationError: No episode, too many failed ones, an episode that is there twice, or episodes of several
            environments, levels or splits.
    """
    everything = [trajectory for run in runs for trajectory in run]
    env_id, level, split = _common_origin(everything, label)
    failed = [trajectory for trajectory in everything if trajectory.status != "ok"]
    messages = Counter(f"{trajectory.status}: {trajectory.error or 'no message'}" for trajectory in failed)
    if len(failed) > max_error_share * len(everything) or len(failed) == len(everything):
        (message, count), *_ = messages.most_common(1)
        raise EvaluationError(
            f"{len(failed)} of {len(everything)} episodes of {label!r} failed, at most {max_error_share:.0%} may; "
            f"most often ({count} times) with {message}"
        )
    sound = _sound_episodes(runs, label)
    played = [trajectory for run in sound for trajectory in run]

    def rate(flag: Callable[[Trajectory], bool]) -> Interval:
        return _rate_over(sound, flag, confidence)

    def mean(value: Callable[[Trajectory], float]) -> Interval:
        return _mean_over(sound, value, confidence)

    successes = tuple(_by_task(run, lambda t: float(t.success)) for run in sound)
    fewest = min(len(trials) for run in successes for trials in run.values())
    pooled: Outcomes = {f"{seed}/{task}": trials for seed, run in enumerate(successes) for task, trials in run.items()}
    return EvalResult(
        label=label,
        env_id=env_id,
        level=level,
        split=split,
        episodes=len(played),
        tasks=len(successes[0]),
        errors=len(failed),
        error_messages=dict(messages),
        success=rate(lambda t: t.success),
        mean_return=mean(lambda t: t.total_reward),
        return_std=statistics.stdev(t.total_reward for t in played) if len(played) > 1 else None,
        turns=mean(lambda t: float(len(t.turns))),
        tokens=mean(lambda t: float(t.num_trained_tokens)) if any(t.num_trained_tokens for t in played) else None,
        violations=rate(lambda t: t.stop_reason == "veto"),
        malformed=rate(lambda t: any(turn.parse_error is not None for turn in t.turns)),
        pass_at_k={str(k): pass_at_k(pooled, k) for k in range(1, fewest + 1)},
        pass_hat_k={str(k): pass_hat_k(pooled, k) for k in range(1, fewest + 1)},
        components=_components(sound, confidence),
        stop_reasons=dict(Counter(t.stop_reason for t in played).most_common()),
        by_kind=_by_kind(sound, confidence),
        refusals=rate_where(sound, _to_be_refused, confidence),
        runs=successes,
        config=dict(config or {}),
    )


def rate_where(
    runs: Sequence[Sequence[Trajectory]], condition: Callable[[Trajectory], bool], confidence: float = 0.95
) -> Interval | None:
    """Success rate among the episodes that meet a condition; None if none does."""
    chosen = [[trajectory for trajectory in run if condition(trajectory)] for run in runs]
    chosen = [run for run in chosen if run]
    return _rate_over(chosen, lambda t: t.success, confidence) if chosen else None


# ---- parts ------------------------------------------------------------------------------------------------------------------


def _common_origin(trajectories: Sequence[Trajectory], label: str) -> tuple[str, int, str]:
    origins = sorted({(trajectory.env_id, trajectory.level, trajectory.split) for trajectory in trajectories})
    if len(origins) == 1:
        return origins[0]
    if not origins:
        raise EvaluationError(f"there is no episode of {label!r} to evaluate")
    listed = "; ".join(f"{env_id} level {level} split {split}" for env_id, level, split in origins[:4])
    raise EvaluationError(f"expected episodes of one environment, level and split for {label!r}, actual {listed}")


def _sound_episodes(runs: Sequence[Sequence[Trajectory]], label: str) -> list[list[Trajectory]]:
    """Each run's episodes without failed ones, in order of trials; with several runs, those of tasks that all runs have."""
    asked = [{trajectory.scenario_id for trajectory in run} for run in runs]
    if any(tasks != asked[0] for tasks in asked):
        sizes = ", ".join(str(len(tasks)) for tasks in asked)
        raise EvaluationError(f"expected the same tasks for every training seed of {label!r}; they differ ({sizes} tasks)")
    sound = [[trajectory for trajectory in run if trajectory.status == "ok"] for run in runs]
    common = set.intersection(*({trajectory.scenario_id for trajectory in run} for run in sound))
    if not common:
        raise EvaluationError(f"no task of {label!r} was played without failure by every training seed")
    for run in sound:
        _check_episodes(run, label)
    return [
        sorted((t for t in run if t.scenario_id in common), key=lambda t: (t.scenario_id, t.user_seed, t.seed)) for run in sound
    ]


def _check_episodes(run: Sequence[Trajectory], label: str) -> None:
    trials = Counter((trajectory.scenario_id, trajectory.user_seed, trajectory.seed) for trajectory in run)
    (trial, count), *_ = trials.most_common(1)
    if count > 1:
        raise EvaluationError(
            f"expected every episode of {label!r} once, actual {count} times: task {trial[0]}, user seed {trial[1]}, "
            f"sampling seed {trial[2]}; was a file of episodes read twice?"
        )
    for trajectory in run:
        if not math.isfinite(trajectory.total_reward):
            raise EvaluationError(
                f"expected finite rewards, actual {trajectory.total_reward} in an episode of {label!r}, "
                f"task {trajectory.scenario_id}"
            )


def _by_task(run: Sequence[Trajectory], value: Callable[[Trajectory], float]) -> TaskTrials:
    trials: dict[str, list[float]] = {}
    for trajectory in run:
        trials.setdefault(trajectory.scenario_id, []).append(value(trajectory))
    return {task: tuple(values) for task, values in sorted(trials.items())}


def _rate_over(runs: Sequence[Sequence[Trajectory]], flag: Callable[[Trajectory], bool], confidence: float) -> Interval:
    tables = [_by_task(run, lambda t: float(flag(t))) for run in runs]
    if len(tables) == 1:
        return success_interval(tables[0], confidence=confidence)
    return pooled_interval(tables, confidence=confidence, bounds=(0.0, 1.0))


def _mean_over(runs: Sequence[Sequence[Trajectory]], value: Callable[[Trajectory], float], confidence: float) -> Interval:
    tables = [_by_task(run, value) for run in runs]
    if len(tables) == 1:
        return task_mean_interval(tables[0], confidence=confidence)
    return pooled_interval(tables, confidence=confidence)


def _components(runs: Sequence[Sequence[Trajectory]], confidence: float) -> dict[str, ComponentSummary]:
    """Means by component. Over training seeds, a seed's mean is the unit: a component may be absent on most tasks of one."""
    sums = [[_component_sums(trajectory) for trajectory in run] for run in runs]
    names = sorted({name for run in sums for paid in run for name in paid})
    summaries: dict[str, ComponentSummary] = {}
    for name in names:
        tables = []
        for run, paid in zip(runs, sums, strict=True):
            having = [(trajectory, values[name]) for trajectory, values in zip(run, paid, strict=True) if name in values]
            trials: dict[str, list[float]] = {}
            for trajectory, amount in having:
                trials.setdefault(trajectory.scenario_id, []).append(amount)
            if trials:
                tables.append(trials)
        episodes = sum(len(amounts) for table in tables for amounts in table.values())
        if len(tables) == 1:
            interval = task_mean_interval(tables[0], confidence=confidence)
        else:
            interval = mean_interval([task_mean_interval(table).estimate for table in tables], confidence=confidence)
        summaries[name] = ComponentSummary(interval, episodes)
    return summaries


def _component_sums(trajectory: Trajectory) -> dict[str, float]:
    sums: dict[str, float] = {}
    for turn in trajectory.turns:
        for name, amount in turn.reward_components.items():
            sums[name] = sums.get(name, 0.0) + amount
    return sums


def _to_be_refused(trajectory: Trajectory) -> bool:
    return str(trajectory.metadata.get("task_kind", "")).startswith("refuse")


def _by_kind(runs: Sequence[Sequence[Trajectory]], confidence: float) -> dict[str, Interval]:
    kinds = {str(t.metadata["task_kind"]) for run in runs for t in run if t.metadata.get("task_kind") is not None}
    intervals = {
        kind: rate_where(runs, lambda t, kind=kind: t.metadata.get("task_kind") == kind, confidence) for kind in sorted(kinds)
    }
    return {kind: interval for kind, interval in intervals.items() if interval is not None}
