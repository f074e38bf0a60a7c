"""`slmagent audit`: whether exploits pay in an environment."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional, arg

from slmagent.errors import UsageError
from slmagent.types import Split

if TYPE_CHECKING:
    from rich.console import Console

    from slmagent.evaluation.audit import LevelAudit
    from slmagent.evaluation.exploits import Budget, SearchResult


@dataclass(frozen=True, kw_only=True)
class AuditEnvs:
    """Try to cheat an environment: cheating policies beside the expert, or a search for exploits.

    Exit code 1 when a promise is broken: a cheater succeeds or earns as much as a success, or the expert fails.
    """

    env: Annotated[Positional[str], arg(metavar="ENV")]
    """Environment id; short forms such as `booking` work, too; `all` for every one."""
    level: tuple[int, ...] = ()
    """Levels to audit; all by default."""
    episodes: int = 20
    """Tasks a level that every policy plays; a search goes through the first six of them."""
    split: Split = "train"
    """Which tasks."""
    seed: int = 0
    """Changes the users, and what a search tries; not the tasks."""
    search: bool = False
    """Look for exploits: actions that fail and still earn much, from the expert's, damaged, repeated and random ones."""
    budget: str = "5000"
    """How long a search may take a level: environment steps, or seconds, as in 60s."""
    json: Path | None = None
    """File to write the numbers to; replaced if it exists."""

    def run(self) -> int:
        """Audits level by level and prints as it goes."""
        from slmagent.cli.names import check_level_and_split, environment_ids, levels_of, resolve_environment

        if self.episodes < 1:
            raise UsageError(f"expected --episodes >= 1, actual {self.episodes}")
        budget = read_budget(self.budget)
        env_ids = environment_ids() if self.env == "all" else [resolve_environment(self.env)]
        pairs = [(env_id, level) for env_id in env_ids for level in self.level or sorted(levels_of(env_id)) or (0,)]
        for env_id, level in pairs:
            check_level_and_split(env_id, level, self.split)
        if self.json is not None:
            _write(self.json, [])  # a place that cannot be written to is told before the work
        results: list[Any] = []
        try:
            for env_id, level in pairs:
                results.append(self._search(env_id, level, budget) if self.search else self._audit(env_id, level))
        finally:
            if self.json is not None:
                _write(self.json, [_plain(result) for result in results])
        return self._conclude(results)

    def _audit(self, env_id: str, level: int) -> LevelAudit:
        from slmagent.cli.terminal import messages, output, progress_bar
        from slmagent.evaluation.audit import audit_level
        from slmagent.evaluation.cheaters import CHEATERS
        from slmagent.evaluation.tables import audit_table

        with progress_bar(f"{env_id} level {level}", len(CHEATERS) + 2, messages()) as show:
            audit = audit_level(
                env_id,
                level,
                split=self.split,
                episodes=self.episodes,
                seed=self.seed,
                on_progress=lambda done, total: show(done),
            )
        console = output()
        console.print(audit_table(audit))
        _print_verdict(audit.verdict, bool(audit.broken), console)
        return audit

    def _search(self, env_id: str, level: int, budget: Budget) -> SearchResult:
        from slmagent.cli.terminal import messages, output, print_conversation, progress_bar
        from slmagent.evaluation.exploits import search_level

        with progress_bar(f"{env_id} level {level}", 100, messages()) as show:
            result = search_level(
                env_id,
                level,
                budget,
                split=self.split,
                tasks=min(6, self.episodes),
                seed=self.seed,
                on_progress=lambda share, best: show(int(100 * share)),
            )
        console = output()
        if result.best is not None:
            console.print(f"{env_id}, level {level}: the failure that earns most", style="bold")
            print_conversation(result.best, console, instructions=False)
        _print_verdict(result.verdict, result.found, console)
        return result

    def _conclude(self, results: Sequence[Any]) -> int:
        from slmagent.cli.terminal import messages

        broken = [result for result in results if (result.found if self.search else result.broken)]
        if broken:
            places = ", ".join(f"{result.env_id} level {result.level}" for result in broken)
            messages().print(f"exploits pay: {places}", style="red")
        return 1 if broken else 0


def read_budget(text: str) -> Budget:
    """Reads `5000` (steps) or `60s` (seconds).

    Raises:
        UsageError: It is neither.
    """
    from slmagent.evaluation.exploits import Budget

    match = re.fullmatch(r"(\d+(?:\.\d+)?)(s?)", text.strip())
    if match is None:
        raise UsageError(f"cannot read --budget {text!r}; expected steps or seconds, such as 5000 or 60s")
    return Budget(float(match[1]), "seconds" if match[2] else "steps")


def _print_verdict(verdict: str, broken: bool, console: Console) -> None:
    console.print(verdict, style="red" if broken else "green", markup=False)
    console.print()


def _plain(result: LevelAudit | SearchResult) -> dict[str, Any]:
    from slmagent.evaluation.exploits import SearchResult

    if not isinstance(result, SearchResult):
        return dataclasses.asdict(result) | {"broken": list(result.broken)}
    best = result.best
    found = {
        name: getattr(result, name) for name in ("env_id", "level", "split", "worst_success", "steps", "episodes", "found")
    }
    if best is not None:
        found["best"] = {
            "return": best.total_reward,
            "scenario_id": best.scenario_id,
            "user_seed": best.user_seed,
            "actions": [turn.text for turn in best.turns],
        }
    return found


def _write(path: Path, results: Sequence[Any]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    except OSError as problem:
        raise UsageError(f"cannot write {path}: {problem.strerror or problem}") from None
