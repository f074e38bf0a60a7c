"""`slmagent profile`: trains the classifier of users' styles, and shows what it makes of messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from tyro.conf import OmitArgPrefixes, Positional, arg, subcommand


@dataclass(frozen=True)
class TrainProfile:
    """Train the classifier on simulated users and keep it in the cache."""

    users: int = 4000
    """Simulated users to train on."""
    held_out: int = 1000
    """Further users, with other personas and wishes, to measure the accuracy on."""
    seed: int = 0
    """Draws the users."""

    def run(self) -> int:
        """Trains, saves, prints the accuracy on the held-out users."""
        from rich.table import Table

        from slmagent.cli.terminal import messages, output, progress_bar
        from slmagent.evaluation.statistics import wilson_interval
        from slmagent.evaluation.tables import percent
        from slmagent.trainers.profiles import save_profiler, train_profiler

        with progress_bar("simulating users", self.users + self.held_out, messages()) as update:
            model, results = train_profiler(self.users, self.held_out, seed=self.seed, progress=update)
        file = save_profiler(model)
        table = Table(title=f"accuracy on {self.held_out} held-out users", title_justify="left")
        for heading in ("trait", "right", "majority baseline"):
            table.add_column(heading)
        for result in results:
            rates = (wilson_interval(right, result.n) for right in (result.right, result.majority))
            table.add_row(result.trait, *map(percent, rates))
        console = output()
        console.print(table)
        console.print(f"written: {file}", soft_wrap=True)
        return 0


@dataclass(frozen=True)
class ShowProfile:
    """Show the profile of a user and the sentence for the system prompt."""

    messages: Annotated[Positional[tuple[str, ...]], arg(metavar="FILE_OR_TEXT")]
    """Past messages of one user: texts, or files with a message a line."""

    def run(self) -> int:
        """Prints the level of each trait, and the sentence."""
        from rich.table import Table

        from slmagent.agents.profiles import load_profiler
        from slmagent.cli.terminal import output

        profile = load_profiler().profile(_read(self.messages))
        table = Table()
        for heading in ("trait", "level", "probability"):
            table.add_column(heading)
        for trait, level in profile.levels.items():
            table.add_row(trait, level, f"{profile.certainty[trait]:.2f}")
        console = output()
        console.print(table)
        console.print(profile.sentence(), markup=False)
        return 0


@dataclass(frozen=True)
class ProfileCommand:
    """Train the classifier of users' styles; show a user's style."""

    action: OmitArgPrefixes[Annotated[TrainProfile, subcommand("train")] | Annotated[ShowProfile, subcommand("show")]]

    def run(self) -> int:
        """Runs the chosen action."""
        return self.action.run()


def _read(given: tuple[str, ...]) -> list[str]:
    """The messages: lines of what is a file, all else as it stands."""
    from pathlib import Path

    from slmagent.errors import UsageError

    read: list[str] = []
    for text in given:
        try:
            is_file = Path(text).is_file()
        except OSError:  # too long for a file name, for one
            is_file = False
        if not is_file:
            read.append(text)
            continue
        try:
            read += [line for line in Path(text).read_text(encoding="utf-8").splitlines() if line.strip()]
        except (OSError, UnicodeDecodeError) as problem:
            raise UsageError(f"cannot read messages from {text}: {problem}") from None
    return read
