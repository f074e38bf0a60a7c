"""A simulated user's words from a language model behind an endpoint; the script decides what is said (see `referee`).

The model is told the user's manner, the talk so far as the user knows it and what the next message conveys. It is never told
what must stay secret, so that no assistant can talk it out of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from slmagent.endpoint import ChatEndpoint
from slmagent.errors import UsageError
from slmagent.plain import PlainError, from_plain
from slmagent.scenarios.personas import Persona
from slmagent.scenarios.referee import Brief, holds, objection, tidy
from slmagent.types import Message

ATTEMPTS = 2
"""Wordings asked for before the scripted text is taken."""
SHOWN_MESSAGES, SHOWN_CHARACTERS = 8, 600
"""How much of the talk the model sees: last messages, and characters of each. No assistant can flood the endpoint."""


class Scripted(Protocol):
    """A rule-based user: who it is, and which values it has told and has not."""

    persona: Persona

    def told_values(self) -> tuple[str, ...]:
        """Values that it has told, as it says them."""
        ...

    def secret_values(self) -> tuple[str, ...]:
        """Values that it has not told yet."""
        ...


@dataclass(frozen=True, slots=True)
class UserModel:
    """Which model words a user's messages: the form of the environments' `user_llm`."""

    base_url: str
    """Address up to and including the version, such as `http://localhost:8000/v1`."""
    model: str
    """Name under which the endpoint knows the model."""
    api_key_env: str = "OPENAI_API_KEY"
    """Environment variable that holds the key, where one is needed."""
    temperature: float = 0.0
    max_new_tokens: int = 120
    """Longest answer in tokens; models that think first need more."""
    timeout_s: float = 60.0
    retries: int = 4
    backoff_s: float = 0.5
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the request body."""

    def connect(self) -> ChatEndpoint:
        """A client for it; nothing is sent yet.

        Raises:
            UsageError: An address or number that cannot be.
        """
        settings = {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in ("base_url", "model")}
        return ChatEndpoint(self.base_url, self.model, **settings)


def connect(user_llm: Mapping[str, Any]) -> ChatEndpoint:
    """The endpoint that a `user_llm` mapping describes; its keys are the fields of `UserModel`.

    Raises:
        ValueError: A key that is missing or unknown, or a value that does not fit.
    """
    try:
        return from_plain(user_llm, UserModel, where="user_llm").connect()
    except (PlainError, UsageError) as problem:
        raise ValueError(f"user_llm: {problem}" if isinstance(problem, UsageError) else str(problem)) from None


@dataclass(frozen=True, slots=True)
class Wording:
    """What the user says, and how it came about."""

    text: str
    accepted: bool
    """In the model's words, not the script's."""
    objections: tuple[str, ...]
    """To wordings that were refused."""


@dataclass(slots=True)
class Voice:
    """The voice of one user in one episode. `copy.deepcopy` gives one that goes on alike; the endpoint is shared.

    Args:
        endpoint: Where the model is.
        seed: Seeds the model's sampling, together with the number of the message.
    """

    endpoint: ChatEndpoint
    seed: int
    accepted: int = 0
    """Messages in the model's words."""
    fallbacks: int = 0
    """Messages in the script's words, because no wording passed."""
    talk: list[tuple[Literal["user", "assistant"], str]] = field(default_factory=list)
    """What the user said and heard; tool calls and results are not for its ears."""

    def hear(self, text: str) -> None:
        """Takes note of a message of the assistant."""
        self.talk.append(("assistant", text))

    def say(self, script: str, user: Scripted | None, *, agrees: bool = False, leaves: bool = False) -> Wording:
        """Words a scripted message.

        Args:
            script: The message of the rule-based user.
            user: That user, as it is after the message; None when it keeps no secrets.
            agrees: The message agrees to what was proposed.
            leaves: The message ends the talk.

        Raises:
            EndpointError: The endpoint gives no usable answer.
            UsageError: It refuses the key, or knows neither the address nor the model.
        """
        brief = Brief(
            script=script,
            facts=tuple(value for value in user.told_values() if holds(script, value)) if user else (),
            secrets=user.secret_values() if user else (),
            agrees=agrees,
            leaves=leaves,
            told=tuple(text for who, text in self.talk if who == "user"),
            heard=tuple(text for who, text in self.talk if who == "assistant"),
        )
        messages: list[Message] = [
            {"role": "system", "content": _instructions(user.persona if user else Persona("plain"), brief)},
            {"role": "user", "content": self._task(brief)},
        ]
        objections: list[str] = []
        text = script
        while len(objections) < ATTEMPTS:
            answer = tidy(self.endpoint.complete(messages, seed=self._seed(len(objections))).text)
            problem = objection(answer, brief)
            if problem is None:
                text = answer
                break
            objections.append(problem)
            messages.append({"role": "assistant", "content": answer[:SHOWN_CHARACTERS] or "(nothing)"})
            messages.append({"role": "user", "content": f"That will not do: {problem}. Write the message again."})
        passed = len(objections) < ATTEMPTS
        self.accepted += passed
        self.fallbacks += not passed
        self.talk.append(("user", text))
        return Wording(text, passed, tuple(objections))

    def _task(self, brief: Brief) -> str:
        names = {"user": "You", "assistant": "Assistant"}
        shown = [f"{names[who]}: {' '.join(text.split())[:SHOWN_CHARACTERS]}" for who, text in self.talk[-SHOWN_MESSAGES:]]
        talk = "\n".join(shown) or "(nobody has said anything yet)"
        keep = "; ".join(brief.must_hold())
        kept = f"\nTo be kept word for word: {keep}" if keep else ""
        return f"The talk so far:\n{talk}\n\nNote for your next message: {brief.script}{kept}\n\nWrite your next message."

    def _seed(self, attempt: int) -> int:
        key = f"{self.seed}|{len(self.talk)}|{attempt}"
        return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=4).digest(), "big") >> 1


def _instructions(persona: Persona, brief: Brief) -> str:
    stance = ""
    if brief.agrees:
        stance = " You say yes to what the assistant asked."
    elif brief.leaves:
        stance = " You say goodbye and end the talk."
    return (
        "You are a customer in a chat with an assistant. You are given a note of what your next message says. Put it into your "
        "own words: all that the note says and nothing else, no other facts, names, dates or numbers, no promises, no goodbye "
        f"unless the note has one.{stance} {manner(persona)} Do not repeat a sentence of the talk. At most {brief.most_words} "
        "words, on one line. Write the message only."
    )


def manner(persona: Persona) -> str:
    """How a persona writes, as an instruction."""
    traits = (
        ("You write as briefly as you can.", persona.verbosity <= 0.2),
        ("You write at length, in whole sentences.", persona.verbosity >= 0.8),
        ("You are courteous and formal.", persona.formality >= 0.6),
        ("You are casual, with contractions.", persona.formality <= 0.3),
        ("You like to joke.", persona.humour >= 0.5),
        ("You like exact, technical terms.", persona.technicality >= 0.5),
        ("You are unsure of yourself and easily confused.", persona.confusion >= 0.5),
        ("English is not your first language.", persona.fluency < 0.5),
        ("You make a typing error now and then, never in what is to be kept.", persona.typo_rate >= 0.05),
        ("You are impatient.", persona.patience <= 2),
    )
    return " ".join(text for text, applies in traits if applies) or "You write plainly."
