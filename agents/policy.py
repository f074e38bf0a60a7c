"""A local language model as a policy: weights, tokenizer, chat format."""

from __future__ import annotations

import inspect
import json
import os
import shutil
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from slmagent.agents.chat import ChatFormat
from slmagent.agents.memory import keep_freed_memory
from slmagent.errors import SlmagentError

LORA_TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


class Policy:
    """A causal language model with what is needed to talk through it.

    Args:
        model: A Hugging Face causal language model, or the same wrapped by peft.
        tokenizer: Its tokenizer.

    Attributes:
        chat: How conversations become token ids.
        max_positions: Longest sequence in tokens that the model was made for.
    """

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.chat = ChatFormat(tokenizer)
        base = self.base_model
        self.max_positions: int = getattr(base.config, "max_position_embeddings", 2048)
        self._decoder: nn.Module = base.get_decoder()
        self._head: nn.Module = base.get_output_embeddings()
        parameters = inspect.signature(self._decoder.forward).parameters
        self._cache_argument = "cache" if "cache" in parameters else "past_key_values"
        self._check_head()

    @property
    def base_model(self) -> Any:
        """The language model without peft's wrapper (adapter layers, when there are any, stay inside)."""
        return self.model.get_base_model() if hasattr(self.model, "get_base_model") else self.model

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self._head.weight.device  # type: ignore[return-value]

    @property
    def dtype(self) -> torch.dtype:
        """Precision that the model computes in; scores and log-probabilities are float32 all the same."""
        return self._head.weight.dtype  # type: ignore[return-value]

    def hidden(
        self, input_ids: Tensor, *, position_ids: Tensor, attention_mask: Tensor | None = None, cache: Any = None
    ) -> Tensor:
        """Final hidden states, [batch, tokens, width].

        Args:
            input_ids: [batch, tokens].
            position_ids: [batch, tokens], the positions inside each sequence.
            attention_mask: A boolean [batch, 1, tokens, keys] mask (True = attend), or None for plain causal attention.
            cache: Holds the keys and values of earlier tokens and takes those of the new ones.
        """
        arguments: dict[str, Any] = {"input_ids": input_ids, "position_ids": position_ids, "attention_mask": attention_mask}
        if cache is not None:
            arguments |= {self._cache_argument: cache, "use_cache": True}
        else:
            arguments["use_cache"] = False
        return self._decoder(**arguments).last_hidden_state

    def logits(self, hidden: Tensor) -> Tensor:
        """Unnormalised float32 scores over the vocabulary, [..., vocab]."""
        return self._head(hidden).float()

    def save(self, folder: str | Path) -> None:
        """Writes weights and tokenizer in the Hugging Face form (an adapter alone, when there is one), whole or not at all."""
        folder = Path(folder)
        aside, old = (folder.with_name(f".{folder.name}.{what}") for what in ("writing", "old"))
        for leftover in (aside, old):
            shutil.rmtree(leftover, ignore_errors=True)
        self.model.save_pretrained(aside)
        self.tokenizer.save_pretrained(aside)
        if folder.exists():  # taken away by one rename, so that it is never half there
            os.replace(folder, old)
        os.replace(aside, folder)
        shutil.rmtree(old, ignore_errors=True)

    def _check_head(self) -> None:
        """Some models scale or cap their logits after the output layer; training their log-probs here would be wrong."""
        ids = torch.tensor([[self.chat.end_mark_id, 1, 2]], device=self.device)
        positions = torch.arange(3, device=self.device)[None]
        was_training = self.base_model.training
        self.base_model.eval()
        with torch.no_grad():
            expected = self.base_model(input_ids=ids, position_ids=positions, use_cache=False).logits.float()
            actual = self.logits(self.hidden(ids, position_ids=positions))
        self.base_model.train(was_training)
        tolerance = 1e-3 if self.dtype == torch.float32 else 0.1
        if not torch.allclose(expected, actual, atol=tolerance, rtol=tolerance):
            name = type(self.base_model).__name__
            raise SlmagentError(f"{name} changes its logits after the output layer (scaling or soft-capping); not supported")


def choose_device(device: str | None = None) -> torch.device:
    """The given device, or CUDA when there is one, else the CPU."""
    return torch.device(device) if device else torch.device("cuda" if torch.cuda.is_available() else "cpu")


def choose_dtype(name: str, device: torch.device) -> torch.dtype:
    """`float32`, `bfloat16`, or `auto`: bfloat16 where the hardware multiplies in it, else float32.

    Raises:
        SlmagentError: Another name.
    """
    if name == "auto":
        fast = torch.cuda.is_bf16_supported() if device.type == "cuda" else _cpu_has_bfloat16()
        return torch.bfloat16 if fast else torch.float32
    if name not in ("float32", "bfloat16"):
        raise SlmagentError(f"unknown dtype {name!r}; expected 'float32', 'bfloat16' or 'auto'")
    return getattr(torch, name)


def _cpu_has_bfloat16() -> bool:
    checks = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    return any(check() for name in checks if (check := getattr(torch.cpu, name, None)) is not None)


def _base_of(adapter: Path) -> str:
    """The model that an adapter belongs to."""
    try:
        base = json.loads((adapter / "adapter_config.json").read_text())["base_model_name_or_path"]
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise SlmagentError(f"adapter_config.json of {adapter} does not name a base model ({problem})") from None
    return str(base)


def load_policy(
    path_or_name: str | Path, *, adapter: str | Path | None = None, device: str | None = None, dtype: str = "float32"
) -> Policy:
    """Loads a model for rollouts or training.

    Args:
        path_or_name: A folder, a short name of `slmagent models list`, or a hub id. A folder that holds an adapter only
            is loaded onto the base model that the adapter names.
        adapter: A folder with a LoRA adapter to put on top.
        device: `cpu`, `cuda`, ...; None takes CUDA when present.
        dtype: Of the weights: `float32`, `bfloat16`, or `auto` (see choose_dtype).

    Raises:
        SlmagentError: Nothing loadable is there.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from slmagent.agents.models import resolve

    folder = Path(resolve(str(path_or_name)))
    if adapter is None and (folder / "adapter_config.json").is_file():
        adapter, folder = folder, Path(resolve(_base_of(folder)))
    target = choose_device(device)
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder)
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=choose_dtype(dtype, target), attn_implementation="sdpa")
        if adapter is not None:
            from peft import PeftModel

            model = PeftModel.from_pretrained(model, str(adapter), is_trainable=False)
    except SlmagentError:
        raise
    except Exception as problem:  # the libraries raise whatever a broken file makes them stumble over
        reason = (str(problem).splitlines() or [type(problem).__name__])[0]
        where = folder if adapter is None else f"{folder} with the adapter {adapter}"
        raise SlmagentError(f"cannot load the model at {where}: {reason}") from problem
    if target.type == "cpu":
        keep_freed_memory()
    model.to(target)  # type: ignore[arg-type]
    model.eval()
    return Policy(model, tokenizer)
