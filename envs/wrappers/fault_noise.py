"""Noise in what happens: calls that fail before anything has changed, and replies that come a turn late."""

from __future__ import annotations

from typing import ClassVar

from slmagent.envs.disturbance import Disturbance, Scene
from slmagent.envs.wrappers.noise import NoiseWrapper

MAX_FAILURES_PER_CALL = 2
"""After so many failures the same call (tool and arguments) goes through."""
MAX_FAILURES = 12
"""Failures in an episode, over all calls; afterwards every tool works."""
NO_REPLY_YET = "(no reply yet)"
"""What is read in place of a reply that is late."""
WAITING = "I am waiting for your reply."
"""What the expert says meanwhile."""
_FAILURES = (
    "{tool} timed out, nothing was done; please try again",
    "{tool} is not available at the moment, nothing was done; try again",
    "the connection was lost before {tool} started; try again",
    "{tool} is busy with other requests and did nothing; try again",
)


class Outage(Disturbance):
    """Lets calls fail."""

    name: ClassVar[str] = "tool_failures"

    def __init__(self, strength: float, scene: Scene) -> None:
        super().__init__(strength, scene)
        self._failed: dict[str, int] = {}

    def failure(self, tool: str, call: str) -> str | None:
        """The error, as long as the call and the episode have failures left."""
        failed = self._failed.get(call, 0)
        draw = self._draw(call)
        if failed >= MAX_FAILURES_PER_CALL or sum(self._failed.values()) >= MAX_FAILURES or not draw.chance(self.strength):
            return None
        self._failed[call] = failed + 1
        return draw.pick(_FAILURES).format(tool=tool)


class ToolFailures(NoiseWrapper):
    """Tools that fail or time out; the call has changed nothing, and the error says to try again.

    `strength` is the probability that an attempt fails. The same call fails at most twice, an episode has at most twelve
    failures, and `finish` never fails. A turn whose calls all failed counts neither against `max_turns` nor against a step
    budget, and the user does not lose patience over it: a failure costs a turn of time and about 80 tokens of context, nothing
    else. Calls that could not be read or name an unknown tool are answered as ever.
    """

    disturbance = Outage


class Lag(Disturbance):
    """Holds replies back for a turn."""

    name: ClassVar[str] = "delayed_replies"

    def __init__(self, strength: float, scene: Scene) -> None:
        super().__init__(strength, scene)
        self._late: str | None = None

    def held(self, reply: str) -> str | None:
        """A sign that nothing has come yet, in place of the reply."""
        if not self._draw("reply").chance(self.strength):
            return None
        self._late = reply
        return NO_REPLY_YET

    def arrived(self) -> str | None:
        """The late reply, once."""
        late, self._late = self._late, None
        return late

    def late(self) -> str | None:
        """The reply that is on its way."""
        return self._late


class DelayedReplies(NoiseWrapper):
    """Replies of the user that come a turn late.

    `strength` is the probability that a reply is late: the agent reads that there is none yet, and the reply comes with
    whatever it reads next. What it says to the user meanwhile is not heard (the messages cross) and counts against no limit;
    calls are carried out. The user's last message before it leaves is never late. `expert` waits for a late reply.
    """

    disturbance = Lag

    def expert(self, *, evidence: bool = True) -> str:
        """Waits while a reply is on its way, else does what the expert below does."""
        return WAITING if self.chat.awaits_reply() else super().expert(evidence=evidence)
