"""Learning curves from a metrics file, as inline SVG that takes its colours from the page."""

from __future__ import annotations

import io
import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from slmagent.errors import RecordError, require

STEP, ELAPSED = "step", "time/seconds"
Metrics = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Panel:
    """One small plot: metrics that share an axis."""

    title: str
    names: tuple[str, ...]
    """Metrics in the order in which they get their colours; those that a run lacks are left out."""
    percent: bool = False
    whole: bool = False
    """The axis runs to 100 %."""
    over_time: bool = False
    """Drawn over wall-clock time, too."""
    zero_is_off: bool = False
    """A metric that is 0 throughout was not measured in this run, and is left out."""


PANELS = (
    Panel("Success rate", ("rollout/success_rate", "eval/success_rate"), percent=True, whole=True, over_time=True),
    Panel("Mean return", ("rollout/mean_return", "eval/mean_return"), over_time=True),
    Panel("Approximate KL of an update, nats per token", ("train/approx_kl",)),
    Panel("KL to the reference, nats per token", ("train/kl_to_reference",), zero_is_off=True),
    Panel("Clip fraction", ("train/clip_fraction",), percent=True),
    Panel("Loss per token", ("train/policy_loss", "train/imitation_loss"), zero_is_off=True),
    Panel("Entropy, nats per token", ("train/entropy",)),
    Panel("Gradient norm", ("train/grad_norm",)),
    Panel("Learning rate", ("train/learning_rate",)),
    Panel("Turns per episode", ("rollout/turns_per_episode",)),
    Panel("Sampled tokens per episode", ("rollout/tokens_per_episode",)),
    Panel("What goes wrong", ("rollout/malformed_calls", "rollout/cut_actions", "rollout/veto_rate"), percent=True),
    Panel("Groups without a difference", ("rollout/dead_groups",), percent=True),
    Panel("Turns dropped by the ratio guard", ("safety/ratio_dropped_turns",)),
    Panel("Weight rollbacks so far", ("safety/rollbacks",)),
)
# Colours that stand for the page's variables: matplotlib writes them, and the SVG's text is searched for them afterwards.
_INK, _GRID = "#010203", "#020304"
_SERIES = ("#030405", "#040506", "#050607", "#060708")
_VARIABLES = {_INK: "var(--ink-2)", _GRID: "var(--line)", **{color: f"var(--s{i + 1})" for i, color in enumerate(_SERIES)}}


def load_metrics(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Reads a metrics file: one JSON object a line, each with `step`. A last line that a kill cut short is left out.

    Raises:
        RecordError: The file cannot be read, or a line is not such an object; names the line.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as problem:
        raise RecordError(f"cannot read metrics from {path}: {problem.strerror or problem}") from None
    except UnicodeDecodeError:
        raise RecordError(f"cannot read metrics from {path}: expected UTF-8 text, one JSON object a line") from None
    lines = text.split("\n")
    metrics: list[dict[str, Any]] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except ValueError as problem:
            if number == len(lines):  # no newline behind it
                break
            raise RecordError(f"{path}, line {number}: expected one JSON object a line ({problem})") from None
        if not isinstance(entry, dict) or not _is_number(entry.get(STEP)):
            raise RecordError(f"{path}, line {number}: expected an object with a number under {STEP!r}, actual {line[:60]!r}")
        metrics.append(entry)
    return metrics


def learning_curves(metrics: Metrics, *, over: str = STEP, panels: Sequence[Panel] = PANELS, name: str = "") -> list[str]:
    """One SVG a panel for which there is something to draw; an empty list when there is nothing.

    Args:
        metrics: Lines of a metrics file. Values that are missing or not finite are left out.
        over: The metric on the horizontal axis: `step` or `time/seconds`.
        panels: What to draw.
        name: Name of the run; sets the ids of several runs on one page apart.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    drawn = (_draw(panel, metrics, over, name) for panel in panels if over == STEP or panel.over_time)
    return [svg for svg in drawn if svg is not None]


def _draw(panel: Panel, metrics: Metrics, over: str, run: str) -> str | None:
    series = {name: _points(metrics, over, name) for name in panel.names}
    series = {
        name: points for name, points in series.items() if points and not (panel.zero_is_off and all(y == 0 for _, y in points))
    }
    if not series:
        return None
    matplotlib = require("matplotlib", extra="train", purpose="drawing learning curves")
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    slug = re.sub(r"\W+", "-", f"{run} {panel.title} {over}".lower())
    style = {
        "svg.fonttype": "none",
        "svg.hashsalt": slug,
        "font.size": 10,
        "text.color": _INK,
        "axes.edgecolor": _GRID,
        "axes.labelcolor": _INK,
        "xtick.color": _GRID,
        "ytick.color": _GRID,
        "xtick.labelcolor": _INK,
        "ytick.labelcolor": _INK,
    }
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(4.4, 2.5), layout="constrained")
        axes = figure.add_subplot()
        scale, unit = _time_unit(series) if over == ELAPSED else (1.0, "update")
        for color, (name, points) in zip(_SERIES, series.items(), strict=False):
            xs, ys = [x / scale for x, _ in points], [y for _, y in points]
            axes.plot(xs, ys, color=color, linewidth=1.6, marker="o", markersize=3 if len(xs) <= 60 else 0, label=name)
        axes.set_title(panel.title, loc="left", fontsize=11, color=_INK)
        axes.set_xlabel(unit, color=_INK)
        axes.grid(color=_GRID, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        if over == STEP:
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        if panel.percent:
            axes.yaxis.set_major_formatter(PercentFormatter(xmax=1.0, decimals=0))
            axes.set_ylim(bottom=0.0, top=1.04 if panel.whole else None)
        if len(series) > 1:
            axes.legend(frameon=False, fontsize=9)
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return _inline(buffer.getvalue(), slug, label=f"{panel.title} over {unit}: {', '.join(series)}")


def _points(metrics: Metrics, over: str, name: str) -> list[tuple[float, float]]:
    pairs = ((entry.get(over), entry.get(name)) for entry in metrics)
    return [(float(x), float(y)) for x, y in pairs if _is_number(x) and _is_number(y)]


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _time_unit(series: Mapping[str, Sequence[tuple[float, float]]]) -> tuple[float, str]:
    longest = max(x for points in series.values() for x, _ in points)
    if longest > 3 * 3600:
        return 3600.0, "hours"
    return (60.0, "minutes") if longest > 180 else (1.0, "seconds")


def _inline(svg: str, slug: str, label: str) -> str:
    """Makes a matplotlib SVG part of a page: no prologue, own ids, the page's colours, as wide as its box."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{slug}-", svg)
    svg = re.sub(r"<metadata>.*?</metadata>\s*|<style.*?</style>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"font-family: [^;\"]+", "font-family: inherit", svg)
    for color, variable in _VARIABLES.items():
        svg = svg.replace(color, variable)
    head, _, body = svg.partition(">")
    head = re.sub(r' (width|height|xmlns(:\w+)?|version)="[^"]*"', "", head)
    # The xlink namespace stays: matplotlib's marker references use it.
    return f'{head} xmlns:xlink="http://www.w3.org/1999/xlink" role="img" stroke-linejoin="round" aria-label="{label}">{body}'
