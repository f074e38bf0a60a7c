"""Families of the `ood` split: other themes, other names, other wordings."""

from __future__ import annotations

from slmagent.scenarios.code.families.family import Family
from slmagent.scenarios.code.families.shared import (
    EDGES,
    EMPTY,
    GRIDS_OOD,
    LISTS,
    NUMBERS_OOD,
    ORDER,
    OVER,
    PLAIN,
    RECORDS_OOD,
    TABLES_OOD,
    TEXTS_OOD,
    WORDS_OOD,
    function,
    one_of,
)

_WORDS = (
    'f(["wren", "Kite", "owl", "civic"])',
    "f([])",
    'f(["Ara", "mite", "EMU", "kayak", "x"])',
    'f(["sage", "Dill", "anise"])',
)

UNFAMILIAR_FAMILIES: tuple[Family, ...] = (
    function(
        "streak",
        NUMBERS_OOD,
        '''
        def days_to_note(<xs>, mark):
            """Number, from 0, the days whose <x> was <edge!> the mark."""
            return [day for day, <x> in enumerate(<xs>) if ~<x> <edge> mark]
        ''',
        LISTS,
        ("day|index|position", "mark"),
        edge=EDGES,
    ),
    function(
        "alternate",
        NUMBERS_OOD,
        '''
        def weigh(<xs>):
            """Sum up the <xs> with <how!>."""
            return sum(~<how> for place, <x> in enumerate(<xs>))
        ''',
        PLAIN,
        ("sum|add|total",),
        how=one_of(
            ("<x> * (place + 1)", "each counted as often as its place, from 1", "", "place|position"),
            ("<x> if place % 2 == 0 else -<x>", "changing signs, the first one plus", "", "sign|alternat|minus"),
            ("<x> if place % 2 == 0 else 0", "every other one left out, the second first", "", "other|second|even"),
            ("<x> // (place + 1)", "each divided by its place, from 1, without rest", "", "divi"),
            ("max(<x>, 0)", "negative ones counted as 0", "", "negativ|0|zero"),
        ),
    ),
    function(
        "harvest-open",
        NUMBERS_OOD,
        '''
        def notable_<xs>(<xs>, mark):
            """List the <xs> <edge!> the mark, <order!>."""
            chosen = [<x> for <x> in <xs> if ~<x> <edge> mark]
            return sorted(chosen~<order>)
        ''',
        LISTS,
        ("sort|order|from",),
        edge=OVER,
        order=ORDER,
    ),
    function(
        "riddle-words",
        WORDS_OOD,
        '''
        def sift(<xs>):
            """Of the <xs>, leave those that <test!>."""
            return [<x> for <x> in <xs> if ~<test>]
        ''',
        _WORDS,
        ("leave|keep|filter|select|list",),
        test=one_of(
            ("len(<x>) < 5", "are shorter than five letters", "", "5|five|short"),
            ('<x>.endswith("e")', "end in e", "", "end"),
            ("<x>.lower() == <x>.lower()[::-1]", "are palindromes, whatever the case", "", "palindrome|backward|reverse"),
            ('"i" in <x>', "have an i in them", "", "i"),
            ("<x>[0].isupper()", "start with a capital", "", "upper|capital"),
        ),
    ),
    function(
        "ledger-table",
        TABLES_OOD,
        '''
        def reckon(<m>, mark):
            """Of <m>, take <what!> of each <k> with <v> <edge!> the mark."""
            kept = {<k>: <v> for <k>, <v> in <m>.items() if ~<v> <edge> mark}
            return ~<what>
        ''',
        (
            'f({"a": 3, "b": 12, "c": 7}, 7)',
            "f({}, 1)",
            'f({"x": 5, "y": 5}, 5)',
            'f({"k": 9, "d": 2, "e": 30}, 9)',
            'f({"q": 4, "r": 6, "s": 8, "t": 1}, 2)',
        ),
        (),
        what=one_of(("sorted(kept)", "the sorted names"), ("sum(kept.values())", "the sum"), ("len(kept)", "the number")),
        edge=EDGES,
    ),
    function(
        "middle",
        NUMBERS_OOD,
        '''
        def median_<x>(<xs>):
            """The <which!> middle one of the sorted <xs>, <empty!>."""
            if not <xs>:
                return ~<empty>
            ranked = ~sorted(<xs>)
            return ranked[~<which>]
        ''',
        ("f([])", *PLAIN),
        ("middle|median",),
        which=one_of(("(len(ranked) - 1) // 2", "lower"), ("len(ranked) // 2", "upper")),
        empty=EMPTY,
    ),
    function(
        "verse",
        TEXTS_OOD,
        '''
        def recite(<t>):
            """Give the <t> with its words <how!>."""
            words = ~<t>.split()
            return " ".join(~<how>)
        ''',
        ('f("the old grey goose")', 'f("")', 'f("Ebb and Flow")', 'f("one")', 'f("a bc  def")'),
        ("word",),
        how=one_of(
            ("words[::-1]", "in reversed order", "", "reverse|backward"),
            ("sorted(words, key=len)", "by length, short ones first", "", "length|short"),
            ("[word[::-1] for word in words]", "each spelt backwards", "", "backward|reverse"),
            ("[word.upper() for word in words]", "in capitals", "", "upper|capital"),
            ("words[1:]", "but for the first", "", "first|without"),
        ),
    ),
    function(
        "almanac",
        RECORDS_OOD,
        '''
        def almanac(<rs>):
            """For every <n>, <what!> among its <rs>."""
            book = {}
            for <r> in <rs>:
                book.setdefault(<r>["<n>"], []).append(<r>["<a>"])
            return {name: ~<what> for name, values in book.items()}
        ''',
        tuple(
            f"f({rows})"
            for rows in (
                '[{"<a>": 4, "<n>": "u"}, {"<a>": 9, "<n>": "v"}, {"<a>": 1, "<n>": "u"}]',
                "[]",
                '[{"<a>": 2, "<n>": "w"}, {"<a>": 2, "<n>": "w"}, {"<a>": 7, "<n>": "w"}]',
            )
        ),
        ("group|each|per|every",),
        what=one_of(
            ("max(values)", "the largest <a>", "", "large|max|high"),
            ("min(values)", "the smallest <a>", "", "small|min|low"),
            ("sum(values)", "the <a> in all", "", "sum|add|total|in all"),
            ("len(values)", "how many there are", "", "count|number|how many"),
            ("values[-1]", "the last <a>", "", "last"),
        ),
    ),
    function(
        "mosaic",
        GRIDS_OOD,
        '''
        def border(<g>):
            """Give the <what!> of the <g> as a list."""
            return ~<what>
        ''',
        ("f([[3, 8, 1], [9, 2, 7]])", "f([[5]])", "f([[1, 2, 3], [4, 5, 6], [7, 8, 9]])", "f([[4, 0], [6, -3], [2, 11]])"),
        (),
        what=one_of(
            ("list(<g>[0])", "first row", "", "first"),
            ("list(<g>[-1])", "last row", "", "last"),
            ("[row[0] for row in <g>]", "first column", "", "first"),
            ("[row[-1] for row in <g>]", "last column", "", "last"),
            ("[cell for row in <g> for cell in row]", "cells, row after row,", "", "flat|all|row"),
            ("[max(row) for row in <g>]", "largest cell of each row", "", "large|max"),
        ),
    ),
)
