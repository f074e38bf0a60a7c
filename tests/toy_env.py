"""A two-turn conversation that a tiny model can play: answer with the letter the user names."""

from __future__ import annotations

from typing import Any

import gymnasium

from slmagent.types import EpisodeRequest


class EchoEnv(gymnasium.Env):
    """The user names a letter a turn; a reply that begins with it earns 1. Ragged: the talk lasts `2 + task % 2` turns."""

    observation_space = gymnasium.spaces.Text(10_000)
    action_space = gymnasium.spaces.Text(10_000)
    system = "Answer with the letter."

    def __init__(self, fail_at: int | None = None) -> None:
        self.fail_at = fail_at

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self.task = int((options or {}).get("scenario_id", "0").rsplit("-", 1)[-1])
        self.turn, self.hits = 0, 0
        self.messages = [
            {"role": "system", "content": self.system},
            {"role": "user", "content": f"Say {self._letter()}."},
        ]
        return self._observation(), self._info({})

    def step(self, action: str):
        if self.fail_at == self.turn:
            raise RuntimeError("the tool broke")
        hit = action.strip().upper().startswith(self._letter())
        self.hits += hit
        self.turn += 1
        done = self.turn >= 2 + self.task % 2
        self.messages.append({"role": "assistant", "content": action})
        if not done:
            self.messages.append({"role": "user", "content": ("Good" if hit else "No") + f". Say {self._letter()}" + "!" * self.task})
        info = self._info({"hit": float(hit)})
        if done:
            info |= {"success": self.hits == self.turn, "stop_reason": "finished"}
        return self._observation(), float(hit), done, False, info

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


def echo_requests(tasks: int, samples: int = 1, *, first_seed: int = 0) -> list[EpisodeRequest]:
    """`samples` members of each of `tasks` tasks."""
    return [
        EpisodeRequest("Echo", 0, "train", f"echo-{task}", 0, first_seed + 1000 * task + member, f"g{task}")
        for task in range(tasks)
        for member in range(samples)
    ]
