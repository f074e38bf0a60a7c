"""Runs programs that nobody trusts, and tests them from outside."""
