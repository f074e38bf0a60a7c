"""Makes a model folder from weights in GGUF.

torch and transformers are imported only when something is converted.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from slmagent.errors import require
from slmagent.fetching import ModelError


def convert_gguf(gguf: Path, folder: Path, *, max_length: int) -> None:
    """Writes a SmolLM2-style GGUF model as a float32 safetensors folder with tokenizer and chat template.

    Raises:
        ModelError: The result does not have the special tokens and template of its family.
    """
    for module in ("torch", "gguf", "transformers"):
        require(module, extra="train", purpose="converting a model")
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
