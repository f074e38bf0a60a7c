"""The client of OpenAI-compatible chat endpoints (vLLM, llama.cpp, Ollama, a hosted service), for agents and users."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from slmagent.errors import SlmagentError, UsageError
from slmagent.types import Message

RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
"""HTTP statuses that may go away by themselves."""
MAX_PAUSE_S = 30.0


class EndpointError(SlmagentError):
    """No usable answer to one request, after all retries; the next request may fare better."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What an endpoint answered."""

    text: str
    """Empty when it said nothing."""
    calls: tuple[Mapping[str, Any], ...] = ()
    """Calls that the server has parsed: `name`, and `arguments` as JSON text."""
    cut: bool = False
    """The answer ran into the token limit."""


class ChatEndpoint:
    """Asks a `/chat/completions` endpoint. One instance may be shared by threads.

    Args:
        base_url: Address up to and including the version, such as `http://localhost:8000/v1`.
        model: Name under which the endpoint knows the model.
        api_key_env: Environment variable that holds the key. The key is sent when the variable is set; local servers need none.
        temperature: Sampling temperature; 0 is greedy.
        max_new_tokens: Longest answer in tokens.
        timeout_s: Longest wait for one answer, in seconds.
        retries: Further attempts after a failure that may pass (no connection, time-outs, statuses 408, 429, 5xx).
        backoff_s: Pause before the first retry; doubles each time, up to 30 s. `Retry-After` is obeyed up to that, too.
        extra: Further fields of the request body, such as `{"top_p": 0.9}`.

    Raises:
        UsageError: An address or number that cannot be.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key_env: str = "OPENAI_API_KEY",
        temperature: float = 0.0,
        max_new_tokens: int = 256,
        timeout_s: float = 60.0,
        retries: int = 4,
        backoff_s: float = 0.5,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        import httpx  # here, so that environments that talk to no endpoint import nothing

        if not _is_address(base_url):
            raise UsageError(f"expected an address like http://localhost:8000/v1, actual {base_url!r}")
        if temperature < 0 or max_new_tokens < 1 or timeout_s <= 0 or retries < 0 or backoff_s < 0:
            raise UsageError("expected temperature, retries and backoff_s >= 0, timeout_s > 0 and max_new_tokens >= 1")
        self.url = base_url.rstrip("/") + "/chat/completions"
        self.model = model
        self.api_key_env = api_key_env
        self.temperature = temperature
        self.max_new_tokens = max_new_tokens
        self.retries = retries
        self.backoff_s = backoff_s
        self.extra = dict(extra or {})
        self._jitter = random.Random(0)
        self._client = httpx.Client(timeout=httpx.Timeout(timeout_s, connect=min(timeout_s, 10.0)))

    def __deepcopy__(self, memo: dict[int, Any]) -> ChatEndpoint:
        return self  # connections are shared, not copied

    def complete(self, messages: Sequence[Message], *, seed: int | None = None, max_tokens: int | None = None) -> Completion:
        """The endpoint's next message.

        Args:
            messages: The conversation.
            seed: Seeds the endpoint's sampling, where it supports that.
            max_tokens: Longest answer, instead of `max_new_tokens`.

        Raises:
            EndpointError: No usable answer after all retries.
            UsageError: The endpoint refuses the key, or knows neither the address nor the model.
        """
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

    def check(self) -> None:
        """Asks for one token, so that a wrong address, key or model shows before a long run.

        Raises:
            EndpointError, UsageError: As `complete`.
        """
        self.complete([{"role": "user", "content": "Hello"}], max_tokens=1)

    def close(self) -> None:
        """Closes the connections."""
        self._client.close()

    def _post(self, body: Mapping[str, Any]) -> Any:
        """An `httpx.Response` with a status below 300."""
        import httpx

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
    import httpx

    try:
        address = httpx.URL(text)
    except httpx.InvalidURL:
        return False
    return address.scheme in ("http", "https") and bool(address.host)


def _complaint(response: Any) -> str:
    """The server's own words, short."""
    try:
        error = response.json()["error"]
        text = str(error["message"] if isinstance(error, dict) else error)
    except (ValueError, KeyError, TypeError):
        text = response.text
    text = " ".join(text.split())
    return (text if len(text) <= 200 else text[:197] + "...") or response.reason_phrase


def _read(response: Any, url: str) -> Completion:
    try:
        choice = response.json()["choices"][0]
        message = choice["message"]
        calls = tuple(
            {"name": call["function"]["name"], "arguments": call["function"]["arguments"]}
            for call in message.get("tool_calls") or []
        )
        return Completion(str(message.get("content") or ""), calls, choice.get("finish_reason") == "length")
    except (ValueError, KeyError, IndexError, TypeError, AttributeError):
        excerpt = " ".join(response.text[:200].split())
        raise EndpointError(f"{url}: expected a chat completion (choices[0].message.content), actual {excerpt!r}") from None
