"""`slmagent models`: which models have short names, and fetching them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from tyro.conf import OmitArgPrefixes, Positional, arg, subcommand


@dataclass(frozen=True)
class ListModels:
    """List the models with short names and where they lie (the default)."""

    def run(self) -> int:
        """Prints one row a model."""
        from rich.table import Table

        from slmagent.agents.models import DEFAULT_MODEL, REGISTRY, available
        from slmagent.cli.terminal import output
        from slmagent.rewards.guards.embedding import EMBEDDER, HUB_ID, available_embedder

        table = Table()
        for heading in ("name", "hub id", "on this machine"):
            table.add_column(heading, overflow="fold")
        for name, folder in available().items():
            shown = f"{name} (default)" if name == DEFAULT_MODEL else name
            table.add_row(shown, REGISTRY[name].hub_id, str(folder) if folder else "-")
        embedder = available_embedder()
        table.add_row(f"{EMBEDDER} (embeddings)", HUB_ID, str(embedder) if embedder else "-")
        console = output()
        console.print(table)
        console.print("fetch one: slmagent models pull NAME; any hub id or model folder works in place of a name")
        return 0


@dataclass(frozen=True)
class Pull:
    """Fetch a model, unless it is here already, and print its folder."""

    name: Annotated[Positional[str], arg(metavar="NAME")] = "smollm2-135m"
    """Short name or hub id (owner/name)."""

    def run(self) -> int:
        """Fetches it."""
        from slmagent.agents.models import pull
        from slmagent.cli.terminal import messages
        from slmagent.rewards.guards.embedding import is_embedder, pull_embedder

        console = messages()
        fetch = pull_embedder if is_embedder(self.name) else partial(pull, self.name)
        with console.status(f"fetching {self.name}"):
            folder = fetch(progress=lambda line: console.print(line, markup=False))
        print(folder)
        return 0


@dataclass(frozen=True)
class Models:
    """List models, fetch one."""

    action: OmitArgPrefixes[Annotated[ListModels, subcommand("list")] | Annotated[Pull, subcommand("pull")]] = ListModels()

    def run(self) -> int:
        """Runs the chosen action."""
        return self.action.run()
