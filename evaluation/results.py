"""`EvalResult`: how a policy did, in a form that tables, reports and result files share."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from slmagent.errors import RecordError, SlmagentError
from slmagent.evaluation.comparison import Comparison, compare
from slmagent.evaluation.statistics import Interval
from slmagent.plain import PlainError, from_plain, to_plain

FORMAT = "slmagent.evaluation/1"
TaskTrials = Mapping[str, tuple[float, ...]]


class EvaluationError(SlmagentError):
    """Episodes that give no sound result: none, too many failed ones, or ones that do not belong together."""


@dataclass(frozen=True, slots=True)
class ComponentSummary:
    """What one reward component paid."""

    mean: Interval
    """Weighted sum over an episode, averaged over the episodes in which the component had something to check."""
    episodes: int
    """Number of those episodes."""


@dataclass(frozen=True, slots=True)
class EvalResult:
    """How one policy (or one method, over several training seeds) did on the tasks of one environment, level and split.

    Failed episodes are counted in `errors` and in nothing else. Intervals are over tasks; `Interval.method` says how.
    """

    label: str
    env_id: str
    level: int
    split: str
    episodes: int
    """Episodes that were played to an end."""
    tasks: int
    errors: int
    """Episodes in which the environment or the agent failed."""
    error_messages: Mapping[str, int]
    success: Interval
    mean_return: Interval
    return_std: float | None
    """Standard deviation of the return over episodes; None for a single episode."""
    turns: Interval
    """Actions an episode."""
    tokens: Interval | None
    """Sampled tokens an episode; None for agents that do not sample tokens."""
    violations: Interval
    """Share of episodes that a broken policy rule ended."""
    malformed: Interval
    """Share of episodes with at least one malformed call."""
    pass_at_k: Mapping[str, float]
    """k -> chance that at least one of k trials succeeds, for k up to the fewest trials of a task."""
    pass_hat_k: Mapping[str, float]
    """k -> chance that all of k trials succeed."""
    components: Mapping[str, ComponentSummary]
    stop_reasons: Mapping[str, int]
    by_kind: Mapping[str, Interval]
    """Success by kind of task, where the environment names kinds (`metadata["task_kind"]`)."""
    refusals: Interval | None
    """Success on tasks whose right outcome is a refusal (a kind that begins with "refuse"); None if there are none."""
    runs: tuple[TaskTrials, ...]
    """One entry a training seed: task -> successes of its trials, ordered by user seed and sampling seed."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """What the evaluation was made with: agent, seeds, temperature, versions."""


def compare_results(a: EvalResult, b: EvalResult, *, paired_seeds: bool = False) -> Comparison:
    """Paired difference of success, A minus B; see `slmagent.evaluation.comparison.compare`.

    Raises:
        EvaluationError: The two were evaluated on other environments, levels, splits or tasks.
    """
    for name in ("env_id", "level", "split"):
        if getattr(a, name) != getattr(b, name):
            raise EvaluationError(
                f"cannot compare {a.label!r} and {b.label!r}: {name} is {getattr(a, name)!r} and {getattr(b, name)!r}"
            )
    try:
        return compare(a.runs, b.runs, labels=(a.label, b.label), paired_seeds=paired_seeds, confidence=a.success.confidence)
    except ValueError as problem:
        raise EvaluationError(f"cannot compare {a.label!r} and {b.label!r}: {problem}") from None


def save_results(path: str | os.PathLike[str], results: Sequence[EvalResult], comparisons: Sequence[Comparison] = ()) -> None:
    """Writes results and comparisons as one JSON file, in one piece."""
    document = {"format": FORMAT, "results": to_plain(list(results)), "comparisons": to_plain(list(comparisons))}
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        partial.write_text(json.dumps(document, indent=1, allow_nan=False) + "\n", encoding="utf-8")
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)


def load_results(path: str | os.PathLike[str]) -> tuple[list[EvalResult], list[Comparison]]:
    """Inverse of `save_results`.

    Raises:
        RecordError: The file cannot be read or is not one of results; names the place.
    """
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as problem:
        raise RecordError(f"cannot read results from {path}: {problem.strerror or problem}") from None
    except (ValueError, RecursionError) as problem:
        raise RecordError(f"{path}: expected JSON: {problem}") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise RecordError(f'{path}: expected evaluation results ("format": "{FORMAT}")')
    try:
        return (
            list(from_plain(document.get("results"), tuple[EvalResult, ...], where="results")),
            list(from_plain(document.get("comparisons"), tuple[Comparison, ...], where="comparisons")),
        )
    except PlainError as problem:
        raise RecordError(f"{path}: {problem}") from None
