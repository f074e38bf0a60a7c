"""`slmagent envs`: what there is to play, and how a right conversation looks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import OmitArgPrefixes, Positional, arg, subcommand

from slmagent.types import SPLITS, Split

if TYPE_CHECKING:
    from rich.console import Console

    from slmagent.agents.chat import ChatFormat
    from slmagent.evaluation.context import LevelContext

DOCS_TASKS = 10
"""Tasks of each level and split that the pages' numbers rest on."""


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
class Docs:
    """Write the pages of docs/environments: docstrings, levels, and a conversation a level (`make docs`)."""

    out: Path = Path("docs/environments")
    """Folder of the pages; pages there that are made no more are left alone."""

    def run(self) -> int:
        """Writes the pages whose text has changed."""
        from slmagent.cli.names import environment_class, environment_ids
        from slmagent.cli.terminal import messages
        from slmagent.errors import UsageError
        from slmagent.evaluation.environment_docs import pages

        console = messages()
        made = pages({env_id: environment_class(env_id) for env_id in environment_ids()}, measure_all(DOCS_TASKS, console))
        try:
            self.out.mkdir(parents=True, exist_ok=True)
            for name, text in made.items():
                (self.out / name).write_text(text, encoding="utf-8")
        except OSError as problem:
            raise UsageError(f"cannot write {problem.filename or self.out}: {problem.strerror or problem}") from None
        console.print(f"{len(made)} pages in {self.out}", markup=False)
        return 0


@dataclass(frozen=True)
class Envs:
    """List environments, describe levels, print an example conversation, check token counts."""

    check: bool = False
    """Count the tokens of the expert's episodes at every level and hold them against the budgets; exit code 1 when one is
    broken."""
    tasks: int = 50
    """Tasks of each level and split that --check plays."""
    action: OmitArgPrefixes[
        Annotated[ListEnvs, subcommand("list")]
        | Annotated[Levels, subcommand("levels")]
        | Annotated[Example, subcommand("example")]
        | Annotated[Docs, subcommand("docs")]
    ] = ListEnvs()

    def run(self) -> int:
        """Runs the chosen action."""
        return self._check() if self.check else self.action.run()

    def _check(self) -> int:
        from rich import box
        from rich.table import Table

        from slmagent.cli.terminal import messages, output
        from slmagent.errors import UsageError

        if self.tasks < 1:
            raise UsageError(f"expected --tasks of at least 1, actual {self.tasks}")
        contexts = measure_all(self.tasks, messages())
        table = Table(title="tokens of the expert's episodes", title_justify="left", box=box.SIMPLE_HEAD)
        table.add_column("environment", overflow="fold")
        for heading in ("level", "episodes", "turns", "system", "episode"):
            table.add_column(heading, justify="right")
        table.add_column()
        for context in contexts:
            turns = " to ".join(map(str, dict.fromkeys(context.turns)))
            verdict = "too long" if context.broken() else "ok"
            cells = (context.level, context.episodes, turns, context.system, context.episode, verdict)
            table.add_row(context.env_id, *map(str, cells), style="red" if context.broken() else None)
        console = output()
        console.print(table)
        problems = [problem for context in contexts for problem in context.broken()]
        for problem in problems:
            console.print(problem, markup=False)
        return 1 if problems else 0


def measure_all(tasks: int, console: Console) -> list[LevelContext]:
    """What every level of every environment takes, counted with the default model's tokenizer.

    Raises:
        SlmagentError: The tokenizer is not on this machine (says how to get it), or an expert failed.
    """
    from slmagent.agents.models import DEFAULT_MODEL
    from slmagent.cli.names import environment_ids, levels_of
    from slmagent.cli.terminal import progress_bar
    from slmagent.evaluation.context import measure_level

    chat = load_chat_format(DEFAULT_MODEL, console=console)
    places = [(env_id, level) for env_id in environment_ids() for level in sorted(levels_of(env_id))]
    contexts: list[LevelContext] = []
    with progress_bar("levels", len(places), console) as show:
        for env_id, level in places:
            contexts.append(measure_level(env_id, level, chat, tasks=tasks))
            show(len(contexts))
    return contexts


def load_chat_format(name: str, *, console: Console) -> ChatFormat:
    """Loads tokenizer and chat format of a local model, without its weights.

    Raises:
        SlmagentError: The model is missing (says how to get it) or its tokenizer cannot be read.
    """
    from slmagent.agents.models import resolve
    from slmagent.cli.terminal import no_library_bars
    from slmagent.errors import UsageError, require

    folder = resolve(name)
    require("transformers", extra="train", purpose="counting tokens")
    no_library_bars()
    with console.status(f"loading the tokenizer of {name}"):
        from transformers import AutoTokenizer

        from slmagent.agents.chat import ChatFormat

        try:
            return ChatFormat(AutoTokenizer.from_pretrained(folder))
        except Exception as problem:  # damaged files raise whatever their reader thinks of
            first_line = (str(problem).strip().splitlines() or [""])[0]
            raise UsageError(f"cannot load the tokenizer of {name!r}: {type(problem).__name__}: {first_line}") from problem
