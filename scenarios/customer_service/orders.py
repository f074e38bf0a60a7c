"""Levels 1 and 2: where an ordered item is, and a return by the book."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from slmagent.scenarios.customer_service.inventory import INVENTORIES, STATES
from slmagent.scenarios.customer_service.knowledge import Edition, Product
from slmagent.scenarios.customer_service.questions import customer_of
from slmagent.scenarios.customer_service.records import Customer, Item, Order
from slmagent.scenarios.customer_service.tasks import Answer, searches_for
from slmagent.scenarios.draw import Draw
from slmagent.scenarios.splits import Family
from slmagent.scenarios.users import Slot

STATUS_KINDS = ("due", "carrier", "state", "paid", "due", "carrier")
RETURN_KINDS = ("with_fee", "free", "with_fee")

_ON_THE_WAY = ("shipped", "delayed")
"""States in which an item has a carrier and a day on which it is due."""

_STATUS: Mapping[Family, Mapping[str, tuple[str, ...]]] = {
    "home": {
        "due": (
            "When will {item} from order {order} arrive?",
            "On which day do I get {item} of my order {order}?",
            "I am waiting for {item} from order {order}, when does it come?",
        ),
        "carrier": (
            "Who delivers {item} from order {order}?",
            "With which carrier did you send {item} of order {order}?",
            "Which carrier brings {item} from order {order}?",
        ),
        "state": (
            "What is the state of {item} in order {order}?",
            "How far is {item} from my order {order}?",
            "Please check the state of {item} in order {order}.",
        ),
        "paid": (
            "What did I pay for {item} in order {order}?",
            "How much was {item} in my order {order}?",
        ),
    },
    "ood": {
        "due": ("Order {order}: {item} gets here on what day?", "{order} again. Day of delivery for {item}?"),
        "carrier": ("Order {order}: {item} travels with whom?", "Name me the carrier of {item}, order {order}."),
        "state": ("Order {order}, {item}: how is it going?", "{order}: tell me the state of {item}."),
        "paid": ("Order {order}: the price I paid for {item}?", "{order}: {item} was how much?"),
    },
}
_RETURN: Mapping[Family, tuple[str, ...]] = {
    "home": (
        "I want to return {item} from order {order}.",
        "Please take back {item} from my order {order}, I do not need it.",
        "I would like a refund for {item} of order {order}, I changed my mind.",
    ),
    "ood": (
        "{item} of order {order} goes back to you; I never opened it.",
        "Order {order}: I send back {item}, so pay me back.",
    ),
}


def order_status(draw: Draw, shop: Edition, kind: str) -> dict[str, Any]:
    """A question about one item of an order of several."""
    person = customer_of(draw, shop)
    order, products = bought(draw, shop, person, draw.integer(3, 6))
    carriers = list(INVENTORIES[shop.family].carriers)
    days = draw.sample(range(8, 29), len(products))
    asked = draw.pick(STATES if kind == "state" else _ON_THE_WAY)
    # Another item always has another value of the kind, so that naming every value found is no answer.
    rival = draw.pick([state for state in STATES if state != asked] if kind == "state" else _ON_THE_WAY)
    states = [asked, rival, *(draw.pick(STATES) for _ in products[2:])]
    draw.shuffle(carriers)
    items = [
        line(order, product, states[place], carriers[place % len(carriers)], age=draw.integer(1, 20), due=days[place])
        for place, product in enumerate(products)
    ]
    item = items[0]
    draw.shuffle(items)
    value = {"due": f"{item.due} {INVENTORIES[shop.family].month}", "carrier": item.carrier, "state": item.state}
    unit = {"paid": "eur", "due": "date"}.get(kind, kind)
    return {
        "customer": person,
        "wanted": (order.order_id, item.name),
        "openings": _fill(_STATUS[shop.family][kind], order, described(draw, item, items, by_price=kind != "paid")),
        "reads": (("order", order.order_id),),
        "writes": (),
        "wishes": (Slot("order", order.order_id), Slot("item", f"the {item.name}")),
        "orders": (order,),
        "items": tuple(items),
        "answer": Answer(unit, value.get(kind, str(item.price)), frozenset({(item.price, "eur")})),
        "expert_turns": 2,
        "subject": (item.name.lower(),),
        "details": {"item": item},
    }


def plain_return(draw: Draw, shop: Edition, kind: str) -> dict[str, Any] | None:
    """A return within the return time: refund the item for the fee that the article names."""
    person = customer_of(draw, shop)
    order, products = bought(draw, shop, person, draw.integer(2, 4))
    product = products[0]
    if (shop.fees[product.type] > 0) != (kind == "with_fee"):
        return None
    item = line(order, product, "delivered", "", age=draw.integer(1, shop.windows[product.type]))
    others = [line(order, other, "delivered", "", age=draw.integer(1, 50)) for other in products[1:]]
    items = [item, *others]
    draw.shuffle(items)
    article = shop.by_key[f"returns/{product.type}"]
    return {
        "customer": person,
        "wanted": (order.order_id, item.name),
        "openings": _fill(_RETURN[shop.family], order, described(draw, item, items)),
        "reads": (("order", order.order_id), ("article", article.article_id)),
        "writes": (("refund", order.order_id, item.product_id, str(shop.fees[product.type])),),
        "wishes": (Slot("order", order.order_id), Slot("item", f"the {item.name}"), Slot("problem", "I do not need it")),
        "cites": (article.article_id,),
        "orders": (order,),
        "items": tuple(items),
        "expert_turns": 3 + searches_for(shop, [article.article_id]),
        "subject": (item.name.lower(),),
        "details": {"item": item, "fee": shop.fees[product.type], "grounds": {item.product_id: article}},
    }


def bought(draw: Draw, shop: Edition, person: Customer, count: int) -> tuple[Order, list[Product]]:
    """An order and what is in it: different products, some of the same type."""
    names = INVENTORIES[shop.family]
    order = Order(f"O{draw.integer(100, 999)}", person.customer_id, draw.pick(names.payments), draw.pick(names.methods))
    return order, draw.sample(shop.products, count)


def line(order: Order, product: Product, state: str, carrier: str, *, age: int = 0, due: int = 0) -> Item:
    """A line of an order; only delivered items have an age, only the others are due."""
    delivered = state == "delivered"
    return Item(
        order.order_id, product.product_id, product.name, product.price, state, carrier, age * delivered, due * (not delivered)
    )


def described(draw: Draw, item: Item, items: Sequence[Item], *, by_price: bool = False) -> str:
    """How a customer points to one of several items: by name, by type where that is clear, or by price."""
    words = [f"the {item.name}", f"the {item.name}"]
    type_ = item.name.split()[-1]
    if sum(other.name.split()[-1] == type_ for other in items) == 1:
        words.append(f"the {type_}")
    if by_price:
        words.append(f"the item for EUR {item.price}")
    return draw.pick(words)


def _fill(templates: tuple[str, ...], order: Order, item: str) -> tuple[str, ...]:
    filled = (template.format(item=item, order=order.order_id) for template in templates)
    return tuple(text[0].upper() + text[1:] for text in filled)
