"""The log of a run survives kills and resumes; its numbers are means over what they say."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from toy_env import made_episode

from slmagent.trainers.losses import clipped_policy_loss
from slmagent.trainers.metrics import MetricsLog, read_metrics
from slmagent.trainers.statistics import StepTotals, rollout_metrics


def steps(folder: Path) -> list[int]:
    return [line["step"] for line in read_metrics(folder / "metrics.jsonl")]


def write(folder: Path, first: int, count: int, **more: Any) -> None:
    log = MetricsLog(folder, first_step=first, tensorboard=False)
    for step in range(first, first + count):
        log.write(step, {"train/loss": step / 2, **more})
    log.close()


# ---- the file ---------------------------------------------------------------------------------------------------------------


def test_one_line_an_update(tmp_path: Path) -> None:
    write(tmp_path / "run", 0, 2, **{"safety/incident": "a non-finite loss"})
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"step": 0, "train/loss": 0.0, "safety/incident": "a non-finite loss"},
        {"step": 1, "train/loss": 0.5, "safety/incident": "a non-finite loss"},
    ]


def test_updates_that_are_repeated_are_logged_once(tmp_path: Path) -> None:
    write(tmp_path, 0, 5)
    write(tmp_path, 3, 4)
    assert steps(tmp_path) == list(range(7))
    write(tmp_path, 0, 1)
    assert steps(tmp_path) == [0]


def test_a_last_line_cut_short_is_left_out_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    write(tmp_path, 0, 3)
    content = path.read_bytes()
    for cut in range(1, len(content.splitlines()[-1]) + 2):
        path.write_bytes(content[:-cut])
        assert steps(tmp_path) == ([0, 1, 2] if cut == 1 else [0, 1])  # only the newline is missing, or more
        write(tmp_path, 2, 2)
        assert steps(tmp_path) == [0, 1, 2, 3]
        assert path.read_text().count("\n") == 4


@pytest.mark.parametrize("tail", [b"\x00" * 100, b"\xff\xfe{", b"3\n", b"[1]\n", b"null\n", b'{"train/loss": 1}\n'])
def test_what_is_no_line_of_metrics_ends_the_log(tmp_path: Path, tail: bytes) -> None:
    """A disk that ran full or lost power leaves such things behind."""
    write(tmp_path, 0, 2)
    with (tmp_path / "metrics.jsonl").open("ab") as stream:
        stream.write(tail)
    assert steps(tmp_path) == [0, 1]
    write(tmp_path, 2, 1)
    assert steps(tmp_path) == [0, 1, 2]


def test_no_file_has_no_lines(tmp_path: Path) -> None:
    assert read_metrics(tmp_path / "metrics.jsonl") == []


def test_numbers_that_are_not_finite_are_written_as_json_knows_them(tmp_path: Path) -> None:
    """A file with a bare NaN is no JSON, and other readers refuse it as a whole."""
    write(tmp_path, 0, 1, **{"train/grad_norm": math.nan, "train/other": math.inf})

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    (line,) = (tmp_path / "metrics.jsonl").read_text().splitlines()
    values = json.loads(line, parse_constant=refuse)
    assert values["train/loss"] == 0.0
    assert values["train/grad_norm"] is None
    assert values["train/other"] is None


def test_tensorboard_files_hold_the_numbers(tmp_path: Path) -> None:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    log = MetricsLog(tmp_path, tensorboard=True)
    for step in range(3):
        log.write(step, {"train/loss": step / 2, "safety/incident": "none", "flag": True})
    log.close()
    events = accumulator.EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    assert events.Tags()["scalars"] == ["train/loss"]
    assert [(event.step, event.value) for event in events.Scalars("train/loss")] == [(0, 0.0), (1, 0.5), (2, 1.0)]


# ---- the numbers ------------------------------------------------------------------------------------------------------------


def test_rollout_metrics_by_hand() -> None:
    first = made_episode([0.5, 2.0], actions=[[1, 1, 2], [1, 2]], success=True)
    first = replace(first, turns=(first.turns[0], replace(first.turns[1], stop_reason="context_full")))
    second = replace(made_episode([-1.0], actions=[[1, 1, 1, 1]]), stop_reason="veto")
    second = replace(second, turns=(replace(second.turns[0], stop_reason="length", parse_error="no name"),))
    assert rollout_metrics([first, second], seconds=3.0) == {
        "rollout/episodes": 2,
        "rollout/success_rate": 0.5,
        "rollout/mean_return": 0.75,
        "rollout/turns_per_episode": 1.5,
        "rollout/tokens_per_episode": 4.5,
        "rollout/malformed_calls": 1 / 3,
        "rollout/cut_actions": 2 / 3,
        "rollout/veto_rate": 0.5,
        "time/tokens_per_second": 3.0,
        "time/rollout_seconds": 3.0,
    }


def test_step_totals_are_means_over_tokens_and_steps() -> None:
    totals = StepTotals()
    for new, old, advantages in (([-1.0, -1.0], [-1.5, -1.0], [1.0, 1.0]), ([-2.0], [-2.0], [-3.0])):
        new_N, old_N = torch.tensor(new), torch.tensor(old)
        loss = clipped_policy_loss(new_N, old_N, torch.tensor(advantages), clip_low=0.2, clip_high=0.2)
        totals.count(new_N, old_N, torch.full_like(new_N, 0.6), loss)
        totals.steps += 1
        totals.grad_norm += 4.0
    metrics = totals.metrics()
    assert metrics["train/steps"] == 2
    assert metrics["train/trained_tokens"] == 3
    assert metrics["train/policy_loss"] == pytest.approx((-1.2 - 1.0 + 3.0) / 3)
    assert metrics["train/clip_fraction"] == pytest.approx(1 / 3)
    # k3 of KL(old || new), sampled from old: exp(d) - d - 1 with d = new - old = 0.5.
    assert metrics["train/approx_kl"] == pytest.approx((math.exp(0.5) - 1.5) / 3, abs=1e-6)
    assert metrics["train/entropy"] == pytest.approx(0.6)
    assert metrics["train/grad_norm"] == 4.0


def test_an_update_without_steps_has_numbers_too() -> None:
    assert all(value == 0 for value in StepTotals().metrics().values())
