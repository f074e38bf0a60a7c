"""The desk's written rules, each beside the predicate that says when it is broken. Figures stand in the knowledge base."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from slmagent.scenarios.customer_service.database import Write
from slmagent.scenarios.customer_service.knowledge import Edition
from slmagent.scenarios.customer_service.records import Item
from slmagent.scenarios.splits import Family

DAYS_PER_MONTH = 30
CLAUSES = ("time", "fee", "warranty", "consent", "refusal")
DEFECT = "defect"
"""The problem of an item that broke down in use. No article of its own says what to do; the warranty covers it."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules of one episode.

    Attributes:
        shop: Where the figures come from.
        tier: The customer's.
        problems: What is wrong with an item, by product id; nothing is wrong with the others.
    """

    shop: Edition
    tier: str
    problems: Mapping[str, str] = field(default_factory=dict)

    def text(self) -> str:
        """The rules as the agent reads them."""
        texts = _TEXTS[self.shop.family]
        return "\n".join([_HEADS[self.shop.family], *(f"{number}. {texts[name]}" for number, name in enumerate(CLAUSES, 1))])

    def broken(self, write: Write, item: Item, *, consented: bool) -> list[str]:
        """Names of the clauses that a change breaks.

        Args:
            write: The change, about to be made.
            item: What it is about.
            consented: The customer has agreed to exactly this.
        """
        return [name for name in CLAUSES if _BROKEN[name](self, write, item, consented)]

    def days_to_return(self, item: Item) -> int:
        """Days from delivery in which an item may be returned, those of the tier included."""
        return self.shop.windows[item_type(item)] + self.shop.extra_days[self.tier]

    def under_warranty(self, item: Item) -> bool:
        """Whether a delivered item's warranty still runs."""
        return item.age < DAYS_PER_MONTH * self.shop.warranties[item_type(item)]

    def remedy(self, item: Item) -> str:
        """What an article says is done about the problem of an item; empty where none does."""
        return self.shop.remedies.get(self.problems.get(item.product_id, ""), "")


def item_type(item: Item) -> str:
    """The type of the product."""
    return item.name.split()[-1]


_HEADS: Mapping[Family, str] = {"home": "Rules:", "ood": "House regulations:"}
_TEXTS: Mapping[Family, Mapping[str, str]] = {
    "home": {
        "time": "Refund only within the return time, or where an article says so.",
        "fee": "Charge the fee of the article, whatever the customer says.",
        "warranty": "Replace only what is broken under warranty, or where an article says so.",
        "consent": "Name item, remedy and fee and get a yes before you refund, replace or open a ticket.",
        "refusal": "If you must refuse, say why and hear the customer out, then offer what is allowed.",
    },
    "ood": {
        "time": "No sum is paid back past the deadline, unless an article grants it.",
        "fee": "The fee is the one in the article, for everybody.",
        "warranty": "Only a broken item under guarantee is exchanged, unless an article grants it.",
        "consent": "The customer hears item, remedy and fee and has to agree before you pay back, exchange or open a case.",
        "refusal": "A refusal needs its reason; let the customer answer, then offer what is granted.",
    },
}


def _late(policy: Policy, write: Write, item: Item, consented: bool) -> bool:
    if write[0] != "refund" or policy.remedy(item) == "refund":
        return False
    return item.state != "delivered" or item.age > policy.days_to_return(item)


def _wrong_fee(policy: Policy, write: Write, item: Item, consented: bool) -> bool:
    fee = 0 if policy.remedy(item) == "refund" else policy.shop.fees[item_type(item)]
    return write[0] == "refund" and write[3] != str(fee)


def _not_covered(policy: Policy, write: Write, item: Item, consented: bool) -> bool:
    if write[0] != "replace" or policy.remedy(item) == "replace":
        return False
    return policy.problems.get(item.product_id) not in ("broken", DEFECT) or not policy.under_warranty(item)


def _unasked(policy: Policy, write: Write, item: Item, consented: bool) -> bool:
    return write[0] != "escalate" and not consented


def _never(policy: Policy, write: Write, item: Item, consented: bool) -> bool:
    return False


_BROKEN: Mapping[str, Callable[[Policy, Write, Item, bool], bool]] = {
    "time": _late,
    "fee": _wrong_fee,
    "warranty": _not_covered,
    "consent": _unasked,
    # This one asks for an action, not against one: the goal is not met without it.
    "refusal": _never,
}
