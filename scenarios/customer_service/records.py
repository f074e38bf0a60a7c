"""Rows of the shop's world. Money is whole euros; ages are days before today, due dates days of the month."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Customer:
    """The person in the chat."""

    customer_id: str
    name: str
    tier: str


@dataclass(frozen=True, slots=True)
class Order:
    """What was bought together."""

    order_id: str
    customer_id: str
    payment: str
    method: str


@dataclass(frozen=True, slots=True)
class Item:
    """One line of an order. `age` counts from delivery and is 0 for what has not been delivered."""

    order_id: str
    product_id: str
    name: str
    price: int
    state: str
    carrier: str
    age: int = 0
    due: int = 0

    def line(self, month: str) -> str:
        """The row as an agent reads it, identifier last."""
        return f"{self.name} EUR {self.price} {self.progress(month)} {self.product_id}"

    def progress(self, month: str) -> str:
        """Where the item is."""
        if self.state == "delivered":
            return f"delivered {age_text(self.age)}"
        carrier = "" if self.state == "packed" else f" with {self.carrier}"
        return f"{self.state}{carrier}, due {self.due} {month}"


LONGEST_IN_DAYS = 59
"""Ages beyond are told in months; no return time is as long."""


def age_text(days: int) -> str:
    """How long ago something was, in days and beyond `LONGEST_IN_DAYS` in months of 30 days."""
    if days == 1:
        return "1 day ago"
    return f"{days} days ago" if days <= LONGEST_IN_DAYS else f"{days // 30} months ago"
