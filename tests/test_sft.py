"""The supervised warm start teaches the demonstrated tokens, the end marks among them, and nothing else."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from torch import Tensor
from torch.optim.optimizer import register_optimizer_step_pre_hook
from toy import LOOKUP_ID, LookupEnv, register_toys
from toy_env import EchoEnv, chatty_policy, echo_requests, made_episode
from trl.trainer.sft_trainer import SFTTrainer

import slmagent.agents.rollout as rollout_module
import slmagent.trainers.sft as sft_module
from slmagent.agents.policy import Policy, load_policy
from slmagent.agents.rollout import SamplingConfig, rollout
from slmagent.errors import RecordError, SlmagentError
from slmagent.records import read_trajectories, write_trajectories
from slmagent.trainers.batch import Sample, collate
from slmagent.trainers.demonstrations import encode_demonstration, encode_demonstrations, expert_demonstrations
from slmagent.trainers.forward import token_statistics
from slmagent.trainers.sft import SFTConfig, fit, train_sft
from slmagent.types import Message, Trajectory

register_toys()
END = 2
FAST: dict[str, Any] = {"learning_rate": 1e-2, "epochs": 4, "batch_size": 2, "lora_rank": 8, "neftune_alpha": 0.0}


def fresh() -> Policy:
    return chatty_policy()  # its end mark has an embedding of its own, so that it can be learnt


def talk(*texts: str, name: str = "talk") -> Trajectory:
    roles = ["system", *["user", "assistant"] * len(texts)]
    messages = [cast(Message, {"role": role, "content": text}) for role, text in zip(roles, texts, strict=False)]
    return replace(made_episode([]), messages=tuple(messages), scenario_id=name)


TALKS = (
    talk("Be kind.", "Hi!", "Hello.", "Bye!", "See you."),
    talk("Be kind.", "What is 1 + 1?", "It is 2."),
    talk("Be kind.", "And 2 + 2, please?", "It is 4.", "Sure?", "Yes, it is <|im_end|> 4."),
)


@functools.cache
def samples() -> tuple[Sample, ...]:
    return tuple(encode_demonstrations(fresh().chat, TALKS))


def likelihood(policy: Policy, demonstrations: Sequence[Sample]) -> Tensor:
    """Log-probabilities of the demonstrated tokens."""
    with torch.no_grad():
        return torch.cat([token_statistics(policy, collate([sample], policy.device)).logprobs_N for sample in demonstrations])


def config(folder: Path, **settings: Any) -> SFTConfig:
    return SFTConfig(output_dir=str(folder), **(FAST | settings))


# ---- demonstrations as tokens -----------------------------------------------------------------------------------------------


def test_assistant_tokens_and_their_end_marks_are_trained() -> None:
    chat = fresh().chat
    sample = encode_demonstration(chat, TALKS[0])
    prompt = chat.encode_prompt(TALKS[0].messages[:2])
    first, delta, second = chat.encode_action("Hello."), chat.encode_delta("Bye!"), chat.encode_action("See you.")
    assert list(sample.token_ids) == [*prompt, *first, *delta, *second]
    begin = len(prompt) + len(first) + len(delta)
    assert list(sample.positions) == [*range(len(prompt), len(prompt) + len(first)), *range(begin, begin + len(second))]
    assert sample.turns == (0,) * len(first) + (1,) * len(second)
    assert [sample.token_ids[position] for position in sample.positions].count(END) == 2
    assert set(sample.old_logprobs) == set(sample.advantages) == {0.0}
    assert sample.temperature == 1.0


def test_what_follows_the_last_action_is_left_out() -> None:
    chat = fresh().chat
    assert encode_demonstration(chat, talk("s", "u", "a", "thanks")) == encode_demonstration(chat, talk("s", "u", "a"))


def test_a_demonstration_has_the_tokens_of_a_rollout_of_the_same_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sampler is made to say given texts; what the rollout then trains on is what a demonstration of them trains on."""
    policy = chatty_policy()
    said = ["A", "B <|im_end|>", " \u00e4\n\n"]
    script = [token for text in said for token in policy.chat.encode_action(text)]

    def recite(logits: Tensor, temperature: float, uniforms: Sequence[float]) -> tuple[list[int], list[float]]:
        return [script.pop(0)], [-1.0]

    monkeypatch.setattr(rollout_module, "sample", recite)
    sampling = SamplingConfig(1.0, 40, 400, 1)
    (episode,) = rollout(policy, echo_requests(2)[1:], sampling=sampling, make_env=lambda request: EchoEnv())
    assert [turn.text for turn in episode.turns] == said
    sample = encode_demonstration(policy.chat, episode)
    assert sample.token_ids == episode.token_ids
    assert list(sample.positions) == [position for position, mask in enumerate(episode.loss_mask) if mask]
    assert sample.turns == tuple(index for index, turn in enumerate(episode.turns) for _ in range(turn.start, turn.stop))


@pytest.mark.parametrize(
    ("messages", "actual"),
    [
        ([], "no messages"),
        ([("system", "s"), ("user", "u")], "system, user$"),
        ([("user", "u"), ("assistant", "a")], "user, assistant$"),
        ([("system", "s"), ("user", "u"), ("assistant", "a"), ("assistant", "b")], "system, user, assistant, assistant$"),
        ([("system", "s"), ("user", "u"), ("user", "v"), ("assistant", "a")], "system, user, user, assistant$"),
    ],
)
def test_conversations_that_cannot_be_learnt_from_are_named(messages: list[tuple[str, str]], actual: str) -> None:
    made = tuple(cast(Message, {"role": role, "content": text}) for role, text in messages)
    with pytest.raises(RecordError, match=f"cannot learn from episode x-7: expected the roles .*, actual {actual}"):
        encode_demonstration(fresh().chat, replace(made_episode([]), messages=made, scenario_id="x-7"))


def test_the_expert_demonstrates_other_tasks_with_another_seed() -> None:
    first, second = (expert_demonstrations(LOOKUP_ID, 0, 5, seed=seed) for seed in (0, 1))
    assert all(episode.success for episode in (*first, *second))
    assert len({episode.scenario_id for episode in first}) == 5
    assert [episode.scenario_id for episode in first] != [episode.scenario_id for episode in second]
    assert first == expert_demonstrations(LOOKUP_ID, 0, 5, seed=0)
    plain = expert_demonstrations(LOOKUP_ID, 0, 5, seed=0, evidence=False)
    assert [len(episode.messages[-1]["content"]) for episode in plain] < [len(e.messages[-1]["content"]) for e in first]


def test_an_expert_that_fails_is_no_teacher(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LookupEnv, "expert", lambda self, *, evidence=True: "I do not know.")
    with pytest.raises(SlmagentError, match=f"expert of {LOOKUP_ID} failed 3 of 3 tasks"):
        expert_demonstrations(LOOKUP_ID, 0, 3)


# ---- what reaches the loss --------------------------------------------------------------------------------------------------


class Watched:
    """Batches and losses of a run of TRL's trainer."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.batches: list[dict[str, Tensor]] = []
        self.losses: list[float] = []
        self.rates: list[float] = []
        compute_loss = SFTTrainer.compute_loss

        def spy(trainer: Any, model: Any, inputs: dict[str, Tensor], **more: Any) -> Any:
            self.batches.append({name: value.clone() for name, value in inputs.items()})
            result = compute_loss(trainer, model, inputs, **more)
            self.losses.append(float((result[0] if isinstance(result, tuple) else result).detach()))
            return result

        monkeypatch.setattr(SFTTrainer, "compute_loss", spy)


def test_labels_are_exactly_the_trained_positions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Also where the padding token is the end mark itself, as in SmolLM2."""
    watched = Watched(monkeypatch)
    policy = fresh()
    assert policy.tokenizer.pad_token_id == END
    fit(policy, samples(), config(tmp_path))
    seen: list[int] = []
    known = {sample.token_ids: index for index, sample in enumerate(samples())}
    for batch in watched.batches:
        for ids, labels, mask in zip(batch["input_ids"], batch["labels"], batch["attention_mask"], strict=True):
            length = int(mask.sum())
            assert mask.tolist() == [1] * length + [0] * (len(mask) - length)
            index = known[tuple(ids[:length].tolist())]
            sample = samples()[index]
            assert [position for position, label in enumerate(labels.tolist()) if label != -100] == list(sample.positions)
            assert labels[list(sample.positions)].tolist() == [sample.token_ids[position] for position in sample.positions]
            seen.append(index)
    assert sorted(seen) == sorted([0, 1, 2] * 4)  # each demonstration once an epoch


def test_the_loss_is_the_mean_over_trained_tokens(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """At the first step it is the untrained model's, worked out without padding or batch; masked tokens have no part in it."""
    watched = Watched(monkeypatch)
    reported: list[tuple[int, int, float]] = []
    fit(fresh(), samples(), config(tmp_path, batch_size=3, epochs=3), on_step=lambda *now: reported.append(now))
    expected = -float(likelihood(fresh(), samples()).mean())
    assert watched.losses[0] == pytest.approx(expected, abs=1e-3)
    assert [(done, total) for done, total, _ in reported] == [(1, 3), (2, 3), (3, 3)]
    assert reported[0][2] == pytest.approx(expected, abs=1e-3)


def test_noise_on_embeddings_is_for_training_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    watched = Watched(monkeypatch)
    calm = fit(fresh(), samples(), config(tmp_path, batch_size=3, epochs=2))
    noisy = fit(fresh(), samples(), config(tmp_path, batch_size=3, epochs=2, neftune_alpha=20.0))
    assert watched.losses[0] != pytest.approx(watched.losses[2], abs=1e-4)
    assert not torch.allclose(likelihood(calm, samples()), likelihood(noisy, samples()), atol=1e-3)
    for policy in (calm, noisy):
        assert not policy.model.training
        assert torch.equal(likelihood(policy, samples()), likelihood(policy, samples()))


# ---- what it does -----------------------------------------------------------------------------------------------------------


def test_demonstrations_are_learnt_end_marks_included(tmp_path: Path) -> None:
    before = likelihood(fresh(), samples())
    trained = fit(fresh(), samples(), config(tmp_path, epochs=60, batch_size=3))
    after = likelihood(trained, samples())
    assert float(after.mean()) > float(before.mean()) + 3
    ends = [sample.token_ids[position] == END for sample in samples() for position in sample.positions]
    assert sum(ends) == 5
    assert float(after[ends].min()) > -0.5 > float(before[ends].max())
    # Asked as in the demonstrations, it answers as it was shown and ends its turn.
    ids = trained.chat.encode_prompt(TALKS[1].messages[:2])
    for _ in range(20):
        with torch.no_grad():
            ids.append(int(trained.model(input_ids=torch.tensor([ids])).logits[0, -1].argmax()))
        if ids[-1] == END:
            break
    prompt = len(trained.chat.encode_prompt(TALKS[1].messages[:2]))
    assert trained.chat.decode_action(ids[prompt:]) == "It is 2."
    assert ids[-1] == END


def test_only_the_adapter_is_trained(tmp_path: Path) -> None:
    trained = fit(fresh(), samples(), config(tmp_path))
    base = {name: value for name, value in trained.base_model.state_dict().items() if "lora" not in name}
    original = fresh().model.state_dict()
    assert len(base) == len(original)
    for name, value in base.items():
        assert torch.equal(value, original[name.replace(".base_layer", "")]), name
    adapter = [value for name, value in trained.model.state_dict().items() if "lora_B" in name]
    assert len(adapter) == 2 * 7
    assert all(bool((value != 0).any()) for value in adapter)


def test_a_run_depends_on_its_seed_and_on_nothing_else(tmp_path: Path) -> None:
    def weights(seed: int) -> Tensor:
        torch.rand(seed + 3)  # whatever was drawn before
        trained = fit(fresh(), samples(), config(tmp_path, seed=seed, epochs=2, neftune_alpha=5.0))
        return torch.cat([value.flatten() for name, value in trained.model.state_dict().items() if "lora" in name])

    first = weights(0)
    assert torch.equal(weights(0), first)
    assert not torch.equal(weights(1), first)


@pytest.mark.parametrize("epochs", [4, 1000])
def test_with_a_time_limit_the_rate_follows_whichever_ends_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, epochs: int
) -> None:
    """Each look at the clock takes a second here: the limit is far off for 4 epochs and near for 1,000."""
    seconds = iter(range(10**6))

    class Clock:
        monotonic = staticmethod(lambda: next(seconds) / 2)

    rates: list[float] = []
    pre_step = register_optimizer_step_pre_hook(
        lambda optimizer, arguments, more: rates.append(optimizer.param_groups[0]["lr"])
    )
    monkeypatch.setattr(sft_module, "time", Clock)
    try:
        fit(fresh(), samples(), config(tmp_path, epochs=epochs, batch_size=1, max_seconds=40.0))
    finally:
        pre_step.remove()
    if epochs == 4:
        assert len(rates) == 12
        assert rates == pytest.approx([1e-2 * min(s / 12 / 0.1, (1 - s / 12) / 0.9) for s in range(1, 13)])
    else:
        assert 35 <= len(rates) <= 40
        highest = rates.index(max(rates))
        assert 2 <= highest <= 4
        assert max(rates) == pytest.approx(1e-2, rel=0.15)
        assert rates[highest:] == sorted(rates[highest:], reverse=True)
        assert rates[-1] < 1e-3


# ---- whole runs -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def model_folder(tmp_path: Path) -> str:
    fresh().save(tmp_path / "model")
    return str(tmp_path / "model")


def test_a_run_on_a_file_of_episodes(tmp_path: Path, model_folder: str) -> None:
    data = tmp_path / "talks.jsonl"
    write_trajectories(data, TALKS)
    folder = train_sft(config(tmp_path / "run", model=model_folder, data=str(data), epochs=30, batch_size=3))
    assert folder == tmp_path / "run" / "final"
    assert read_trajectories(tmp_path / "run" / "demonstrations.jsonl") == list(TALKS)
    trained = load_policy(folder, device="cpu")
    assert not any("lora" in name for name in trained.model.state_dict())  # the adapter is folded in
    assert float(likelihood(trained, samples()).mean()) > float(likelihood(fresh(), samples()).mean()) + 1


def test_a_run_on_the_environments_expert(tmp_path: Path, model_folder: str) -> None:
    settings = {"env_id": LOOKUP_ID, "level": 0, "demonstrations": 4, "epochs": 1, "batch_size": 4}
    train_sft(config(tmp_path / "run", model=model_folder, **settings))
    shown = read_trajectories(tmp_path / "run" / "demonstrations.jsonl")
    assert len(shown) == 4
    assert all(episode.success and episode.env_id == LOOKUP_ID for episode in shown)


def test_missing_things_are_one_clear_error(tmp_path: Path, model_folder: str) -> None:
    with pytest.raises(SlmagentError, match="nowhere"):
        train_sft(config(tmp_path / "run", model=str(tmp_path / "nowhere")))
    with pytest.raises(RecordError, match=r"cannot read trajectories from .*none\.jsonl"):
        train_sft(config(tmp_path / "run", model=model_folder, data=str(tmp_path / "none.jsonl")))
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    with pytest.raises(RecordError, match=r"empty\.jsonl holds no episodes"):
        train_sft(config(tmp_path / "run", model=model_folder, data=str(empty)))
    with pytest.raises(ValueError, match="at least one demonstration"):
        fit(fresh(), [], config(tmp_path))


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        *[(name, 0, "of at least 1, actual 0") for name in ("demonstrations", "batch_size", "lora_rank")],
        *[(name, 0.0, "above 0, actual 0.0") for name in ("epochs", "learning_rate", "max_seconds")],
        ("learning_rate", math.nan, "above 0, actual nan"),
        ("neftune_alpha", -1.0, "of at least 0, actual -1.0"),
    ],
)
def test_a_value_out_of_range_is_named(name: str, value: Any, expected: str) -> None:
    with pytest.raises(ValueError, match=f"^expected {name} {expected}$"):
        SFTConfig(**{name: value})
