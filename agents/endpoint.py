"""An agent behind an OpenAI-compatible chat endpoint (vLLM, llama.cpp, Ollama, a hosted service)."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from slmagent.agents.base import Reply
from slmagent.agents.scripted import CALL_CLOSE, CALL_OPEN
from slmagent.endpoint import ChatEndpoint, EndpointError
from slmagent.errors import UsageError
from slmagent.types import EpisodeRequest, Message

__all__ = ["EndpointAgent", "EndpointError"]


class EndpointAgent:
    """Asks a `/chat/completions` endpoint for the assistant's next text. One instance may be shared by threads.

    Args:
        base_url: Address up to and including the version, such as `http://localhost:8000/v1`.
        model: Name under which the endpoint knows the model.
        seed: Seeds the endpoint's sampling, where it supports that; each episode that tells its own seed overrides it for the
            thread that plays the episode.
        concurrency: Requests that `act_batch` keeps in flight.
        settings: Further settings of `slmagent.endpoint.ChatEndpoint`: temperature, limits, retries, the key's variable.
    """

    def __init__(self, base_url: str, model: str, *, seed: int | None = None, concurrency: int = 8, **settings: Any) -> None:
        if concurrency < 1:
            raise UsageError(f"expected concurrency >= 1, actual {concurrency}")
        self.endpoint = ChatEndpoint(base_url, model, **settings)
        self.concurrency = concurrency
        self._seed = seed
        self._of_thread = threading.local()

    @property
    def temperature(self) -> float:
        """Sampling temperature; rollouts note it down."""
        return self.endpoint.temperature

    def begin_episode(self, request: EpisodeRequest) -> None:
        """From here on this thread's requests carry the episode's sampling seed."""
        self._of_thread.seed = request.sampling_seed

    def act(self, observation: Sequence[Message], info: Mapping[str, Any]) -> str:
        """The endpoint's answer to the conversation.

        Raises:
            EndpointError: No usable answer after all retries.
            UsageError: The endpoint refuses the key, or knows neither the address nor the model.
        """
        return self._ask(observation, getattr(self._of_thread, "seed", self._seed))

    def act_batch(self, observations: Sequence[Sequence[Message]], infos: Sequence[Mapping[str, Any]]) -> list[str]:
        """Answers to many conversations, `concurrency` at a time."""
        seed = getattr(self._of_thread, "seed", self._seed)
        with ThreadPoolExecutor(max_workers=self.concurrency) as pool:
            return list(pool.map(lambda observation: self._ask(observation, seed), observations))

    def check(self) -> None:
        """Asks for one token, so that a wrong address, key or model shows before a long run.

        Raises:
            EndpointError, UsageError: As `act`.
        """
        self.endpoint.check()

    def close(self) -> None:
        """Closes the connections."""
        self.endpoint.close()

    def _ask(self, messages: Sequence[Message], seed: int | None) -> Reply:
        completion = self.endpoint.complete(messages, seed=seed)
        parts = [completion.text] if completion.text else []
        parts += [_as_text(call) for call in completion.calls]
        return Reply("\n".join(parts), "length" if completion.cut else "eos")


def _as_text(call: Mapping[str, Any]) -> str:
    """A call that the server has parsed, in the form of our environments; its arguments are text and stay as they are."""
    return f'{CALL_OPEN}{{"name": {json.dumps(call["name"])}, "arguments": {call["arguments"]}}}{CALL_CLOSE}'
