"""Families of classes, whose methods build on each other."""

from __future__ import annotations

from textwrap import dedent

from slmagent.scenarios.code.families.family import Choice, Family, Naming
from slmagent.scenarios.code.families.shared import one_of

_EDGE = one_of((">", "above"), (">=", "at or above"), ("<", "below"), ("<=", "at or below"))
_END = one_of(("max", "highest"), ("min", "lowest"))


def _class(name: str, namings: tuple[Naming, ...], source: str, calls: tuple[str, ...], **choices: Choice) -> Family:
    return Family(name, dedent(source).strip("\n"), namings, calls, choices, kind="class")


CLASS_FAMILIES: tuple[Family, ...] = (
    _class(
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
        edge=_EDGE,
        how=one_of(
            ("sum(self.entries.values())", "sum over all"),
            ("max(self.entries, key=self.<v>)", "<k> of which there is most"),
            ("len(self.entries)", "number of different ones"),
            ("sorted(self.entries)", "sorted list of what there is"),
            ("min(self.entries.values())", "smallest <v>"),
        ),
    ),
    _class(
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
    _class(
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
        end=_END,
        edge=_EDGE,
    ),
    _class(
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
    _class(
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
        edge=_EDGE,
    ),
    _class(
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

CLASS_FAMILIES_OOD: tuple[Family, ...] = (
    _class(
        "orchard",
        tuple(
            {"C": c, "t": t} for c, t in (("Orchard", "tree"), ("Vineyard", "vine"), ("Apiary", "hive"), ("Meadow", "flower"))
        ),
        '''
        class <C>:
            """What each <t> has given, year by year."""

            def __init__(self):
                self.years = {}

            def note(self, year, gifts):
                """Keep the gifts of a year, a number for each <t>."""
                self.years[year] = gifts

            def sum_of(self, year):
                """Return all that a year gave."""
                return sum(self.years.get(year, []))

            def year_of(self):
                """Return the year that gave <end!> in all."""
                return <end>(self.years, key=self.sum_of)

            def good_years(self, limit):
                """Return, sorted, the years that gave in all <edge!> the limit."""
                return sorted(year for year in self.years if self.sum_of(year) <edge> limit)

            def per_<t>(self, year):
                """Return what a year gave in all by the number of its gifts, <round!>."""
                return <round>
        ''',
        (
            "o = <C>()\no.note(2001, [4, 9, 3])\no.note(2002, [1, 1])\no.note(2003, [8, 8, 0, 0])\n"
            "[o.year_of(), o.good_years(16), o.good_years(2), o.per_<t>(2001)]",
            "o = <C>()\no.note(1, [7, 2, 2])\no.note(2, [5])\n[o.year_of(), o.good_years(5), o.per_<t>(1), o.per_<t>(2)]",
        ),
        end=one_of(("max", "most"), ("min", "least")),
        edge=_EDGE,
        round=one_of(
            ("self.sum_of(year) / len(self.years[year])", "as a fraction"),
            ("self.sum_of(year) // len(self.years[year])", "in whole numbers"),
            ("round(self.sum_of(year) / len(self.years[year]), 1)", "to one decimal"),
            (
                "max(self.years[year]) - self.sum_of(year) // len(self.years[year])",
                "in whole numbers, subtracted from the largest gift",
            ),
        ),
    ),
    _class(
        "lighthouse",
        tuple({"C": c, "s": s} for c, s in (("Lighthouse", "ship"), ("Ferry", "car"), ("Tower", "bird"), ("Gate", "sheep"))),
        '''
        class <C>:
            """Logs the hour of each <s> that passes."""

            def __init__(self):
                self.log = []

            def passes(self, <s>, hour):
                """Log a <s>."""
                self.log.append((hour, <s>))

            def seen(self, <s>):
                """Return the hours at which a <s> passed, sorted."""
                return sorted(hour for hour, name in self.log if name == <s>)

            def watch(self, <s>):
                """Return <what!> of a <s> that passed at least once."""
                return <what>

            def night(self, hour):
                """Return, sorted, each <s> that passed at an hour <edge!> the given one."""
                return sorted({name for when, name in self.log if when <edge> hour})
        ''',
        (
            'w = <C>()\nw.passes("a", 5)\nw.passes("b", 7)\nw.passes("a", 2)\nw.passes("c", 7)\n'
            '[w.watch("a"), w.watch("b"), w.night(5), w.night(7)]',
            'w = <C>()\nw.passes("k", 9)\nw.passes("k", 1)\nw.passes("k", 4)\nw.passes("d", 4)\n'
            '[w.watch("k"), w.watch("d"), w.night(4)]',
        ),
        what=one_of(
            ("self.seen(<s>)[0]", "the first hour"),
            ("self.seen(<s>)[-1]", "the last hour"),
            ("len(self.seen(<s>))", "the number of passages"),
            ("self.seen(<s>)[-1] - self.seen(<s>)[0]", "the hours between the first and the last passage"),
            ("sum(self.seen(<s>))", "the sum of the hours"),
        ),
        edge=_EDGE,
    ),
)
