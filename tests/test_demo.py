"""The demo from end to end, on a tiny random model: every stage is real, only the model cannot talk."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")

from tiny import tiny_model, tiny_tokenizer

from slmagent.demo import DemoConfig, run_demo


def test_demo_leaves_a_report_and_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, output = tmp_path / "model", tmp_path / "demo"
    tiny_model().save_pretrained(model)
    tiny_tokenizer().save_pretrained(model)
    config = DemoConfig(
        output_dir=str(output), model=str(model), demonstrations=4, updates=1, next_updates=1, episodes=3, max_seconds=None
    )
    report = run_demo(config)
    page = report.read_text()
    assert "after RL" in page
    assert "</html>" in page
    success = {
        (row["level"], row["label"]): row["success"]["estimate"]
        for row in json.loads((output / "results.json").read_text())["results"]
    }
    assert success[1, "expert"] == success[2, "expert"] == 1.0
    assert success[1, "do-nothing"] == success[1, "untrained"] == 0.0

    def refuse(*args: object) -> None:
        raise AssertionError("a finished stage was run again")

    monkeypatch.setattr("slmagent.demo.train_sft", refuse)
    monkeypatch.setattr("slmagent.demo.train_grpo", refuse)
    monkeypatch.setattr("slmagent.evaluation.stages.rollout", refuse)
    assert run_demo(config) == report


def test_a_slow_machine_leaves_level_2_out(tmp_path: Path) -> None:
    model, output = tmp_path / "model", tmp_path / "demo"
    tiny_model().save_pretrained(model)
    tiny_tokenizer().save_pretrained(model)
    run_demo(
        DemoConfig(
            output_dir=str(output), model=str(model), demonstrations=4, updates=1, episodes=3, max_seconds=None, next_within=0.0
        )
    )
    rows = json.loads((output / "results.json").read_text())["results"]
    assert {row["level"] for row in rows} == {1}
    assert not (output / "grpo-2").exists()
