"""Measures of code beside code: whether it does anything, how much it speaks its surroundings' language."""

from __future__ import annotations

import ast
import functools
import keyword

from slmagent.rewards.guards.embedding import Embed
from slmagent.scenarios.code.copying import tokens_of
from slmagent.scenarios.code.syntax import parse

MOST_COPIED = 0.5
"""Share of copied tokens above which an answer is a copy."""
ENOUGH_LENGTH, TOO_LONG = 1.5, 4.0
"""Times the needed length up to which an answer is short enough, and from which it is as bad as it gets."""


def has_effect(code: str) -> bool:
    """Whether an answer does anything: more than `pass`, `...`, a docstring, `return None` or `raise NotImplementedError`.

    Code that cannot be parsed by itself, such as the rest of a line, counts unless it is empty or one of these words.
    """
    stripped = code.strip().rstrip(")]}").strip()
    if stripped in ("", "pass", "None", "...", "return", "return None", "NotImplemented"):
        return False
    tree = parse(code)
    if tree is None:
        return True
    body = tree.body
    while len(body) == 1 and isinstance(body[0], ast.FunctionDef | ast.AsyncFunctionDef):
        body = body[0].body
    return any(not _idle(node) for node in body)


def _idle(node: ast.stmt) -> bool:
    if isinstance(node, ast.Pass):
        return True
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant) and (node.value.value is ... or isinstance(node.value.value, str))
    if isinstance(node, ast.Return):
        return node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None)
    return isinstance(node, ast.Raise) and "NotImplemented" in ast.unparse(node)


@functools.lru_cache(maxsize=1024)
def identifiers(code: str) -> frozenset[str]:
    """Names in code, keywords left out."""
    return frozenset(token for token in tokens_of(code) if token.isidentifier() and not keyword.iskeyword(token))


def shared_names(code: str, context: str) -> float | None:
    """Share of an answer's names that stand in the context, in [0, 1]; None for an answer without names."""
    names = identifiers(code)
    return len(names & identifiers(context)) / len(names) if names else None


def similarity(embed: Embed, code: str, context: str) -> float:
    """Cosine of the unit embeddings of both, cut to [0, 1]."""
    return min(1.0, max(0.0, float(embed(code) @ embed(context))))


def length_score(actual: int, needed: int) -> float:
    """1 for an answer of up to `ENOUGH_LENGTH` times the characters needed, falling to -1 at `TOO_LONG` times."""
    ratio = actual / max(needed, 20)
    fall = (ratio - ENOUGH_LENGTH) / (TOO_LONG - ENOUGH_LENGTH)
    return 1.0 - 2.0 * min(1.0, max(0.0, fall))
