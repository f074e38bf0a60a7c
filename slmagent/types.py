"""The records that flow through slmagent, in the order in which they come to be.

An environment shows a conversation (`Message`), an agent answers with text that the environment reads as a
`ParsedAction`, a rollout stores each answer as a `Turn` of a `Trajectory`, and trainers and reports consume
`Trajectory` and `TrajectoryGroup`. Nothing here imports more than the standard library.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict

Role = Literal["system", "user", "assistant"]
Split = Literal["train", "val", "test", "ood"]
ActionKind = Literal["speak", "tool", "ask", "finish"]
StopReason = Literal["eos", "length", "context_full", "max_turns", "finished", "veto", "user_left", "error"]
TrajectoryStatus = Literal["ok", "env_error", "agent_error"]

SPLITS: tuple[Split, ...] = ("train", "val", "test", "ood")


class Message(TypedDict):
    """One chat message. Tool results are `user` messages in `<tool_response>` tags; roles alternate after the system one."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call read from an action."""

    id: str
    """Position inside the action, `call_0`, `call_1`, ..."""
    name: str
    arguments: Mapping[str, Any]
    """The decoded JSON object; not yet validated against the tool's schema."""


@dataclass(frozen=True, slots=True)
class ParsedAction:
    """What an environment understood of an action's text."""

    kind: ActionKind
    text: str
    """What is outside think-blocks and tool-call tags, stripped. With a call present it is a note, not said to the user."""
    calls: tuple[ToolCall, ...] = ()
    error: str | None = None
    """What is wrong with a malformed call, for the agent to read; such an action executes nothing."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One action of the agent inside a trajectory, with what it earned."""

    start: int
    """Index into `Trajectory.token_ids` of the action's first sampled token."""
    stop: int
    """Index behind the action's last sampled token (the end mark, when the model produced it)."""
    text: str
    """The decoded action as the environment received it (end mark removed)."""
    kind: ActionKind
    stop_reason: StopReason
    """Why the generation of this turn ended: eos, length or context_full."""
    reward: float
    reward_components: Mapping[str, float]
    """Weighted contributions at this step; they sum to `reward`."""
    anchor: str
    """Hash of the environment's canonical state *before* the action; equal situations have equal anchors."""
    parse_error: str | None = None
    events: tuple[Mapping[str, Any], ...] = ()
    """Tool results and policy checks of this step, as the environment reported them."""


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One episode, token for token as it was sampled.

    `token_ids`, `loss_mask` and `logprobs` have one length T. `loss_mask` is 1 on sampled tokens and 0 on
    everything the template, the environment or the engine added. `logprobs` are float32 natural logarithms under the
    distribution that was sampled from (temperature applied), 0.0 where `loss_mask` is 0.
    """

    token_ids: tuple[int, ...]
    loss_mask: tuple[int, ...]
    logprobs: tuple[float, ...]
    turns: tuple[Turn, ...]
    messages: tuple[Message, ...]
    env_id: str
    scenario_id: str
    level: int
    split: str
    seed: int
    """Sampling seed of this member; the task itself is fixed by `scenario_id` and `user_seed`."""
    user_seed: int
    group_id: str
    temperature: float
    """Temperature the tokens were sampled at; 0 means greedy (log-probs are then those at temperature 1)."""
    terminated: bool
    truncated: bool
    stop_reason: StopReason
    success: bool
    status: TrajectoryStatus = "ok"
    error: str | None = None
    """What went wrong, when `status` is not `ok`."""
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def total_reward(self) -> float:
        """Undiscounted return of the episode."""
        return float(sum(turn.reward for turn in self.turns))

    @property
    def num_trained_tokens(self) -> int:
        """Number of sampled tokens."""
        return int(sum(self.loss_mask))


@dataclass(frozen=True, slots=True)
class TrajectoryGroup:
    """Several trajectories of one scenario: the unit of group-relative credit."""

    group_id: str
    trajectories: tuple[Trajectory, ...]


@dataclass(frozen=True, slots=True)
class EpisodeRequest:
    """Which episode to play: everything a rollout needs to repeat it exactly."""

    env_id: str
    level: int
    split: str
    scenario_id: str
    user_seed: int = 0
    """Seeds the simulated user's mood and wording of the day."""
    sampling_seed: int = 0
    """Seeds the agent's own sampling; unused by deterministic agents."""
    group_id: str = ""
    """Members of one group share it (and the scenario and user seed, not the sampling seed)."""
