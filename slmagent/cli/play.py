"""`slmagent play`: a person in the place of the agent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import gymnasium
from tyro.conf import Positional, arg

from slmagent.types import Split


@dataclass(frozen=True)
class Play:
    """Play an episode yourself, in the terminal; /help shows the commands."""

    env: Annotated[Positional[str], arg(metavar="ENV")]
    """Environment id; short forms such as `booking` work, too."""
    level: int = 0
    """Curriculum level, 0 (easiest) to 5."""
    split: Split = "train"
    """Which tasks."""
    task: int | None = None
    """Number of the task in the environment's own order; by default one is drawn."""
    seed: int | None = None
    """Changes the user's mood and wording; by default it is drawn."""

    def run(self) -> int:
        """Plays one episode with whoever sits at the keyboard."""
        import secrets

        from slmagent.agents.episodes import requests_for, run_episodes
        from slmagent.agents.human import HumanAgent
        from slmagent.agents.making import make_env_for
        from slmagent.cli.names import check_level_and_split, resolve_environment
        from slmagent.cli.terminal import output
        from slmagent.errors import SlmagentError

        env_id = resolve_environment(self.env)
        check_level_and_split(env_id, self.level, self.split)
        seed = secrets.randbelow(2**31) if self.seed is None else self.seed
        task = secrets.randbelow(2**31) if self.task is None else self.task
        requests = requests_for(env_id, self.level, self.split, 1, seed=seed, offset=task)
        console = output()
        agent = HumanAgent(write=lambda line: console.print(line, markup=False, soft_wrap=True))
        (trajectory,) = run_episodes(
            lambda env: agent, requests, make_env=lambda request: _Narrator(make_env_for(request), console)
        )
        if trajectory.status == "agent_error" and "HumanQuit" in (trajectory.error or ""):
            console.print(f"left after {len(trajectory.turns)} turns, return so far {trajectory.total_reward:+.2f}")
            return 0
        if trajectory.status != "ok":
            raise SlmagentError(f"the episode failed ({trajectory.status}): {trajectory.error}")
        outcome, style = ("success", "green") if trajectory.success else ("no success", "red")
        console.print(outcome, style=style, end=" ")
        console.print(f"return {trajectory.total_reward:+.2f}, ended: {trajectory.stop_reason.replace('_', ' ')}")
        return 0


class _Narrator(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Prints what each action earned."""

    def __init__(self, env: gymnasium.Env[Any, Any], console: Any) -> None:
        super().__init__(env)
        self._console = console

    def step(self, action: Any) -> Any:
        """The wrapped step; prints the reward."""
        from slmagent.cli.terminal import earned_line

        observation, reward, terminated, truncated, info = self.env.step(action)
        self._console.print(earned_line(float(reward), info.get("reward_components", {})), soft_wrap=True)
        if (terminated or truncated) and observation[-1]["role"] == "user":
            self._console.print(f"[user] {observation[-1]['content']}", markup=False, soft_wrap=True)
        return observation, reward, terminated, truncated, info
