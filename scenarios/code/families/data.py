"""Families about dictionaries and lists of records."""

from __future__ import annotations

from slmagent.scenarios.code.families.family import Family
from slmagent.scenarios.code.families.shared import EDGES, ORDER, OVER, RECORDS, TABLES, calls_on, function, one_of

_TABLE = (
    '{"ada": 3, "bob": 12, "cy": 7, "di": 7}',
    "{}",
    '{"x": -2, "y": 0, "z": 25}',
    '{"one": 1, "ten": 10}',
    '{"b": 5, "a": 9, "c": 2}',
)
_ROWS = (
    '[{"<a>": 20, "<b>": 3, "<n>": "Ann"}, {"<a>": 5, "<b>": 10, "<n>": "Bo"}, {"<a>": 12, "<b>": 0, "<n>": "Ann"}]',
    '[{"<a>": 7, "<b>": 7, "<n>": "Cy"}]',
    '[{"<a>": 3, "<b>": 8, "<n>": "Di"}, {"<a>": 30, "<b>": 2, "<n>": "Ed"},'
    ' {"<a>": 9, "<b>": 9, "<n>": "Di"}, {"<a>": 9, "<b>": 1, "<n>": "Flo"}]',
    '[{"<a>": 15, "<b>": 6, "<n>": "Gus"}, {"<a>": 8, "<b>": 4, "<n>": "Hal"}, {"<a>": 11, "<b>": 9, "<n>": "Ivy"}]',
)

DATA_FAMILIES: tuple[Family, ...] = (
    function(
        "filter-table",
        TABLES,
        '''
        def filter_<m>(<m>, limit):
            """Return the part of <m> whose <v> is <edge!> the limit."""
            return {~<k>: <v> for <k>, <v> in <m>.items() if <v> <edge> limit}
        ''',
        calls_on(_TABLE, "7"),
        ("limit",),
        edge=EDGES,
    ),
    function(
        "change-table",
        TABLES,
        '''
        def update_<m>(<m>):
            """Return <m> with every <v> <op!> <n!>."""
            return {<k>: ~<v> <op> <n> for <k>, <v> in <m>.items()}
        ''',
        calls_on(_TABLE),
        ("each|every|all",),
        op=one_of(
            ("+", "increased by", "", "add|increase|plus"),
            ("-", "reduced by", "", "subtract|reduce|minus"),
            ("*", "multiplied by", "", "multipl|times"),
            ("%", "as the rest of division by", "", "rest|remainder|modulo"),
        ),
        n=one_of(("2", "2"), ("3", "3"), ("4", "4")),
    ),
    function(
        "keys-by-value",
        TABLES,
        '''
        def ranking(<m>):
            """Return each <k> of <m> by its <v>, <order!>."""
            return sorted(~<m>, key=<m>.get<order>)
        ''',
        calls_on(_TABLE),
        ("sort|order|rank|from",),
        order=ORDER,
    ),
    function(
        "look-up",
        TABLES,
        '''
        def <v>_of(<m>, <k>):
            """Return the <v> of a <k> in <m>, or <default!> when it is unknown."""
            return ~<m>.get(<k>, <default>)
        ''',
        calls_on(_TABLE, '"x"', '"ada"'),
        (),
        default=one_of(
            ("0", "0", "an unknown one gives 0"),
            ("None", "None", "an unknown one gives None"),
            ("-1", "-1", "an unknown one gives -1"),
            ('"unknown"', "the text unknown", "an unknown one gives the text unknown"),
            vague="a default",
            topic="unknown key",
            cues=("unknown|missing|absent", "not found|there|known|exist|present", "default"),
            question="What should an unknown one give?",
        ),
    ),
    function(
        "merge-tables",
        TABLES,
        '''
        def merge_<m>(<m>, changes):
            """Return <m> with the changes; a <k> in both gets <how!>."""
            result = dict(<m>)
            for <k>, <v> in changes.items():
                old = result.get(<k>, <v>)
                result[<k>] = ~<how> if <k> in <m> else <v>
            return result
        ''',
        (
            'f({"a": 3, "b": 5}, {"b": 2, "c": 9})',
            'f({}, {"x": 1})',
            'f({"k": 4}, {"k": 10})',
            'f({"a": 1}, {})',
            'f({"p": -2, "q": 6}, {"q": 6, "p": 3})',
        ),
        ("merge|combine|change",),
        how=one_of(
            ("old + <v>", "the sum", "add them up", "sum|add"),
            ("max(old, <v>)", "the larger value", "keep the larger one", "larger|max|higher"),
            ("min(old, <v>)", "the smaller value", "keep the smaller one", "smaller|min|lower"),
            ("<v>", "the changed value", "the change wins", "change|new|overwrite"),
            ("old", "the old value", "the old value wins", "old|keep|existing"),
            vague="one value",
            topic="both",
            cues=("both", "conflict|conflicts", "which value|one wins", "same <k>|key", "overlap|duplicate|duplicates"),
            question="Which value wins when it is in both?",
        ),
    ),
    function(
        "invert",
        TABLES,
        '''
        def by_<v>(<m>):
            """Group each <k> of <m> under its <v>, as <kind!>."""
            groups = {}
            for <k>, <v> in <m>.items():
                groups.setdefault(<v>, []).append(<k>)
            return {~<v>: <kind> for <v>, names in groups.items()}
        ''',
        calls_on(_TABLE),
        ("group",),
        kind=one_of(
            ("names", "a list"),
            ("len(names)", "their number"),
            ("sorted(names)[0]", "the first in the alphabet"),
            ('"+".join(names)', "text joined by plus signs"),
            ("sorted(names, reverse=True)", "a list from z to a"),
        ),
    ),
    function(
        "record-field",
        RECORDS,
        '''
        def <n>s_by_<a>(<rs>, limit):
            """Return the <n> of the <rs> whose <a> is <edge!> the limit."""
            return [~<r>["<n>"] for <r> in <rs> if <r>["<a>"] <edge> limit]
        ''',
        calls_on(_ROWS, "9", "12"),
        ("limit",),
        edge=EDGES,
    ),
    function(
        "record-total",
        RECORDS,
        '''
        def total_of_<rs>(<rs>):
            """Return the <how!> of <what!> over all <rs>."""
            values = [~<what> for <r> in <rs>]
            return ~<how>(values)
        ''',
        calls_on(_ROWS),
        (),
        how=one_of(
            ("sum", "sum", "", "sum|add|total"),
            ("max", "largest", "", "large|max|high"),
            ("min", "smallest", "", "small|min|low"),
        ),
        what=one_of(
            ('<r>["<a>"] * <r>["<b>"]', "<a> times <b>", "", "times|multipl|product"),
            ('<r>["<a>"] + <r>["<b>"]', "<a> plus <b>", "", "plus|add|sum"),
            ('<r>["<a>"] - <r>["<b>"]', "<a> less <b>", "", "less|minus|differ|subtract"),
            ('<r>["<b>"]', "<b> alone"),
            ('len(<r>["<n>"])', "the length of <n>"),
        ),
    ),
    function(
        "record-best",
        RECORDS,
        '''
        def top_<r>(<rs>):
            """Return the <out!> of the <r> with the <end!> <a>."""
            best = ~<end>(<rs>, key=lambda <r>: <r>["<a>"])
            return ~best<out>
        ''',
        calls_on(_ROWS),
        (),
        end=one_of(("max", "highest", "", "high|max|large"), ("min", "lowest", "", "low|min|small")),
        out=one_of(('["<n>"]', "<n>"), ('["<b>"]', "<b>"), ("", "whole record")),
    ),
    function(
        "record-count",
        RECORDS,
        '''
        def <rs>_per_<n>(<rs>):
            """Return, for each <n>, <what!> of its <rs>."""
            result = {}
            for <r> in <rs>:
                name = <r>["<n>"]
                result[name] = ~result.get(name, 0) + <what>
            return result
        ''',
        calls_on(_ROWS),
        ("group|each|per",),
        what=one_of(
            ("1", "the number", "", "count|number|how many"),
            ('<r>["<a>"]', "the sum of <a>"),
            ('<r>["<b>"]', "the sum of <b>"),
            ('<r>["<a>"] * <r>["<b>"]', "the sum of <a> times <b>"),
            ('(<r>["<a>"] > 8)', "the number with <a> above 8"),
        ),
    ),
    function(
        "record-sort",
        RECORDS,
        '''
        def sort_<rs>(<rs>):
            """Return the <n> of the <rs> by <key!>, <order!>."""
            ordered = sorted(~<rs>, key=lambda <r>: <r>["<key>"]<order>)
            return [~<r>["<n>"] for <r> in ordered]
        ''',
        calls_on(_ROWS),
        ("sort|order|from",),
        key=one_of(("<a>", "<a>"), ("<b>", "<b>")),
        order=ORDER,
    ),
    function(
        "record-open",
        RECORDS,
        '''
        def large_<rs>(<rs>, limit):
            """Return the <rs> with <a> <edge!> the limit as pairs of <n> and <a>, <order!> by <a>."""
            pairs = [(<r>["<n>"], <r>["<a>"]) for <r> in <rs> if <r>["<a>"] <edge> limit]
            return sorted(pairs, key=lambda pair: pair[1]<order>)
        ''',
        calls_on(_ROWS, "9", "3", "12"),
        (),
        edge=OVER,
        order=ORDER,
    ),
)
