"""A checkpoint is whole or absent, whenever the process dies."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from slmagent.errors import RecordError
from slmagent.trainers.checkpoint import latest_checkpoint, list_checkpoints, load_checkpoint, save_checkpoint


def state(step: int, **more: Any) -> dict[str, Any]:
    return {"step": step, "weights": {"a": torch.full((4, 3), float(step))}, "config": {"name": "x", "limit": None}, **more}


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# ---- saving and loading -----------------------------------------------------------------------------------------------------


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    saved = state(3, moments=[torch.tensor([0.1, -0.0]), torch.tensor(7)], pair=(1, 2.5), flag=True)
    path = save_checkpoint(tmp_path / "new" / "folder", 3, saved)
    assert path == latest_checkpoint(tmp_path / "new" / "folder")
    loaded = load_checkpoint(path)
    assert loaded.keys() == saved.keys()
    assert torch.equal(loaded["weights"]["a"], saved["weights"]["a"])
    assert loaded["moments"][0].numpy().tobytes() == saved["moments"][0].numpy().tobytes()
    assert loaded["moments"][1].dtype == torch.int64
    assert {key: loaded[key] for key in ("step", "config", "pair", "flag")} == {
        "step": 3,
        "config": {"name": "x", "limit": None},
        "pair": (1, 2.5),
        "flag": True,
    }


def test_only_the_last_ones_are_kept(tmp_path: Path) -> None:
    for step in range(1, 13):
        save_checkpoint(tmp_path, step, state(step), keep=3)
    assert names(tmp_path) == ["step-000010", "step-000011", "step-000012"]
    assert [load_checkpoint(path)["step"] for path in list_checkpoints(tmp_path)] == [10, 11, 12]


def test_a_step_can_be_saved_again(tmp_path: Path) -> None:
    save_checkpoint(tmp_path, 1, state(1))
    save_checkpoint(tmp_path, 1, state(100))
    assert names(tmp_path) == ["step-000001"]
    assert load_checkpoint(tmp_path / "step-000001")["step"] == 100


def test_there_may_be_none(tmp_path: Path) -> None:
    assert latest_checkpoint(tmp_path / "nowhere") is None
    (tmp_path / "step-000001").mkdir()  # without a manifest it is not whole
    (tmp_path / "step-000002").write_text("a file")
    (tmp_path / ".writing-000009-1").mkdir()
    assert latest_checkpoint(tmp_path) is None


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("where", ["tensor", "nested", "number", "half precision"])
def test_what_is_not_finite_is_never_written(tmp_path: Path, bad: float, where: str) -> None:
    spoilt: dict[str, Any] = {
        "tensor": {"weights": torch.tensor([1.0, bad])},
        "nested": {"optimizer": {"state": {0: {"exp_avg": [(torch.zeros(2), torch.tensor(bad))]}}}},
        "number": {"whitener": {"mean": bad}},
        "half precision": {"weights": torch.tensor([1.0, bad], dtype=torch.bfloat16)},
    }[where]
    save_checkpoint(tmp_path, 1, state(1))
    with pytest.raises(ValueError, match="non-finite"):
        save_checkpoint(tmp_path, 2, state(2, **spoilt))
    assert names(tmp_path) == ["step-000001"]


# ---- damage -----------------------------------------------------------------------------------------------------------------


def damaged(folder: Path, how: str) -> Path:
    path = save_checkpoint(folder, 1, state(1))
    file, manifest = path / "state.pt", path / "manifest.json"
    content = file.read_bytes()
    if how == "flipped bit":
        file.write_bytes(content[:500] + bytes([content[500] ^ 1]) + content[501:])
    elif how == "cut":
        file.write_bytes(content[:-100])
    elif how == "empty":
        file.write_bytes(b"")
    elif how == "no state":
        file.unlink()
    elif how == "no manifest":
        manifest.unlink()
    elif how == "manifest cut":
        manifest.write_text(manifest.read_text()[:20])
    elif how == "manifest of something else":
        manifest.write_text("[1, 2]")
    elif how == "manifest without hash":
        manifest.write_text(json.dumps({"step": 1, "sha256": {}}))
    elif how == "binary manifest":
        manifest.write_bytes(b"\xff\xfe\x00")
    elif how == "not torch's":
        import hashlib

        file.write_text("hello")
        manifest.write_text(json.dumps({"step": 1, "sha256": {"state.pt": hashlib.sha256(b"hello").hexdigest()}}))
    return path


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("flipped bit", "is damaged: state.pt does not match the hash"),
        ("cut", "is damaged"),
        ("empty", "is damaged"),
        ("no state", "is damaged"),
        ("no manifest", "is not a checkpoint"),
        ("manifest cut", "is not a checkpoint"),
        ("manifest of something else", "is not a checkpoint"),
        ("manifest without hash", "is not a checkpoint"),
        ("binary manifest", "is not a checkpoint"),
        ("not torch's", "cannot be read"),
    ],
)
def test_damage_is_told_in_one_sentence_that_names_the_folder(tmp_path: Path, how: str, message: str) -> None:
    path = damaged(tmp_path, how)
    with pytest.raises(RecordError, match=message) as caught:
        load_checkpoint(path)
    assert str(path) in str(caught.value)


def test_code_in_a_checkpoint_is_not_run(tmp_path: Path) -> None:
    import hashlib
    import pickle

    class Harmful:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.touch, (tmp_path / "harm",))

    path = save_checkpoint(tmp_path / "run", 1, state(1))
    content = pickle.dumps(Harmful(), protocol=2)
    (path / "state.pt").write_bytes(content)
    (path / "manifest.json").write_text(json.dumps({"step": 1, "sha256": {"state.pt": hashlib.sha256(content).hexdigest()}}))
    with pytest.raises(RecordError, match="cannot be read"):
        load_checkpoint(path)
    assert not (tmp_path / "harm").exists()


# ---- kill -9 ----------------------------------------------------------------------------------------------------------------

KILLER = '''
"""Saves in child processes that are killed: at every file operation of a save, and at moments inside torch.save."""
import os, shutil, signal, sys, time
from pathlib import Path
import torch
from slmagent.trainers.checkpoint import save_checkpoint

torch.set_num_threads(1)
base = Path(sys.argv[1])
EVENTS = ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "shutil.rmtree", "os.scandir", "os.listdir")

def state(step, size):
    return {"step": step, "weights": torch.full((size,), float(step))}

def in_child(work):
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(17)
    return child

def die_at(moment, folder, step):
    seen = 0
    def watch(event, arguments):
        nonlocal seen
        if event in EVENTS and str(folder) in str(arguments[:2]):
            seen += 1
            if seen == moment:
                os.kill(os.getpid(), signal.SIGKILL)
    def work():
        sys.addaudithook(watch)
        save_checkpoint(folder, step, state(step, 10), keep=2)
        os._exit(0)
    return os.waitpid(in_child(work), 0)[1]

# One folder a moment: steps 1 to 3 were saved, the save of step 4 (or of step 3 again) is killed at its nth file operation.
before = base.with_name("before")
for step in (1, 2, 3):
    save_checkpoint(before, step, state(step, 10), keep=2)
for again, step in (("new", 4), ("again", 3)):
    for moment in range(1, 1000):
        folder = shutil.copytree(before, base / f"{again}-{moment:03d}")
        if die_at(moment, folder, step) == 0:
            shutil.rmtree(folder)
            break

# Large states, killed by the clock, most of the time while torch.save writes.
for number, wait in enumerate((0.001, 0.003, 0.01, 0.02, 0.05)):
    folder = base / f"clock-{number}"
    save_checkpoint(folder, 1, state(1, 10), keep=2)
    def work():
        for step in range(2, 1000):
            save_checkpoint(folder, step, state(step, 5_000_000), keep=2)
    child = in_child(work)
    deadline = time.monotonic() + 60
    while not list(folder.glob(".writing-*")) and time.monotonic() < deadline:
        time.sleep(0.0005)
    time.sleep(wait)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
'''


@pytest.mark.skipif(not hasattr(sys, "addaudithook") or sys.platform == "win32", reason="needs fork")
def test_a_kill_at_any_moment_leaves_a_usable_checkpoint(tmp_path: Path) -> None:
    base = tmp_path / "killed"
    done = subprocess.run([sys.executable, "-c", KILLER, str(base)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    folders = names(base)
    moments = {kind: sum(folder.startswith(kind) for folder in folders) for kind in ("new", "again", "clock")}
    assert moments["new"] >= 12
    assert moments["again"] >= 12
    assert moments["clock"] == 5
    appeared = 0
    for name in folders:
        folder = base / name
        newest = latest_checkpoint(folder)
        assert newest is not None, name
        loaded = load_checkpoint(newest)  # whole: its hash is right
        step = loaded["step"]
        assert newest.name == f"step-{step:06d}", name
        assert bool((loaded["weights"] == float(step)).all()), name
        if name.startswith("new"):
            assert step in (3, 4), name
            appeared += step == 4
        # The next save works, and cleans up what was left behind.
        save_checkpoint(folder, 2000, state(2000), keep=1)
        assert names(folder) == ["step-002000"], name
    assert 0 < appeared < moments["new"]
