"""`slmagent envs`: what there is to play, and how a right conversation looks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from tyro.conf import OmitArgPrefixes, Positional, arg, subcommand

from slmagent.types import SPLITS, Split


@dataclass(frozen=True)
class ListEnvs:
    """List the environments (the default)."""

    def run(self) -> int:
        """Prints one row an environment."""
        from rich.table import Table

        from slmagent.cli.names import environment_class, environment_ids, levels_of
        from slmagent.cli.terminal import output

        table = Table()
        for heading in ("environment", "levels", "what it is"):
            table.add_column(heading, overflow="fold")
        for env_id in environment_ids():
            levels = sorted(levels_of(env_id))
            first_line = (environment_class(env_id).__doc__ or "").strip().partition("\n")[0]
            table.add_row(env_id, f"{levels[0]} to {levels[-1]}" if levels else "-", first_line)
        console = output()
        console.print(table)
        console.print("levels of one: slmagent envs levels ENV; a conversation: slmagent envs example ENV --level L")
        return 0


@dataclass(frozen=True)
class Levels:
    """Describe the levels of one environment, with the number of tasks in each split."""

    env: Annotated[Positional[str], arg(metavar="ENV")]
    """Environment id; short forms such as `booking` work, too."""

    def run(self) -> int:
        """Prints one row a level."""
        import gymnasium
        from rich.table import Table

        from slmagent.cli.names import levels_of, resolve_environment
        from slmagent.cli.terminal import output

        env_id = resolve_environment(self.env)
        table = Table(title=env_id, title_justify="left")
        table.add_column("level", justify="right")
        table.add_column("what it asks for", overflow="fold")
        table.add_column(f"tasks: {', '.join(SPLITS)}")
        for level, text in sorted(levels_of(env_id).items()):
            counts = []
            for split in SPLITS:
                env = gymnasium.make(env_id, level=level, split=split, disable_env_checker=True)
                counts.append(str(len(getattr(env.unwrapped, "scenario_ids", ()))))
                env.close()
            table.add_row(str(level), text, ", ".join(counts))
        output().print(table)
        return 0


@dataclass(frozen=True)
class Example:
    """Play one episode with the scripted expert and print it with its rewards."""

    env: Annotated[Positional[str], arg(metavar="ENV")]
    """Environment id; short forms such as `booking` work, too."""
    level: int = 0
    """Curriculum level, 0 (easiest) to 5."""
    split: Split = "train"
    """Which tasks."""
    task: int = 0
    """Number of the task in the environment's own order."""
    seed: int = 0
    """Changes the user's mood and wording."""
    bare: bool = False
    """Leave out the line with which the expert justifies a call."""

    def run(self) -> int:
        """Prints the conversation."""
        from slmagent.agents.episodes import requests_for, run_episodes
        from slmagent.agents.scripted import ExpertAgent
        from slmagent.cli.names import check_level_and_split, resolve_environment
        from slmagent.cli.terminal import output, print_conversation
        from slmagent.errors import SlmagentError

        env_id = resolve_environment(self.env)
        check_level_and_split(env_id, self.level, self.split)
        requests = requests_for(env_id, self.level, self.split, 1, seed=self.seed, offset=self.task)
        (trajectory,) = run_episodes(lambda env: ExpertAgent(env, evidence=not self.bare), requests)
        if trajectory.status != "ok":
            raise SlmagentError(f"the episode failed ({trajectory.status}): {trajectory.error}")
        console = output()
        console.print(f"{env_id}, level {self.level}, split {self.split}, task {trajectory.scenario_id}", style="bold")
        print_conversation(trajectory, console)
        return 0


@dataclass(frozen=True)
class Envs:
    """List environments, describe levels, print an example conversation."""

    action: OmitArgPrefixes[
        Annotated[ListEnvs, subcommand("list")]
        | Annotated[Levels, subcommand("levels")]
        | Annotated[Example, subcommand("example")]
    ] = ListEnvs()

    def run(self) -> int:
        """Runs the chosen action."""
        return self.action.run()
