"""Policies are saved whole, loaded as they were, and refused with one clear sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny import tiny_model, tiny_tokenizer
from torch import Tensor
from toy_env import chatty_policy
from transformers import GraniteConfig, GraniteForCausalLM

from slmagent.agents.policy import Policy, choose_device, choose_dtype, load_policy
from slmagent.errors import SlmagentError
from slmagent.trainers.lora import fold


def scores(policy: Policy) -> Tensor:
    ids = torch.arange(3, 60)[None]
    positions = torch.arange(57)[None]
    with torch.no_grad():
        return policy.logits(policy.hidden(ids, position_ids=positions))


def load(folder: Path, **more: Any) -> Policy:
    return load_policy(folder, device="cpu", **more)


# ---- saving and loading -----------------------------------------------------------------------------------------------------


def test_a_saved_policy_answers_as_before(tmp_path: Path) -> None:
    policy = chatty_policy()
    policy.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert torch.equal(scores(loaded), scores(policy))
    assert loaded.chat.is_native
    assert loaded.chat.end_mark_id == policy.chat.end_mark_id
    assert loaded.max_positions == 2048
    assert not loaded.model.training
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]


def test_an_adapter_is_loaded_onto_the_base_that_it_names(tmp_path: Path) -> None:
    base = chatty_policy()
    base.save(tmp_path / "base")
    policy = chatty_policy(adapter=True)
    policy.save(tmp_path / "adapter")
    settings = tmp_path / "adapter" / "adapter_config.json"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"base_model_name_or_path": str(tmp_path / "base")}))
    assert not list((tmp_path / "adapter").glob("model*"))
    for loaded in (load(tmp_path / "adapter"), load(tmp_path / "base", adapter=tmp_path / "adapter")):
        torch.testing.assert_close(scores(loaded), scores(policy), atol=1e-5, rtol=0)
        assert not any(parameter.requires_grad for parameter in loaded.model.parameters())
    assert not torch.allclose(scores(load(tmp_path / "base")), scores(policy), atol=0.1)


def test_saving_again_replaces_the_folder(tmp_path: Path) -> None:
    chatty_policy(adapter=True).save(tmp_path / "model")
    folded = fold(chatty_policy(adapter=True))
    folded.save(tmp_path / "model")
    assert not (tmp_path / "model" / "adapter_config.json").exists()
    torch.testing.assert_close(scores(load(tmp_path / "model")), scores(folded), atol=1e-6, rtol=0)


def test_a_save_that_fails_leaves_the_old_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = chatty_policy()
    policy.save(tmp_path / "model")
    other = chatty_policy(seed=3)
    monkeypatch.setattr(other.tokenizer, "save_pretrained", lambda folder: (_ for _ in ()).throw(OSError("no space left")))
    with pytest.raises(OSError, match="no space left"):
        other.save(tmp_path / "model")
    assert torch.equal(scores(load(tmp_path / "model")), scores(policy))
    chatty_policy(seed=3).save(tmp_path / "model")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]


# ---- precision and place ----------------------------------------------------------------------------------------------------


def test_weights_come_in_the_precision_asked_for(tmp_path: Path) -> None:
    chatty_policy().save(tmp_path / "model")
    assert load(tmp_path / "model").dtype == torch.float32
    low = load(tmp_path / "model", dtype="bfloat16")
    assert low.dtype == torch.bfloat16
    assert scores(low).dtype == torch.float32
    assert choose_dtype("auto", torch.device("cpu")) in (torch.float32, torch.bfloat16)
    with pytest.raises(SlmagentError, match="unknown dtype 'int3'; expected 'float32', 'bfloat16' or 'auto'"):
        load(tmp_path / "model", dtype="int3")


def test_the_device_can_be_chosen() -> None:
    assert choose_device("cpu") == torch.device("cpu")
    assert choose_device().type == ("cuda" if torch.cuda.is_available() else "cpu")


# ---- what is refused --------------------------------------------------------------------------------------------------------


def test_a_model_that_changes_its_scores_behind_the_head_is_refused() -> None:
    """Granite divides its logits; training log-probabilities of undivided ones would be wrong."""

    def granite(scaling: float) -> Policy:
        config = GraniteConfig(
            vocab_size=300,
            hidden_size=32,
            intermediate_size=32,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=2,
            logits_scaling=scaling,
            initializer_range=0.5,
            pad_token_id=2,
        )
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            return Policy(GraniteForCausalLM(config).eval(), tiny_tokenizer())

    assert granite(1.0).dtype == torch.float32
    with pytest.raises(SlmagentError, match="GraniteForCausalLM changes its logits after the output layer"):
        granite(8.0)


@pytest.mark.parametrize("training", [True, False])
def test_the_check_leaves_the_model_in_its_mode(training: bool) -> None:
    model = tiny_model()
    model.train(training)
    Policy(model, tiny_tokenizer())
    assert model.training == training


def damaged(folder: Path, how: str) -> Path:
    if how == "nothing there":
        return folder
    chatty_policy(adapter="adapter" in how).save(folder)
    weights = folder / "model.safetensors"
    if how == "empty folder":
        for path in folder.iterdir():
            path.unlink()
    elif how == "no weights":
        weights.unlink()
    elif how == "weights cut":
        weights.write_bytes(weights.read_bytes()[:1000])
    elif how == "weights are text":
        weights.write_text("hello")
    elif how == "no config":
        (folder / "config.json").unlink()
    elif how == "config cut":
        (folder / "config.json").write_text('{"model_type": "llama", ')
    elif how == "unknown architecture":
        (folder / "config.json").write_text('{"model_type": "nonesuch"}')
    elif how == "no tokenizer":
        for path in folder.glob("token*"):
            path.unlink()
    elif how == "tokenizer cut":
        (folder / "tokenizer.json").write_text("{")
    elif how == "adapter without a base":
        (folder / "adapter_config.json").write_text("{}")
    elif how == "adapter config cut":
        (folder / "adapter_config.json").write_text('{"base')
    elif how == "adapter cut":
        chatty_policy().save(folder.with_name("base"))
        settings = json.loads((folder / "adapter_config.json").read_text())
        (folder / "adapter_config.json").write_text(
            json.dumps(settings | {"base_model_name_or_path": str(folder.with_name("base"))})
        )
        (folder / "adapter_model.safetensors").write_bytes(b"hello")
    return folder


@pytest.mark.parametrize(
    "how",
    [
        "nothing there",
        "empty folder",
        "no weights",
        "weights cut",
        "weights are text",
        "no config",
        "config cut",
        "unknown architecture",
        "no tokenizer",
        "tokenizer cut",
        "adapter without a base",
        "adapter config cut",
        "adapter cut",
    ],
)
def test_a_model_that_cannot_be_loaded_is_one_clear_error(tmp_path: Path, how: str) -> None:
    folder = damaged(tmp_path / "the-model", how)
    with pytest.raises(SlmagentError, match="the-model") as caught:
        load(folder)
    assert len(str(caught.value)) < 600
