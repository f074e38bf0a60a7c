"""The shop's SQLite database: one in memory per episode, copied from the template of an edition."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Sequence

from slmagent.scenarios.customer_service.knowledge import Article, Edition, Product
from slmagent.scenarios.customer_service.records import Customer, Item, Order
from slmagent.scenarios.sqlite import EpisodeDatabase, Template, fields_of

_SCHEMA = """
CREATE TABLE products (product_id TEXT PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL, price INTEGER NOT NULL);
CREATE VIRTUAL TABLE articles USING fts5 (title, text, article_id UNINDEXED, tokenize = 'porter unicode61');
CREATE TABLE customers (customer_id TEXT PRIMARY KEY, name TEXT NOT NULL, tier TEXT NOT NULL);
CREATE TABLE orders (order_id TEXT PRIMARY KEY, customer_id TEXT NOT NULL, payment TEXT NOT NULL, method TEXT NOT NULL);
CREATE TABLE items (order_id TEXT NOT NULL, product_id TEXT NOT NULL, name TEXT NOT NULL, price INTEGER NOT NULL,
    state TEXT NOT NULL, carrier TEXT NOT NULL, age INTEGER NOT NULL, due INTEGER NOT NULL, PRIMARY KEY (order_id, product_id));
CREATE TABLE actions (number INTEGER PRIMARY KEY, kind TEXT NOT NULL, order_id TEXT NOT NULL, product_id TEXT NOT NULL,
    detail TEXT NOT NULL);
"""
HITS = 3
"""Articles that a search returns."""
_STOP_WORDS = frozenset(
    (
        *("a", "about", "all", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can"),
        *("could", "customer", "do", "does", "for", "from", "get", "has", "have", "how", "i", "if", "in", "is"),
        *("it", "its", "me", "my", "no", "not", "of", "on", "or", "our", "please", "so", "tell", "than"),
        *("that", "the", "their", "them", "then", "there", "they", "this", "to", "us", "want", "was", "we", "what"),
        *("when", "which", "who", "will", "with", "would", "you", "your"),
    )
)  # fmt: skip
_TOKEN = re.compile(r"[a-z0-9]+")

Write = tuple[str, str, str, str]
"""One change in canonical form: (kind, order, product, detail); kinds are `refund` (detail: the fee), `replace`, `ticket`
(detail: its topic) and `escalate`."""


@functools.cache
def _template(edition: Edition) -> Template:
    rows = {
        "products": [(product.product_id, product.name, product.type, product.price) for product in edition.products],
        "articles": [(article.title, article.text, article.article_id) for article in edition.articles],
    }
    optimize = "INSERT INTO articles (articles) VALUES ('optimize')"
    return Template(_SCHEMA, rows, finish=optimize, own=("customers", "orders", "items", "actions"))


class ShopDatabase(EpisodeDatabase):
    """The state behind the tools of one episode.

    Args:
        edition: Products and articles.
        customer: Who is in the chat.
        orders: The customer's orders.
        items: Lines of these orders.
    """

    def __init__(self, edition: Edition, customer: Customer, orders: Sequence[Order], items: Sequence[Item]) -> None:
        self.customer_id = customer.customer_id
        self._edition = edition
        self._actions: tuple[Write, ...] | None = None
        records = {"customers": (customer,), "orders": orders, "items": items}
        super().__init__({table: [fields_of(record) for record in some] for table, some in records.items()})

    @property
    def _template(self) -> Template:
        return _template(self._edition)

    # ---- look-ups -----------------------------------------------------------------------------------------------

    def search(self, query: str) -> list[Article]:
        """The articles that fit a query best, best first; any string is a legal query."""
        words = [word for word in _TOKEN.findall(query.lower()[:400]) if word not in _STOP_WORDS]
        if not words:
            return []
        match = " OR ".join(f'"{word}"' for word in dict.fromkeys(words))
        sql = f"SELECT article_id FROM articles WHERE articles MATCH ? ORDER BY bm25(articles, 3.0, 1.0), rowid LIMIT {HITS}"
        return [self._edition.by_id[article_id] for (article_id,) in self._connection.execute(sql, (match,))]

    def customer(self) -> Customer:
        """Who is in the chat."""
        query = "SELECT * FROM customers WHERE customer_id = ?"
        return Customer(*self._connection.execute(query, (self.customer_id,)).fetchone())

    def orders(self) -> list[Order]:
        """The customer's orders."""
        query = "SELECT * FROM orders WHERE customer_id = ? ORDER BY rowid"
        return [Order(*row) for row in self._connection.execute(query, (self.customer_id,))]

    def order(self, order_id: str) -> Order | None:
        """The customer's order with an id."""
        query = "SELECT * FROM orders WHERE customer_id = ? AND order_id = ?"
        row = self._connection.execute(query, (self.customer_id, order_id)).fetchone()
        return None if row is None else Order(*row)

    def items(self, order_id: str) -> list[Item]:
        """Lines of an order, in the order in which the system holds them."""
        query = "SELECT * FROM items WHERE order_id = ? ORDER BY rowid"
        return [Item(*row) for row in self._connection.execute(query, (order_id,))]

    def item(self, order_id: str, product_id: str) -> Item | None:
        """One line of an order."""
        query = "SELECT * FROM items WHERE order_id = ? AND product_id = ?"
        row = self._connection.execute(query, (order_id, product_id)).fetchone()
        return None if row is None else Item(*row)

    def product(self, product_id: str) -> Product | None:
        """The product with an id."""
        row = self._connection.execute("SELECT * FROM products WHERE product_id = ?", (product_id,)).fetchone()
        return None if row is None else Product(*row)

    # ---- writes -------------------------------------------------------------------------------------------------

    def act(self, kind: str, order_id: str, product_id: str, detail: str = "") -> None:
        """Enters a refund, replacement, ticket or escalation."""
        self._actions = None
        self._connection.execute(
            "INSERT INTO actions (kind, order_id, product_id, detail) VALUES (?, ?, ?, ?)", (kind, order_id, product_id, detail)
        )

    def actions(self) -> list[Write]:
        """What has been entered, oldest first."""
        if self._actions is None:  # asked for many times a step, so read once after each change
            query = "SELECT kind, order_id, product_id, detail FROM actions ORDER BY number"
            self._actions = tuple(self._connection.execute(query))
        return list(self._actions)

    def writes(self) -> Counter[Write]:
        """What has changed since the start, in any order."""
        return Counter(self.actions())
