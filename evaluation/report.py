"""The HTML report: one self-contained page, readable without scripts, light and dark."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from slmagent.errors import SlmagentError, require
from slmagent.evaluation.comparison import Comparison
from slmagent.evaluation.conversations import Conversation, describe
from slmagent.evaluation.curves import ELAPSED, STEP, Metrics, learning_curves
from slmagent.evaluation.results import EvalResult
from slmagent.evaluation.statistics import Interval
from slmagent.evaluation.tables import NOT_KNOWN, errors_note, number, p_value, percent, points, row_label


class ReportError(SlmagentError):
    """A report that has nothing to show."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a report shows. Whatever is empty is left out of the page."""

    title: str
    results: Sequence[EvalResult]
    """Rows of the table, in order."""
    comparisons: Sequence[Comparison] = ()
    metrics: Mapping[str, Metrics] = field(default_factory=dict)
    """Name of a training run -> lines of its metrics file."""
    conversations: Sequence[Conversation] = ()
    """Shown by task, in the order given."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the run; a mapping inside becomes a table of its own."""
    summary: str = ""
    """A paragraph under the title."""
    command: str = ""
    """The command that makes this report again."""


def write_report(report: Report, path: str | os.PathLike[str]) -> Path:
    """Renders a report into a file, in one piece; folders are made.

    Raises:
        ReportError: The report has neither results nor anything else to show.
        MissingExtraError: jinja2 or matplotlib is not installed.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        # What a model wrote may hold lone surrogates, which UTF-8 has no form for.
        partial.write_text(render_report(report), encoding="utf-8", errors="replace")
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)
    return target


def render_report(report: Report) -> str:
    """The page as text; see `write_report`."""
    if not (report.results or report.metrics or report.conversations):
        raise ReportError("nothing to report: expected results, metrics or conversations, actual none of them")
    jinja2 = require("jinja2", extra="train", purpose="writing an HTML report")
    loader = jinja2.FileSystemLoader(Path(__file__).parent / "templates")
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals.update(percent=percent, number=number, points=points, p_value=p_value, row_label=row_label)
    environment.globals.update(cell=_component_cell, bar=_bar, not_known=NOT_KNOWN)
    tables, settings = _settings(report.config)
    return environment.get_template("report.html.j2").render(
        report=report,
        confidence=f"{100 * report.results[0].success.confidence:g} %" if report.results else "",
        groups=_groups(report.results),
        curves=_curves(report.metrics),
        tasks=_by_task(report.conversations),
        settings=settings,
        tables=tables,
    )


# ---- parts of the page ------------------------------------------------------------------------------------------------------


def _groups(results: Sequence[EvalResult]) -> list[dict[str, Any]]:
    """Results by environment, level and split, in order of appearance, each with the rows of its tables."""
    groups: dict[str, list[EvalResult]] = {}
    for result in results:
        groups.setdefault(f"{result.env_id}, level {result.level}, split {result.split}", []).append(result)
    return [
        {
            "origin": origin,
            "results": members,
            "errors": errors_note(members),
            "components": sorted({name for result in members for name in result.components}),
            "stop_reasons": sorted({reason for result in members for reason in result.stop_reasons}),
            "kinds": sorted({kind for result in members for kind in result.by_kind}),
        }
        for origin, members in groups.items()
    ]


def _bar(interval: Interval) -> dict[str, str]:
    """Where a rate and its interval lie on a bar from 0 to 100 %."""
    low = interval.estimate if interval.low is None else interval.low
    high = interval.estimate if interval.high is None else interval.high
    low, high, at = (100 * min(1.0, max(0.0, value)) for value in (low, high, interval.estimate))
    return {"low": f"{low:.2f}", "width": f"{high - low:.2f}", "at": f"{at:.2f}"}


def _component_cell(result: EvalResult, name: str) -> str:
    part = result.components.get(name)
    if part is None:
        return NOT_KNOWN
    return number(part.mean) if part.episodes == result.episodes else f"{number(part.mean)} in {part.episodes}"


def _curves(metrics: Mapping[str, Metrics]) -> list[dict[str, Any]]:
    groups = []
    for name, lines in metrics.items():
        for over, title in ((STEP, "over updates"), (ELAPSED, "over wall-clock time")):
            plots = learning_curves(lines, over=over, name=name)
            if plots:
                groups.append({"title": f"{name}, {title}" if name else title, "plots": plots})
    return groups


def _settings(config: Mapping[str, Any]) -> tuple[dict[str, Mapping[str, Any]], dict[str, Any]]:
    tables = {name: value for name, value in config.items() if isinstance(value, Mapping)}
    return tables, {name: value for name, value in config.items() if name not in tables}


def _by_task(conversations: Sequence[Conversation]) -> list[dict[str, Any]]:
    tasks: dict[str, list[dict[str, Any]]] = {}
    for conversation in conversations:
        trajectory = conversation.trajectory
        shown = {
            "label": conversation.label,
            "success": trajectory.success,
            "stop_reason": trajectory.stop_reason.replace("_", " "),
            "total": f"{trajectory.total_reward:+.2f}",
            "messages": describe(trajectory),
        }
        tasks.setdefault(trajectory.scenario_id, []).append(shown)
    return [{"id": task, "conversations": shown} for task, shown in tasks.items()]
