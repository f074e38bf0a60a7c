"""Makes the environment of an episode, and tells how one was made, so that it can be made again."""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec, WrapperSpec

from slmagent.types import EpisodeRequest


def make_env_for(
    request: EpisodeRequest, *, kwargs: Mapping[str, Any] | None = None, wrappers: Sequence[Mapping[str, Any]] = ()
) -> gymnasium.Env[Any, Any]:
    """`gymnasium.make` with the request's level and split.

    Args:
        request: The episode.
        kwargs: Further keywords of the environment.
        wrappers: What to put around it, from the inside out, each as `name`, `entry_point` and `kwargs`; see `settings_of`.
    """
    spec: str | EnvSpec = request.env_id
    if wrappers:
        spec = copy.deepcopy(gymnasium.spec(request.env_id))
        spec.additional_wrappers += tuple(WrapperSpec(**wrapper) for wrapper in wrappers)
    return gymnasium.make(spec, level=request.level, split=request.split, disable_env_checker=True, **(kwargs or {}))


def settings_of(env: gymnasium.Env[Any, Any]) -> dict[str, Any]:
    """What sets an environment apart from the one that its id, level and split alone make; `make_env_for` makes it again.

    Returns:
        `kwargs` and `wrappers`, each where there are any, as JSON data; only `unrecorded`, the reason, where that cannot be.
    """
    spec = env.spec
    if spec is None:
        return {}
    kwargs = {name: value for name, value in spec.kwargs.items() if name not in ("level", "split", "render_mode")}
    if spec.max_episode_steps is not None:
        kwargs["max_episode_steps"] = spec.max_episode_steps  # gymnasium.make takes it beside the environment's own
    wrappers = [dataclasses.asdict(wrapper) for wrapper in spec.additional_wrappers]
    blank = [wrapper["name"] for wrapper in wrappers if wrapper["kwargs"] is None]
    if blank:
        return {"unrecorded": f"the wrapper {blank[0]} does not record its arguments"}
    settings = {name: value for name, value in (("kwargs", kwargs), ("wrappers", wrappers)) if value}
    try:
        return json.loads(json.dumps(settings))
    except (TypeError, ValueError) as problem:
        return {"unrecorded": str(problem)}


def task_facts(env: gymnasium.Env[Any, Any] | None, scenario_id: str) -> dict[str, Any]:
    """What `Trajectory.metadata` tells about task and environment: `task_kind`, where tasks have one, and `env`, where the
    environment has settings beside level and split (see `settings_of`).

    Asked of the environment, not read from the last `info`, so that an episode cut from outside has it, too.
    """
    if env is None:
        return {}
    kind_of = getattr(env.unwrapped, "task_kind", None)
    kind = kind_of(scenario_id) if kind_of is not None else ""
    facts = {"task_kind": kind, "env": settings_of(env)}
    return {name: fact for name, fact in facts.items() if fact}
