"""Plays episodes with any agent that the command line can name, with progress, and keeps what is done when interrupted."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from slmagent.cli.names import AgentSpec, check_level_and_split, resolve_environment
from slmagent.errors import SlmagentError, UsageError, require
from slmagent.types import EpisodeRequest, Trajectory

if TYPE_CHECKING:
    from rich.console import Console

Keep = Callable[[Trajectory], None]
ShowProgress = Callable[..., None]
MakeEnv = Callable[[EpisodeRequest], Any]
Player = Callable[[Sequence[EpisodeRequest], Keep, ShowProgress], None]
TEXT_CHUNK = 8
"""Episodes of a text agent (per worker) between two looks at what is done."""


@dataclass(frozen=True, kw_only=True)
class PlayOptions:
    """Which episodes are played, and how an agent that samples does so."""

    env: str = "SLMAgent/Booking-v0"
    """Environment id; short forms such as `booking` work, too."""
    level: int = 1
    """Curriculum level, 0 (easiest) to 5."""
    n: int = 64
    """Number of tasks, in the environment's own order."""
    offset: int = 0
    """Number of tasks to skip."""
    temperature: float = 0.0
    """Sampling temperature of models and endpoints; 0 is greedy."""
    max_new_tokens: int = 96
    """Longest action of a model or endpoint, in tokens."""
    max_context: int = 2048
    """Longest episode of a local model, in tokens; a longer one is cut there."""
    batch_size: int = 32
    """Episodes that a local model plays at once."""
    workers: int = 4
    """Episodes played at once where an endpoint plays or speaks for the user."""
    user_llm: str | None = None
    """Endpoint that words what users say, as URL#MODEL; what they say stays the script's."""
    device: str | None = None
    """Device of a local model: `cpu`, `cuda`, ...; by default CUDA where there is one."""

    def checked_env(self, split: str) -> str:
        """The environment's full id, after checking level, split and numbers.

        Raises:
            UsageError: Something that does not exist or is out of range.
        """
        env_id = resolve_environment(self.env)
        check_level_and_split(env_id, self.level, split)
        least = {"n": 1, "offset": 0, "temperature": 0, "max_new_tokens": 1, "max_context": 1, "batch_size": 1, "workers": 1}
        for name, low in least.items():
            if not getattr(self, name) >= low:
                raise UsageError(f"expected --{name.replace('_', '-')} of at least {low}, actual {getattr(self, name)}")
        return env_id

    def make_env(self) -> MakeEnv:
        """What makes the environment of an episode.

        Raises:
            SlmagentError: The endpoint that is to speak for users is not there or not known by this name.
        """
        from slmagent.agents.making import make_env_for
        from slmagent.scenarios.voice import connect

        if self.user_llm is None:
            return make_env_for
        url, _, model = self.user_llm.rpartition("#")
        if not url or not model:
            raise UsageError(f"expected --user-llm URL#MODEL, such as http://localhost:8000/v1#qwen, actual {self.user_llm!r}")
        user_llm = {"base_url": url, "model": model}
        try:
            endpoint = connect(user_llm)
        except ValueError as problem:
            raise UsageError(str(problem)) from None
        endpoint.check()
        endpoint.close()
        return functools.partial(make_env_for, kwargs={"user_llm": user_llm})

    def sampling_facts(self) -> dict[str, Any]:
        """What a result file says about how actions were drawn."""
        return {
            "temperature": self.temperature,
            "max_new_tokens": self.max_new_tokens,
            "max_context": self.max_context,
            **({"user_llm": self.user_llm} if self.user_llm else {}),
        }


class Episodes:
    """Trajectories as they come in, put back into the order of their requests."""

    def __init__(self, requests: Sequence[EpisodeRequest]) -> None:
        self._order = [_key(request.scenario_id, request.user_seed, request.sampling_seed) for request in requests]
        self._done: dict[tuple[str, int, int], Trajectory] = {}
        self._taken = 0

    def add(self, trajectory: Trajectory) -> None:
        """Takes a finished episode in."""
        self._done[_key(trajectory.scenario_id, trajectory.user_seed, trajectory.seed)] = trajectory

    def take_ready(self) -> Iterator[Trajectory]:
        """Episodes not yet taken whose predecessors are all done."""
        while self._taken < len(self._order) and self._order[self._taken] in self._done:
            yield self._done[self._order[self._taken]]
            self._taken += 1

    def complete_prefix(self) -> list[Trajectory]:
        """All episodes from the first request on up to the first that is not done.

        The episodes that happen to be done first are the short ones; a prefix of the requests has no such preference.
        """
        prefix = []
        for key in self._order:
            if key not in self._done:
                break
            prefix.append(self._done[key])
        return prefix

    def all_done(self) -> list[Trajectory]:
        """All finished episodes in the order of the requests."""
        return [self._done[key] for key in self._order if key in self._done]


@contextmanager
def prepared(spec: AgentSpec, options: PlayOptions, console: Console) -> Iterator[Player]:
    """Makes an agent ready: loads a model, asks an endpoint whether it is there.

    Args:
        spec: The agent; not one of kind `file`.
        options: Sampling and limits.
        console: For remarks while something takes its time.

    Yields:
        What plays requests: it takes them, where each trajectory goes as soon as it is known, and where progress is shown.

    Raises:
        SlmagentError: The agent cannot be made.
    """
    make_env = options.make_env()
    if spec.kind == "model":
        policy = load_model(spec.value, device=options.device, console=console)
        yield lambda requests, keep, show: _play_model(policy, spec.value, requests, options, make_env, keep, show)
    elif spec.kind == "endpoint":
        from slmagent.agents.endpoint import EndpointAgent

        url, _, model = spec.value.rpartition("#")
        agent = EndpointAgent(url, model, temperature=options.temperature, max_new_tokens=options.max_new_tokens)
        try:
            with console.status(f"asking {url}"):
                agent.check()
            yield lambda requests, keep, show: _play_text(lambda env: agent, requests, options.workers, make_env, keep, show)
        finally:
            agent.close()
    else:
        from slmagent.agents import scripted

        makers = {
            "expert": lambda env: scripted.ExpertAgent(env),
            "do-nothing": lambda env: scripted.ConstantAgent(""),
            "random": lambda env: scripted.RandomAgent(),
        }
        workers = options.workers if options.user_llm else 1
        yield lambda requests, keep, show: _play_text(makers[spec.kind], requests, workers, make_env, keep, show)


def check_models(specs: Sequence[AgentSpec]) -> None:
    """Refuses models that are not on this machine, before anything slow begins.

    Raises:
        SlmagentError: One is missing; says how to get it.
    """
    names = [spec.value for spec in specs if spec.kind == "model"]
    if names:
        if find_spec("torch") is None:  # not imported here: that alone takes seconds
            require("torch", extra="train", purpose="running a local model")
        from slmagent.agents.models import resolve

        for name in names:
            resolve(name)


def _play_text(
    agent_for: Callable[[Any], Any],
    requests: Sequence[EpisodeRequest],
    workers: int,
    make_env: MakeEnv,
    keep: Keep,
    show: ShowProgress,
) -> None:
    from slmagent.agents.episodes import run_episodes

    size = TEXT_CHUNK * workers
    for start in range(0, len(requests), size):

        def report(done: int, total: int, start: int = start) -> None:
            show(start + done)

        chunk = requests[start : start + size]
        for trajectory in run_episodes(agent_for, chunk, make_env=make_env, workers=workers, on_progress=report):
            keep(trajectory)


def _play_model(
    policy: Any,
    name: str,
    requests: Sequence[EpisodeRequest],
    options: PlayOptions,
    make_env: MakeEnv,
    keep: Keep,
    show: ShowProgress,
) -> None:
    from slmagent.agents.rollout import SamplingConfig, rollout

    sampling = SamplingConfig(
        temperature=options.temperature,
        max_new_tokens=options.max_new_tokens,
        max_context=options.max_context,
        batch_size=options.batch_size,
    )
    try:
        rollout(
            policy,
            requests,
            sampling=sampling,
            make_env=make_env,
            on_progress=lambda done, total, tokens: show(done, tokens),
            on_trajectory=keep,
        )
    except ValueError as problem:  # a limit that the model cannot meet
        raise UsageError(f"cannot play with {name!r}: {problem}") from problem


def load_model(name: str, *, device: str | None, console: Console) -> Any:
    """Loads a local model, saying so while it takes its time.

    Raises:
        SlmagentError: It is missing or cannot be read.
    """
    from slmagent.cli.terminal import no_library_bars

    no_library_bars()
    with console.status(f"loading {name}"):
        from slmagent.agents.policy import load_policy

        try:
            return load_policy(name, device=device)
        except (SlmagentError, KeyboardInterrupt):
            raise
        except Exception as problem:  # damaged files raise whatever their reader thinks of
            first_line = (str(problem).strip().splitlines() or [""])[0]
            raise UsageError(f"cannot load the model {name!r}: {type(problem).__name__}: {first_line}") from problem


def versions() -> Mapping[str, str]:
    """Versions of what a result depends on, as far as installed."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    found = {"python": platform.python_version()}
    for package in ("slmagent", "gymnasium", "numpy", "torch", "transformers", "peft"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _key(scenario_id: str, user_seed: int, sampling_seed: int) -> tuple[str, int, int]:
    return scenario_id, user_seed, sampling_seed
