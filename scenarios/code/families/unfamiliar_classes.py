"""Families of classes of the `ood` split."""

from __future__ import annotations

from slmagent.scenarios.code.families.family import Family
from slmagent.scenarios.code.families.shared import EDGES, class_of, one_of

CLASS_FAMILIES_OOD: tuple[Family, ...] = (
    class_of(
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
        edge=EDGES,
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
    class_of(
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
        edge=EDGES,
    ),
)
