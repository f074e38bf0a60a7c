"""Level 3: a vague complaint; order, item and problem are told on asking, and an article says what to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slmagent.scenarios.customer_service.database import Write
from slmagent.scenarios.customer_service.house_rules import PROBLEMS
from slmagent.scenarios.customer_service.inventory import INVENTORIES
from slmagent.scenarios.customer_service.knowledge import Edition
from slmagent.scenarios.customer_service.orders import bought, line
from slmagent.scenarios.customer_service.questions import customer_of
from slmagent.scenarios.customer_service.records import Item
from slmagent.scenarios.customer_service.tasks import Read, searches_for
from slmagent.scenarios.draw import Draw
from slmagent.scenarios.splits import Family
from slmagent.scenarios.users import Slot

KINDS = PROBLEMS

_OPENINGS: Mapping[Family, tuple[str, ...]] = {
    "home": (
        "Something is wrong with what I bought from you.",
        "I have a problem with one of my things.",
        "I am not happy with my last purchase.",
        "There is an issue with something you sent me.",
    ),
    "ood": (
        "This is not how it should be with your goods.",
        "My latest buy gives me a headache.",
        "A thing of yours is no good.",
    ),
}
STORIES: Mapping[Family, Mapping[str, tuple[str, ...]]] = {
    "home": {
        "broken": ("it arrived broken", "it was broken when it came"),
        "wrong": ("it is the wrong item", "you sent the wrong item"),
        "incomplete": ("some parts are missing", "parts of it are missing"),
        "lost": ("the parcel is lost", "the parcel got lost on the way"),
        "dangerous": ("it smokes when I use it", "it burns and smells dangerous"),
    },
    "ood": {
        "broken": ("there is damage on it since arrival",),
        "wrong": ("there was a mix-up of items",),
        "incomplete": ("the set is incomplete",),
        "lost": ("the parcel vanished",),
        "dangerous": ("it is a hazard",),
    },
}
"""What the customer says is wrong, by problem."""


def vague_complaint(draw: Draw, shop: Edition, kind: str) -> dict[str, Any]:
    """A complaint whose order, item and problem have to be asked for. Some customers do not know the number of their order."""
    person = customer_of(draw, shop)
    order, products = bought(draw, shop, person, draw.integer(2, 4))
    knows_order = draw.chance(0.7)
    item = problem_item(draw, shop, line(order, products[0], "delivered", "", age=draw.integer(1, 20)), kind)
    items = [item, *(line(order, product, "delivered", "", age=item.age or 9) for product in products[1:])]
    draw.shuffle(items)
    other, other_products = bought(draw, shop, person, 2)
    while other.order_id == order.order_id or {product.name for product in other_products} & {row.name for row in items}:
        other, other_products = bought(draw, shop, person, 2)
    orders = [order, other]
    draw.shuffle(orders)
    article = shop.by_key[f"problem/{kind}"]
    story = draw.pick(STORIES[shop.family][kind])
    wishes = [Slot("item", f"the {item.name}", hidden=True), Slot("problem", story, hidden=True)]
    reads: list[Read] = [("order", order.order_id), ("article", article.article_id)]
    if knows_order:
        wishes.insert(0, Slot("order", order.order_id, hidden=True))
    else:
        reads.insert(0, ("customer", ""))
    return {
        "customer": person,
        "wanted": (order.order_id, item.name),
        "openings": _OPENINGS[shop.family],
        "reads": tuple(reads),
        "writes": (remedy_write(shop.remedies[kind], item),),
        "wishes": tuple(wishes),
        "cites": (article.article_id,),
        "orders": tuple(orders),
        "items": (*items, *(line(other, product, "delivered", "", age=45) for product in other_products)),
        "expert_turns": 4 + (not knows_order) + searches_for(shop, [article.article_id]),
        "subject": (item.name.lower(),),
        "details": {
            "item": item,
            "hidden": tuple(wish.name for wish in wishes),
            "remedies": {item.product_id: shop.remedies[kind]},
            "grounds": {item.product_id: article},
        },
    }


def problem_item(draw: Draw, shop: Edition, item: Item, problem: str) -> Item:
    """The item as the records show it: a lost one is still on its way."""
    if problem != "lost":
        return item
    carrier = draw.pick(INVENTORIES[shop.family].carriers)
    return Item(item.order_id, item.product_id, item.name, item.price, "delayed", carrier, 0, draw.integer(3, 9))


def remedy_write(remedy: str, item: Item, fee: int = 0) -> Write:
    """The change of the database that a remedy is."""
    match remedy:
        case "refund":
            return ("refund", item.order_id, item.product_id, str(fee))
        case "replace" | "escalate":
            return (remedy, item.order_id, item.product_id, "")
    return ("ticket", item.order_id, item.product_id, remedy)
