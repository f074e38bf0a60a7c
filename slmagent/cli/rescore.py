"""`slmagent rescore`: stored episodes with the rewards of today's code or of other weights."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from slmagent.errors import UsageError
from slmagent.types import Trajectory

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

MOST_SHOWN = 10
"""Divergences that are told one by one."""


@dataclass(frozen=True, kw_only=True)
class Rescore:
    """Score stored episodes again after a change of the rewards, without a new rollout.

    The stored actions are played again in today's environments, which is exact. Episodes in which an environment answers
    differently today are told and left out, and the exit code is then 1.
    """

    episodes: Annotated[Positional[Path], arg(metavar="EPISODES")]
    """A JSONL file of `slmagent rollout` or `slmagent eval --episodes`."""
    weights: Annotated[tuple[str, ...], arg(metavar="NAME=WEIGHT ...")] = ()
    """Changed weights, such as `goal=1 style=0`; the others stay. Without any, what has changed in the code counts."""
    out: Path | None = None
    """File to write; by default EPISODES with `.rescored` before its ending."""
    overwrite: bool = False
    """Replace that file if it exists; it may be EPISODES itself, which is whole until the end."""

    def run(self) -> int:
        """Rescores, writes and prints the table."""
        from slmagent.cli.terminal import messages, output, progress_bar
        from slmagent.records import iter_trajectories, write_trajectories

        weights = parse_weights(self.weights)
        out = self.out or self.episodes.with_suffix(f".rescored{self.episodes.suffix}")
        if out.exists() and not self.overwrite:
            raise UsageError(f"{out} exists already; choose another --out, or pass --overwrite")
        # Read through once: a file that is damaged at its end shows before the work, and progress has a total.
        total = sum(1 for _ in iter_trajectories(self.episodes))
        if not total:
            raise UsageError(f"{self.episodes} holds no episodes")
        console = messages()
        tally = _Tally()
        with progress_bar("rescore", total, console) as show:
            results = tally.follow(iter_trajectories(self.episodes), weights, show)
            try:
                written = write_trajectories(out, results)
            except OSError as problem:
                raise UsageError(f"cannot write {out}: {problem.strerror or problem}") from None
        output().print(tally.table())
        console.print(f"{written} of {total} episodes written to {out}", markup=False)
        tally.remark(console)
        return 1 if tally.diverged else 0


def parse_weights(words: Sequence[str]) -> dict[str, float]:
    """Reads `NAME=WEIGHT` words.

    Raises:
        UsageError: Another form, a weight that is no finite number, or a name that comes twice.
    """
    weights: dict[str, float] = {}
    for word in words:
        name, equals, text = word.partition("=")
        try:
            weight = float(text)
        except ValueError:
            weight = math.nan
        if not name or not equals or not math.isfinite(weight):
            raise UsageError(f"expected a weight as NAME=NUMBER, such as goal=1, actual {word!r}")
        if name in weights:
            raise UsageError(f"the weight of {name!r} is given twice")
        weights[name] = weight
    return weights


@dataclass(slots=True)
class _Tally:
    """Running sums over the episodes, before and after."""

    scored: int = 0
    failed: int = 0
    diverged: list[str] = field(default_factory=list)
    changed: int = 0
    """Episodes with another return."""
    successes: list[int] = field(default_factory=lambda: [0, 0])
    sums: list[Counter[str]] = field(default_factory=lambda: [Counter(), Counter()])
    """Reward by component, summed over all episodes."""
    returns: list[float] = field(default_factory=lambda: [0.0, 0.0])

    def follow(
        self, stored: Iterator[Trajectory], weights: Mapping[str, float], show: Callable[..., None]
    ) -> Iterator[Trajectory]:
        """Rescores episodes one by one and yields those that can be used.

        Raises:
            UsageError: An environment cannot be made, or all episodes diverged.
        """
        from slmagent.agents.replay import rescore

        for number, trajectory in enumerate(stored, start=1):
            result = rescore(trajectory, weights)
            if result.trajectory is None:
                self.diverged.append(f"episode {number} ({trajectory.scenario_id}): {result.divergence}")
            else:
                if trajectory.status == "ok":
                    self._count(trajectory, result.trajectory)
                else:
                    self.failed += 1
                yield result.trajectory
            show(number)
        if self.diverged and not self.scored:
            raise UsageError(f"none of the episodes can be played again; {self.diverged[0]}")

    def _count(self, before: Trajectory, after: Trajectory) -> None:
        self.scored += 1
        self.changed += before.total_reward != after.total_reward
        for place, trajectory in enumerate((before, after)):
            self.successes[place] += trajectory.success
            self.returns[place] += trajectory.total_reward
            for turn in trajectory.turns:
                self.sums[place].update(turn.reward_components)

    def table(self) -> Table:
        """Means before and after, for `rich.print`."""
        from rich import box
        from rich.table import Table

        title = f"{self.scored} episodes, {self.changed} with another return"
        table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
        table.add_column("mean an episode")
        for heading in ("before", "after", "change"):
            table.add_column(heading, justify="right")
        n = max(self.scored, 1)
        rows = {"return": self.returns, "success": self.successes}
        rows |= {name: [sums[name] for sums in self.sums] for name in dict.fromkeys((*self.sums[0], *self.sums[1]))}
        for name, (before, after) in rows.items():
            table.add_row(name, f"{before / n:.3f}", f"{after / n:.3f}", f"{(after - before) / n:+.3f}")
        return table

    def remark(self, console: Console) -> None:
        """Tells of the episodes that were not scored."""
        if self.failed:
            console.print(f"{self.failed} failed episodes were copied as they are: they are no samples")
        if self.diverged:
            console.print(f"{len(self.diverged)} episodes left out: the environment answers differently today", style="yellow")
            for text in self.diverged[:MOST_SHOWN]:
                console.print(f"  {text}", markup=False, soft_wrap=True)
            if len(self.diverged) > MOST_SHOWN:
                console.print(f"  and {len(self.diverged) - MOST_SHOWN} more")
