"""Errors that are the user's to mend: the CLI prints their message, without a traceback, and exits with code 2."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable
from types import ModuleType


class SlmagentError(Exception):
    """Something a user can put right. The message says what was wrong, what was expected and, where known, what to do."""


class UsageError(SlmagentError):
    """A name or value given on the command line or to a function that does not exist or does not fit."""


class ConfigError(SlmagentError):
    """A configuration file or an override that cannot be used."""


class RecordError(SlmagentError):
    """A file of trajectories, metrics or results that cannot be read."""


class MissingExtraError(SlmagentError, ImportError):
    """An optional dependency is not installed."""


def nearest(name: str, known: Iterable[str], *, limit: int = 12) -> str:
    """Ends a message about an unknown name: the nearest known one, else the known ones.

    Args:
        name: What was given.
        known: What would have been accepted.
        limit: How many of them to list at most when none is near.
    """
    names = list(known)
    folded = {candidate.casefold(): candidate for candidate in names}
    close = difflib.get_close_matches(name.casefold(), folded, n=1)
    if close:
        return f"did you mean {folded[close[0]]!r}?"
    if not names:
        return "there are none"
    more = ", ..." if len(names) > limit else ""
    return f"expected one of {', '.join(repr(candidate) for candidate in names[:limit])}{more}"


def require(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Imports an optional dependency.

    Raises:
        MissingExtraError: It is not installed; the message names the extra that brings it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as problem:
        package = module.partition(".")[0]
        raise MissingExtraError(f"{purpose} needs {package}; install it with: pip install 'slmagent[{extra}]'") from problem
