"""Agents without a model: the expert, one that always says the same, and one that acts at random."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium

from slmagent.agents.base import OneByOne
from slmagent.errors import UsageError
from slmagent.types import EpisodeRequest, Message

CALL_OPEN, CALL_CLOSE = "<tool_call>", "</tool_call>"


def write_call(name: str, arguments: Mapping[str, Any]) -> str:
    """A tool call as the environments read it."""
    body = json.dumps({"name": name, "arguments": dict(arguments)}, ensure_ascii=False)
    return f"{CALL_OPEN}{body}{CALL_CLOSE}"


class ExpertAgent:
    """Says what the environment's own scripted expert would say.

    Args:
        env: The environment that is played, in any wrappers.
        evidence: Write the line that justifies a call before the call.

    Raises:
        UsageError: The environment has no expert.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], *, evidence: bool = True) -> None:
        if not env.has_wrapper_attr("expert"):
            raise UsageError(f"{type(env.unwrapped).__name__} has no scripted expert (expected a method `expert`)")
        self._expert: Callable[..., str] = env.get_wrapper_attr("expert")
        self.evidence = evidence

    def act(self, observation: Sequence[Message], info: Mapping[str, Any]) -> str:
        """The expert's next action; looks at the environment's state, not at the observation."""
        return self._expert(evidence=self.evidence)


class ConstantAgent(OneByOne):
    """Says the same thing at every turn, whatever it hears. `ConstantAgent("")` is the agent that does nothing."""

    def __init__(self, text: str) -> None:
        self.text = text

    def act(self, observation: Sequence[Message], info: Mapping[str, Any]) -> str:
        """The constant."""
        return self.text


class RandomAgent(OneByOne):
    """Calls a random tool with random arguments of the right types, mostly words of the conversation; sometimes just talks.

    Args:
        seed: Seeds the draws until `begin_episode` seeds them anew.
        speak: Probability of talking in place of calling.
    """

    def __init__(self, seed: int = 0, *, speak: float = 0.2) -> None:
        if not 0.0 <= speak <= 1.0:
            raise UsageError(f"expected speak in [0, 1], actual {speak}")
        self.speak = speak
        self._rng = random.Random(seed)

    def begin_episode(self, request: EpisodeRequest) -> None:
        """Same request, same draws."""
        self._rng = random.Random(request.sampling_seed)

    def act(self, observation: Sequence[Message], info: Mapping[str, Any]) -> str:
        """A call to one of `info["tools"]`, or a few words."""
        words = [word for message in observation for word in re.findall(r"[\w:.@-]+", message["content"])] or ["hello"]
        tools = [tool["function"] for tool in info.get("tools", ())]
        if not tools or self._rng.random() < self.speak:
            return " ".join(self._rng.choices(words, k=5))
        tool = self._rng.choice(tools)
        schema = tool["parameters"]
        return write_call(tool["name"], self._object(schema, schema.get("$defs", {}), words))

    def _object(self, schema: Mapping[str, Any], definitions: Mapping[str, Any], words: Sequence[str]) -> dict[str, Any]:
        required = set(schema.get("required", ()))
        return {
            name: self._value(value, definitions, words)
            for name, value in schema.get("properties", {}).items()
            if name in required or self._rng.random() < 0.5
        }

    def _value(self, schema: Mapping[str, Any], definitions: Mapping[str, Any], words: Sequence[str]) -> Any:
        if "$ref" in schema:
            return self._value(definitions.get(schema["$ref"].rpartition("/")[2], {}), definitions, words)
        if "enum" in schema:
            return self._rng.choice(list(schema["enum"]))
        if "const" in schema:
            return schema["const"]
        for several in ("anyOf", "oneOf"):
            if several in schema:
                return self._value(self._rng.choice(list(schema[several])), definitions, words)
        match schema.get("type"):
            case "boolean":
                return self._rng.random() < 0.5
            case "integer" | "number":
                low = int(schema.get("minimum", schema.get("exclusiveMinimum", -1) + 1))
                number = self._rng.randint(low, max(low, int(schema.get("maximum", low + 500))))
                return number if schema["type"] == "integer" else float(number)
            case "null":
                return None
            case "array":
                length = max(int(schema.get("minItems", 0)), self._rng.randint(0, 2))
                return [self._value(schema.get("items", {}), definitions, words) for _ in range(length)]
            case "object":
                return self._object(schema, definitions, words)
            case _:
                return self._rng.choice(words)
