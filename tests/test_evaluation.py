"""From trajectories to results, tables and result files."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from slmagent.errors import RecordError
from slmagent.evaluation.evaluate import evaluate, evaluate_runs
from slmagent.evaluation.results import EvalResult, EvaluationError, compare_results, load_results, save_results
from slmagent.evaluation.statistics import Interval, mean_interval, wilson_interval
from slmagent.evaluation.tables import comparisons_table, number, percent, points, results_table
from slmagent.types import Trajectory, Turn


def episode(task: int = 0, *, success: bool = False, components: tuple[dict[str, float], ...] = ({"goal": 0.0},), **more: Any):
    """One episode with a turn per entry of `components`, two sampled tokens a turn."""
    turns = tuple(
        Turn(2 * i, 2 * i + 2, "hi", "speak", "eos", sum(paid.values()), paid, "") for i, paid in enumerate(components)
    )
    base = Trajectory(
        token_ids=(5,) * (2 * len(turns)),
        loss_mask=(1,) * (2 * len(turns)),
        logprobs=(-0.5,) * (2 * len(turns)),
        turns=turns,
        messages=({"role": "system", "content": "s"}, {"role": "user", "content": "u"}),
        env_id="SLMAgent/Booking-v0",
        scenario_id=f"task-{task}",
        level=1,
        split="test",
        seed=0,
        user_seed=0,
        group_id="",
        temperature=0.0,
        terminated=True,
        truncated=False,
        stop_reason="finished",
        success=success,
    )
    return dataclasses.replace(base, **more)


def results_of(successes: str, label: str = "policy", **more: Any) -> EvalResult:
    return evaluate([episode(i, success=mark == "1", **more) for i, mark in enumerate(successes)], label=label)


def test_every_number_by_hand() -> None:
    result = evaluate(
        [
            episode(0, success=True, components=({"progress": 0.25}, {"goal": 1.0, "style": 0.5})),
            episode(1, components=({"progress": 0.25}, {"progress": -0.25}, {"goal": 0.0}), stop_reason="max_turns"),
            episode(2, components=({"veto": -1.0},), stop_reason="veto"),
            episode(3, success=True, components=({"goal": 1.0},)),
        ],
        label="RL",
        config={"agent": "model:x"},
    )
    assert (result.label, result.env_id, result.level, result.split) == ("RL", "SLMAgent/Booking-v0", 1, "test")
    assert (result.episodes, result.tasks, result.errors) == (4, 4, 0)
    assert result.success == wilson_interval(2, 4)
    assert result.mean_return == mean_interval([1.75, 0.0, -1.0, 1.0])
    assert result.return_std == pytest.approx((4.296875 / 3) ** 0.5)
    assert result.turns.estimate == (2 + 3 + 1 + 1) / 4
    assert result.tokens is not None
    assert result.tokens.estimate == 2 * (2 + 3 + 1 + 1) / 4
    assert result.violations == wilson_interval(1, 4)
    assert result.stop_reasons == {"finished": 2, "max_turns": 1, "veto": 1}
    # A component that had nothing to check in an episode does not count there as 0.
    assert {name: (part.mean.estimate, part.episodes) for name, part in result.components.items()} == {
        "goal": (2 / 3, 3),
        "progress": (0.125, 2),
        "style": (0.5, 1),
        "veto": (-1.0, 1),
    }
    assert result.runs == ({"task-0": (1.0,), "task-1": (0.0,), "task-2": (0.0,), "task-3": (1.0,)},)
    assert result.pass_at_k == result.pass_hat_k == {"1": 0.5}
    assert result.config == {"agent": "model:x"}
    assert result.refusals is None
    assert result.by_kind == {}


def test_trials_of_a_task_are_ordered_and_clustered() -> None:
    episodes = [
        episode(0, success=True, user_seed=2),
        episode(1, user_seed=1),
        episode(0, user_seed=1),
        episode(1, user_seed=2),
    ]
    result = evaluate(episodes, label="x")
    assert result.runs == ({"task-0": (0.0, 1.0), "task-1": (0.0, 0.0)},)
    assert result.success.method == "task bootstrap"
    assert (result.pass_at_k, result.pass_hat_k) == ({"1": 0.25, "2": 0.5}, {"1": 0.25, "2": 0.0})


def test_failed_episodes_are_counted_and_never_zeros() -> None:
    good = [episode(i, success=True, components=({"goal": 1.0},)) for i in range(19)]
    bad = episode(19, status="env_error", error="the tool broke", stop_reason="error")
    result = evaluate([*good, bad], label="x")
    assert (result.episodes, result.errors, result.success.estimate, result.mean_return.estimate) == (19, 1, 1.0, 1.0)
    assert result.error_messages == {"env_error: the tool broke": 1}
    assert "task-19" not in result.runs[0]
    with pytest.raises(EvaluationError, match=r"3 of 20 episodes of 'x' failed, at most 10% may; .*3 times.*the tool broke"):
        evaluate([*good[:17], *[dataclasses.replace(bad, scenario_id=f"task-{i}") for i in range(20, 23)]], label="x")
    with pytest.raises(EvaluationError, match="1 of 1 episodes"):
        evaluate([bad], label="x", max_error_share=1.0)


def test_text_agents_have_no_tokens_and_malformed_calls_are_seen() -> None:
    turn = Turn(0, 0, "<tool_call>", "tool", "eos", 0.0, {}, "", parse_error="no JSON")
    result = evaluate([episode(turns=(turn,), token_ids=(), loss_mask=(), logprobs=())], label="x")
    assert result.tokens is None
    assert result.malformed.estimate == 1.0


def test_refusals_and_kinds_are_reported_apart() -> None:
    episodes = [
        episode(0, success=True, metadata={"task_kind": "refuse_refund"}),
        episode(1, metadata={"task_kind": "refuse_refund"}),
        episode(2, success=True, metadata={"task_kind": "order"}),
    ]
    result = evaluate(episodes, label="x")
    assert result.refusals == wilson_interval(1, 2)
    assert result.by_kind == {"order": wilson_interval(1, 1), "refuse_refund": wilson_interval(1, 2)}


def test_several_training_seeds_are_pooled_over_the_same_tasks() -> None:
    runs = [[episode(i, success=i < wins, user_seed=i) for i in range(10)] for wins in (4, 6, 8)]
    result = evaluate_runs(runs, label="RL")
    assert result.success.estimate == pytest.approx(0.6)
    assert (result.success.method, result.success.n) == ("task and seed bootstrap", 10)
    assert (result.episodes, result.tasks, len(result.runs)) == (30, 10, 3)
    assert result.components["goal"].mean.n == 3
    failed = dataclasses.replace(runs[0][9], status="agent_error", error="gone")
    partly = evaluate_runs([[*runs[0][:9], failed], *runs[1:]], label="RL")
    assert (partly.tasks, partly.errors, partly.episodes) == (9, 1, 27)  # the task is left out of every seed
    with pytest.raises(EvaluationError, match=r"same tasks for every training seed of 'RL'; they differ \(10, 9 tasks\)"):
        evaluate_runs([runs[0], runs[1][:9]], label="RL")


@pytest.mark.parametrize(
    ("episodes", "message"),
    [
        ([], "there is no episode of 'x'"),
        ([episode(0), episode(1, level=2)], "one environment, level and split .* level 1 split test; .* level 2"),
        ([episode(0), episode(0)], "every episode of 'x' once, actual 2 times: task task-0, user seed 0, sampling seed 0"),
        ([episode(0, components=({"goal": float("nan")},))], "finite rewards, actual nan .* task task-0"),
    ],
)
def test_episodes_that_do_not_belong_together_are_refused(episodes: list[Trajectory], message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        evaluate(episodes, label="x")


def test_results_are_compared_on_the_same_tasks_only() -> None:
    rl, sft = results_of("1111111110", "RL"), results_of("1100000000", "SFT")
    comparison = compare_results(rl, sft)
    assert (comparison.label_a, comparison.difference.estimate, comparison.verdict) == ("RL", pytest.approx(0.7), "RL better")
    assert compare_results(rl, dataclasses.replace(rl, label="same")).verdict == "not distinguishable"
    with pytest.raises(EvaluationError, match="cannot compare 'RL' and 'other': level is 1 and 2"):
        compare_results(rl, dataclasses.replace(rl, label="other", level=2))
    with pytest.raises(EvaluationError, match="no task in common"):
        compare_results(rl, dataclasses.replace(rl, label="other", runs=({"z": (1.0,)},)))


def test_result_files_round_trip(tmp_path: Path) -> None:
    rl, single = results_of("110", "RL"), evaluate([episode(metadata={"task_kind": "a"})], label="one")
    comparison = compare_results(rl, results_of("100", "SFT"))
    path = tmp_path / "deep" / "eval.json"
    save_results(path, [rl, single], [comparison])
    assert load_results(path) == ([rl, single], [comparison])
    json.loads(path.read_text(), parse_constant=pytest.fail)  # strict JSON: no NaN, no Infinity


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "expected JSON"),
        ("[]", "expected evaluation results"),
        ('{"format": "slmagent.evaluation/1"}', "results: expected a list"),
        ('{"format": "slmagent.evaluation/1", "results": [{"label": 3}], "comparisons": []}', r"results\[0\]"),
    ],
)
def test_a_bad_result_file_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "eval.json"
    path.write_text(text)
    with pytest.raises(RecordError, match=rf"eval\.json: {message}"):
        load_results(path)
    with pytest.raises(RecordError, match="No such file"):
        load_results(tmp_path / "nowhere.json")


def test_cells() -> None:
    assert percent(Interval(0.714, 0.571, 0.823, 48, "wilson")) == "71 % [57, 82]"
    assert percent(Interval(0.7143, 0.571, 0.823, 600, "wilson")) == "71.4 % [57.1, 82.3]"
    assert percent(None) == "-"
    assert number(Interval(1.234, 1.1, 1.36, 48, "t")) == "1.23 [1.10, 1.36]"
    assert number(Interval(1.234, None, None, 1, "none")) == "1.23"
    assert points(Interval(0.21, 0.09, 0.331, 48, "task bootstrap")) == "+21 [+9, +33]"
    assert points(Interval(0.0, -0.0001, 0.0, 48, "task bootstrap")) == "+0 [+0, +0]"


def test_tables_show_what_matters() -> None:
    console = Console(width=140, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    rl, sft = results_of("1111111110", "RL"), results_of("1100000000", "SFT")
    console.print(results_table([sft, dataclasses.replace(rl, errors=2)], title="Booking"))
    console.print(comparisons_table([compare_results(rl, sft)]))
    shown = console.export_text()
    for part in (
        "90 % [60, 98]",
        "20 % [6, 51]",
        "failed episodes, left out: 2 of RL",
        "RL - SFT",
        "+70 [",
        "RL better",
        "7 : 0",
    ):
        assert part in shown
