"""Makes docs/results.md: what demonstrations give, what reinforcement learning adds, and what each part contributes.

    make results        (hours on two CPU cores; every stage that is finished is kept, so it can be stopped and started again)

For each seed: SFT on a few demonstrations; GRPO from there; as a control, SFT continued on the same demonstrations for the
wall-clock time that GRPO took; as ablations, GRPO without the imitation term and imitation without the policy gradient, for
the same updates. All are evaluated greedily on the same test tasks. Nothing is tuned here, and nothing anywhere is tuned on
the test split.
"""

from __future__ import annotations

import dataclasses
import json
import os
from dataclasses import dataclass
from pathlib import Path

import tyro

from slmagent import recipe
from slmagent.agents.episodes import requests_for
from slmagent.agents.models import pull
from slmagent.agents.scripted import ConstantAgent, ExpertAgent
from slmagent.cli.terminal import messages, progress_bar
from slmagent.evaluation.evaluate import evaluate_runs
from slmagent.evaluation.results import EvalResult, compare_results, save_results
from slmagent.evaluation.stages import agent_episodes, greedy_episodes, model_stage
from slmagent.evaluation.tables import percent, points
from slmagent.trainers.grpo import train_grpo
from slmagent.trainers.metrics import read_metrics
from slmagent.trainers.sft import train_sft
from slmagent.types import Trajectory

RL = "SFT, then RL"
CONTROL = "SFT continued for RL's time"
NO_IMITATION = "RL without imitation"
NO_GRADIENT = "RL without policy gradient"


@dataclass(frozen=True)
class Experiment:
    """What to run."""

    output_dir: Path = Path("runs/results")
    """Models and episodes; finished stages found there are not repeated."""
    results: Path = Path("docs/results")
    """Folder of the committed result files."""
    model: str = "smollm2-135m"
    """Model to train."""
    level: int = 1
    """Level of Booking."""
    seeds: int = 3
    """Training seeds, 0 to n-1."""
    tasks: int = 200
    """Test tasks, one greedy episode each."""
    demonstrations: int = 32
    """Expert episodes that SFT learns from."""
    updates: int = recipe.UPDATES
    """GRPO updates."""
    ablations: bool = True
    """Also train without the imitation term and without the policy gradient."""


def main(experiment: Experiment) -> None:
    """Runs what is missing, then writes results.json and results.md."""
    base = pull(experiment.model)
    runs: dict[str, list[list[Trajectory]]] = {}
    seconds: list[float] = []
    requests = requests_for(recipe.ENV_ID, experiment.level, "test", experiment.tasks)
    runs["expert"] = [agent_episodes(experiment.output_dir / "expert.jsonl", ExpertAgent, requests)]
    runs["do-nothing"] = [agent_episodes(experiment.output_dir / "do-nothing.jsonl", lambda _: ConstantAgent(""), requests)]
    runs["untrained"] = [_play(experiment.output_dir / "untrained.jsonl", base, experiment)]
    for seed in range(experiment.seeds):
        folder = experiment.output_dir / f"seed-{seed}"
        models, taken = _train(experiment, base, folder, seed)
        seconds.append(taken)
        for label, model in models.items():
            runs.setdefault(label, []).append(_play(folder / f"{_slug(label)}.jsonl", model, experiment))
        _write(experiment, runs, seconds)


def _train(experiment: Experiment, base: Path, folder: Path, seed: int) -> tuple[dict[str, Path], float]:
    """The models of one seed, and the seconds that reinforcement learning took."""
    sft = recipe.sft_config(
        folder / "sft", model=str(base), level=experiment.level, demonstrations=experiment.demonstrations, seed=seed
    )
    warm = model_stage(folder / "sft", lambda: train_sft(sft))
    demonstrations = folder / "sft" / "demonstrations.jsonl"
    grpo = recipe.grpo_config(
        folder / "rl", model=warm, demonstrations=demonstrations, level=experiment.level, seed=seed, updates=experiment.updates
    )
    models = {"SFT": warm, RL: model_stage(folder / "rl", lambda: train_grpo(grpo))}
    seconds = float(read_metrics(folder / "rl" / "metrics.jsonl")[-1]["time/seconds"])
    longer = dataclasses.replace(
        sft, model=str(warm), output_dir=str(folder / "control"), data=str(demonstrations), max_seconds=seconds, epochs=10_000
    )
    models[CONTROL] = model_stage(folder / "control", lambda: train_sft(longer))
    if experiment.ablations:
        for label, change in ((NO_IMITATION, {"imitation_coef": 0.0}), (NO_GRADIENT, {"policy_coef": 0.0})):
            part = dataclasses.replace(grpo, output_dir=str(folder / _slug(label)), **change)
            models[label] = model_stage(folder / _slug(label), lambda part=part: train_grpo(part))
    return models, seconds


def _play(path: Path, model: Path, experiment: Experiment) -> list[Trajectory]:
    requests = requests_for(recipe.ENV_ID, experiment.level, "test", experiment.tasks)
    with progress_bar(str(path), len(requests), messages()) as update:
        return greedy_episodes(
            path,
            model,
            requests,
            max_new_tokens=recipe.MAX_NEW_TOKENS,
            on_progress=lambda done, _, tokens: update(done, tokens),
        )


def _write(experiment: Experiment, runs: dict[str, list[list[Trajectory]]], seconds: list[float]) -> None:
    order = ["untrained", "SFT", CONTROL, NO_GRADIENT, NO_IMITATION, RL, "expert", "do-nothing"]
    rows = {label: evaluate_runs(runs[label], label=label) for label in order if label in runs}
    against = [label for label in ("SFT", CONTROL, NO_GRADIENT, NO_IMITATION) if label in rows]
    comparisons = [compare_results(rows[RL], rows[label], paired_seeds=True) for label in against]
    experiment.results.mkdir(parents=True, exist_ok=True)
    save_results(experiment.results / "booking.json", list(rows.values()), comparisons)
    settings = {"experiment": json.loads(json.dumps(dataclasses.asdict(experiment), default=str)), "rl_seconds": seconds}
    (experiment.results / "booking-settings.json").write_text(json.dumps(settings, indent=2) + "\n")
    text = _document(
        experiment, rows, [(comparison.label_b, points(comparison.difference)) for comparison in comparisons], seconds
    )
    partial = Path("docs/.results.md.writing")
    partial.write_text(text)
    os.replace(partial, "docs/results.md")


def _document(
    experiment: Experiment, rows: dict[str, EvalResult], differences: list[tuple[str, str]], seconds: list[float]
) -> str:
    minutes = ", ".join(f"{value / 60:.1f}" for value in seconds)
    lines = [
        "# Results",
        "",
        f"Booking level {experiment.level}, test split, {experiment.tasks} tasks, one greedy episode each; "
        f"{len(seconds)} training seed(s); {experiment.demonstrations} demonstrations; SmolLM2-135M-Instruct.",
        f"Reinforcement learning took {minutes} minutes by the clock on two CPU cores.",
        "",
        "| policy | success (95 % interval) | mean return |",
        "|---|---|---|",
    ]
    lines += [f"| {label} | {percent(row.success)} | {row.mean_return.estimate:.2f} |" for label, row in rows.items()]
    lines += ["", f"Paired difference of success, *{RL}* minus the other, on the same tasks and seeds:", ""]
    lines += ["| other | difference (95 % interval) |", "|---|---|"]
    lines += [f"| {label} | {difference} |" for label, difference in differences]
    lines += ["", "Made by `make results` (`benchmarks/results.py`) from the files in docs/results.", ""]
    return "\n".join(lines)


def _slug(label: str) -> str:
    return label.lower().replace(",", "").replace("'", "").replace(" ", "-")


if __name__ == "__main__":
    main(tyro.cli(Experiment, description=__doc__))
