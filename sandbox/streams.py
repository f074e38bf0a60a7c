"""What a program printed: kept in bounds, and free of what differs from run to run."""

from __future__ import annotations

import re

# An address in a default `repr` (`<f at 0x...>`), or any number of the form that user-space addresses have.
_ADDRESS = re.compile(r"(?<=\bat )0x[0-9a-fA-F]+|0x(?:7[0-9a-f]|5[56])[0-9a-f]{10}\b")


def scrub(text: str) -> str:
    """Replaces memory addresses by `0x...`, so that the same program gives the same text."""
    return _ADDRESS.sub("0x...", text)


class HeadAndTail:
    """Keeps the first and the last part of a stream of bytes, however long it is."""

    def __init__(self, limit: int) -> None:
        """`limit`: characters to keep at most."""
        self._limit = limit
        self._head = bytearray()
        self._tail = bytearray()
        self._half = 4 * (limit // 2 + 1)  # UTF-8 takes at most four bytes a character
        self._dropped = 0
        self._dropped_characters = 0

    def add(self, data: bytes) -> None:
        """Takes the next bytes."""
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail += data[room:] if room > 0 else data
        if len(self._tail) > 2 * self._half:
            gone = len(self._tail) - self._half
            self._dropped += gone
            self._dropped_characters += sum(byte & 0xC0 != 0x80 for byte in self._tail[:gone])
            del self._tail[:gone]

    def text(self, name: str) -> tuple[str, str | None]:
        """The text to show, and a note such as `stdout: 10000 of 130000 characters`, or None when nothing was cut."""
        if not self._dropped:
            whole = bytes(self._head + self._tail).decode("utf-8", "replace")
            total = len(whole)
            head = tail = whole
        else:
            head = bytes(self._head).decode("utf-8", "replace")
            tail = bytes(self._tail).decode("utf-8", "replace")
            total = len(head) + self._dropped_characters + len(tail)
        if total <= self._limit:
            return scrub(head), None
        first = (self._limit + 1) // 2
        last = self._limit - first
        note = f"{name}: {self._limit} of {total} characters"
        left_out = f"\n... {total - self._limit} characters left out ...\n"
        return scrub(head[:first] + left_out + (tail[-last:] if last else "")), note
