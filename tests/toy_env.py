"""Short conversations that a tiny model can play: environments for the tests of rollouts and trainers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium

from slmagent.types import EpisodeRequest, Trajectory, Turn

ECHO_ID, PARITY_ID = "Toy/Echo-v0", "Toy/Parity-v0"
NUM_TASKS = 12


class EchoEnv(gymnasium.Env):
    """The user names a letter a turn; a reply that begins with it earns 1. Ragged: the talk lasts `2 + task % 2` turns.

    Args:
        level: Ignored here, as is `split`.
        fail_at: Turn in which `step` raises; -1 lets `reset` raise.
    """

    observation_space = gymnasium.spaces.Text(10_000)
    action_space = gymnasium.spaces.Text(10_000)
    system = "Answer with the letter."

    def __init__(self, level: int = 0, split: str = "train", fail_at: int | None = None) -> None:
        self.level, self.split, self.fail_at = level, split, fail_at
        self.scenario_ids = [f"echo-{task}" for task in range(NUM_TASKS)]
        self.closed = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        if self.fail_at == -1:
            raise RuntimeError("no database")
        self.task = int((options or {}).get("scenario_id", "0").rsplit("-", 1)[-1])
        self.turn, self.hits = 0, 0
        self.messages = [{"role": "system", "content": self.system}, {"role": "user", "content": self._question()}]
        return self._observation(), self._info({})

    def step(self, action: str):
        if self.fail_at == self.turn:
            raise RuntimeError("the tool broke")
        hit = self._hit(action)
        self.hits += hit
        self.turn += 1
        done = self.turn >= self._turns()
        self.messages.append({"role": "assistant", "content": action})
        if not done:
            self.messages.append({"role": "user", "content": ("Good. " if hit else "No. ") + self._question()})
        info = self._info({"hit": float(hit)})
        if done:
            info |= {"success": self.hits == self.turn, "stop_reason": "finished"}
        return self._observation(), float(hit), done, False, info

    def close(self) -> None:
        self.closed = True

    def _turns(self) -> int:
        return 2 + self.task % 2

    def _question(self) -> str:
        return f"Say {self._letter()}." + "!" * self.task

    def _hit(self, action: str) -> bool:
        return action.strip().upper().startswith(self._letter())

    def _letter(self) -> str:
        return "AB"[(self.task + self.turn) % 2]

    def _observation(self):
        return tuple(dict(message) for message in self.messages)

    def _info(self, components: dict[str, float]) -> dict[str, Any]:
        return {
            "scenario_id": f"echo-{self.task}",
            "reward_components": components,
            "anchor": f"{self.task}/{self.turn}",
            "action": {"kind": "speak", "error": None},
            "stop_reason": None,
            "events": [],
        }


class ParityEnv(EchoEnv):
    """A reply whose first byte is even earns 1. A random model does that about every second time.

    Level 0 is a single turn, level 1 a talk of two or three.
    """

    system = "?"

    def _turns(self) -> int:
        return super()._turns() if self.level else 1

    def _hit(self, action: str) -> bool:
        return action != "" and action.encode("utf-8", "surrogatepass")[0] % 2 == 0


def register_toy_envs() -> None:
    """Makes the environments known to Gymnasium; safe to call twice."""
    for env_id, env_class in ((ECHO_ID, EchoEnv), (PARITY_ID, ParityEnv)):
        if env_id not in gymnasium.registry:
            gymnasium.register(id=env_id, entry_point=lambda env_class=env_class, **kwargs: env_class(**kwargs))


def echo_requests(tasks: int, samples: int = 1, *, first_seed: int = 0) -> list[EpisodeRequest]:
    """`samples` members of each of `tasks` tasks."""
    return [
        EpisodeRequest("Echo", 0, "train", f"echo-{task}", 0, first_seed + 1000 * task + member, f"g{task}")
        for task in range(tasks)
        for member in range(samples)
    ]


def made_episode(
    rewards: Sequence[float],
    anchors: Sequence[str] | None = None,
    *,
    actions: Sequence[Sequence[int]] | None = None,
    prompt: Sequence[int] = (5, 6, 7, 8),
    group_id: str = "g",
    success: bool = False,
    temperature: float = 1.0,
) -> Trajectory:
    """An episode by hand: the prompt, then actions with one token between them; log-probabilities are -0.01 times the position.

    Args:
        rewards: One a turn.
        anchors: One a turn; by default "0", "1", ...
        actions: Sampled tokens, one list a turn; by default two tokens each.
    """
    tokens, mask = list(prompt), [0] * len(prompt)
    turns: list[Turn] = []
    for index, reward in enumerate(rewards):
        if index:
            tokens, mask = [*tokens, 9], [*mask, 0]
        action = list(actions[index]) if actions is not None else [20 + index, 2]
        start, stop = len(tokens), len(tokens) + len(action)
        tokens, mask = tokens + action, mask + [1] * len(action)
        anchor = anchors[index] if anchors is not None else str(index)
        turns.append(Turn(start, stop, "text", "speak", "eos", reward, {}, anchor))
    return Trajectory(
        token_ids=tuple(tokens),
        loss_mask=tuple(mask),
        logprobs=tuple(-0.01 * position * trained for position, trained in enumerate(mask)),
        turns=tuple(turns),
        messages=(),
        env_id="Echo",
        scenario_id="echo-0",
        level=0,
        split="train",
        seed=0,
        user_seed=0,
        group_id=group_id,
        temperature=temperature,
        terminated=True,
        truncated=False,
        stop_reason="finished",
        success=success,
    )


def chatty_policy(seed: int = 0, *, adapter: bool = False) -> Any:
    """A tiny policy that ends about a third of its turns itself (at temperature 1, 12 tokens), so that lengths are ragged.

    Args:
        seed: Fixes the weights.
        adapter: With a LoRA adapter that is not zero.
    """
    import torch
    from tiny import tiny_model, tiny_tokenizer

    from slmagent.agents.policy import Policy
    from slmagent.trainers.lora import attach_lora, trainable_parameters

    model = tiny_model(seed)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():  # the padding row starts as zero, and the end mark pads here
        model.lm_head.weight[2] = 0.5 * torch.randn(model.config.hidden_size, generator=generator)
    policy = Policy(model, tiny_tokenizer())
    if adapter:
        policy = attach_lora(policy, 4, seed=seed)
        for name, parameter in trainable_parameters(policy).items():
            if "lora_B" in name:
                parameter.data = 0.05 * torch.randn(parameter.shape, generator=generator)
        policy.model.eval()
    return policy
