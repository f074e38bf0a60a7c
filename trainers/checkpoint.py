"""Checkpoints that are complete or absent: written aside, flushed, checked by hash, renamed into place."""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from slmagent.errors import RecordError

MANIFEST = "manifest.json"
PREFIX = "step-"
ASIDE = ".writing-"
"""Begins the names of folders that are being written or removed; the next save clears them away."""


def save_checkpoint(folder: Path, step: int, state: Mapping[str, Any], *, keep: int = 2) -> Path:
    """Writes `folder/step-NNNNNN` and removes all but the newest `keep`.

    A kill at any moment leaves the previous checkpoint usable: the new one appears under its name only when it is whole.

    Args:
        folder: Where a run keeps its checkpoints.
        step: Updates done.
        state: Anything `torch.save` takes.
        keep: Checkpoints to keep.

    Raises:
        ValueError: Some tensor or number in the state is not finite; nothing is written.
    """
    if not _finite(state):
        raise ValueError("a state with non-finite numbers is not saved")
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{PREFIX}{step:06d}"
    aside = folder / f"{ASIDE}{step:06d}-{os.getpid()}"
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    torch.save(dict(state), aside / "state.pt")
    manifest = {"step": step, "sha256": {"state.pt": _sha256(aside / "state.pt")}}
    (aside / MANIFEST).write_text(json.dumps(manifest, indent=2))
    for path in (*aside.iterdir(), aside):
        _flush(path)
    if target.exists():
        _discard(target)
    os.replace(aside, target)
    _flush(folder)
    for old in list_checkpoints(folder)[:-keep]:
        _discard(old)
    for leftover in folder.glob(f"{ASIDE}*"):
        shutil.rmtree(leftover, ignore_errors=True)
    return target


def list_checkpoints(folder: Path) -> list[Path]:
    """Whole checkpoints of a run, oldest first."""
    return sorted(path.parent for path in folder.glob(f"{PREFIX}*/{MANIFEST}"))


def load_checkpoint(path: Path) -> dict[str, Any]:
    """Reads one checkpoint.

    Raises:
        RecordError: It is missing, damaged (its hash does not fit its manifest) or not readable.
    """
    try:
        manifest = json.loads((path / MANIFEST).read_text())
        expected = manifest["sha256"]["state.pt"]
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise RecordError(f"{path} is not a checkpoint (no readable {MANIFEST}): {problem}") from problem
    state = path / "state.pt"
    if not state.is_file() or _sha256(state) != expected:
        raise RecordError(
            f"the checkpoint {path} is damaged: state.pt does not match the hash in its manifest; remove the folder"
        )
    try:
        return torch.load(state, map_location="cpu", weights_only=True)
    except Exception as problem:
        raise RecordError(f"the checkpoint {path} cannot be read: {problem}") from problem


def latest_checkpoint(folder: Path) -> Path | None:
    """The newest whole checkpoint of a run, or None."""
    found = list_checkpoints(folder)
    return found[-1] if found else None


def _discard(checkpoint: Path) -> None:
    """Takes a checkpoint away by one rename, then removes it piece by piece: under its name it is never half there."""
    aside = checkpoint.with_name(f"{ASIDE}{checkpoint.name}")
    os.replace(checkpoint, aside)
    shutil.rmtree(aside, ignore_errors=True)


def _finite(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, Tensor):
        return not value.is_floating_point() or bool(torch.isfinite(value).all())
    if isinstance(value, Mapping):
        return all(_finite(item) for item in value.values())
    if isinstance(value, (list, tuple)):
        return all(_finite(item) for item in value)
    return True


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
