"""How much of a piece of code stands elsewhere already."""

from __future__ import annotations

import functools
import io
import tokenize

RUN = 10
"""Tokens in a row, found in the context, that count as copied."""


def tokens_of(code: str) -> list[str]:
    """Words, numbers, texts and signs, without layout and comments; as far as the code can be read."""
    found = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            if token.string.strip() and token.type != tokenize.COMMENT:
                found.append(token.string)
    except (tokenize.TokenError, SyntaxError):
        pass
    return found


def copied_share(code: str, context: str) -> float:
    """Share of an answer's tokens that lie in runs of `RUN` which stand in the context, too; 0 for a shorter answer."""
    tokens = tokens_of(code)
    if len(tokens) < RUN:
        return 0.0
    there = _runs(context)
    copied = [False] * len(tokens)
    for start in range(len(tokens) - RUN + 1):
        if tuple(tokens[start : start + RUN]) in there:
            copied[start : start + RUN] = [True] * RUN
    return sum(copied) / len(tokens)


@functools.lru_cache(maxsize=256)
def _runs(context: str) -> frozenset[tuple[str, ...]]:
    tokens = tokens_of(context)
    return frozenset(tuple(tokens[start : start + RUN]) for start in range(len(tokens) - RUN + 1))
