"""Carries an action out: words go to the user, calls to the tools, and noise comes in between."""

from __future__ import annotations

from slmagent.envs.contract import Contract
from slmagent.envs.disturbance import Disturbance, Noise, Scene, ToolFailed
from slmagent.envs.talk import UserTurn, tool_response
from slmagent.envs.tools import Finish, ToolError
from slmagent.scenarios.voice import Voice
from slmagent.types import ActionKind, ParsedAction, StopReason

MAX_CALLS_PER_ACTION = 8


class Acting(Contract):
    """The part of a `ChatEnv` between an action and what the agent reads next."""

    scenario_id: str
    user_seed: int
    voice: Voice | None
    """The language model that words what the user says, if one does."""
    _disturbing: dict[type[Disturbance], float]
    """Kinds of noise and their strengths."""
    _noise: Noise

    def disturb(self, kind: type[Disturbance], strength: float) -> None:
        """Adds a kind of noise to all episodes from the next reset on; see `slmagent.envs.wrappers`.

        Raises:
            ValueError: The kind has already been added.
        """
        if kind in self._disturbing:
            raise ValueError(f"the noise {kind.name!r} has already been added, with strength {self._disturbing[kind]}")
        self._disturbing[kind] = strength

    def awaits_reply(self) -> bool:
        """Whether a reply of the user is on its way."""
        return self._noise.late() is not None

    # ---- inside a step --------------------------------------------------------------------------------------------------

    def _play(self, parsed: ParsedAction) -> tuple[ActionKind, str | None, StopReason | None]:
        """Carries an action out: its kind, what the agent reads next, and why the episode ends (None if it goes on)."""
        if parsed.error is not None:
            self._record("malformed_call", error=parsed.error)
            return self._waited(tool_response(f"error: {parsed.error}"))
        if parsed.calls:
            return self._run_calls(parsed)
        late = self._noise.arrived()
        if late is not None:  # the messages cross: this one is not heard
            self.lost_turns += 1
            return "speak", late, None
        heard = self._hear(parsed.text)
        reply = self._said(heard, parsed.text)
        if not (heard.left or self._vetoed):
            reply = self._noise.held(reply, self._record)
        return ("ask" if heard.asked else "speak"), reply, "user_left" if heard.left else None

    def _run_calls(self, parsed: ParsedAction) -> tuple[ActionKind, str | None, StopReason | None]:
        results: list[str] = []
        failures = 0
        for call in parsed.calls[:MAX_CALLS_PER_ACTION]:
            try:
                tool = self.toolbox.read(call)
                if isinstance(tool, Finish):
                    self._finish(tool.message)
                    self._record("finish", message=tool.message)
                    return "finish", None, "finished"
                self._noise.attempt(call.name, tool, self._record)
                result = self._call(tool)
                self._record("tool_call", name=type(tool).tool_name(), arguments=tool.model_dump(mode="json"), result=result)
                result = self._noise.returned(result, self._record)
            except ToolFailed as failure:
                result = f"error: {failure}"
                failures += 1
            except ToolError as problem:
                result = f"error: {problem}"
                self._record("tool_error", name=call.name[:80], error=str(problem))
            results.append(tool_response(result))
            if self._vetoed:
                break
        lost = failures == len(results)
        if len(parsed.calls) > MAX_CALLS_PER_ACTION:
            results.append(tool_response(f"error: only the first {MAX_CALLS_PER_ACTION} calls of an action are carried out"))
        return self._waited("\n".join(results), lost=lost)

    def _waited(self, results: str, *, lost: bool = False) -> tuple[ActionKind, str | None, StopReason | None]:
        """What follows on an action with calls, unless the user loses patience over it; over a lost turn it does not."""
        self.lost_turns += lost
        farewell = None if self._vetoed or lost else self._await()
        read = [results, self._noise.arrived(), None if farewell is None else self._said(UserTurn(farewell, left=True))]
        return "tool", "\n".join(part for part in read if part is not None), None if farewell is None else "user_left"

    def _said(self, said: UserTurn, heard: str | None = None) -> str:
        """What the agent reads of what the user says: worded by the model that speaks for it, if one does, then disturbed."""
        text = self._voiced(said, heard)
        return text and self._noise.said(text, self._facts, self._record)

    def _voiced(self, said: UserTurn, heard: str | None = None) -> str:
        """What the user says, in the words of the language model that speaks for it, if one does."""
        if self.voice is None or not said.text:
            return said.text
        if heard is not None:
            self.voice.hear(heard)
        wording = self.voice.say(said.text, self._user(), agrees=said.agrees, leaves=said.left)
        self._record("user_wording", accepted=wording.accepted, objections=list(wording.objections))
        return wording.text

    def _new_noise(self) -> Noise:
        writers = tuple(shown for shown, tool in self.toolbox.tools.items() if tool.writes)
        scene = Scene(f"{type(self).__name__} {self.scenario_id} {self.user_seed}", writers)
        return Noise(kind(strength, scene) for kind, strength in self._disturbing.items() if strength > 0)

    def _origin(self) -> tuple[str, int, str, *tuple[str, ...]]:
        noises = (f"{kind.name} {strength}" for kind, strength in self._disturbing.items() if strength > 0)
        return type(self).__name__, self.level, self.split, *noises
