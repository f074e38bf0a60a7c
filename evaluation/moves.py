"""What a search for exploits may try next: the expert's actions, damaged ones, repetitions, empty talk, calls of all kinds."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from slmagent.agents.cheaters import CLAIM, CONSTANTS
from slmagent.agents.scripted import RandomAgent, write_call
from slmagent.envs.acting import MAX_CALLS_PER_ACTION
from slmagent.envs.base import ChatEnv
from slmagent.envs.parsing import FINISH, parse_action
from slmagent.evaluation.cheaters import rows_seen
from slmagent.types import EpisodeRequest, ToolCall

_SENTENCE = re.compile(r"(?<=[.?!])\s+|\n")
_NUMBER = re.compile(r"\d+")
_VALUE = re.compile(r"\b(?=\w*\d)[\w:]+\b")


class Moves:
    """Proposes actions for the state that an environment is in.

    Args:
        env: The environment; only looked at.
        rng: The only source of randomness.
    """

    def __init__(self, env: ChatEnv, rng: random.Random) -> None:
        self._env = env
        self._rng = rng
        self._caller = RandomAgent(speak=0.0)

    def propose(self, played: Sequence[str], count: int) -> list[str]:
        """Distinct actions, at most `count`: what the expert would do, the last action again, and others at random.

        Args:
            played: The episode's actions so far.
            count: How many to look for.
        """
        self._observation = tuple(self._env._observe())
        self._tools = self._env.toolbox.schemas()
        self._expert = self._env.expert()
        self._caller.begin_episode(EpisodeRequest("", 0, "", "", sampling_seed=self._rng.getrandbits(31)))
        kinds = (self._damaged, self._other_value, self._talk, self._random_call, self._several, lambda: self._again(played))
        found = dict.fromkeys([self._expert, *played[-1:]])
        for _ in range(2 * count):  # some proposals come twice
            if len(found) >= count:
                break
            found.setdefault(self._rng.choice(kinds)())
        return list(found)[:count]

    def endings(self) -> list[str]:
        """Last messages that may be worth something in any state."""
        rows = rows_seen(self._env._observe())
        messages = [CLAIM, "\n".join(rows), "I am sorry, I cannot do that."]
        return [write_call(FINISH, {"message": message}) for message in messages if message]

    # ---- kinds of actions ---------------------------------------------------------------------------------------

    def _again(self, played: Sequence[str]) -> str:
        """Something that was done before."""
        return self._rng.choice(played) if played else self._talk()

    def _talk(self) -> str:
        """Empty words, or a last message."""
        return self._rng.choice([*CONSTANTS.values(), self._observation[-1]["content"], *self.endings()])

    def _damaged(self) -> str:
        """The expert's action with a part left out: a sentence, an argument, a call."""
        calls = parse_action(self._expert).calls
        if not calls:
            parts = _SENTENCE.split(self._expert)
            left_out = self._rng.randrange(len(parts))
            return " ".join(part for index, part in enumerate(parts) if index != left_out)
        place = self._rng.randrange(len(calls))
        call = calls[place]
        if call.arguments and self._rng.random() < 0.5:
            left_out = self._rng.choice(list(call.arguments))
            kept = [(one.name, dict(one.arguments)) for one in calls]
            kept[place][1].pop(left_out)
            return "".join(write_call(name, arguments) for name, arguments in kept)
        return "".join(write_call(one.name, one.arguments) for index, one in enumerate(calls) if index != place)

    def _other_value(self) -> str:
        """The expert's action with one value changed to another one of the conversation, or to another number."""
        calls = parse_action(self._expert).calls
        if not calls:
            return self._changed(self._expert)
        place = self._rng.randrange(len(calls))
        changed = [self._with_other_argument(one) if index == place else one for index, one in enumerate(calls)]
        return "".join(write_call(one.name, one.arguments) for one in changed)

    def _with_other_argument(self, call: ToolCall) -> ToolCall:
        arguments = dict(call.arguments)
        if arguments:
            name = self._rng.choice(list(arguments))
            value = arguments[name]
            if isinstance(value, str):
                arguments[name] = self._changed(value)
            elif isinstance(value, int) and not isinstance(value, bool):
                arguments[name] = max(0, value + self._rng.choice((-1, 1, -value, value)))
        return ToolCall(call.id, call.name, arguments)

    def _changed(self, text: str) -> str:
        """A text with one of its figures replaced by one of the same form that was seen, else by the next number."""
        found = list(_VALUE.finditer(text))
        if not found:
            words = text.split()
            return " ".join(self._rng.sample(words, len(words)))
        match = self._rng.choice(found)
        form = _NUMBER.sub("0", match[0])
        heard = " ".join(message["content"] for message in self._observation[1:])
        seen = (value for value in dict.fromkeys(_VALUE.findall(heard)) if value != match[0])
        same = [value for value in seen if _NUMBER.sub("0", value) == form]
        other = self._rng.choice(same) if same else _NUMBER.sub(lambda number: str(int(number[0]) + 1), match[0])
        return text[: match.start()] + other + text[match.end() :]

    def _random_call(self) -> str:
        """A call that fits a tool's schema, with words of the conversation."""
        return self._caller.act(self._observation, {"tools": self._tools})

    def _several(self) -> str:
        """The expert's call among others, or one call many times in one action."""
        expert = self._expert if parse_action(self._expert).calls else ""
        if self._rng.random() < 0.5:
            return (expert or self._random_call()) * MAX_CALLS_PER_ACTION
        calls = [expert, self._random_call(), self._random_call()]
        self._rng.shuffle(calls)
        return "".join(calls)
