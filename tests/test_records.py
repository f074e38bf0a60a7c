"""Trajectories on disk: lossless, and clear about what is wrong with a file."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slmagent.errors import RecordError
from slmagent.records import (
    TrajectoryWriter,
    read_trajectories,
    trajectory_from_json,
    trajectory_to_json,
    write_trajectories,
)
from slmagent.types import Message, Trajectory, Turn

# Any code point, lone surrogates included: agents say what they like.
any_text = st.text(st.characters(exclude_categories=[]), max_size=30)
floats = st.floats(allow_nan=False)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | floats | any_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text, inner, max_size=3),
    max_leaves=8,
)
json_tables = st.dictionaries(any_text, json_values, max_size=3)
stop_reasons: st.SearchStrategy = st.sampled_from(
    ["eos", "length", "context_full", "max_turns", "finished", "veto", "user_left", "error"]
)
turns = st.builds(
    Turn,
    start=st.integers(0, 5000),
    stop=st.integers(0, 5000),
    text=any_text,
    kind=st.sampled_from(["speak", "tool", "ask", "finish"]),
    stop_reason=stop_reasons,
    reward=floats,
    reward_components=st.dictionaries(any_text, floats, max_size=4),
    anchor=any_text,
    parse_error=st.none() | any_text,
    events=st.lists(json_tables, max_size=2).map(tuple),
)
messages = st.builds(Message, role=st.sampled_from(["system", "user", "assistant"]), content=any_text)


@st.composite
def trajectories(draw: st.DrawFn) -> Trajectory:
    length = draw(st.integers(0, 6))

    def column(values: st.SearchStrategy) -> tuple:
        return tuple(draw(st.lists(values, min_size=length, max_size=length)))

    return Trajectory(
        token_ids=column(st.integers(0, 2**18)),
        loss_mask=column(st.integers(0, 1)),
        logprobs=column(floats),
        turns=tuple(draw(st.lists(turns, max_size=3))),
        messages=tuple(draw(st.lists(messages, max_size=3))),
        env_id=draw(any_text),
        scenario_id=draw(any_text),
        level=draw(st.integers(0, 5)),
        split=draw(any_text),
        seed=draw(st.integers(0, 2**63)),
        user_seed=draw(st.integers(0, 2**63)),
        group_id=draw(any_text),
        temperature=draw(floats),
        terminated=draw(st.booleans()),
        truncated=draw(st.booleans()),
        stop_reason=draw(stop_reasons),
        success=draw(st.booleans()),
        status=draw(st.sampled_from(["ok", "env_error", "agent_error"])),
        error=draw(st.none() | any_text),
        metadata=draw(json_tables),
    )


EPISODE = Trajectory(
    token_ids=(1, 2),
    loss_mask=(0, 1),
    logprobs=(0.0, -0.1),
    turns=(Turn(1, 2, "hi", "speak", "eos", 0.1 + 0.2, {"a": 0.1 + 0.2}, "00ff"),),
    messages=({"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}),
    env_id="E",
    scenario_id="s0",
    level=1,
    split="test",
    seed=0,
    user_seed=1,
    group_id="",
    temperature=0.0,
    terminated=True,
    truncated=False,
    stop_reason="finished",
    success=True,
)


@given(trajectories())
def test_a_trajectory_survives_json_exactly(trajectory: Trajectory) -> None:
    line = trajectory_to_json(trajectory)
    assert "\n" not in line
    assert line.isascii()
    back = trajectory_from_json(line)
    assert back == trajectory
    assert [type(value) for value in back.logprobs] == [float] * len(back.logprobs)


def test_non_finite_log_probs_of_an_incident_survive() -> None:
    odd = dataclasses.replace(EPISODE, logprobs=(-math.inf, math.nan))
    back = trajectory_from_json(trajectory_to_json(odd))
    assert back.logprobs[0] == -math.inf
    assert math.isnan(back.logprobs[1])


def test_files_are_written_and_read_in_order(tmp_path: Path) -> None:
    episodes = [dataclasses.replace(EPISODE, seed=i) for i in range(3)]
    path = tmp_path / "deep" / "episodes.jsonl"
    assert write_trajectories(path, episodes) == 3
    assert read_trajectories(path) == episodes
    with TrajectoryWriter(path, append=True) as writer:
        writer.write(episodes[:1])
        assert read_trajectories(path) == [*episodes, episodes[0]]  # readable while it is still being written
    assert [entry.name for entry in path.parent.iterdir()] == ["episodes.jsonl"]


def test_a_failed_write_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "episodes.jsonl"
    write_trajectories(path, [EPISODE])
    bad = dataclasses.replace(EPISODE, metadata={"x": {1, 2}})
    with pytest.raises(TypeError, match=r"expected plain data .* actual set"):
        write_trajectories(path, [EPISODE, bad])
    assert read_trajectories(path) == [EPISODE]
    assert len(list(tmp_path.iterdir())) == 1


def changed(**changes: object) -> str:
    data = json.loads(trajectory_to_json(EPISODE)) | changes
    return json.dumps({key: value for key, value in data.items() if value is not ...})


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("not json", r"line 2: expected one JSON object a line, actual 'not json'"),
        ("[1]", r"line 2: expected a JSON object"),
        ('{"a": 1}', r'expected a trajectory \("format": "slmagent.trajectory/1"\)'),
        (changed(success=...), r"the key 'success' is missing; expected true or false"),
        (changed(succes=True), r"unknown key 'succes'; did you mean 'success'\?"),
        (changed(level="one"), r"level: expected a whole number, actual 'one' \(text\)"),
        (changed(token_ids=[1, "2"]), r"token_ids\[1\]: expected a whole number"),
        (changed(token_ids=[1]), r"expected token_ids, loss_mask and logprobs of one length, actual \[1, 2\]"),
        (changed(stop_reason="tired"), r"stop_reason: expected one of 'eos', .*actual 'tired'"),
        (changed(turns=[{"start": 0}]), r"turns\[0\]: the key 'stop' is missing"),
        (changed(messages=[{"role": "tool", "content": ""}]), r"messages\[0\]\.role: expected one of"),
        ("[" * 100_000, r"line 2: expected one JSON object a line"),
    ],
)
def test_a_malformed_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "episodes.jsonl"
    path.write_text(trajectory_to_json(EPISODE) + "\n" + line + "\n")
    with pytest.raises(RecordError, match=message):
        read_trajectories(path)


def test_a_torn_last_line_and_unreadable_files(tmp_path: Path) -> None:
    path = tmp_path / "episodes.jsonl"
    path.write_text(trajectory_to_json(EPISODE) + "\n" + trajectory_to_json(EPISODE)[:100])
    with pytest.raises(RecordError, match=r"line 2: .*the last line has no end"):
        read_trajectories(path)
    with pytest.raises(RecordError, match="No such file"):
        read_trajectories(tmp_path / "nowhere.jsonl")
    path.write_bytes(b"\xff\xff\xff")
    with pytest.raises(RecordError, match="expected UTF-8 text"):
        read_trajectories(path)
