"""Level 0: one factual question that one article answers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from slmagent.scenarios.customer_service.house_rules import ACCOUNT, PRIVACY
from slmagent.scenarios.customer_service.inventory import INVENTORIES
from slmagent.scenarios.customer_service.knowledge import Article, Edition
from slmagent.scenarios.customer_service.records import Customer
from slmagent.scenarios.customer_service.tasks import Answer
from slmagent.scenarios.draw import Draw
from slmagent.scenarios.splits import Family

KINDS = (
    "return_time", "account", "warranty", "product", "shipping_time",
    "return_fee", "privacy", "shipping_price", "price", "refund_time",
)  # fmt: skip

_QUESTIONS: Mapping[Family, Mapping[str, tuple[str, ...]]] = {
    "home": {
        "return_time": ("How many days do I have for returning a {type}?", "How long can I return {plural}, in days?"),
        "return_fee": ("What is the fee for returning a {type}?", "Returning {plural}: is there a fee, and how much?"),
        "warranty": ("How many months of warranty do {plural} have?", "How long is the warranty on a {type}?"),
        "shipping_time": ("How many days does {method} shipping take?", "How long does {method} shipping take?"),
        "shipping_price": ("How much is {method} shipping?", "What does {method} shipping cost?"),
        "refund_time": (
            "I paid by {payment}. After how many days do I get refunds?",
            "How many days do refunds by {payment} take?",
        ),
        "price": ("What is the price of the {name}?", "How much is the {name}?"),
    },
    "ood": {
        "return_time": (
            "Sending back a {type}: within how many days?",
            "My {type} goes back. Days I have for sending it back?",
        ),
        "return_fee": ("Sending back {plural} costs me what?", "The charge for sending back a {type}?"),
        "warranty": ("The guarantee for {plural} runs how many months?", "Guarantee for a {type}, in months?"),
        "shipping_time": ("{method} delivery: how many days?", "Days needed for {method} delivery?"),
        "shipping_price": ("{method} delivery: the price?", "The cost of {method} delivery?"),
        "refund_time": (
            "Paid with {payment}: days until it is returned?",
            "I paid with {payment}. In how many days is it back?",
        ),
        "price": ("About the {name}: its price?", "The {name} sells for how much?"),
    },
}


def customer_of(draw: Draw, shop: Edition, tier: str = "blue") -> Customer:
    """Somebody to work for."""
    names = INVENTORIES[shop.family]
    return Customer(f"C{draw.integer(100, 999)}", f"{draw.pick(names.first_names)} {draw.pick(names.last_names)}", tier)


def question(draw: Draw, shop: Edition, kind: str) -> dict[str, Any]:
    """One question."""
    article, unit, openings, subject = _ask(draw, shop, kind)
    value = next(number for number, name in article.figures if name == unit)
    return {
        "customer": customer_of(draw, shop),
        "wanted": (article.key,),
        "openings": openings,
        "reads": (("article", article.article_id),),
        "writes": (),
        "cites": (article.article_id,),
        "answer": Answer(unit, str(value), frozenset(article.figures)),
        "expert_turns": 2,
        "subject": subject,
        "details": {"article": article},
    }


def _ask(draw: Draw, shop: Edition, kind: str) -> tuple[Article, str, tuple[str, ...], tuple[str, ...]]:
    """The article that answers, the unit that is asked for, the openings, and the words that name the subject."""
    names = INVENTORIES[shop.family]
    if kind in ("account", "privacy"):
        rule = draw.pick((ACCOUNT if kind == "account" else PRIVACY)[shop.family])
        subject = re.sub(r"(?<=ch)es$|s$", "", rule.title.split()[-1].lower())
        return shop.by_key[f"{kind}/{rule.key}"], rule.unit, rule.questions, (subject,)
    if kind in ("product", "price"):
        product = draw.pick(shop.products)
        type_ = next(entry for entry in names.types if entry.name == product.type)
        asked = (type_.question,) if kind == "product" else _QUESTIONS[shop.family][kind]
        article = shop.by_key[f"product/{product.name}"]
        openings = tuple(text.format(name=product.name) for text in asked)
        return article, type_.unit if kind == "product" else "eur", openings, (product.name.split()[0].lower(),)
    if kind in ("return_time", "return_fee", "warranty"):
        type_ = draw.pick(names.types)
        values = {"type": type_.name, "plural": type_.plural}
        key, unit = {"return_time": ("returns", "day"), "return_fee": ("returns", "eur"), "warranty": ("warranty", "month")}[
            kind
        ]
        return shop.by_key[f"{key}/{type_.name}"], unit, _fill(shop, kind, values), (type_.name,)
    if kind == "refund_time":
        payment = draw.pick(names.payments)
        return shop.by_key[f"payment/{payment}"], "day", _fill(shop, kind, {"payment": payment}), tuple(payment.split())
    method = draw.pick(names.methods)
    unit = "day" if kind == "shipping_time" else "eur"
    return shop.by_key[f"shipping/{method}"], unit, _fill(shop, kind, {"method": method}), (method,)


def _fill(shop: Edition, kind: str, values: Mapping[str, str]) -> tuple[str, ...]:
    filled = (text.format(**values) for text in _QUESTIONS[shop.family][kind])
    return tuple(text[0].upper() + text[1:] for text in filled)
