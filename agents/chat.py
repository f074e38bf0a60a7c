"""Turns conversations into token ids, incrementally and without ever re-tokenising what was sampled.

A chat template is reduced to the literal pieces it puts around message contents. A prompt is encoded once; every later turn
appends only the ids of what came after the sampled action. That is exact only for templates that are append-only: rendering
a longer conversation must extend the rendering of the shorter one. Templates that rewrite history (deleting earlier
think-blocks, say) or that refuse a system message are replaced by the built-in ChatML pieces, with a warning.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from slmagent.types import Message

_SYSTEM, _USER, _ASSISTANT, _REPLY = "\ue000SYSTEM\ue001", "\ue000USER\ue001", "\ue000ASSISTANT\ue001", "\ue000REPLY\ue001"


@dataclass(frozen=True, slots=True)
class TemplatePieces:
    """The literal text a chat template puts around contents."""

    before_system: str
    system_to_user: str
    user_to_assistant: str
    """Closes the user's message and opens the assistant's (the generation prompt)."""
    assistant_to_user: str
    """Closes the assistant's message (it starts with the end mark) and opens the user's."""

    def render(self, messages: Sequence[Message]) -> str:
        """The whole conversation as text, with a generation prompt if it ends with the user."""
        return "".join(text for text, _ in self.segments(messages))

    def segments(self, messages: Sequence[Message]) -> list[tuple[str, bool]]:
        """Pairs (text, is_content) of a conversation that starts with a system message."""
        parts: list[tuple[str, bool]] = [(self.before_system, False), (messages[0]["content"], True)]
        opener = self.system_to_user
        for message in messages[1:]:
            parts += [(opener, False), (message["content"], True)]
            opener = self.assistant_to_user if message["role"] == "assistant" else self.user_to_assistant
        if messages[-1]["role"] == "user":
            parts.append((self.user_to_assistant, False))
        return parts


def _chatml(end_mark: str) -> TemplatePieces:
    return TemplatePieces(
        before_system="<|im_start|>system\n",
        system_to_user=f"{end_mark}\n<|im_start|>user\n",
        user_to_assistant=f"{end_mark}\n<|im_start|>assistant\n",
        assistant_to_user=f"{end_mark}\n<|im_start|>user\n",
    )


class ChatFormat:
    """Encodes conversations for one tokenizer.

    Args:
        tokenizer: A Hugging Face tokenizer, with or without a chat template.

    Attributes:
        end_mark_id: Token that the template puts behind an assistant message; sampled and trained like any other.
        stop_ids: Tokens that end a generation: the end mark and the tokenizer's eos.
        is_native: False when the built-in ChatML pieces stand in for the tokenizer's template.
    """

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        pieces, problem = _derive_pieces(tokenizer)
        self.is_native = pieces is not None
        if pieces is None:
            warnings.warn(f"using the built-in ChatML format: {problem}", stacklevel=2)
            pieces = _chatml(_fallback_end_mark(tokenizer))
        self.pieces = pieces
        special = _special_tokens(tokenizer)
        marks = [token for token in special if pieces.assistant_to_user.startswith(token)]
        if not marks:
            raise ValueError(
                f"the chat template closes an assistant message with {pieces.assistant_to_user[:20]!r}, which is not a special "
                "token of the tokenizer; generation could not tell where a turn ends"
            )
        self.end_mark = max(marks, key=len)
        self.end_mark_id: int = special[self.end_mark]
        eos = tokenizer.eos_token_id
        self.stop_ids: frozenset[int] = frozenset({self.end_mark_id} | ({eos} if eos is not None else set()))
        self._special = special

    def encode_prompt(self, messages: Sequence[Message]) -> list[int]:
        """Ids of a conversation that starts with a system message and ends with the user, generation prompt included.

        Earlier assistant messages are encoded as text; use `encode_delta` to continue a sampled conversation.

        Raises:
            ValueError: The conversation does not start with a system message or does not end with a user message.
        """
        if not messages or messages[0]["role"] != "system" or messages[-1]["role"] != "user":
            raise ValueError("expected a conversation from a system message to a user message")
        return self._encode(self.pieces.segments(messages))

    def encode_delta(self, reply: str) -> list[int]:
        """Ids to append behind an assistant message's end mark: the user's reply and the next generation prompt."""
        opener = self.pieces.assistant_to_user[len(self.end_mark) :]
        return self._encode([(opener, False), (reply, True), (self.pieces.user_to_assistant, False)])

    def encode_action(self, text: str) -> list[int]:
        """Ids of an assistant message and its end mark, for demonstrations; sampled actions are never encoded."""
        return [*self._encode([(text, True)]), self.end_mark_id]

    def decode_action(self, token_ids: Sequence[int]) -> str:
        """Text of a sampled action; a trailing stop token is left out, other special tokens are kept visible."""
        ids = list(token_ids)
        if ids and ids[-1] in self.stop_ids:
            ids.pop()
        return self.tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)

    def _encode(self, segments: Sequence[tuple[str, bool]]) -> list[int]:
        """Encodes what lies between the template's special tokens in one piece; special tokens inside contents stay text."""
        ids: list[int] = []
        pending: list[str] = []

        def flush() -> None:
            text = "".join(pending)
            pending.clear()
            if text:
                ids.extend(self.tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"])

        for text, is_content in segments:
            if is_content:
                pending.append(text)
                continue
            for part, token_id in _split_on(text, self._special):
                if token_id is None:
                    pending.append(part)
                else:
                    flush()
                    ids.append(token_id)
        flush()
        return ids


def _special_tokens(tokenizer: Any) -> dict[str, int]:
    added = {str(token): index for index, token in tokenizer.added_tokens_decoder.items() if token.special}
    named = dict(zip(tokenizer.all_special_tokens, tokenizer.all_special_ids, strict=True))
    return {token: index for token, index in (added | named).items() if token}


def _split_on(text: str, special: dict[str, int]) -> list[tuple[str, int | None]]:
    """Cuts text at special tokens, the longest match first; pairs (text, id or None)."""
    parts: list[tuple[str, int | None]] = []
    position = plain = 0
    ordered = sorted(special, key=len, reverse=True)
    while position < len(text):
        token = next((token for token in ordered if text.startswith(token, position)), None)
        if token is None:
            position += 1
            continue
        if plain < position:
            parts.append((text[plain:position], None))
        parts.append((token, special[token]))
        position = plain = position + len(token)
    if plain < len(text):
        parts.append((text[plain:], None))
    return parts


def _derive_pieces(tokenizer: Any) -> tuple[TemplatePieces | None, str]:
    """The template's pieces, or None and what stands against using it."""
    if not getattr(tokenizer, "chat_template", None):
        return None, "the tokenizer has no chat template"
    conversation: list[Message] = [
        {"role": "system", "content": _SYSTEM},
        {"role": "user", "content": _USER},
        {"role": "assistant", "content": _ASSISTANT},
        {"role": "user", "content": _REPLY},
    ]

    def render(messages: Sequence[Message]) -> str:
        return tokenizer.apply_chat_template(
            list(messages), tokenize=False, add_generation_prompt=messages[-1]["role"] == "user"
        )

    try:
        text = render(conversation)
        before, rest = text.split(_SYSTEM)
        to_user, rest = rest.split(_USER)
        to_assistant, rest = rest.split(_ASSISTANT)
        to_next, after = rest.split(_REPLY)
    except Exception as problem:  # a template may raise anything
        return None, f"the chat template cannot render system, user, assistant, user ({problem})"
    pieces = TemplatePieces(before, to_user, to_assistant, to_next)
    probe: list[Message] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello?"},
        {"role": "assistant", "content": '<think>\nhm\n</think>\n\nfirst <tool_call>{"name": "x"}</tool_call>'},
        {"role": "user", "content": "<tool_response>\n1\n</tool_response>"},
        {"role": "assistant", "content": "<think>again</think>second"},
        {"role": "user", "content": "Bye."},
    ]
    if after != to_assistant or any(render(probe[:length]) != pieces.render(probe[:length]) for length in (2, 4, 6)):
        return None, "the chat template is not append-only (a longer conversation does not extend the shorter one)"
    return pieces, ""


def _fallback_end_mark(tokenizer: Any) -> str:
    special = _special_tokens(tokenizer)
    if "<|im_end|>" in special:
        return "<|im_end|>"
    if tokenizer.eos_token:
        return tokenizer.eos_token
    raise ValueError("the tokenizer has neither <|im_end|> nor an eos token; a turn could not be ended")
