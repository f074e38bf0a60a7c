"""Runs the experiments of docs/results.md: what demonstrations give, what reinforcement learning adds, what each part is worth.

    make results                                               (hours on two CPU cores)
    python benchmarks/results.py --environment customer-service --seeds 2

Every stage that is finished is kept, so it can be stopped and started again. For each seed: SFT on a few demonstrations; GRPO
from there; as a control, SFT continued on the same demonstrations for the wall-clock time that GRPO took; as ablations, GRPO
without the imitation term and imitation without the policy gradient, for the same updates. All are evaluated greedily on the
same test tasks. Nothing is tuned here, and nothing anywhere is tuned on the test split.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path

import tyro
from results_document import CONTROL, NO_GRADIENT, NO_IMITATION, ORDER, RL, write_document

from slmagent import recipe
from slmagent.agents.episodes import requests_for
from slmagent.agents.models import pull
from slmagent.agents.scripted import ConstantAgent, ExpertAgent
from slmagent.cli.terminal import messages, progress_bar
from slmagent.evaluation.evaluate import evaluate_runs
from slmagent.evaluation.results import compare_results, save_results
from slmagent.evaluation.stages import agent_episodes, greedy_episodes, model_stage
from slmagent.plain import to_plain
from slmagent.trainers.grpo import train_grpo
from slmagent.trainers.metrics import read_metrics
from slmagent.trainers.sft import train_sft
from slmagent.types import EpisodeRequest, Trajectory


@dataclass(frozen=True)
class Experiment:
    """What to run."""

    environment: str = "booking"
    """Name of a recipe in slmagent/recipe.py; results go under this name, with the level behind it when that is not 1."""
    output_dir: Path = Path("runs/results")
    """Models and episodes, a folder an environment; finished stages found there are not repeated."""
    results: Path = Path("docs/results")
    """Folder of the committed result files."""
    model: str = "smollm2-135m"
    """Model to train."""
    level: int = 1
    """Level of the environment."""
    seeds: int = 3
    """Training seeds, 0 to n-1."""
    tasks: int = 200
    """Test tasks, one greedy episode each."""
    control: bool = True
    """Also continue SFT on the same demonstrations for as long as reinforcement learning took."""
    ablations: bool = True
    """Also train without the imitation term and without the policy gradient."""

    def __post_init__(self) -> None:
        if self.environment not in recipe.RECIPES:
            raise ValueError(f"unknown environment {self.environment!r}; expected one of {', '.join(recipe.RECIPES)}")

    @property
    def recipe(self) -> recipe.Recipe:
        """The settings that are tried."""
        return recipe.RECIPES[self.environment]

    @property
    def name(self) -> str:
        """What the result files are called."""
        return self.environment if self.level == 1 else f"{self.environment}-{self.level}"

    @property
    def folder(self) -> Path:
        """Where models and episodes go."""
        return self.output_dir / self.name

    def requests(self) -> list[EpisodeRequest]:
        """The test episodes."""
        return requests_for(self.recipe.env_id, self.level, "test", self.tasks)


def main(experiment: Experiment) -> None:
    """Runs what is missing, then writes the result files and docs/results.md."""
    base = pull(experiment.model)
    runs: dict[str, list[list[Trajectory]]] = {}
    seconds: list[float] = []
    requests, folder = experiment.requests(), experiment.folder
    runs["expert"] = [agent_episodes(folder / "expert.jsonl", ExpertAgent, requests)]
    runs["do-nothing"] = [agent_episodes(folder / "do-nothing.jsonl", lambda _: ConstantAgent(""), requests)]
    for seed in range(experiment.seeds):
        of_seed = folder / f"seed-{seed}"
        models, taken = _train(experiment, base, of_seed, seed)
        seconds.append(taken)
        for label, model in models.items():
            runs.setdefault(label, []).append(_play(of_seed / f"{_slug(label)}.jsonl", model, experiment))
        _save(experiment, runs, seconds)
    runs["untrained"] = [_play(folder / "untrained.jsonl", base, experiment)]  # last: it talks most and tells least
    _save(experiment, runs, seconds)


def _train(experiment: Experiment, base: Path, folder: Path, seed: int) -> tuple[dict[str, Path], float]:
    """The models of one seed, and the seconds that reinforcement learning took."""
    used, level = experiment.recipe, experiment.level
    sft = recipe.sft_config(
        folder / "sft", model=str(base), level=level, demonstrations=used.demonstrations, seed=seed, recipe=used
    )
    warm = model_stage(folder / "sft", lambda: train_sft(sft))
    demonstrations = folder / "sft" / "demonstrations.jsonl"
    grpo = recipe.grpo_config(
        folder / "rl", model=warm, demonstrations=demonstrations, level=level, seed=seed, updates=used.updates, recipe=used
    )
    models = {"SFT": warm, RL: model_stage(folder / "rl", lambda: train_grpo(grpo))}
    seconds = float(read_metrics(folder / "rl" / "metrics.jsonl")[-1]["time/seconds"])
    if experiment.control:
        longer = dataclasses.replace(
            sft,
            model=str(warm),
            output_dir=str(folder / "control"),
            data=str(demonstrations),
            max_seconds=seconds,
            epochs=10_000,
        )
        models[CONTROL] = model_stage(folder / "control", lambda: train_sft(longer))
    if experiment.ablations:
        for label, change in ((NO_IMITATION, {"imitation_coef": 0.0}), (NO_GRADIENT, {"policy_coef": 0.0})):
            part = dataclasses.replace(grpo, output_dir=str(folder / _slug(label)), **change)
            models[label] = model_stage(folder / _slug(label), lambda part=part: train_grpo(part))
    return models, seconds


def _play(path: Path, model: Path, experiment: Experiment) -> list[Trajectory]:
    requests = experiment.requests()
    with progress_bar(str(path), len(requests), messages()) as update:
        return greedy_episodes(
            path,
            model,
            requests,
            max_new_tokens=experiment.recipe.max_new_tokens,
            on_progress=lambda done, _, tokens: update(done, tokens),
        )


def _save(experiment: Experiment, runs: dict[str, list[list[Trajectory]]], seconds: list[float]) -> None:
    rows = {label: evaluate_runs(runs[label], label=label) for label in ORDER if label in runs}
    against = [label for label in ("SFT", CONTROL, NO_GRADIENT, NO_IMITATION) if label in rows]
    comparisons = [compare_results(rows[RL], rows[label], paired_seeds=True) for label in against]
    save_results(experiment.results / f"{experiment.name}.json", list(rows.values()), comparisons)
    settings = {
        "experiment": {name: value for name, value in vars(experiment).items() if not isinstance(value, Path)},
        "recipe": to_plain(experiment.recipe),
        "rl_seconds": seconds,
    }
    path = experiment.results / f"{experiment.name}-settings.json"
    path.write_text(json.dumps(settings, indent=2) + "\n")
    write_document(experiment.results)


def _slug(label: str) -> str:
    return label.lower().replace(",", "").replace("'", "").replace(" ", "-")


if __name__ == "__main__":
    main(tyro.cli(Experiment, description=__doc__))
