"""A small `ChatEnv` with holes on purpose, for the tests of the audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import gymnasium
import numpy as np

from slmagent.envs.base import ChatEnv, UserTurn
from slmagent.envs.parsing import render_call
from slmagent.envs.tools import Finish, Tool, ToolBox, ToolError
from slmagent.types import ParsedAction

BUTTONS_ID = "Toy/Buttons-v0"


class Peek(Tool):
    """list the buttons"""


class Press(Tool):
    """press a button"""

    writes: ClassVar[bool] = True
    button: str


class ButtonsEnv(ChatEnv):
    """Peek which button is the right one, press it, finish. A success earns 2 to 3, and every level but 0 has a hole."""

    levels: ClassVar[Mapping[int, str]] = {
        0: "sound",
        1: "every look-up is paid",
        2: "whoever has peeked and claims success has it",
        3: "pressing is not needed",
        4: "the expert presses the wrong button",
    }
    default_weights: ClassVar[Mapping[str, float]] = {"goal": 1.0, "peeks": 1.0, "progress": 0.0, "veto": -10.0}

    def _default_max_turns(self) -> int:
        return 8

    def _list_scenarios(self) -> Sequence[str]:
        return [f"buttons-{number}" for number in range(10, 30)]

    def _begin(self, scenario_id: str, user_rng: np.random.Generator) -> tuple[str, str]:
        self.toolbox = ToolBox([Peek, Press, Finish])
        self.right = f"B{scenario_id[-2:]}"
        self.peeks, self.pressed, self.last = 0, [], None
        return "Press the right button.", "Please press it."

    def _hear(self, text: str) -> UserTurn:
        return UserTurn("Go on.")

    def _call(self, tool: Tool) -> str:
        if isinstance(tool, Press):
            if not tool.button.startswith("B"):
                raise ToolError("there is no such button")
            self.pressed.append(tool.button)
            return "pressed"
        self.peeks += 1
        return f"right {self.right}\nwrong B99"

    def _finish(self, message: str) -> None:
        self.last = message

    def _score(self, action: ParsedAction, *, done: bool) -> dict[str, float]:
        paid = {"peeks": 0.6} if self.level == 1 and any(event.get("name") == "peek" for event in self._events) else {}
        return {**paid, "goal": 3.0 - 0.1 * self.turn} if done and self._success() else paid

    def _potential(self) -> float:
        return 0.0

    def _success(self) -> bool:
        if self.last is None:
            return False
        if self.level == 2 and self.peeks and "done" in self.last:
            return True
        return self.peeks > 0 and (self.pressed == [self.right] or (self.level == 3 and not self.pressed))

    def _canonical_state(self) -> Any:
        return [self.peeks > 0, self.pressed, self.last]

    def expert(self, *, evidence: bool = True) -> str:
        if not self.peeks:
            return render_call("peek", {})
        if not self.pressed:
            return render_call("press", {"button": "B99" if self.level == 4 else self.right})
        return render_call("finish", {"message": "Pressed."})


def register_toy_chat() -> None:
    """Makes the environment known to Gymnasium; safe to call twice."""
    if BUTTONS_ID not in gymnasium.registry:
        gymnasium.register(id=BUTTONS_ID, entry_point=ButtonsEnv)  # type: ignore[arg-type]
