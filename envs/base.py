"""`ChatEnv`: a multi-turn conversation as a Gymnasium environment.

Subclasses supply the task (state, tools, user, rewards), as `Contract` lists it, and `Acting` carries actions out. This file is
the protocol around both: the append-only conversation, the turn limit, vetoes, shaping and the bookkeeping in `info`.
"""

from __future__ import annotations

import copy
import difflib
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium import spaces

from slmagent.envs.acting import Acting
from slmagent.envs.context import count_pieces, estimate_tokens, token_budget
from slmagent.envs.disturbance import Disturbance, Noise
from slmagent.envs.parsing import CALL_CLOSE, CALL_OPEN, parse_action
from slmagent.envs.spaces import Unicode
from slmagent.envs.talk import Snapshot, UserTurn, as_text
from slmagent.envs.tools import Finish, ToolBox
from slmagent.rewards.composite import merge_weights
from slmagent.rewards.shaping import shaping_reward
from slmagent.scenarios.voice import Voice, connect
from slmagent.types import SPLITS, Message, ParsedAction, Role, StopReason

__all__ = ["ChatEnv", "Observation", "PromptStyle", "Snapshot", "UserTurn"]

PROGRESS, VETO = "progress", "veto"
Observation = tuple[Message, ...]
_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False)
PromptStyle = Literal["compact", "json"]


class ChatEnv(Acting, gymnasium.Env[Observation, str]):
    """A conversation with a simulated user and tools.

    The observation is the whole conversation so far, a tuple of fresh `{"role", "content"}` dicts that only ever grows within
    an episode. The action is the assistant's text; every string is legal.

    Args:
        level: Curriculum level, 0 (easiest) to 5.
        split: `train`, `val`, `test` or `ood`; their tasks are disjoint.
        prompt_style: `compact` lists tools as one-line signatures, `json` as full schemas.
        max_turns: Actions after which the episode is truncated; None takes the level's default.
        reward_weights: Changes to `default_weights`, by component name.
        shaping_gamma: Discount of the progress shaping; must equal the trainer's gamma.
        user_llm: Lets a language model word what the user says, such as `{"base_url": "http://localhost:8000/v1", "model":
            "qwen"}`; the keys are the fields of `slmagent.scenarios.voice.UserModel`. What is said, and all rewards, stay the
            rule-based user's. The wording is then as deterministic as the endpoint (seed and temperature 0 are sent).
        render_mode: `ansi` (render returns the conversation), `human` (printed as it happens) or None.

    Raises:
        ValueError: An argument outside its range, with what was expected.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  (declared so by gymnasium.Env)
        "render_modes": ["ansi", "human"],
        "render_fps": 4,
    }

    def __init__(
        self,
        *,
        level: int = 0,
        split: str = "train",
        prompt_style: PromptStyle = "compact",
        max_turns: int | None = None,
        reward_weights: Mapping[str, float] | None = None,
        shaping_gamma: float = 1.0,
        user_llm: Mapping[str, Any] | None = None,
        render_mode: str | None = None,
    ) -> None:
        if isinstance(level, bool) or level not in self.levels:
            raise ValueError(f"unknown level {level!r} for {type(self).__name__}; expected one of {sorted(self.levels)}")
        if split not in SPLITS:
            raise ValueError(f"unknown split {split!r}; expected one of {', '.join(SPLITS)}")
        if prompt_style not in ("compact", "json"):
            raise ValueError(f"unknown prompt_style {prompt_style!r}; expected 'compact' or 'json'")
        if max_turns is not None and max_turns < 1:
            raise ValueError(f"expected max_turns >= 1, actual {max_turns}")
        if not 0.0 <= shaping_gamma <= 1.0:
            raise ValueError(f"expected shaping_gamma in [0, 1], actual {shaping_gamma}")
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise ValueError(f"unknown render_mode {render_mode!r}; expected one of {self.metadata['render_modes']} or None")
        self.level = int(level)
        self.split = split
        self.prompt_style = prompt_style
        self.max_turns = max_turns or self._default_max_turns()
        self.weights = merge_weights(self.default_weights, reward_weights)
        self.shaping_gamma = float(shaping_gamma)
        self.user_endpoint = None if user_llm is None else connect(user_llm)
        """Where the user's words come from; None when they are the script's."""
        self.render_mode = render_mode
        self.observation_space: spaces.Space[Any] = spaces.Sequence(spaces.Dict({"role": Unicode(), "content": Unicode()}))
        self.action_space = Unicode()
        self.scenario_ids: Sequence[str] = self._list_scenarios()
        """Ids of all tasks of this level and split, in a fixed order."""
        self._known_ids = frozenset(self.scenario_ids)
        self._disturbing: dict[type[Disturbance], float] = {}
        self._settings = frozenset((*vars(self), "_settings", "spec"))
        # What follows changes from episode to episode, like everything that a subclass adds.
        self.toolbox = ToolBox([Finish])
        self._messages: list[Message] = []
        self._running = False
        self._noise = Noise(())

    # ---- the Gymnasium protocol ---------------------------------------------------------------------------------

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, dict[str, Any]]:
        """Starts an episode.

        Args:
            seed: Seeds `np_random`, the only source of randomness.
            options: `scenario_id` picks the task, `user_seed` the user's mood and wording; what is not given is drawn from
                `np_random`.

        Raises:
            ValueError: An unknown option or scenario id.
            EndpointError: With `user_llm`, the endpoint gives no usable answer.
        """
        super().reset(seed=seed)
        chosen = dict(options or {})
        drawn_index = int(self.np_random.integers(len(self.scenario_ids)))
        drawn_seed = int(self.np_random.integers(2**31))
        scenario_id = chosen.pop("scenario_id", None) or self.scenario_ids[drawn_index]
        user_seed = chosen.pop("user_seed", None)
        if chosen:
            raise ValueError(f"unknown reset option {sorted(chosen)[0]!r}; expected 'scenario_id' or 'user_seed'")
        if scenario_id not in self._known_ids:
            near = difflib.get_close_matches(str(scenario_id), self.scenario_ids, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; they look like {self.scenario_ids[0]!r}"
            raise ValueError(f"unknown scenario id {scenario_id!r} for level {self.level}, split {self.split!r}{hint}")
        self.scenario_id = str(scenario_id)
        self.user_seed = drawn_seed if user_seed is None else int(user_seed)
        self._events: list[dict[str, Any]] = []
        self._vetoed = False
        self._earned = 0.0
        self.turn = 0
        self.lost_turns = 0
        self._running = False
        system, opening = self._begin(self.scenario_id, np.random.default_rng(self.user_seed))
        self.voice = None if self.user_endpoint is None else Voice(self.user_endpoint, self.user_seed)
        self._noise = self._new_noise()
        self._messages = []
        self._pieces = 0
        self._append("system", f"{system}\n\n{self._tool_section()}")
        self._append("user", self._said(UserTurn(opening)))
        self._last_potential = self._potential()
        self._running = True
        self._show(self._messages)
        return self._observe(), self._info({}, None, None)

    def step(self, action: str) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Plays one action.

        Raises:
            TypeError: The action is not a string; the episode is unchanged and goes on.
            gymnasium.error.ResetNeeded: No episode is running.
            EndpointError: With `user_llm`, the endpoint gives no usable answer; the episode is over and counts for nothing.
        """
        if not self._running:
            raise gymnasium.error.ResetNeeded("no episode is running; call reset() first")
        if not isinstance(action, str):
            raise TypeError(f"expected the action to be a str (the assistant's text), actual {type(action).__name__}")
        self._running = False  # and stays so if this step fails half-way
        self._events = []
        self.turn += 1
        shown = len(self._messages)
        self._append("assistant", action)
        parsed = parse_action(action)
        kind, reply, stop_reason = self._play(parsed)
        if self._vetoed:
            stop_reason = "veto"
        terminated = stop_reason is not None
        truncated = not terminated and self.turn - self.lost_turns >= self.max_turns
        if truncated:
            stop_reason = "max_turns"
        if reply is not None:
            self._append("user", reply)
        components = self._reward(parsed, done=terminated or truncated)
        reward = float(sum(components.values()))
        self._earned += reward
        self._running = not (terminated or truncated)
        self._show(self._messages[shown:])
        info = self._info(components, stop_reason, {"kind": kind, "error": parsed.error})
        return self._observe(), reward, terminated, truncated, info

    def snapshot(self) -> Snapshot:
        """The episode as it stands: conversation, database, user, random numbers. What happens later does not change it."""
        episode = {name: value for name, value in vars(self).items() if name not in self._settings}
        return Snapshot(self._origin(), copy.deepcopy(episode))

    def restore(self, snapshot: Snapshot) -> tuple[Observation, dict[str, Any]]:
        """Goes on from a snapshot, byte for byte as the episode it was taken from would, and as often as wanted.

        Args:
            snapshot: Taken from this environment or from another of the same class, level, split and noise.

        Returns:
            Observation and `info` in the form of `reset`.

        Raises:
            ValueError: The snapshot is of another class, level, split or noise.
            gymnasium.error.ResetNeeded: It was taken before the first episode.
        """
        if snapshot.origin != self._origin():
            raise ValueError(f"expected a snapshot of {self._origin()}, actual {snapshot.origin}")
        if not snapshot.episode["_messages"]:
            raise gymnasium.error.ResetNeeded("the snapshot was taken before the first episode; call reset() first")
        vars(self).update(copy.deepcopy(dict(snapshot.episode)))
        return self._observe(), self._info({}, None, None)

    def render(self) -> str | None:  # type: ignore[override]
        """The conversation as text in mode `ansi`; `human` prints while the episode runs."""
        return as_text(self._messages) if self.render_mode == "ansi" else None

    # ---- inside a step --------------------------------------------------------------------------------------------------

    def _append(self, role: Role, content: str) -> None:
        self._messages.append({"role": role, "content": content})
        self._pieces += count_pieces(content)

    def _reward(self, parsed: ParsedAction, *, done: bool) -> dict[str, float]:
        before, self._last_potential = self._last_potential, self._potential()
        if self._vetoed:
            return {VETO: self.weights[VETO] - self._earned}
        components = self._score(parsed, done=done)
        moved = shaping_reward(before, self._last_potential, gamma=self.shaping_gamma, done=done)
        components[PROGRESS] = self.weights[PROGRESS] * moved
        return self._noise.paid(components, self._record, done=done)

    def _tool_section(self) -> str:
        listing = (
            self.toolbox.signatures()
            if self.prompt_style == "compact"
            else "\n".join(json.dumps(schema, ensure_ascii=False) for schema in self.toolbox.schemas())
        )
        return f'Tools, called as {CALL_OPEN}{{"name": "...", "arguments": {{...}}}}{CALL_CLOSE}:\n{listing}'

    def _observe(self) -> Observation:
        return tuple({"role": message["role"], "content": message["content"]} for message in self._messages)

    def _info(
        self, components: dict[str, float], stop_reason: StopReason | None, action: dict[str, Any] | None
    ) -> dict[str, Any]:
        info: dict[str, Any] = {
            "scenario_id": self.scenario_id,
            "user_seed": self.user_seed,
            "level": self.level,
            "split": self.split,
            "turn": self.turn,
            "reward_components": components,
            "stop_reason": stop_reason,
            "tools": self.toolbox.schemas(),
            "anchor": self._anchor(),
            "events": self._events,  # of this step alone: the next has a list of its own
            "context": {"budget": token_budget(self.level), "tokens": estimate_tokens(self._pieces, len(self._messages))},
        }
        if action is not None:
            info["action"] = action
        if stop_reason is not None:
            info["success"] = bool(self._success()) and not self._vetoed
            # Told at the end only: a kind such as "refuse_fare" would give the right outcome away.
            info["task_kind"] = self.task_kind(self.scenario_id)
        return info

    def _anchor(self) -> str:
        situation = [self.scenario_id, self._canonical_state(), *(["reply on its way"] if self.awaits_reply() else [])]
        return hashlib.blake2b(_CANONICAL.encode(situation).encode(), digest_size=12).hexdigest()

    def _show(self, messages: Sequence[Message]) -> None:
        if self.render_mode == "human":
            print(as_text(messages), flush=True)
