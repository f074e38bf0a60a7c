"""The HTML report, its curves and its choice of conversations."""

from __future__ import annotations

import dataclasses
import html.parser
import json
import re
from pathlib import Path
from typing import Any

import pytest
from test_evaluation import episode, results_of

from slmagent.errors import RecordError
from slmagent.evaluation.conversations import Conversation, describe, pick_conversations
from slmagent.evaluation.curves import ELAPSED, PANELS, Panel, learning_curves, load_metrics
from slmagent.evaluation.evaluate import evaluate
from slmagent.evaluation.report import Report, ReportError, render_report, write_report
from slmagent.evaluation.results import compare_results
from slmagent.types import Trajectory, Turn

METRICS = [
    {"step": 0, ELAPSED: 10.0, "rollout/success_rate": 0.25, "train/clip_fraction": 0.1},
    {"step": 1, ELAPSED: 20.0, "rollout/success_rate": 0.5, "train/clip_fraction": float("nan"), "eval/success_rate": 0.4},
    {"step": 2, ELAPSED: 30.0, "rollout/success_rate": 0.75, "train/clip_fraction": 0.2, "incident": "text"},
]
VOID = {"meta", "br", "path", "use", "img", "link"}


class Page(html.parser.HTMLParser):
    """Checks nesting while it collects ids and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.seen: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.ids += [value for name, value in attrs if name == "id" and value]
        assert not any(name.startswith("on") for name, _ in attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data.split()

    @property
    def text(self) -> str:
        return " ".join(self.words)


def talk(**more: Any) -> Trajectory:
    """An episode with a call, its result, a malformed call and a violation."""
    turns = (
        Turn(0, 1, "a", "tool", "eos", 0.5, {"progress": 0.5, "style": 0.0}, ""),
        Turn(1, 2, "b", "tool", "length", 0.0, {}, "", parse_error="no JSON", events=({"type": "malformed_call"},)),
        Turn(
            2, 3, "c", "tool", "eos", -1.5, {"veto": -1.5}, "", events=({"type": "policy_violation", "clause": "no refunds"},)
        ),
    )
    messages = (
        {"role": "system", "content": "You book <flights> & hotels."},
        {"role": "user", "content": "<script>alert('x')</script>"},
        {"role": "assistant", "content": 'FL1 fits.\n<tool_call>{"name": "book"}</tool_call>'},
        {"role": "user", "content": "<tool_response>\nbooked\n</tool_response>"},
        {"role": "assistant", "content": "<tool_call>{"},
        {"role": "user", "content": "<tool_response>\nerror: no JSON\n</tool_response>"},
        {"role": "assistant", "content": ""},
    )
    return dataclasses.replace(episode(), turns=turns, messages=messages, stop_reason="veto", **more)


def whole_report(**changes: Any) -> Report:
    rl, sft = results_of("1111111110", "RL"), results_of("1100000000", "SFT")
    report = Report(
        title="Booking <level 1>",
        results=[sft, rl],
        comparisons=[compare_results(rl, sft)],
        metrics={"RL": METRICS},
        conversations=[Conversation("RL", talk())],
        config={"agent": "model:x", "RL settings": {"learning rate": 0.0003}},
        summary="What happened.",
        command="slmagent eval a b",
    )
    return dataclasses.replace(report, **changes)


# ---- the page ---------------------------------------------------------------------------------------------------------------


def test_the_page_shows_everything_and_is_well_formed() -> None:
    page = Page(render_report(whole_report()))
    for part in (
        "Booking <level 1> SLMAgent/Booking-v0, level 1, split test What happened.",
        "RL 90 % [60, 98]",
        "SFT 20 % [6, 51]",
        "RL \N{MINUS SIGN} SFT +70 [",
        "7 : 0 of 10 RL better",
        "RL, over updates",
        "RL, over wall-clock time",
        "goal 0.00 0.00",
        "finished 10 10",
        "failure RL return -1.00, veto",
        "You book <flights> & hotels.",
        "<script>alert('x')</script>",
        "+0.50 progress +0.50",
        "malformed call: no JSON cut off (length)",
        "-1.50 veto -1.50 broke the rule: no refunds",
        "(says nothing)",
        "slmagent eval a b",
        "learning rate 0.0003",
    ):
        assert part in page.text, part
    assert "script" not in page.seen
    assert len(page.ids) == len(set(page.ids))
    assert page.seen.count("svg") == 3  # success over updates and time, clip fraction over updates


def test_the_page_needs_nothing_from_outside() -> None:
    text = render_report(whole_report())
    assert re.findall(r"(?:src|href)=\"(?!#)[^\"]*\"", text) == []
    assert "@import" not in text
    assert "url(" not in re.sub(r"url\(#", "", text)
    assert "prefers-color-scheme: dark" in text


def test_levels_have_tables_of_their_own() -> None:
    first, second = results_of("1100", "RL"), dataclasses.replace(results_of("1000", "RL"), level=2)
    page = Page(render_report(Report(title="x", results=[first, second])))
    for level in (1, 2):
        assert f"Results on SLMAgent/Booking-v0, level {level}, split test" in page.text
    assert page.text.index("RL 50 %") < page.text.index("level 2") < page.text.index("RL 25 %")


@pytest.mark.parametrize(
    ("changes", "heading"),
    [
        ({"comparisons": []}, "Paired comparisons"),
        ({"metrics": {}}, "Learning curves"),
        ({"metrics": {"RL": [{"step": 0, "other": 1.0}]}}, "Learning curves"),
        ({"conversations": []}, "Conversations"),
        ({"config": {}, "command": ""}, "How this was made"),
        ({"results": [], "comparisons": []}, "Results"),
    ],
)
def test_what_is_missing_is_left_out(changes: dict[str, Any], heading: str) -> None:
    assert heading in Page(render_report(whole_report())).text
    assert heading not in Page(render_report(whole_report(**changes))).text


def test_an_empty_report_is_refused() -> None:
    with pytest.raises(ReportError, match="nothing to report"):
        render_report(Report(title="x", results=[]))


def test_failed_episodes_kinds_and_refusals_are_told() -> None:
    episodes = [
        episode(0, success=True, metadata={"task_kind": "refuse_refund"}),
        *[episode(i, metadata={"task_kind": "order"}) for i in range(1, 11)],
        episode(11, status="env_error", error="gone"),
    ]
    page = Page(render_report(Report(title="x", results=[evaluate(episodes, label="RL")])))
    assert "Episodes that failed for technical reasons are left out and not counted as zeros: 1 of RL." in page.text
    assert "refuse_refund 100 %" in page.text
    assert "all tasks to be refused 100 %" in page.text


def test_writing_is_whole_and_survives_odd_text(tmp_path: Path) -> None:
    odd = dataclasses.replace(talk(), messages=({"role": "user", "content": "half a pair: \ud800"},))
    path = write_report(whole_report(conversations=[Conversation("RL", odd)]), tmp_path / "deep" / "report.html")
    assert "half a pair: ?" in path.read_text(encoding="utf-8")
    with pytest.raises(ReportError):
        write_report(Report(title="x", results=[]), path)
    assert "half a pair" in path.read_text(encoding="utf-8")
    assert [entry.name for entry in path.parent.iterdir()] == ["report.html"]


# ---- conversations ----------------------------------------------------------------------------------------------------------


def test_conversations_are_described_by_speaker() -> None:
    shown = describe(talk())
    assert [message.who for message in shown] == ["instructions", "user", "agent", "tool", "agent", "tool", "agent"]
    assert [(part.text, part.code) for part in shown[2].parts] == [
        ("FL1 fits.", False),
        ('<tool_call>{"name": "book"}</tool_call>', True),
    ]
    assert shown[2].earned is not None
    assert shown[2].earned.components == (("progress", 0.5),)
    assert shown[3].parts[0].text == "booked"


def test_tasks_that_tell_policies_apart_are_shown_first() -> None:
    before = [episode(i, success=i == 0) for i in range(5)]
    after = [episode(i, success=i != 4) for i in range(5)]
    broken = dataclasses.replace(episode(1), status="env_error", error="gone")
    chosen = pick_conversations({"before": [broken, *before], "after": after}, tasks=4)
    tasks = [(shown.trajectory.scenario_id, shown.label) for shown in chosen]
    expected = [(f"task-{i}", label) for i in (1, 2, 3, 0) for label in ("before", "after")]
    assert tasks == expected
    assert all(shown.trajectory.status == "ok" for shown in chosen)


# ---- curves -----------------------------------------------------------------------------------------------------------------


def heights(svg: str) -> list[list[float]]:
    """The y coordinates of each drawn line, highest value first on the page."""
    lines = re.findall(r'<path d="([^"]*)" clip-path="[^"]*" style="[^"]*stroke: var\(--s\d\)', svg)
    return [[float(y) for y in re.findall(r"[ML] [-\d.]+ ([-\d.]+)", line)] for line in lines]


def test_curves_draw_the_numbers_and_leave_gaps() -> None:
    success, clipped = learning_curves(METRICS)
    (line, single) = heights(success)
    assert line[0] - line[1] == pytest.approx(line[1] - line[2])  # equal steps of success
    assert len(single) == 1
    (clip,) = heights(clipped)
    assert len(clip) == 2  # the NaN is left out
    assert not re.findall(r"#[0-9a-f]{6}", success)  # all colours are the page's
    assert "rollout/success_rate" in success


def test_curves_over_time_and_nothing_to_draw() -> None:
    (svg,) = learning_curves(METRICS, over=ELAPSED)
    assert "seconds" in svg
    assert learning_curves([{"step": 0}]) == []
    assert learning_curves([]) == []
    assert learning_curves([{"step": 0, "x": 1.0}], panels=[Panel("X", ("x",))]) != []
    assert learning_curves(METRICS) == learning_curves(METRICS)  # the same bytes again


def test_what_was_switched_off_is_not_drawn_as_zero() -> None:
    lines = [{"step": i, "train/policy_loss": 0.1 * i, "train/imitation_loss": 0.0, "safety/rollbacks": 0} for i in range(3)]
    loss, rollbacks = learning_curves(lines)
    assert "Loss per token over update: train/policy_loss" in loss
    assert "imitation" not in loss
    assert "Weight rollbacks" in rollbacks  # none is a finding


def test_panels_have_colours_for_all_their_lines() -> None:
    assert all(1 <= len(panel.names) <= 4 for panel in PANELS)
    names = [name for panel in PANELS for name in panel.names]
    assert len(names) == len(set(names))


def test_metrics_files(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in METRICS) + '{"step": 3, "roll')
    assert [line["step"] for line in load_metrics(path)] == [0, 1, 2]  # the torn end is left out
    for text, message in (
        ('{"step": 0\n{"step": 1}\n', r"line 1: expected one JSON object a line"),
        ('{"step": 0}\n[]\n', r"line 2: expected an object with a number under 'step'"),
        ('{"step": null}\n', r"line 1: expected an object with a number"),
    ):
        path.write_text(text)
        with pytest.raises(RecordError, match=message):
            load_metrics(path)
    with pytest.raises(RecordError, match="No such file"):
        load_metrics(tmp_path / "nowhere.jsonl")
