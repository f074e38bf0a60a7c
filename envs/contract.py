"""What an environment supplies to the protocol of `ChatEnv`: state, tools, user, rewards, expert."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from slmagent.envs.talk import UserTurn
from slmagent.envs.tools import Tool, ToolBox
from slmagent.scenarios.voice import Scripted
from slmagent.types import ParsedAction


class Contract(abc.ABC):
    """The part of a `ChatEnv` that differs from environment to environment."""

    levels: ClassVar[Mapping[int, str]]
    """Level -> one-line description."""
    default_weights: ClassVar[Mapping[str, float]]
    """Weight by reward component. `veto` is the episode total that a violation fixes; `progress` scales the shaping."""
    level: int
    split: str
    toolbox: ToolBox
    """The tools of the running episode."""
    turn: int
    """Actions played in the running episode."""
    lost_turns: int
    """Those of them that noise made void; they count against no limit."""
    _events: list[dict[str, Any]]
    """Of this step; JSON-able."""
    _last_potential: float
    """Phi after the last step, which is that of the present state until an action is carried out."""
    _vetoed: bool

    # ---- what a subclass supplies -------------------------------------------------------------------------------

    @abc.abstractmethod
    def _default_max_turns(self) -> int:
        """Turn limit of `self.level`."""

    @abc.abstractmethod
    def _list_scenarios(self) -> Sequence[str]:
        """Ids of the tasks of `self.level` and `self.split`; must not take long."""

    @abc.abstractmethod
    def _begin(self, scenario_id: str, user_rng: np.random.Generator) -> tuple[str, str]:
        """Sets up state, user and `self.toolbox`.

        Returns:
            The system prompt without its tool section, and the user's first message.
        """

    @abc.abstractmethod
    def _hear(self, text: str) -> UserTurn:
        """The user's answer to a message without a call (possibly empty)."""

    @abc.abstractmethod
    def _call(self, tool: Tool) -> str:
        """Carries out a checked call (never Finish) and returns what the agent reads; raises ToolError when it cannot."""

    @abc.abstractmethod
    def _finish(self, message: str) -> None:
        """Takes note of the agent's last message."""

    @abc.abstractmethod
    def _score(self, action: ParsedAction, *, done: bool) -> dict[str, float]:
        """Weighted components of this step, without `progress` and `veto`."""

    @abc.abstractmethod
    def _potential(self) -> float:
        """Phi of the current state in [0, 1], for the shaping: the share of the task that is done."""

    @abc.abstractmethod
    def _success(self) -> bool:
        """Whether the final state meets the goal."""

    @abc.abstractmethod
    def _canonical_state(self) -> Any:
        """JSON-able, order-free form of everything that matters from here on; equal situations must be equal."""

    @abc.abstractmethod
    def expert(self, *, evidence: bool = True) -> str:
        """The scripted expert's next action.

        Args:
            evidence: Write the one line that justifies a call before the call.
        """

    def task_kind(self, scenario_id: str) -> str:
        """The kind of a task, for stratified sampling and for reports; empty where a level has one kind only."""
        return ""

    def _user(self) -> Scripted | None:
        """The rule-based user of the running episode: noise spares its facts, a model in its place keeps its secrets."""
        return None

    def _await(self) -> str | None:
        """The user's farewell when it will wait no longer after an action with calls; None (the default) while it waits."""
        return None

    def _facts(self) -> tuple[str, ...]:
        """Values that the user tells or will tell, which no noise may garble."""
        user = self._user()
        return () if user is None else (*user.told_values(), *user.secret_values())

    # ---- for subclasses to use ----------------------------------------------------------------------------------

    def _record(self, kind: str, **details: Any) -> None:
        """Adds an entry to this step's `info["events"]`."""
        self._events.append({"type": kind, **details})

    def _violate(self, clause: str) -> None:
        """Reports a broken policy clause: the episode ends with the veto total."""
        self._vetoed = True
        self._record("policy_violation", clause=clause)
