"""Families about dictionaries, lists of records, grids and sequences in general."""

from __future__ import annotations

from slmagent.scenarios.code.families.family import Family
from slmagent.scenarios.code.families.shared import EDGES, GRIDS, ORDER, OVER, RECORDS, TABLES, function, one_of

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
_GRID = ("[[3, 8, 1], [9, 2, 7]]", "[[5]]", "[[4, 0], [6, -3], [2, 11]]", "[[1, 2, 3], [4, 5, 6], [7, 8, 9]]")


def _on(inputs: tuple[str, ...], *more: str) -> tuple[str, ...]:
    """A call for each input and each further argument."""
    return tuple(f"f({value}{', ' + extra if extra else ''})" for value in inputs for extra in more or ("",))


DATA_FAMILIES: tuple[Family, ...] = (
    function(
        "filter-table",
        TABLES,
        '''
        def filter_<m>(<m>, limit):
            """Return the part of <m> whose <v> is <edge!> the limit."""
            return {~<k>: <v> for <k>, <v> in <m>.items() if <v> <edge> limit}
        ''',
        _on(_TABLE, "7"),
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
        _on(_TABLE),
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
        _on(_TABLE),
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
        _on(_TABLE, '"x"', '"ada"'),
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
        _on(_TABLE),
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
        _on(_ROWS, "9", "12"),
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
        _on(_ROWS),
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
        _on(_ROWS),
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
        _on(_ROWS),
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
        _on(_ROWS),
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
        _on(_ROWS, "9", "3", "12"),
        (),
        edge=OVER,
        order=ORDER,
    ),
    function(
        "grid-lines",
        GRIDS,
        '''
        def summarize(<g>):
            """Return the <how!> of each <axis!> of the <g>."""
            return [~<how>(line) for line in <axis>]
        ''',
        _on(_GRID),
        (),
        how=one_of(
            ("sum", "sum", "", "sum|add|total"),
            ("max", "largest value", "", "large|max|high"),
            ("min", "smallest value", "", "small|min|low"),
        ),
        axis=one_of(("<g>", "row", "", "row"), ("zip(*<g>)", "column", "", "column")),
    ),
    function(
        "grid-cells",
        GRIDS,
        '''
        def cells(<g>, limit):
            """<what!> of the <g> that are <edge!> the limit."""
            found = [cell for row in <g> for cell in row if ~cell <edge> limit]
            return ~<what>
        ''',
        _on(_GRID, "5", "2"),
        ("limit",),
        what=one_of(
            ("len(found)", "Count the cells", "", "count|number|how many"),
            ("sum(found)", "Add up the cells", "", "sum|add|total"),
            ("sorted(found)", "Return, sorted, the cells", "", "sort"),
        ),
        edge=EDGES,
    ),
    function(
        "grid-change",
        GRIDS,
        '''
        def turned(<g>):
            """Return a new <g> with <how!>."""
            return ~<how>
        ''',
        _on(_GRID),
        (),
        how=one_of(
            ("[list(line) for line in zip(*<g>)]", "rows and columns swapped", "", "transpose|swap"),
            ("[row[::-1] for row in <g>]", "each row backwards", "", "reverse|backward|mirror"),
            ("<g>[::-1]", "the last row first", "", "reverse|last|flip"),
            ("[[-cell for cell in row] for row in <g>]", "every sign changed", "", "sign|negat"),
            ("[sorted(row) for row in <g>]", "each row sorted", "", "sort"),
            ("[row[1:] for row in <g>]", "no first column", "", "column|first"),
        ),
    ),
    function(
        "set-operation",
        tuple({"a": a, "b": b} for a, b in (("first", "second"), ("left", "right"), ("wanted", "found"), ("old", "new"))),
        '''
        def compare(<a>, <b>):
            """Return <out!> of what is <op!>."""
            chosen = ~set(<a>) <op> set(<b>)
            return ~<out>
        ''',
        ("f([1, 2, 3, 3], [3, 4])", "f([], [5])", "f([7, 7, 8], [8, 7])", "f([9, 1, 4], [2, 4, 9, 9])"),
        (),
        op=one_of(
            ("&", "in both <a> and <b>", "", "both|common|intersect"),
            ("|", "in <a> or <b>", "", "either|or|union|any"),
            ("-", "in <a> but not in <b>", "", "not in|without|missing|differ"),
            ("^", "in one of <a> and <b> only", "", "only one|one of|not both|symmetric"),
        ),
        out=one_of(
            ("sorted(chosen)", "the sorted list", "", "sort"),
            ("len(chosen)", "the number", "", "count|number|how many"),
            ("sum(chosen)", "the sum", "", "sum|add|total"),
        ),
    ),
    function(
        "slices",
        tuple({"t": name} for name in ("items", "values", "entries", "cards")),
        '''
        def part_of(<t>, n):
            """Return <which!> of the <t>; n is at least 1."""
            return ~<t>[<which>]
        ''',
        ("f([4, 8, 1, 9, 3], 2)", "f([5], 1)", "f([6, 7], 3)", "f([1, 2, 3, 4, 5, 6, 7], 3)"),
        (),
        which=one_of(
            (":n", "the first n", "", "first"),
            ("-n:", "the last n", "", "last"),
            ("n:", "all but the first n", "", "without|but|skip"),
            (":-n", "all but the last n", "", "without|but|except"),
            ("::n", "every nth, the first included,", "", "every"),
            ("n - 1 :: n", "every nth, the nth first,", "", "every"),
            ("::-1", "all, the last one first,", "", "reverse|backward"),
        ),
    ),
    function(
        "chunks",
        tuple({"t": name} for name in ("items", "values", "entries", "cards")),
        '''
        def split_up(<t>, size):
            """Return the <which!>."""
            return ~<which>
        ''',
        ("f([1, 2, 3, 4, 5], 2)", "f([], 3)", "f([7, 8, 9], 3)", "f([1, 2, 3, 4], 1)"),
        (),
        which=one_of(
            (
                "[<t>[i : i + size] for i in range(0, len(<t>), size)]",
                "<t> in pieces of the given size, the last one shorter",
                "",
                "chunk|piece|group",
            ),
            (
                "[<t>[i : i + size] for i in range(len(<t>) - size + 1)]",
                "windows of the given size over the <t>",
                "",
                "window|overlap|slid",
            ),
            (
                "[<t>[i::size] for i in range(size)]",
                "<t> dealt out in turn to the given number of lists",
                "",
                "deal|turn|every",
            ),
        ),
    ),
    function(
        "duplicates",
        tuple({"t": name} for name in ("items", "values", "entries", "cards")),
        '''
        def distinct(<t>):
            """Return <which!>."""
            return ~<which>
        ''',
        ("f([3, 1, 3, 2, 1])", "f([])", "f([5, 5, 5])", "f([9, 8, 7])"),
        (),
        which=one_of(
            ("list(dict.fromkeys(<t>))", "the distinct <t> in their order", "", "distinct|unique|once"),
            ("sorted(set(<t>))", "the distinct <t>, sorted", "", "distinct|unique|once"),
            ("[x for x in <t> if <t>.count(x) == 1]", "the <t> that occur just once", "", "once"),
            (
                "sorted({x for x in <t> if <t>.count(x) > 1})",
                "the sorted values that occur more than once",
                "",
                "more than once|duplicate|repeat",
            ),
            ("len(<t>) - len(set(<t>))", "how many of the <t> are repetitions", "", "repet|duplicate"),
            ("{x: <t>.count(x) for x in <t>}", "how often each of the <t> occurs", "", "count|often"),
        ),
    ),
    function(
        "clock",
        tuple({"v": name} for name in ("minutes", "duration", "time", "span")),
        '''
        def show_<v>(<v>):
            """Write a number of minutes as in `<show!>`."""
            big, small = ~divmod(<v>, 60)
            return ~<show>
        ''',
        ("f(75)", "f(5)", "f(600)", "f(59)", "f(1439)"),
        (),
        show=one_of(
            ('f"{big}:{small:02d}"', "1:05"),
            ('f"{big:02d}:{small:02d}"', "01:05"),
            ('f"{big} h {small} min"', "1 h 5 min"),
            ('f"{big}h{small:02d}"', "1h05"),
            ('f"{big:02d}.{small:02d}"', "01.05"),
        ),
    ),
)
