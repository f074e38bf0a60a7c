"""`slmagent rollout`: episodes of an agent as a JSONL file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from slmagent.cli.playing import PlayOptions
from slmagent.errors import UsageError
from slmagent.types import Split, Trajectory


@dataclass(frozen=True, kw_only=True)
class Rollout(PlayOptions):
    """Play episodes with an agent and write them, one JSON object a line; Ctrl-C keeps what is done."""

    agent: Annotated[Positional[str], arg(metavar="AGENT")]
    """The agent: expert, do-nothing, random, model:PATH_OR_NAME or endpoint:URL#MODEL."""
    split: Split = "train"
    """Which tasks."""
    samples: int = 1
    """Episodes of each task; they differ in the sampling seed."""
    seed: int = 0
    """Changes user and sampling seeds, not the tasks."""
    out: Path = Path("runs/episodes.jsonl")
    """File to write."""
    overwrite: bool = False
    """Replace the file if it exists."""

    def run(self) -> int:
        """Plays and writes."""
        from slmagent.agents.episodes import requests_for
        from slmagent.cli.names import parse_agent
        from slmagent.cli.playing import Episodes, check_models, prepared
        from slmagent.cli.terminal import messages, progress_bar
        from slmagent.records import TrajectoryWriter

        spec = parse_agent(self.agent)
        if spec.kind == "file":
            raise UsageError("a file of episodes cannot play; expected expert, do-nothing, random, model:... or endpoint:...")
        env_id = self.checked_env(self.split)
        if self.out.exists() and not self.overwrite:
            raise UsageError(f"{self.out} exists already; choose another --out, or pass --overwrite")
        check_models([spec])
        requests = requests_for(
            env_id, self.level, self.split, self.n, samples=self.samples, seed=self.seed, offset=self.offset
        )
        console = messages()
        episodes = Episodes(requests)
        interrupted = False
        try:
            writer = TrajectoryWriter(self.out)
        except OSError as problem:
            raise UsageError(f"cannot write {self.out}: {problem.strerror or problem}") from None
        with writer:
            try:
                with (
                    prepared(spec, self, console) as play,
                    progress_bar(spec.label, len(requests), console) as show,
                ):

                    def keep(trajectory: Trajectory) -> None:
                        episodes.add(trajectory)
                        writer.write(episodes.take_ready())

                    play(requests, keep, show)
            except KeyboardInterrupt:
                interrupted = True
                writer.write(episodes.all_done()[writer.count :])
        played = episodes.all_done()
        failed = [trajectory for trajectory in played if trajectory.status != "ok"]
        successes = sum(trajectory.success for trajectory in played)
        console.print(f"{successes} of {len(played) - len(failed)} episodes succeeded, written to {self.out}", markup=False)
        if failed:
            console.print(f"{len(failed)} failed, the first with: {failed[0].error}", markup=False, style="yellow")
        if interrupted:
            console.print(f"stopped early: {len(played)} of {len(requests)} episodes", style="yellow")
        return 130 if interrupted else 0
