"""The help desk's tools and what they do. They obey every valid call; policy is the agent's duty."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, Literal

from pydantic import Field

from slmagent.envs.tools import Finish, Tool, ToolError
from slmagent.scenarios.customer_service.database import ShopDatabase, Write
from slmagent.scenarios.customer_service.records import Item
from slmagent.scenarios.customer_service.tasks import Read


class SearchKb(Tool):
    """find articles"""

    query: str


class GetCustomer(Tool):
    """the customer's record and orders"""


class GetOrder(Tool):
    """items of an order"""

    order_id: str


class Refund(Tool):
    """pay an item back, less the fee in EUR"""

    writes: ClassVar[bool] = True
    order_id: str
    product_id: str
    fee: int = Field(ge=0, le=10_000)


class ReplaceItem(Tool):
    """send it again"""

    writes: ClassVar[bool] = True
    order_id: str
    product_id: str


class CreateTicket(Tool):
    """open a ticket"""

    writes: ClassVar[bool] = True
    order_id: str
    product_id: str
    topic: Literal["parts", "carrier", "repair"]


class Escalate(Tool):
    """hand the case to a supervisor"""

    writes: ClassVar[bool] = True
    order_id: str
    product_id: str


_ALL = (SearchKb, GetCustomer, GetOrder, Refund, ReplaceItem, CreateTicket, Escalate, Finish)
TOOLS_BY_LEVEL: Mapping[int, tuple[type[Tool], ...]] = {
    0: (SearchKb, Finish),
    1: (SearchKb, GetOrder, Finish),
    2: (SearchKb, GetOrder, Refund, ReplaceItem, Finish),
    3: _ALL,
    4: _ALL,
    5: _ALL,
}
"""The tools a level's tasks need, in the order in which prompts list them."""


def write_of(tool: Tool) -> Write | None:
    """The change that a call makes; None for a look-up."""
    match tool:
        case Refund():
            return ("refund", tool.order_id, tool.product_id, str(tool.fee))
        case ReplaceItem():
            return ("replace", tool.order_id, tool.product_id, "")
        case CreateTicket():
            return ("ticket", tool.order_id, tool.product_id, tool.topic)
        case Escalate():
            return ("escalate", tool.order_id, tool.product_id, "")
    return None


class Desk:
    """Carries out calls on a database.

    Args:
        database: The episode's state; writes go there.
        month: In which dates are written.
    """

    def __init__(self, database: ShopDatabase, month: str) -> None:
        self.database = database
        self.month = month

    def carry_out(self, tool: Tool) -> tuple[str, list[Read]]:
        """What the agent reads, and which look-ups that was (none for a write).

        Raises:
            ToolError: The call names something that does not exist; nothing has changed.
        """
        write = write_of(tool)
        return _LOOK_UPS[type(tool)](self, tool) if write is None else (self._write(write), [])

    def item(self, write: Write) -> Item:
        """The item that a change is about.

        Raises:
            ToolError: The customer never ordered it.
        """
        _, order_id, product_id, _ = write
        if self.database.order(order_id) is None:
            raise ToolError(f"the customer has no order {order_id[:40]!r}")
        item = self.database.item(order_id, product_id)
        if item is None:
            raise ToolError(f"there is no item {product_id[:40]!r} in order {order_id}")
        return item

    def _write(self, write: Write) -> str:
        item = self.item(write)
        kind, order_id, product_id, detail = write
        if any(done[:3] == write[:3] for done in self.database.actions()):
            raise ToolError(f"{item.name} of {order_id} already has a {kind}")
        self.database.act(kind, order_id, product_id, detail)
        done = {
            "refund": f"refunded, fee EUR {detail}",
            "replace": "replacement sent",
            "ticket": f"{detail} ticket opened",
            "escalate": "escalated",
        }
        return f"{item.name}: {done[kind]}"

    def _search(self, call: SearchKb) -> tuple[str, list[Read]]:
        found = self.database.search(call.query)
        text = "\n".join(article.line() for article in found) or f"no article about {call.query[:40]!r}"
        return text, [("article", article.article_id) for article in found]

    def _customer(self, call: GetCustomer) -> tuple[str, list[Read]]:
        person = self.database.customer()
        lines = [f"{person.name}, {person.tier} customer"]
        for order in self.database.orders():
            names = ", ".join(item.name for item in self.database.items(order.order_id))
            lines.append(f"{names} {order.order_id}")
        return "\n".join(lines), [("customer", "")]

    def _order(self, call: GetOrder) -> tuple[str, list[Read]]:
        order = self.database.order(call.order_id)
        if order is None:
            raise ToolError(f"the customer has no order {call.order_id[:40]!r}")
        head = f"{self.database.customer().tier} customer, {order.method} shipping, paid by {order.payment}"
        lines = [head, *(item.line(self.month) for item in self.database.items(order.order_id))]
        return "\n".join(lines), [("order", order.order_id)]


_LOOK_UPS: Mapping[type[Tool], Callable[..., tuple[str, list[Read]]]] = {
    SearchKb: Desk._search,
    GetCustomer: Desk._customer,
    GetOrder: Desk._order,
}
"""What each look-up does. Not bound to a desk: one that holds its own methods would keep its database too long."""
