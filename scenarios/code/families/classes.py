"""Families of classes, whose methods build on each other."""

from __future__ import annotations

from slmagent.scenarios.code.families.family import Family
from slmagent.scenarios.code.families.shared import EDGES, ENDS, class_of, one_of

CLASS_FAMILIES: tuple[Family, ...] = (
    class_of(
        "stock",
        tuple(
            {"C": c, "k": k, "v": v}
            for c, k, v in (
                ("Stock", "item", "amount"),
                ("Pantry", "food", "grams"),
                ("Wallet", "coin", "number"),
                ("Library", "title", "copies"),
            )
        ),
        '''
        class <C>:
            """Keeps the <v> of each <k>."""

            def __init__(self):
                self.entries = {}

            def <v>(self, <k>):
                """Return the <v> of a <k>, 0 if there is none."""
                return self.entries.get(<k>, 0)

            def add(self, <k>, <v>):
                """Add to the <v> of a <k>."""
                self.entries[<k>] = self.<v>(<k>) + <v>

            def take(self, <k>, <v>):
                """Take from the <v> of a <k><rule!>; return what is left."""
                left = self.<v>(<k>) - <v>
                self.entries[<k>] = <rule>
                return self.<v>(<k>)

            def select(self, limit):
                """Return, sorted, each <k> whose <v> is <edge!> the limit."""
                return sorted(<k> for <k> in self.entries if self.<v>(<k>) <edge> limit)

            def summary(self):
                """Return the <how!>."""
                return <how>
        ''',
        (
            's = <C>()\ns.add("a", 5)\ns.add("b", 2)\ns.add("a", 1)\n'
            '[s.take("a", 4), s.take("b", 5), s.take("c", 1), s.<v>("b")]',
            's = <C>()\ns.add("p", 3)\ns.add("q", 8)\ns.add("r", 5)\n[s.select(5), s.select(0), s.select(8)]',
            's = <C>()\ns.add("x", 4)\ns.add("y", 9)\ns.add("x", 1)\ns.summary()',
            's = <C>()\ns.add("m", 7)\ns.add("k", 7)\ns.add("z", 0)\n[s.summary(), s.take("m", 7)]',
        ),
        rule=one_of(
            ("max(left, 0)", ", but never below 0"),
            ("left", ", debts are allowed"),
            ("left if left >= 0 else self.<v>(<k>)", ", nothing if there is not enough"),
        ),
        edge=EDGES,
        how=one_of(
            ("sum(self.entries.values())", "sum over all"),
            ("max(self.entries, key=self.<v>)", "<k> of which there is most"),
            ("len(self.entries)", "number of different ones"),
            ("sorted(self.entries)", "sorted list of what there is"),
            ("min(self.entries.values())", "smallest <v>"),
        ),
    ),
    class_of(
        "account",
        tuple(
            {"C": c, "b": b} for c, b in (("Account", "balance"), ("Tank", "level"), ("Battery", "charge"), ("Budget", "rest"))
        ),
        '''
        class <C>:
            """Has a <b> between 0 and a top."""

            def __init__(self, top):
                self.top = top
                self.<b> = 0
                self.history = []

            def _note(self, change):
                """Remember a change."""
                self.history.append(change)

            def room(self):
                """Return how much fits in still."""
                return self.top - self.<b>

            def put(self, amount):
                """Put an amount in, <much!>, note it as a change and return it."""
                put = <much>
                self.<b> += put
                self._note(put)
                return put

            def draw(self, amount):
                """Take an amount out, <less!>, note it as a negative change and return it."""
                drawn = <less>
                self.<b> -= drawn
                self._note(-drawn)
                return drawn

            def report(self):
                """Return <what!>."""
                return <what>
        ''',
        (
            "a = <C>(10)\n[a.put(4), a.put(9), a.draw(3), a.draw(50), a.<b>, a.history]",
            "a = <C>(20)\na.put(15)\n[a.room(), a.put(7), a.<b>, a.report()]",
            "a = <C>(8)\na.put(8)\na.draw(5)\na.draw(4)\n[a.report(), a.<b>, a.history]",
            "a = <C>(5)\n[a.put(0), a.put(5), a.draw(1), a.report()]",
        ),
        much=one_of(
            ("min(amount, self.room())", "at most what fits in"),
            ("amount if amount <= self.room() else 0", "nothing if it does not fit in whole"),
            ("min(amount, self.top // 2)", "at most half the top"),
        ),
        less=one_of(
            ("min(amount, self.<b>)", "at most what is there"),
            ("amount if amount <= self.<b> else 0", "nothing if there is less"),
            ("max(min(amount, self.<b> - 1), 0)", "leaving at least 1 where there is any"),
        ),
        what=one_of(
            ("len(self.history)", "the number of changes"),
            ("sum(self.history)", "the sum of the changes"),
            ("self.history[-1]", "the last change"),
            ("max(self.history)", "the largest change"),
            ("[c for c in self.history if c < 0]", "the negative changes"),
            ("self.<b> / self.top", "the share of the top that is used"),
        ),
    ),
    class_of(
        "board",
        tuple({"C": c, "x": x} for c, x in (("Scores", "player"), ("Votes", "party"), ("Hits", "page"), ("Tips", "waiter"))),
        '''
        class <C>:
            """Collects points of each <x>."""

            def __init__(self):
                self.points = {}

            def give(self, <x>, points):
                """Note points of a <x>."""
                self.points.setdefault(<x>, []).append(points)

            def value(self, <x>):
                """Return the <how!> of the points of a <x>, 0 without any."""
                given = self.points.get(<x>, [])
                return <how> if given else 0

            def best(self):
                """Return the <x> with the <end!> value."""
                return <end>(self.points, key=self.value)

            def above(self, limit):
                """Return, sorted, each <x> whose value is <edge!> the limit."""
                return sorted(<x> for <x> in self.points if self.value(<x>) <edge> limit)
        ''',
        (
            'b = <C>()\nb.give("a", 3)\nb.give("b", 9)\nb.give("a", 8)\nb.give("c", 1)\n'
            '[b.value("a"), b.value("b"), b.value("z"), b.best()]',
            'b = <C>()\nb.give("p", 5)\nb.give("q", 2)\nb.give("q", 2)\nb.give("r", 4)\n'
            "[b.above(4), b.above(5), b.above(2), b.best()]",
            'b = <C>()\nb.give("m", 7)\nb.give("m", -2)\nb.give("k", 5)\n[b.value("m"), b.above(5), b.best()]',
            'b = <C>()\nb.give("u", 2)\nb.give("u", 11)\nb.give("v", 0)\nb.give("v", 5)\nb.give("v", 4)\n'
            "[[b.above(limit) for limit in (1, 2, 3, 4, 5, 6, 6.5, 9, 11)], b.best()]",
        ),
        how=one_of(
            ("sum(given)", "sum"),
            ("max(given)", "largest"),
            ("sum(given) / len(given)", "mean"),
            ("given[-1]", "last"),
            ("len(given)", "number"),
            ("given[0]", "first"),
            ("max(given) - min(given)", "spread"),
        ),
        end=ENDS,
        edge=EDGES,
    ),
    class_of(
        "queue",
        tuple({"C": c, "x": x} for c, x in (("Queue", "job"), ("Desk", "guest"), ("Printer", "page"), ("Clinic", "patient"))),
        '''
        class <C>:
            """A line of waiting entries, each a <x> with its rank."""

            def __init__(self, size):
                self.size = size
                self.waiting = []

            def full(self):
                """Tell whether no <x> fits in any more."""
                return len(self.waiting) >= self.size

            def enter(self, <x>, rank):
                """Add a <x>; <rule!>. Return whether the <x> is in."""
                if self.full():
                    <rule>
                self.waiting.append((rank, <x>))
                return True

            def next(self):
                """Remove the <x> <which!> and return its name, None if nobody waits."""
                if not self.waiting:
                    return None
                entry = <which>
                self.waiting.remove(entry)
                return entry[1]

            def names(self):
                """Return the name of each waiting <x>, <order!>."""
                return [name for _, name in <order>]
        ''',
        (
            'q = <C>(2)\n[q.enter("a", 3), q.enter("b", 1), q.enter("c", 9), q.names()]',
            'q = <C>(5)\nq.enter("x", 2)\nq.enter("y", 7)\nq.enter("w", 4)\n'
            "[q.next(), q.names(), q.next(), q.next(), q.next()]",
            'q = <C>(3)\nq.enter("k", 5)\nq.enter("m", 8)\nq.enter("d", 6)\n[q.enter("z", 7), q.next(), q.names()]',
            'q = <C>(6)\nq.enter("b", 4)\nq.enter("a", 9)\nq.enter("c", 1)\nq.enter("e", 6)\n[q.names(), q.next(), q.names()]',
        ),
        rule=one_of(
            ("return False", "refuse when full"),
            ("self.waiting.pop(0)", "when full, the one that came first has to go"),
            ("self.waiting.pop()", "when full, the one that came last has to go"),
        ),
        which=one_of(
            ("self.waiting[0]", "that came first"),
            ("self.waiting[-1]", "that came last"),
            ("max(self.waiting)", "of the highest rank"),
            ("min(self.waiting)", "of the lowest rank"),
        ),
        order=one_of(
            ("self.waiting", "as they came"),
            ("sorted(self.waiting)", "the lowest rank first"),
            ("sorted(self.waiting, reverse=True)", "the highest rank first"),
            ("self.waiting[::-1]", "the last that came first"),
        ),
    ),
    class_of(
        "trip",
        tuple({"C": c, "p": p} for c, p in (("Route", "stop"), ("Tour", "town"), ("Cruise", "port"), ("Hike", "hut"))),
        '''
        class <C>:
            """A way with a distance to each <p> from the one before."""

            def __init__(self, legs):
                self.legs = legs

            def distance(self, first, last):
                """Return the way from <p> number first to <p> number last, counted from 0."""
                return sum(self.legs[first:last])

            def total(self):
                """Return the whole way."""
                return self.distance(0, len(self.legs))

            def time(self, speed):
                """Return the time for the whole way at a speed, <round!>."""
                return <round>

            def pick(self):
                """Return the number of the <end!> leg, counted from <base!>."""
                return self.legs.index(<end>(self.legs)) + <base>

            def long_legs(self, limit):
                """Return the legs that are <edge!> the limit."""
                return [leg for leg in self.legs if leg <edge> limit]
        ''',
        (
            "t = <C>([4, 9, 2, 7])\n[t.time(4), t.pick(), t.long_legs(4), t.long_legs(7)]",
            "t = <C>([12, 5, 5])\n[t.time(10), t.pick(), t.long_legs(5)]",
            "t = <C>([3])\n[t.time(2), t.pick(), t.long_legs(9)]",
            "t = <C>([6, 1, 8, 1, 6])\n[t.time(7), t.pick(), t.long_legs(6), t.distance(1, 3)]",
        ),
        round=one_of(
            ("self.total() / speed", "as a fraction"),
            ("self.total() // speed", "in full units"),
            ("round(self.total() / speed, 1)", "to one decimal"),
            ("self.total() // speed + (self.total() % speed > 0)", "rounded up"),
            ("self.total() / speed + len(self.legs) - 1", "with a pause of 1 at each <p> on the way"),
        ),
        end=one_of(("max", "longest"), ("min", "shortest")),
        base=one_of(("0", "0"), ("1", "1")),
        edge=EDGES,
    ),
    class_of(
        "cart",
        tuple(
            {"C": c, "x": x} for c, x in (("Cart", "product"), ("Order", "dish"), ("Basket", "fruit"), ("Invoice", "service"))
        ),
        '''
        class <C>:
            """Lines with a <x>, its price and its quantity."""

            def __init__(self):
                self.lines = []

            def add(self, <x>, price, quantity=1):
                """Add a line."""
                self.lines.append((<x>, price, quantity))

            def subtotal(self):
                """Return the sum of price times quantity."""
                return sum(price * quantity for _, price, quantity in self.lines)

            def discount(self):
                """Return <deal!>."""
                return <deal>

            def total(self):
                """Return the subtotal less the discount<ship!>."""
                return self.subtotal() - self.discount()<ship>

            def dearest(self):
                """Return the <x> with the <what!>."""
                return max(self.lines, key=lambda line: <what>)[0]
        ''',
        (
            'c = <C>()\nc.add("a", 20, 3)\nc.add("b", 50)\n[c.discount(), c.total(), c.dearest()]',
            'c = <C>()\nc.add("p", 5, 4)\nc.add("q", 8, 2)\nc.add("r", 30)\n[c.discount(), c.total(), c.dearest()]',
            'c = <C>()\nc.add("x", 120)\nc.add("y", 1, 130)\n[c.discount(), c.total(), c.dearest()]',
            'c = <C>()\nc.add("k", 2)\nc.add("m", 9, 5)\nc.add("n", 4, 5)\nc.add("o", 6, 7)\n'
            "[c.discount(), c.total(), c.dearest()]",
        ),
        deal=one_of(
            ("self.subtotal() // 10", "a tenth of the subtotal, in full units"),
            (
                "self.subtotal() // 5 if self.subtotal() >= 100 else 0",
                "a fifth of a subtotal of 100 or more, in full units, else 0",
            ),
            ("5 * len(self.lines)", "5 for each line"),
            ("min(line[1] for line in self.lines)", "the lowest price of a line"),
            ("10 if self.subtotal() > 50 else 0", "10 for a subtotal above 50, else 0"),
        ),
        ship=one_of(("", ""), (" + 4", ", plus 4 for the way"), (" + 2 * len(self.lines)", ", plus 2 a line for packing")),
        what=one_of(
            ("line[1]", "highest price"),
            ("line[1] * line[2]", "highest price times quantity"),
            ("line[2]", "highest quantity"),
            ("-line[1]", "lowest price"),
        ),
    ),
)
