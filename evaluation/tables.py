"""Results as tables: the words and numbers of a cell, and the table for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from slmagent.evaluation.comparison import Comparison
from slmagent.evaluation.results import EvalResult
from slmagent.evaluation.statistics import Interval

if TYPE_CHECKING:
    from rich.table import Table

    from slmagent.evaluation.audit import LevelAudit

NOT_KNOWN = "-"


def percent(interval: Interval | None) -> str:
    """A rate with its interval: `71 % [57, 82]`; one decimal where the sample is large enough to carry it."""
    if interval is None:
        return NOT_KNOWN
    digits = 1 if interval.n >= 500 else 0
    return _with_ends(interval, lambda value: f"{100 * value:.{digits}f}", unit=" %")


def number(interval: Interval | None, digits: int = 2) -> str:
    """A mean with its interval: `1.23 [1.10, 1.36]`; without one where all values are the same."""
    if interval is None:
        return NOT_KNOWN
    if interval.low == interval.high:
        interval = replace(interval, low=None, high=None)
    return _with_ends(interval, lambda value: f"{_no_minus_zero(value, digits):.{digits}f}")


def points(interval: Interval) -> str:
    """A difference of rates in percentage points, signed: `+21 [+9, +33]`; one decimal where an end would round to 0."""
    near_zero = any(0.0005 <= abs(end) < 0.005 for end in (interval.low, interval.high) if end is not None)
    digits = 1 if interval.n >= 500 or near_zero else 0
    return _with_ends(interval, lambda value: f"{_no_minus_zero(100 * value, digits):+.{digits}f}")


def p_value(p: float) -> str:
    """`p < 0.001` or `p = 0.023`."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def results_table(results: Sequence[EvalResult], *, title: str | None = None) -> Table:
    """One row a policy, for `rich.print`; fits 80 columns."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    confidence = f"[{100 * results[0].success.confidence:g} % CI]" if results else ""
    failed = errors_note(results)
    caption = f"failed episodes, left out: {failed}" if failed else None
    table = Table(title=title, title_justify="left", caption=caption, caption_justify="left")
    table.box, table.padding, table.pad_edge = box.SIMPLE_HEAD, (0, 1, 0, 0), False
    table.add_column("policy", overflow="fold")
    for heading in (f"success {confidence}", f"return {confidence}", "turns", "tokens", "vetoes", "n"):
        table.add_column(heading.replace("[", "\\["), justify="right", no_wrap=True)
    for result in results:
        table.add_row(
            Text(row_label(result)),
            Text(percent(result.success)),
            Text(number(result.mean_return)),
            f"{result.turns.estimate:.1f}",
            NOT_KNOWN if result.tokens is None else f"{result.tokens.estimate:.0f}",
            f"{100 * result.violations.estimate:.0f} %",
            str(result.episodes),
        )
    return table


def comparisons_table(comparisons: Sequence[Comparison]) -> Table:
    """One row a pair of policies, for `rich.print`; fits 80 columns."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    confidence = f"[{100 * comparisons[0].difference.confidence:g} % CI]" if comparisons else ""
    tests = ", ".join(dict.fromkeys(comparison.test for comparison in comparisons))
    caption = f"success in percentage points, paired on the same tasks; test: {tests}"
    table = Table(caption=caption, caption_justify="left")
    table.box, table.padding, table.pad_edge = box.SIMPLE_HEAD, (0, 1, 0, 0), False
    table.add_column("pair", overflow="fold")
    for heading in (f"difference {confidence}", "test", "won : lost"):
        table.add_column(heading.replace("[", "\\["), justify="right", no_wrap=True)
    table.add_column("verdict", overflow="fold")
    for comparison in comparisons:
        table.add_row(
            Text(f"{comparison.label_a} - {comparison.label_b}"),
            Text(points(comparison.difference)),
            p_value(comparison.p_value),
            f"{comparison.wins} : {comparison.losses}",
            Text(comparison.verdict),
        )
    return table


def audit_table(audit: LevelAudit) -> Table:
    """One row a policy, the expert first, for `rich.print`; what breaks a promise is red."""
    from rich import box
    from rich.table import Table

    caption = "margin: worst success of the expert minus best return"
    title = f"{audit.env_id}, level {audit.level}, split {audit.split}"
    table = Table(title=title, title_justify="left", caption=caption, caption_justify="left")
    table.box, table.padding, table.pad_edge = box.SIMPLE_HEAD, (0, 1, 0, 0), False
    table.add_column("policy")
    for heading in ("success", "best return", "mean return", "margin", "n"):
        table.add_column(heading, justify="right", no_wrap=True)
    expert = audit.expert
    rate = f"{100 * expert.success_rate:.0f} %"
    style = "red" if audit.unsolved else "green"
    table.add_row("expert", rate, f"{expert.best:.2f}", f"{expert.mean:.2f}", "", str(expert.episodes), style=style)
    floor = audit.worst_success
    table.add_row("its worst success", "", NOT_KNOWN if floor is None else f"{floor:.2f}", "", "", "", end_section=True)
    for score in audit.cheaters:
        margin = NOT_KNOWN if floor is None else f"{floor - score.best:.2f}"
        cells = (f"{100 * score.success_rate:.0f} %", f"{score.best:.2f}", f"{score.mean:.2f}", margin)
        broken = score.successes > 0 or (floor is not None and score.best >= floor)
        table.add_row(score.policy, *cells, str(score.episodes), style="red" if broken else None)
    return table


def row_label(result: EvalResult) -> str:
    """The policy's label, with the number of training seeds when there are several."""
    return f"{result.label} ({len(result.runs)} seeds)" if len(result.runs) > 1 else result.label


def errors_note(results: Sequence[EvalResult]) -> str | None:
    """How many episodes of whom failed; None when none did."""
    return ", ".join(f"{result.errors} of {result.label}" for result in results if result.errors) or None


def _with_ends(interval: Interval, show: Callable[[float], str], unit: str = "") -> str:
    if interval.low is None or interval.high is None:
        return f"{show(interval.estimate)}{unit}"
    return f"{show(interval.estimate)}{unit} [{show(interval.low)}, {show(interval.high)}]"


def _no_minus_zero(value: float, digits: int) -> float:
    return 0.0 if round(value, digits) == 0 else value
