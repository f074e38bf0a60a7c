"""Runs programs that nobody trusts, and tests them from outside."""

from slmagent.sandbox.making import make

__all__ = ["make"]
