"""Stored episodes scored again after a change of the rewards, without a new rollout.

An environment is deterministic, so its stored actions, played again, lead through the same states: what comes out is exactly
what a fresh rollout of the same actions would have been paid. An episode in which the environment answers differently today
(other tasks, tools, wordings or users) is a divergence: its actions answer to something that is not there any more, so it is
reported and gets no rewards.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import gymnasium

from slmagent.agents.base import Reply
from slmagent.agents.episodes import run_episodes
from slmagent.agents.making import make_env_for
from slmagent.errors import UsageError
from slmagent.types import EpisodeRequest, Message, Trajectory, Turn

_RESPONSE_OPEN, _RESPONSE_CLOSE = "<tool_response>", "</tool_response>"


@dataclass(frozen=True, slots=True)
class Rescored:
    """What became of a stored episode."""

    trajectory: Trajectory | None
    """The episode with today's rewards, success and anchors; tokens are untouched. None when it diverged."""
    divergence: str | None = None
    """Where and how the environment answered differently."""


def rescore(stored: Trajectory, weights: Mapping[str, float] | None = None) -> Rescored:
    """Scores a stored episode with today's code.

    A failed episode (status other than `ok`) is no sample and comes back as it is. The words of a user that a language model
    spoke for (`user_llm`) are not asked for again: rewards follow the script, so the stored ones stand.

    Args:
        stored: An episode, of a text agent or of a token-exact rollout.
        weights: Changes to the weights it was played with, by component.

    Raises:
        UsageError: The environment cannot be made: an unknown id or component, a weight that is no finite number, settings
            that were not recorded.
    """
    if stored.status != "ok":
        return Rescored(stored)
    settings = _settings(stored, weights or {})
    agent = _Replay(stored.turns)
    request = EpisodeRequest(
        stored.env_id, stored.level, stored.split, stored.scenario_id, stored.user_seed, stored.seed, stored.group_id
    )
    (fresh,) = run_episodes(lambda env: agent, [request], make_env=lambda request: _make(request, settings))
    worded = "user_llm" in settings.get("kwargs", {})
    divergence = _divergence(stored, fresh, worded=worded, exhausted=agent.exhausted)
    if divergence is not None:
        return Rescored(None, divergence)
    metadata = {**stored.metadata, **{name: fact for name, fact in fresh.metadata.items() if name != "env"}}
    if settings:
        metadata["env"] = settings
    return Rescored(
        replace(
            stored,
            turns=tuple(_merged(old, new, worded) for old, new in zip(stored.turns, fresh.turns, strict=True)),
            terminated=fresh.terminated or (agent.exhausted and stored.terminated),
            truncated=fresh.truncated or (agent.exhausted and stored.truncated),
            stop_reason=stored.stop_reason if agent.exhausted else fresh.stop_reason,
            success=fresh.success,
            metadata=metadata,
        )
    )


class _Exhausted(Exception):
    """All stored actions have been played."""


class _Replay:
    """Plays stored actions, whatever it sees."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self._left = list(reversed(turns))
        self.exhausted = False

    def act(self, observation: Sequence[Message], info: Mapping[str, Any]) -> str:
        if not self._left:
            self.exhausted = True
            raise _Exhausted
        turn = self._left.pop()
        return Reply(turn.text, turn.stop_reason)


def _settings(stored: Trajectory, weights: Mapping[str, float]) -> dict[str, Any]:
    """The settings of the environment it was played in, with the changed weights."""
    settings = dict(stored.metadata.get("env") or {})
    if "unrecorded" in settings:
        raise UsageError(f"the environment of {stored.scenario_id} cannot be made again: {settings['unrecorded']}")
    if weights:
        kwargs = settings.get("kwargs", {})
        settings["kwargs"] = {**kwargs, "reward_weights": {**(kwargs.get("reward_weights") or {}), **weights}}
    return settings


def _make(request: EpisodeRequest, settings: Mapping[str, Any]) -> gymnasium.Env[Any, Any]:
    kwargs = {name: value for name, value in settings.get("kwargs", {}).items() if name != "user_llm"}
    try:
        return make_env_for(request, kwargs=kwargs, wrappers=settings.get("wrappers", ()))
    except (gymnasium.error.Error, ImportError, AttributeError, TypeError, ValueError) as problem:
        raise UsageError(f"cannot make {request.env_id}: {problem}") from None


def _merged(old: Turn, new: Turn, worded: bool) -> Turn:
    """What the environment says of an action today, at the action's place among the tokens."""
    return replace(new, start=old.start, stop=old.stop, events=old.events if worded else new.events)


def _divergence(stored: Trajectory, fresh: Trajectory, *, worded: bool, exhausted: bool) -> str | None:
    """Where the environment answered differently; None where it did not."""
    if fresh.status == "env_error":
        return f"the environment cannot play it: {fresh.error}"
    for place, (old, new) in enumerate(zip(stored.messages, fresh.messages, strict=False)):
        if _heard(old, worded) != _heard(new, worded):
            where = f"after turn {(place - 1) // 2}" if place > 1 else "at the start"
            return f"{where}: expected {_excerpt(old, new)}, actual {_excerpt(new, old)}"
    if len(stored.turns) != len(fresh.turns) or len(stored.messages) != len(fresh.messages):
        return f"it ends after turn {len(fresh.turns)} ({fresh.stop_reason}); expected {len(stored.turns)} turns"
    cut = stored.stop_reason == "context_full"
    if exhausted and not cut:
        return f"it goes on after turn {len(stored.turns)}; expected its end ({stored.stop_reason})"
    if cut and not exhausted:
        return f"it ends after turn {len(stored.turns)} ({fresh.stop_reason}); expected it to go on"
    return None


def _heard(message: Message, worded: bool) -> tuple[str, str]:
    """What has to be the same: all of a message, or, where a model words the user, the tools' part of a user message."""
    content = message["content"]
    if worded and message["role"] == "user":
        content = content[: content.rfind(_RESPONSE_CLOSE) + 1] if content.startswith(_RESPONSE_OPEN) else ""
    return message["role"], content


def _excerpt(message: Message, other: Message) -> str:
    """The part of a message from shortly before the first difference on."""
    text, beside = message["content"], other["content"]
    alike = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(text, beside, strict=False)))
    start = max(0, alike - 15)
    shown = text[start : start + 60]
    return repr(("..." if start else "") + shown + ("..." if start + 60 < len(text) else ""))
