"""A small but complete `ChatEnv` for tests that need an environment and not a particular one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import gymnasium
import numpy as np

from slmagent.envs.base import ChatEnv, UserTurn
from slmagent.envs.parsing import render_call
from slmagent.envs.tools import Finish, Tool, ToolBox, ToolError
from slmagent.types import ParsedAction

LOOKUP_ID = "Toy/Lookup-v0"


class GetCode(Tool):
    """The code of a drawer."""

    drawer: str


class LookupEnv(ChatEnv):
    """The user wants the code of a drawer; the agent looks it up and says it when it finishes. 12 tasks a level and split."""

    levels: ClassVar[Mapping[int, str]] = {0: "one drawer", 1: "one drawer"}
    default_weights: ClassVar[Mapping[str, float]] = {"answer": 1.0, "progress": 0.5, "veto": -2.0}

    def _default_max_turns(self) -> int:
        return 4

    def _list_scenarios(self) -> Sequence[str]:
        return [f"{self.split}-{self.level}-{i:02d}" for i in range(12)]

    def _begin(self, scenario_id: str, user_rng: np.random.Generator) -> tuple[str, str]:
        self.drawer = scenario_id
        self.code = str(np.random.default_rng(sum(scenario_id.encode())).integers(1000, 10000))
        self.greeting = ("Hi!", "Hello.", "Good day,")[int(user_rng.integers(3))]
        self.toolbox = ToolBox([GetCode, Finish])
        self.read = False
        self.answer = ""
        return "You keep the drawers.", f"{self.greeting} What is the code of {self.drawer}?"

    def _hear(self, text: str) -> UserTurn:
        return UserTurn("Please just tell me the code.")

    def _call(self, tool: Tool) -> str:
        if not isinstance(tool, GetCode) or tool.drawer != self.drawer:
            raise ToolError("there is no such drawer")
        self.read = True
        return f"code {self.code}"

    def _finish(self, message: str) -> None:
        self.answer = message

    def _score(self, action: ParsedAction, *, done: bool) -> dict[str, float]:
        return {"answer": self.weights["answer"] * self._success()} if done else {}

    def _potential(self) -> float:
        return float(self.read)

    def _success(self) -> bool:
        return self.read and self.code in self.answer

    def _canonical_state(self) -> Any:
        return [self.read, self.answer]

    def expert(self, *, evidence: bool = True) -> str:
        """Looks up, then answers."""
        if not self.read:
            return render_call("get_code", {"drawer": self.drawer})
        note = f"code {self.code}\n" if evidence else ""
        return note + render_call("finish", {"message": f"The code is {self.code}."})


def register_toys() -> None:
    """Makes the toys known to Gymnasium; safe to call twice."""
    if LOOKUP_ID not in gymnasium.registry:
        gymnasium.register(id=LOOKUP_ID, entry_point=lambda **keywords: LookupEnv(**keywords))
