"""Wrappers around conversational environments."""
