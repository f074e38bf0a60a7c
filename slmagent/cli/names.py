"""What a user may call things on the command line: environments, levels, splits, agents."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import gymnasium
from gymnasium.envs.registration import load_env_creator

import slmagent  # noqa: F401  (registers the environments)
from slmagent.errors import UsageError, nearest
from slmagent.types import SPLITS

AgentKind = Literal["expert", "do-nothing", "random", "model", "endpoint", "file"]
AGENT_FORMS = "expert, do-nothing, random, model:PATH_OR_NAME, endpoint:URL#MODEL or file:EPISODES.jsonl"


def environment_ids() -> list[str]:
    """Ids of all environments of this package."""
    return sorted(env_id for env_id in gymnasium.registry if env_id.startswith("SLMAgent/"))


def resolve_environment(name: str) -> str:
    """The id behind a name: an id of any package, or a short form such as `Booking`, `booking-v0` or `customer-service`.

    Raises:
        UsageError: No such environment; names the nearest one.
    """
    if name in gymnasium.registry:
        return name
    short: dict[str, str] = {}
    for env_id in environment_ids():
        base = env_id.partition("/")[2]
        short |= {_plain(base): env_id, _plain(base.partition("-v")[0]): env_id}
    if _plain(name) in short:
        return short[_plain(name)]
    stripped = _plain(name.rpartition("/")[2])
    suggestion = nearest(name, environment_ids())
    if not suggestion.startswith("did you mean"):
        close = nearest(stripped, short)
        key = re.fullmatch(r"did you mean '(.*)'\?", close)
        suggestion = f"did you mean {short[key[1]]!r}?" if key else suggestion
    raise UsageError(f"unknown environment {name!r}; {suggestion} (slmagent envs lists them)")


def _plain(name: str) -> str:
    return re.sub(r"[-_ ]", "", name.casefold())


def environment_class(env_id: str) -> type[Any]:
    """The class that an id stands for, without making an environment."""
    entry_point = gymnasium.spec(env_id).entry_point
    loaded = load_env_creator(entry_point) if isinstance(entry_point, str) else entry_point
    if not isinstance(loaded, type):
        raise UsageError(f"{env_id} is made by a function; expected one of {', '.join(environment_ids())}")
    return loaded


def levels_of(env_id: str) -> Mapping[int, str]:
    """Level -> what it asks for; empty when the environment does not say."""
    return getattr(environment_class(env_id), "levels", {})


def check_level_and_split(env_id: str, level: int, split: str) -> None:
    """Refuses what does not exist, before anything slow begins.

    Raises:
        UsageError: An unknown level or split, with those that exist.
    """
    levels = levels_of(env_id)
    if levels and level not in levels:
        raise UsageError(f"{env_id} has no level {level}; expected one of {', '.join(map(str, sorted(levels)))}")
    if split not in SPLITS:
        raise UsageError(f"unknown split {split!r}; {nearest(split, SPLITS)}")


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """An agent as named on the command line."""

    label: str
    """Its name in tables."""
    kind: AgentKind
    value: str = ""
    """What stands behind the colon."""

    @property
    def text(self) -> str:
        """The spec without the label."""
        return f"{self.kind}:{self.value}" if self.value else self.kind


def parse_agent(text: str) -> AgentSpec:
    """Reads `SPEC` or `LABEL=SPEC`.

    Raises:
        UsageError: It is neither; says what was expected.
    """
    label, spec = _split_label(text)
    kind, colon, value = spec.partition(":")
    if kind not in get_args(AgentKind):
        raise UsageError(f"unknown agent {text!r}; {nearest(kind, get_args(AgentKind))} (agents: {AGENT_FORMS})")
    takes_value = kind in ("model", "endpoint", "file")
    if takes_value and not value:
        raise UsageError(f"agent {text!r} lacks what to play with; expected {AGENT_FORMS}")
    if colon and not takes_value:
        raise UsageError(f"agent {kind!r} takes nothing behind a colon, actual {spec!r}")
    if kind == "endpoint":
        url, _, model = value.rpartition("#")
        if not url or not model:
            raise UsageError(f"agent {text!r}: expected endpoint:URL#MODEL, such as endpoint:http://localhost:8000/v1#my-model")
    return AgentSpec(label or value or spec, kind, value)  # type: ignore[arg-type]


def _split_label(text: str) -> tuple[str, str]:
    # Addresses and paths may hold '=', so a label ends where a known kind begins.
    label, equals, spec = text.partition("=")
    if equals and label and ":" not in label and "/" not in label:
        return label.strip(), spec
    return "", text
