"""Do exploits pay? The expert and every cheater on the same tasks, and the promises that this puts to the test."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from slmagent.agents.cheaters import Cheater
from slmagent.agents.episodes import requests_for, run_episodes
from slmagent.agents.making import make_env_for
from slmagent.agents.scripted import ExpertAgent, write_call
from slmagent.envs.base import ChatEnv
from slmagent.envs.parsing import parse_action
from slmagent.errors import SlmagentError
from slmagent.evaluation.cheaters import CHEATERS, changes_state, chat_env
from slmagent.types import EpisodeRequest, Trajectory

EXPERT, LAST_CHANGE_LEFT_OUT = "expert", "last_change_left_out"
LUCK = 0.02
"""Share of a level's tasks that the `random` policy may solve: about 1 in 150 of Booking's single questions."""
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class PolicyScore:
    """What a policy came to at one level. Returns are undiscounted sums of rewards."""

    policy: str
    episodes: int
    successes: int
    best: float
    """Highest return."""
    mean: float
    best_task: str
    """Scenario id of the episode with the highest return."""
    succeeded: tuple[str, ...]
    """Scenario ids of the tasks it succeeded in."""

    @property
    def success_rate(self) -> float:
        """Share of episodes that succeeded."""
        return self.successes / self.episodes


@dataclass(frozen=True, slots=True)
class LevelAudit:
    """The audit of one level of an environment."""

    env_id: str
    level: int
    split: str
    expert: PolicyScore
    worst_success: float | None
    """Lowest return of the expert's successes; None if it had none."""
    cheaters: tuple[PolicyScore, ...]
    """In order of their best return, highest first. The expert less its last change is among them where there are changes."""
    unsolved: tuple[str, ...]
    """Scenario ids of the tasks that the expert failed in."""

    @property
    def broken(self) -> tuple[str, ...]:
        """Promises that did not hold, a sentence each."""
        found: list[str] = []
        if self.unsolved:
            found.append(f"the expert fails in {_of(len(self.unsolved), self.expert.episodes)}: {_some(self.unsolved)}")
        for score in self.cheaters:
            if _by_chance(score):
                continue
            if score.successes:
                found.append(f"{score.policy} succeeds in {_of(score.successes, score.episodes)}: {_some(score.succeeded)}")
            if self.worst_success is not None and score.best >= self.worst_success:
                found.append(
                    f"{score.policy} earns {score.best:.2f} in {score.best_task}, the worst success {self.worst_success:.2f}"
                )
        return tuple(found)

    @property
    def verdict(self) -> str:
        """One line: what held, or what did not."""
        if self.broken:
            return f"level {self.level}: BROKEN: " + "; ".join(self.broken)
        best = self.cheaters[0]
        changes = next((score.episodes for score in self.cheaters if score.policy == LAST_CHANGE_LEFT_OUT), 0)
        left_out = f", without its last change in none of {changes}" if changes else ""
        solved = _of(self.expert.successes, self.expert.episodes)
        scores = f"the best cheater ({best.policy}) earns {best.best:.2f}, the worst success {self.worst_success:.2f}"
        return f"level {self.level}: kept: the expert succeeds in {solved}{left_out}; no cheater succeeds; {scores}"


def audit_level(
    env_id: str,
    level: int,
    *,
    split: str = "train",
    episodes: int = 20,
    seed: int = 0,
    cheaters: Mapping[str, Cheater] = CHEATERS,
    on_progress: Progress | None = None,
) -> LevelAudit:
    """Plays the expert, what is left of it without its last change, and every cheater on the same tasks.

    Args:
        env_id: An environment derived from `ChatEnv`.
        level: Curriculum level.
        split: Which tasks.
        episodes: Tasks, in the environment's order, which goes through the kinds of task.
        seed: Changes the users, not the tasks.
        cheaters: Policies by name.
        on_progress: Called with (policies done, policies in all).

    Raises:
        UsageError: No such environment, level or split, or one that is not derived from `ChatEnv`.
        SlmagentError: An episode ended in an error.
    """
    requests = requests_for(env_id, level, split, episodes, seed=seed)
    env = make_env_for(requests[0])
    inner = chat_env(env)
    tell = on_progress or (lambda done, total: None)

    def play(make_agent: Cheater, chosen: Sequence[EpisodeRequest] = requests) -> list[Trajectory]:
        played = run_episodes(make_agent, chosen, make_env=lambda request: env)
        for trajectory in played:
            if trajectory.status != "ok":
                raise SlmagentError(f"{trajectory.scenario_id} ended in {trajectory.status}: {trajectory.error}")
        return played

    total = len(cheaters) + 2
    expert = play(ExpertAgent)
    tell(1, total)
    scores = []
    crippled = _less_last_change(inner, requests, expert)
    if crippled:
        scores.append(score_of(LAST_CHANGE_LEFT_OUT, [play(_replay(rest), [request])[0] for request, rest in crippled]))
    tell(2, total)
    for done, (name, cheater) in enumerate(cheaters.items(), start=3):
        scores.append(score_of(name, play(cheater)))
        tell(done, total)
    return LevelAudit(
        env_id,
        level,
        split,
        score_of(EXPERT, expert),
        min((trajectory.total_reward for trajectory in expert if trajectory.success), default=None),
        tuple(sorted(scores, key=lambda score: -score.best)),
        tuple(trajectory.scenario_id for trajectory in expert if not trajectory.success),
    )


def score_of(policy: str, played: Sequence[Trajectory]) -> PolicyScore:
    """Sums episodes of one policy up; expects at least one."""
    returns = [trajectory.total_reward for trajectory in played]
    best = max(played, key=lambda trajectory: trajectory.total_reward)
    succeeded = tuple(trajectory.scenario_id for trajectory in played if trajectory.success)
    mean = sum(returns) / len(returns)
    return PolicyScore(policy, len(played), len(succeeded), max(returns), mean, best.scenario_id, succeeded)


class ReplayAgent:
    """Says prescribed actions one after the other, then ends every time it is asked.

    Args:
        actions: The actions.
    """

    def __init__(self, actions: Sequence[str]) -> None:
        self.actions = tuple(actions)
        self._next = 0

    def begin_episode(self, request: EpisodeRequest) -> None:
        """Back to the first action."""
        self._next = 0

    def act(self, observation: object, info: object) -> str:
        """The next action."""
        self._next += 1
        return self.actions[self._next - 1] if self._next <= len(self.actions) else write_call("finish", {"message": "Done."})


def without_last_change(env: ChatEnv, actions: Sequence[str]) -> list[str] | None:
    """The actions less the last call that changes something; None where no call does.

    Args:
        env: Knows its tools; the episode has to be one of those the actions were played in.
        actions: An episode.
    """
    for place in reversed(range(len(actions))):
        calls = parse_action(actions[place]).calls
        changing = [index for index, call in enumerate(calls) if changes_state(env, call)]
        if changing:
            kept = [write_call(call.name, call.arguments) for index, call in enumerate(calls) if index != changing[-1]]
            return [*actions[:place], *(["".join(kept)] if kept else []), *actions[place + 1 :]]
    return None


def _less_last_change(
    env: ChatEnv, requests: Sequence[EpisodeRequest], played: Sequence[Trajectory]
) -> list[tuple[EpisodeRequest, list[str]]]:
    pairs = []
    for request, trajectory in zip(requests, played, strict=True):
        rest = without_last_change(env, [turn.text for turn in trajectory.turns])
        if rest is not None:
            pairs.append((request, rest))
    return pairs


def _replay(actions: Sequence[str]) -> Cheater:
    return lambda env: ReplayAgent(actions)


def _by_chance(score: PolicyScore) -> bool:
    """Whether successes are few enough to be luck, which only `random` can have: it says words of what it has looked up."""
    return score.policy == "random" and 0 < score.successes <= LUCK * score.episodes


def _of(count: int, total: int) -> str:
    return f"{count} of {total} tasks"


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
