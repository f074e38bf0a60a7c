"""Values with their exact types as JSON: what `child.encode` sends, read on the asking side. Never pickle."""

from __future__ import annotations

from typing import Any

from slmagent.sandbox.child import encode

__all__ = ["Opaque", "decode", "encode"]


class Opaque:
    """Stands for a value of any other type: known by its `repr` only, and equal to nothing."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        return False

    def __hash__(self) -> int:
        return id(self)


def decode(data: Any) -> Any:
    """Turns what `encode` made, or anything that a program sent in its place, back into a value.

    Raises:
        ValueError: It is nothing that `encode` makes.
    """
    if data is None or type(data) in (bool, int, str):
        return data
    if type(data) is list:
        return [decode(item) for item in data]
    if type(data) is dict and len(data) == 1:
        ((kind, content),) = data.items()
        try:
            return _READERS[kind](content)
        except (KeyError, TypeError, AttributeError, OverflowError):
            pass
    raise ValueError(f"expected an encoded value, actual {str(data)[:80]}")


_READERS = {
    "int": lambda text: int(text, 16),
    "float": float.fromhex,
    "complex": lambda parts: complex(float.fromhex(parts[0]), float.fromhex(parts[1])),
    "bytes": bytes.fromhex,
    "tuple": lambda items: tuple(decode(item) for item in items),
    "set": lambda items: {decode(item) for item in items},
    "frozenset": lambda items: frozenset(decode(item) for item in items),
    "dict": lambda pairs: {decode(key): decode(item) for key, item in pairs},
    "opaque": lambda text: Opaque(str(text)),
}
