"""Supervised warm start on demonstrations, through TRL's SFTTrainer.

LoRA on all projections, NEFTune noise on the embeddings (Jain et al. 2023), loss on every assistant token and end mark. The
token ids are made by the same chat format as in rollouts, so what is taught is what will be sampled.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slmagent.agents.policy import Policy, load_policy
from slmagent.config import check_fields
from slmagent.errors import RecordError
from slmagent.records import read_trajectories, write_trajectories
from slmagent.trainers.batch import Sample
from slmagent.trainers.demonstrations import encode_demonstrations, expert_demonstrations
from slmagent.trainers.lora import fold, lora_config

OnStep = Callable[[int, int, float], None]
WARMUP = 0.1
"""Share of a run, by steps or by the clock, in which the learning rate rises."""


@dataclass(frozen=True)
class SFTConfig:
    """Settings of a supervised run."""

    model: str = "smollm2-135m"
    """Short name, folder or hub id of the model to start from."""
    output_dir: str = "runs/sft"
    """Where the trained model, the demonstrations and the log go."""
    env_id: str = "SLMAgent/Booking-v0"
    """Environment whose expert demonstrates; unused with `data`."""
    level: int = 1
    """Curriculum level of the demonstrations."""
    demonstrations: int = 48
    """Number of expert episodes."""
    data: str | None = None
    """JSONL file of episodes to learn from instead of the environment's expert."""
    evidence: bool = True
    """Whether the expert writes the line that justifies a call before the call."""
    seed: int = 0
    """Chooses the demonstrations, their order and the adapter's first weights."""
    epochs: float = 3.0
    """Passes over the demonstrations."""
    max_seconds: float | None = None
    """Stop after this much training time, even before the last epoch; the learning rate then follows the clock, too."""
    learning_rate: float = 5e-4
    """Peak rate, warmed up over the first tenth and decayed linearly. 2e-5 suits larger models."""
    batch_size: int = 4
    """Episodes per optimizer step."""
    lora_rank: int = 16
    """Rank r of the adapter; alpha is 2r."""
    neftune_alpha: float = 5.0
    """Strength of the embedding noise; 0 switches it off."""
    device: str | None = None
    """`cpu`, `cuda`, ...; by default CUDA when present."""
    dtype: str = "float32"
    """Precision of frozen weights and arithmetic: `float32`, `bfloat16`, or `auto` (bfloat16 where the hardware has it)."""

    def __post_init__(self) -> None:
        check_fields(self, "of at least 1", lambda value: value >= 1, "demonstrations", "batch_size", "lora_rank")
        check_fields(self, "above 0", lambda value: 0 < value < math.inf, "epochs", "learning_rate", "max_seconds")
        check_fields(self, "of at least 0", lambda value: 0 <= value < math.inf, "neftune_alpha")


def train_sft(config: SFTConfig) -> Path:
    """Runs a supervised run from its config; returns the folder of the finished model (`output_dir/final`)."""
    from slmagent.trainers.progress import TrainingProgress

    folder = Path(config.output_dir)
    folder.mkdir(parents=True, exist_ok=True)
    policy = load_policy(config.model, device=config.device, dtype=config.dtype)
    if config.data is not None:
        episodes = read_trajectories(config.data)
        if not episodes:
            raise RecordError(f"{config.data} holds no episodes to learn from")
    else:
        episodes = expert_demonstrations(
            config.env_id, config.level, config.demonstrations, seed=config.seed, evidence=config.evidence
        )
    write_trajectories(folder / "demonstrations.jsonl", episodes)
    samples = encode_demonstrations(policy.chat, episodes)
    with TrainingProgress("SFT") as progress:
        policy = fit(policy, samples, config, on_step=progress.sft_step)
    final = folder / "final"
    fold(policy).save(final)
    return final


def fit(policy: Policy, samples: Sequence[Sample], config: SFTConfig, *, on_step: OnStep | None = None) -> Policy:
    """Trains a fresh adapter on encoded demonstrations.

    Args:
        policy: Without an adapter.
        samples: From `encode_demonstrations`.
        config: Learning settings; data and paths are not used, apart from `output_dir` as scratch space.
        on_step: Called with (steps done, steps in all, loss).

    Returns:
        The policy with its adapter on, in evaluation mode.

    Raises:
        ValueError: There are no samples.
    """
    import torch
    from datasets import Dataset
    from transformers import TrainerCallback
    from trl.trainer.sft_config import SFTConfig as TRLConfig
    from trl.trainer.sft_trainer import SFTTrainer

    if not samples:
        raise ValueError("expected at least one demonstration")
    started = time.monotonic()

    class Watch(TrainerCallback):
        """Reports progress; with a time limit, lets the rate fall with the clock and ends the run when the time is up."""

        def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, optimizer: Any = None, **kwargs: Any) -> None:
            if config.max_seconds is not None and optimizer is not None:
                elapsed = (time.monotonic() - started) / config.max_seconds
                share = min(1.0, max(elapsed, (state.global_step + 1) / state.max_steps))
                for group in optimizer.param_groups:
                    group["lr"] = config.learning_rate * min(share / WARMUP, (1.0 - share) / (1.0 - WARMUP))

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
            if on_step is not None and logs and "loss" in logs:
                on_step(state.global_step, state.max_steps, float(logs["loss"]))

        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            if config.max_seconds is not None and time.monotonic() - started >= config.max_seconds:
                control.should_training_stop = True

    # The global generators feed adapter initialisation, data order and embedding noise; a run depends on its seed alone.
    torch.manual_seed(config.seed)
    steps = math.ceil(config.epochs * math.ceil(len(samples) / config.batch_size))
    arguments = TRLConfig(
        output_dir=str(Path(config.output_dir) / "trl"),
        max_steps=steps,
        per_device_train_batch_size=config.batch_size,
        learning_rate=config.learning_rate,
        lr_scheduler_type="linear",
        warmup_steps=max(1, round(WARMUP * steps)),
        neftune_noise_alpha=config.neftune_alpha or None,
        bf16=policy.dtype == torch.bfloat16,
        use_cpu=policy.device.type == "cpu",
        seed=config.seed,
        logging_steps=1,
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
        max_length=None,
        packing=False,
        gradient_checkpointing=False,
        dataset_kwargs={"skip_prepare_dataset": True},
        remove_unused_columns=False,
        dataloader_pin_memory=False,
    )
    trainer = SFTTrainer(
        model=policy.model,
        args=arguments,
        train_dataset=Dataset.from_list([_labelled(sample) for sample in samples]),
        processing_class=policy.tokenizer,
        peft_config=lora_config(config.lora_rank),
        callbacks=[Watch()],
    )
    trainer.remove_callback(_printer())
    trainer.train()
    model: Any = trainer.model
    model.eval()
    return Policy(model, policy.tokenizer)


def _labelled(sample: Sample) -> dict[str, list[int]]:
    labels = [-100] * len(sample.token_ids)
    for position in sample.positions:
        labels[position] = sample.token_ids[position]
    return {"input_ids": list(sample.token_ids), "labels": labels}


def _printer() -> type:
    from transformers.trainer_callback import PrinterCallback

    return PrinterCallback
