"""`slmagent demo`: from a downloaded model to a trained agent, with a report, in one command.

Stages, in order: model -> expert demonstrations -> SFT -> GRPO on level 1 -> evaluation -> GRPO on level 2 -> evaluation ->
report. Each leaves its result in the output folder; a demo that was interrupted goes on where it stopped.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slmagent import recipe
from slmagent.agents.episodes import requests_for
from slmagent.agents.models import pull
from slmagent.agents.scripted import ConstantAgent, ExpertAgent
from slmagent.cli.terminal import messages, output, progress_bar
from slmagent.evaluation.conversations import pick_conversations
from slmagent.evaluation.curves import load_metrics
from slmagent.evaluation.evaluate import evaluate
from slmagent.evaluation.report import Report, write_report
from slmagent.evaluation.results import EvalResult, compare_results, save_results
from slmagent.evaluation.stages import agent_episodes, greedy_episodes, model_stage
from slmagent.evaluation.tables import comparisons_table, results_table
from slmagent.trainers.grpo import train_grpo
from slmagent.trainers.sft import train_sft
from slmagent.types import Trajectory


@dataclass(frozen=True)
class DemoConfig:
    """Settings of the demo; the defaults aim at 25 minutes on two CPU cores."""

    output_dir: str = "runs/demo"
    """Where everything goes; finished stages found there are not repeated."""
    model: str = "smollm2-135m"
    """Short name, folder or hub id of the model to train."""
    demonstrations: int = recipe.BOOKING.demonstrations
    """Expert episodes for the warm start."""
    updates: int = recipe.BOOKING.updates
    """GRPO updates on level 1."""
    max_seconds: float | None = 600.0
    """Time limit on them, so that the demo ends in time on a slow machine."""
    next_updates: int = 1
    """GRPO updates on level 2 afterwards, level 1 rehearsed; 0 leaves level 2 out."""
    next_within: float | None = 900.0
    """Level 2 is left out when this many seconds have passed before it, so that the demo ends in time on a slow machine."""
    episodes: int = 64
    """Test episodes a row of the table, greedy."""
    seed: int = 0
    """Demonstrations, training and users derive from it; the test tasks are always the same."""

    def __post_init__(self) -> None:
        if min(self.demonstrations, self.updates, self.episodes) < 1 or self.next_updates < 0:
            raise ValueError("expected demonstrations, updates and episodes of at least 1, next_updates of at least 0")


def run_demo(config: DemoConfig) -> Path:
    """Runs what is left of the demo, prints the tables, and returns the path of the HTML report."""
    started = time.monotonic()
    folder = Path(config.output_dir)
    folder.mkdir(parents=True, exist_ok=True)
    console = messages()
    model = _stage(console, "model", lambda: pull(config.model))
    sft = recipe.sft_config(folder / "sft", model=str(model), level=1, demonstrations=config.demonstrations, seed=config.seed)
    warm = _stage(console, "SFT", lambda: model_stage(folder / "sft", lambda: train_sft(sft)))
    demonstrations = folder / "sft" / "demonstrations.jsonl"
    grpo = recipe.grpo_config(
        folder / "grpo-1",
        model=warm,
        demonstrations=demonstrations,
        level=1,
        seed=config.seed,
        updates=config.updates,
        max_seconds=config.max_seconds,
    )
    trained = _stage(console, "GRPO level 1", lambda: model_stage(folder / "grpo-1", lambda: train_grpo(grpo)))
    models = {"untrained": model, "after SFT": warm, "after RL": trained}
    episodes = _evaluate(config, 1, models)
    tables = [episodes]
    late = config.next_within is not None and time.monotonic() - started > config.next_within
    if config.next_updates and late:
        console.print(f"level 2 is left out: more than {config.next_within:.0f} s have passed (--next-within)")
    if config.next_updates and not late:
        further = recipe.grpo_config(
            folder / "grpo-2",
            model=trained,
            demonstrations=demonstrations,
            level=2,
            rehearse_level=1,
            seed=config.seed,
            updates=config.next_updates,
            tasks=recipe.NEXT_TASKS,
        )
        last = _stage(console, "GRPO level 2", lambda: model_stage(folder / "grpo-2", lambda: train_grpo(further)))
        tables.append(_evaluate(config, 2, {"after RL on level 1": trained, "after RL on level 2": last}))
    return _report(config, tables, time.monotonic() - started)


def _stage(console: Any, title: str, work: Callable[[], Path]) -> Path:
    console.print(f"[bold]{title}[/]")
    started = time.monotonic()
    path = work()
    console.print(f"  {path} ({time.monotonic() - started:.0f} s)")
    return path


def _evaluate(config: DemoConfig, level: int, models: Mapping[str, Path]) -> dict[str, list[Trajectory]]:
    """Greedy test episodes of each model, and of the two agents that bound what is possible."""
    requests = requests_for(recipe.BOOKING.env_id, level, "test", config.episodes)
    folder = Path(config.output_dir) / f"test-{level}"
    episodes: dict[str, list[Trajectory]] = {}
    for label, model in models.items():
        with progress_bar(f"level {level}: {label}", len(requests), messages()) as update:
            episodes[label] = greedy_episodes(
                folder / f"{label.replace(' ', '-')}.jsonl",
                model,
                requests,
                max_new_tokens=recipe.BOOKING.max_new_tokens,
                on_progress=lambda done, _, tokens, update=update: update(done, tokens),
            )
    episodes["expert"] = agent_episodes(folder / "expert.jsonl", ExpertAgent, requests)
    episodes["do-nothing"] = agent_episodes(folder / "do-nothing.jsonl", lambda _: ConstantAgent(""), requests)
    return episodes


def _report(config: DemoConfig, tables: Sequence[Mapping[str, Sequence[Trajectory]]], seconds: float) -> Path:
    folder = Path(config.output_dir)
    results: list[EvalResult] = []
    comparisons = []
    for episodes in tables:
        rows = {label: evaluate(played, label=label) for label, played in episodes.items()}
        trained = [label for label in rows if label not in ("expert", "do-nothing")]
        comparisons += [compare_results(rows[trained[-1]], rows[label]) for label in trained[:-1]]
        results += rows.values()
        output().print(results_table(list(rows.values())))
    output().print(comparisons_table(comparisons))
    save_results(folder / "results.json", results, comparisons)
    runs = {f"GRPO level {level}": folder / f"grpo-{level}" / "metrics.jsonl" for level in (1, 2)}
    report = Report(
        title="From a small language model to a booking agent",
        results=results,
        comparisons=comparisons,
        metrics={name: load_metrics(path) for name, path in runs.items() if path.is_file()},
        conversations=pick_conversations(tables[0]),
        config=dataclasses.asdict(config),
        summary=f"{config.demonstrations} demonstrations, then reinforcement learning, in {seconds / 60:.0f} minutes.",
        command="make demo",
    )
    return write_report(report, folder / "report.html")
