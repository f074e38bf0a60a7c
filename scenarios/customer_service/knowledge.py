"""The shop's knowledge base: figures are drawn for an edition, and articles are written from the figures.

Nothing is written twice, so an article can contradict neither the database nor another article.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from slmagent.scenarios.customer_service.house_rules import ACCOUNT, ARTICLES, PRIVACY, REMEDY_TEXTS
from slmagent.scenarios.customer_service.inventory import INVENTORIES, TIERS
from slmagent.scenarios.draw import Draw
from slmagent.scenarios.quantities import Quantity
from slmagent.scenarios.splits import Family

EDITIONS: Mapping[str, tuple[int, ...]] = {
    "train": tuple(range(8)),
    "val": (8, 9),
    "test": (10, 11, 12, 13),
    "ood": (0, 1, 2, 3),
}
"""Editions of the shop by split: same products, other figures, so that figures have to be looked up."""
_CHOICES = {
    "broken": ("replace", "refund"),
    "wrong": ("replace", "refund"),
    "incomplete": ("parts", "replace"),
    "lost": ("carrier", "replace"),
    "dangerous": ("escalate", "refund"),
}


@dataclass(frozen=True, slots=True)
class Product:
    """Something on sale. `name` is what people say, `price` whole euros."""

    product_id: str
    name: str
    type: str
    price: int


@dataclass(frozen=True, slots=True)
class Article:
    """One article of the knowledge base."""

    article_id: str
    key: str
    """What it is about: `returns/kettle`, `warranty/lamp`, `account/password`, `problem/broken`, ..."""
    title: str
    text: str
    figures: tuple[Quantity, ...] = ()
    """All numbers with a unit that the text tells."""

    def line(self) -> str:
        """The article as an agent reads it, identifier last."""
        return f"{self.title}: {self.text} {self.article_id}"


@dataclass(frozen=True, slots=True)
class Edition:
    """The shop of one edition."""

    family: Family
    number: int
    products: tuple[Product, ...]
    articles: tuple[Article, ...]
    by_key: Mapping[str, Article]
    by_id: Mapping[str, Article]
    windows: Mapping[str, int]
    """Days for a return, by product type."""
    fees: Mapping[str, int]
    """Euros for a return, by product type."""
    warranties: Mapping[str, int]
    """Months, by product type."""
    remedies: Mapping[str, str]
    """What is done about a problem."""
    extra_days: Mapping[str, int]
    """Days that a tier may return longer; 0 for the lowest."""

    def __hash__(self) -> int:
        return hash((self.family, self.number))

    def __deepcopy__(self, memo: dict[int, Any]) -> Edition:
        return self  # immutable


@functools.cache
def edition(family: Family, number: int) -> Edition:
    """An edition; equal numbers give equal shops in every process."""
    draw = Draw(f"customer_service|{family}|{number}")
    inventory = INVENTORIES[family]
    types = {kind.name: kind for kind in inventory.types}
    windows = {name: draw.pick((14, 20, 21, 28, 30, 35, 40, 45)) for name in types}
    fees = {name: draw.pick((0, 2, 3, 4, 6, 7, 8, 9)) for name in types}
    warranties = {name: draw.pick((6, 9, 12, 18, 24, 36)) for name in types}
    remedies = {problem: draw.pick(choices) for problem, choices in _CHOICES.items()}
    first, second = draw.integer(5, 9), draw.integer(10, 15)
    extra_days: dict[str, int] = dict(zip(TIERS, (0, first, second), strict=True))
    products = _products(draw, family)
    writer = _Writer(family, draw)
    for name, kind in types.items():
        writer.write("returns", f"returns/{name}", plural=kind.plural, days=windows[name], fee=fees[name])
        writer.write("warranty", f"warranty/{name}", plural=kind.plural, months=warranties[name])
    for product in products:
        kind = types[product.type]
        value = draw.integer(kind.low, kind.high)
        writer.write(
            "product",
            f"product/{product.name}",
            figures=((value, kind.unit),),
            model=product.name.split()[0],
            type=product.type,
            detail=kind.detail.format(name=product.name, value=value),
            price=product.price,
        )
    for method in inventory.methods:
        writer.write("shipping", f"shipping/{method}", method=method, days=draw.integer(2, 12), price=draw.integer(1, 19))
    for payment in inventory.payments:
        writer.write("payment", f"payment/{payment}", payment=payment, days=draw.integer(2, 14))
    for group, rules in (("account", ACCOUNT[family]), ("privacy", PRIVACY[family])):
        for rule in rules:
            value = draw.integer(rule.low, rule.high)
            writer.add(f"{group}/{rule.key}", rule.title, rule.sentence.format(value=value), ((value, rule.unit),))
    for problem, remedy in remedies.items():
        writer.write(problem, f"problem/{problem}", remedy=REMEDY_TEXTS[family][remedy])
    writer.write("late", "late")
    for tier, days in extra_days.items():
        if days:
            writer.write("tier", f"tier/{tier}", tier=tier, days=days)
    articles = tuple(writer.articles)
    by_key = {article.key: article for article in articles}
    by_id = {article.article_id: article for article in articles}
    return Edition(family, number, products, articles, by_key, by_id, windows, fees, warranties, remedies, extra_days)


def _products(draw: Draw, family: Family) -> tuple[Product, ...]:
    """Each model name serves one product, in another type in every edition; names and prices are all different."""
    inventory = INVENTORIES[family]
    models = draw.sample(inventory.models, len(inventory.models))
    numbers = draw.sample(range(10, 100), len(models))
    prices = draw.sample(range(19, 200), len(models))
    types = [kind.name for kind in inventory.types]
    return tuple(
        Product(f"P{number}", f"{model} {types[place % len(types)]}", types[place % len(types)], price)
        for place, (model, number, price) in enumerate(zip(models, numbers, prices, strict=True))
    )


class _Writer:
    """Writes articles under ids in random order, so that an id tells nothing."""

    def __init__(self, family: Family, draw: Draw) -> None:
        self.family: Family = family
        self.articles: list[Article] = []
        self._numbers = draw.sample(range(10, 100), 90)

    def write(self, kind: str, key: str, *, figures: tuple[Quantity, ...] = (), **values: str | int) -> None:
        """Adds an article of a kind; numbers among the values are its figures."""
        title, text = ARTICLES[self.family][kind]
        names = {name[0].upper() + name[1:]: _capital(str(value)) for name, value in values.items()}
        units = {"days": "day", "fee": "eur", "months": "month", "price": "eur"}
        found = tuple((int(values[name]), unit) for name, unit in units.items() if name in values)
        self.add(key, title.format(**values, **names), text.format(**values, **names), (*figures, *found))

    def add(self, key: str, title: str, text: str, figures: tuple[Quantity, ...]) -> None:
        """Adds an article."""
        self.articles.append(Article(f"KB{self._numbers.pop()}", key, title, text, figures))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
