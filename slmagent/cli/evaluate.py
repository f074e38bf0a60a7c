"""`slmagent eval`: agents on the same tasks, as a table, a result file and an HTML report."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional, arg

from slmagent.cli.names import AgentSpec, parse_agent
from slmagent.cli.playing import Episodes, PlayOptions
from slmagent.errors import UsageError
from slmagent.types import Split, Trajectory

if TYPE_CHECKING:
    from rich.console import Console

    from slmagent.evaluation.comparison import Comparison
    from slmagent.evaluation.results import EvalResult


@dataclass(frozen=True, kw_only=True)
class Evaluate(PlayOptions):
    """Evaluate agents on the same tasks: table, paired comparison, JSON, HTML report; Ctrl-C evaluates what is done."""

    agents: Annotated[Positional[tuple[str, ...]], arg(metavar="AGENT [AGENT ...]")]
    """The agents, in the order of the table's rows, each as SPEC or LABEL=SPEC: expert, do-nothing, random,
    model:PATH_OR_NAME, endpoint:URL#MODEL, or file:EPISODES.jsonl (played before). Agents that share a label are
    training seeds of one method and share a row."""
    split: Split = "test"
    """Which tasks."""
    seeds: tuple[int, ...] = (0,)
    """One trial of every task for each of these; they change the user's mood and the sampling."""
    against: str | None = None
    """Label of the agent that the others are compared with; by default the first."""
    paired_seeds: bool = False
    """Training seed i of one method belongs with training seed i of the other (say, a common start)."""
    out: Path = Path("runs/eval.json")
    """Result file; replaced if it exists."""
    html: Path | None = None
    """HTML report to write as well; replaced if it exists."""
    episodes: Path | None = None
    """Folder to write the episodes to, one JSONL file an agent; files in it are replaced."""
    metrics: tuple[Path, ...] = ()
    """Metrics files (metrics.jsonl) of training runs, for the report's learning curves."""
    show: int = 3
    """Tasks whose conversations the report shows."""
    title: str = ""
    """Title of the report."""
    max_error_share: float = 0.1
    """Largest share of an agent's episodes that may fail for technical reasons; more, and there is no result."""

    def run(self) -> int:
        """Plays, evaluates, prints and writes."""
        from slmagent.cli.terminal import messages
        from slmagent.evaluation.curves import load_metrics

        if not self.agents:
            raise UsageError("no agent given; for instance: slmagent eval expert do-nothing")
        specs = [parse_agent(text) for text in self.agents]
        labels = list(dict.fromkeys(spec.label for spec in specs))
        if len(set(specs)) != len(specs):
            twice = next(spec for spec in specs if specs.count(spec) > 1)
            raise UsageError(f"agent {twice.text!r} is given twice under the label {twice.label!r}")
        if self.against is not None and self.against not in labels:
            raise UsageError(f"--against {self.against!r} is none of the agents; expected one of {', '.join(labels)}")
        if not self.seeds or len(set(self.seeds)) != len(self.seeds):
            raise UsageError(f"expected one or several different --seeds, actual {' '.join(map(str, self.seeds)) or 'none'}")
        curves = {_run_name(path): load_metrics(path) for path in self.metrics}
        console = messages()
        runs, interrupted = self._play_all(specs, console)
        if not runs:
            console.print("stopped before the first episode ended; nothing to evaluate", style="yellow")
            return 130
        results, comparisons = self._evaluate(runs)
        self._tell(results, comparisons, interrupted)
        self._write(results, comparisons, runs, curves, interrupted)
        return 130 if interrupted else 0

    # ---- playing ------------------------------------------------------------------------------------------------

    def _play_all(self, specs: Sequence[AgentSpec], console: Console) -> tuple[dict[str, list[list[Trajectory]]], bool]:
        """Label -> one list of episodes a training seed; and whether it was cut short."""
        from slmagent.cli.playing import check_models
        from slmagent.records import read_trajectories

        runs: dict[str, list[list[Trajectory]]] = {}
        # What is missing or cannot be read is told before anything slow begins.
        check_models(specs)
        stored = {spec.value: read_trajectories(spec.value) for spec in specs if spec.kind == "file"}
        for spec in specs:
            if spec.kind == "file":
                if not stored[spec.value]:
                    raise UsageError(f"{spec.value} holds no episodes")
                runs.setdefault(spec.label, []).append(stored[spec.value])
                continue
            episodes, interrupted = self._play(spec, console)
            if episodes:
                runs.setdefault(spec.label, []).append(episodes)
            if interrupted:
                return runs, True
        return runs, False

    def _play(self, spec: AgentSpec, console: Console) -> tuple[list[Trajectory], bool]:
        from slmagent.agents.episodes import requests_for
        from slmagent.cli.playing import prepared
        from slmagent.cli.terminal import progress_bar

        env_id = self.checked_env(self.split)
        requests = [
            request
            for seed in self.seeds
            for request in requests_for(env_id, self.level, self.split, self.n, seed=seed, offset=self.offset)
        ]
        episodes = Episodes(requests)
        try:
            with prepared(spec, self, console) as play, progress_bar(spec.label, len(requests), console) as show:
                play(requests, episodes.add, show)
        except KeyboardInterrupt:
            return episodes.complete_prefix(), True
        return episodes.all_done(), False

    # ---- results ------------------------------------------------------------------------------------------------

    def _evaluate(self, runs: dict[str, list[list[Trajectory]]]) -> tuple[list[EvalResult], list[Comparison]]:
        from slmagent.evaluation.evaluate import evaluate_runs
        from slmagent.evaluation.results import compare_results

        agents: dict[str, list[str]] = {}
        for spec in map(parse_agent, self.agents):
            agents.setdefault(spec.label, []).append(spec.text)
        results = [
            evaluate_runs(
                played,
                label=label,
                config={"agents": agents[label], "seeds": list(self.seeds), **self.sampling_facts()},
                max_error_share=self.max_error_share,
            )
            for label, played in runs.items()
        ]
        base = next((result for result in results if result.label == self.against), results[0])
        comparisons = [
            compare_results(result, base, paired_seeds=self.paired_seeds and len(result.runs) == len(base.runs))
            for result in results
            if result is not base and _origin(result) == _origin(base)
        ]
        return results, comparisons

    def _tell(self, results: Sequence[EvalResult], comparisons: Sequence[Comparison], interrupted: bool) -> None:
        from slmagent.cli.terminal import output
        from slmagent.evaluation.tables import comparisons_table, results_table

        console = output()
        origins = dict.fromkeys("{}, level {}, split {}".format(*_origin(result)) for result in results)
        title = "; ".join(origins) + (" (stopped early)" if interrupted else "")
        console.print(results_table(results, title=title))
        if comparisons:
            console.print(comparisons_table(comparisons))

    def _write(
        self,
        results: Sequence[EvalResult],
        comparisons: Sequence[Comparison],
        runs: dict[str, list[list[Trajectory]]],
        curves: dict[str, list[dict[str, Any]]],
        interrupted: bool,
    ) -> None:
        from slmagent.cli.terminal import messages
        from slmagent.evaluation.results import save_results
        from slmagent.records import write_trajectories

        console = messages()
        try:
            save_results(self.out, results, comparisons)
            console.print(f"results: {self.out}", markup=False)
            if self.episodes is not None:
                for label, played in runs.items():
                    for index, run in enumerate(played):
                        name = _file_name(label) + (f"-{index}" if len(played) > 1 else "")
                        write_trajectories(self.episodes / f"{name}.jsonl", run)
                console.print(f"episodes: {self.episodes}", markup=False)
            if self.html is not None:
                self._write_html(results, comparisons, runs, curves, interrupted)
                console.print(f"report: {self.html}", markup=False)
        except OSError as problem:
            raise UsageError(f"cannot write {problem.filename or 'a result'}: {problem.strerror or problem}") from None

    def _write_html(
        self,
        results: Sequence[EvalResult],
        comparisons: Sequence[Comparison],
        runs: dict[str, list[list[Trajectory]]],
        curves: dict[str, list[dict[str, Any]]],
        interrupted: bool,
    ) -> None:
        from slmagent.cli.playing import versions
        from slmagent.evaluation.conversations import pick_conversations
        from slmagent.evaluation.report import Report, write_report

        assert self.html is not None
        settings = {name: value for name, value in asdict(self).items() if name not in ("agents", "html", "out", "episodes")}
        shown = {label: [trajectory for run in played for trajectory in run] for label, played in runs.items()}
        report = Report(
            title=self.title or f"{results[0].env_id}, level {results[0].level}: evaluation",
            results=results,
            comparisons=comparisons,
            metrics=curves,
            conversations=pick_conversations(shown, tasks=self.show),
            config={"agents": ", ".join(self.agents), **_readable(settings), "versions": versions()},
            summary="Stopped early: what was played until then." if interrupted else "",
            command=shlex.join(["slmagent", *sys.argv[1:]]),
        )
        write_report(report, self.html)


def _origin(result: EvalResult) -> tuple[str, int, str]:
    return result.env_id, result.level, result.split


def _run_name(path: Path) -> str:
    return path.parent.name if path.name == "metrics.jsonl" and path.parent.name else path.stem


def _file_name(label: str) -> str:
    return re.sub(r"[^\w.+-]+", "-", label).strip("-") or "agent"


def _readable(settings: dict[str, Any]) -> dict[str, Any]:
    return {
        name.replace("_", " "): " ".join(map(str, value)) if isinstance(value, (tuple, list)) else value
        for name, value in settings.items()
        if value not in (None, (), [], "")
    }
