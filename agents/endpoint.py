"""An agent behind an OpenAI-compatible chat endpoint (vLLM, llama.cpp, Ollama, a hosted service)."""

from __future__ import annotations

import json
import os
import random
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx

from slmagent.agents.base import Reply
from slmagent.agents.scripted import CALL_CLOSE, CALL_OPEN
from slmagent.errors import SlmagentError, UsageError
from slmagent.types import EpisodeRequest, Message, StopReason

RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
"""HTTP statuses that may go away by themselves."""
MAX_PAUSE_S = 30.0


class EndpointError(SlmagentError):
    """No usable answer to one request, after all retries; the next request may fare better."""


class EndpointAgent:
    """Asks a `/chat/completions` endpoint for the assistant's next text. One instance may be shared by threads.

    Args:
        base_url: Address up to and including the version, such as `http://localhost:8000/v1`.
        model: Name under which the endpoint knows the model.
        api_key_env: Environment variable that holds the key. The key is sent when the variable is set; local servers need none.
        temperature: Sampling temperature; 0 is greedy.
        max_new_tokens: Longest answer in tokens.
        seed: Seeds the endpoint's sampling, where it supports that; each episode that tells its own seed overrides it for the
            thread that plays the episode.
        timeout_s: Longest wait for one answer, in seconds.
        retries: Further attempts after a failure that may pass (no connection, time-outs, statuses 408, 429, 5xx).
        backoff_s: Pause before the first retry; doubles each time, up to 30 s. `Retry-After` is obeyed up to that, too.
        concurrency: Requests that `act_batch` keeps in flight.
        extra: Further fields of the request body, such as `{"top_p": 0.9}`.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key_env: str = "OPENAI_API_KEY",
        temperature: float = 0.0,
        max_new_tokens: int = 256,
        seed: int | None = None,
        timeout_s: float = 60.0,
        retries: int = 4,
        backoff_s: float = 0.5,
        concurrency: int = 8,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        if not _is_address(base_url):
            raise UsageError(f"expected an address like http://localhost:8000/v1, actual {base_url!r}")
        if temperature < 0 or max_new_tokens < 1 or timeout_s <= 0 or retries < 0 or backoff_s < 0 or concurrency < 1:
            raise UsageError(
                "expected temperature, retries and backoff_s >= 0, timeout_s > 0, max_new_tokens and concurrency >= 1"
            )
        self.url = base_url.rstrip("/") + "/chat/completions"
        self.model = model
        self.api_key_env = api_key_env
        self.temperature = temperature
        self.max_new_tokens = max_new_tokens
        self.retries = retries
        self.backoff_s = backoff_s
        self.concurrency = concurrency
        self.extra = dict(extra or {})
        self._seed = seed
        self._of_thread = threading.local()
        self._jitter = random.Random(0)
        self._client = httpx.Client(timeout=httpx.Timeout(timeout_s, connect=min(timeout_s, 10.0)))

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
        self._ask([{"role": "user", "content": "Hello"}], None, max_tokens=1)

    def close(self) -> None:
        """Closes the connections."""
        self._client.close()

    def _ask(self, messages: Sequence[Message], seed: int | None, max_tokens: int | None = None) -> Reply:
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [dict(message) for message in messages],
            "temperature": self.temperature,
            "max_tokens": max_tokens or self.max_new_tokens,
        }
        if seed is not None:
            body["seed"] = seed
        body |= self.extra
        return _read(self._post(body), self.url)

    def _post(self, body: Mapping[str, Any]) -> httpx.Response:
        key = os.environ.get(self.api_key_env, "").strip()
        if not (key.isascii() and key.isprintable()):
            raise UsageError(f"{self.api_key_env} holds characters that cannot be part of a key")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        # Lone surrogates, which any text of an agent may hold, have no UTF-8 form; as JSON escapes they pass.
        content = json.dumps(body).encode()
        headers["Content-Type"] = "application/json"
        problem = ""
        for attempt in range(self.retries + 1):
            retry_after: str | None = None
            try:
                response = self._client.post(self.url, content=content, headers=headers)
            except httpx.TimeoutException as error:
                problem = f"no answer in time ({type(error).__name__})"
            except httpx.TransportError as error:
                problem = f"no connection ({error})"
            else:
                if response.status_code < 300:
                    return response
                problem = f"HTTP {response.status_code}: {_complaint(response)}"
                if response.status_code in (401, 403):
                    state = "is set" if key else "is not set"
                    raise UsageError(
                        f"{self.url} refuses access ({problem}); the key comes from {self.api_key_env}, which {state}"
                    )
                if response.status_code == 404:
                    raise UsageError(f"{self.url} does not know this address or the model {self.model!r} ({problem})")
                if response.status_code not in RETRIED:
                    raise EndpointError(f"{self.url}: {problem}")
                retry_after = response.headers.get("Retry-After")
            if attempt < self.retries:
                time.sleep(self._pause(attempt, retry_after))
        raise EndpointError(f"{self.url}: {problem}, after {self.retries + 1} attempts")

    def _pause(self, attempt: int, retry_after: str | None) -> float:
        """Seconds to wait: what the server asks for, else doubling, with some jitter so that threads spread out."""
        if retry_after is not None and retry_after.strip().isdigit():
            return min(float(retry_after), MAX_PAUSE_S)
        return min(self.backoff_s * 2**attempt * self._jitter.uniform(0.75, 1.25), MAX_PAUSE_S)


def _is_address(text: str) -> bool:
    try:
        address = httpx.URL(text)
    except httpx.InvalidURL:
        return False
    return address.scheme in ("http", "https") and bool(address.host)


def _as_text(call: Mapping[str, Any]) -> str:
    """A call that the server has parsed, in the form of our environments; its arguments are text and stay as they are."""
    return f'{CALL_OPEN}{{"name": {json.dumps(call["name"])}, "arguments": {call["arguments"]}}}{CALL_CLOSE}'


def _complaint(response: httpx.Response) -> str:
    """The server's own words, short."""
    try:
        error = response.json()["error"]
        text = str(error["message"] if isinstance(error, dict) else error)
    except (ValueError, KeyError, TypeError):
        text = response.text
    text = " ".join(text.split())
    return (text if len(text) <= 200 else text[:197] + "...") or response.reason_phrase


def _read(response: httpx.Response, url: str) -> Reply:
    try:
        choice = response.json()["choices"][0]
        message = choice["message"]
        content = message.get("content")
        calls = message.get("tool_calls") or []
        parts = [content] if content else []
        parts += [_as_text(call["function"]) for call in calls]
        text = "\n".join(parts)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError):
        excerpt = " ".join(response.text[:200].split())
        raise EndpointError(f"{url}: expected a chat completion (choices[0].message.content), actual {excerpt!r}") from None
    reason: StopReason = "length" if choice.get("finish_reason") == "length" else "eos"
    return Reply(text, reason)
