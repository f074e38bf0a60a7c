"""Families about grids, sets and sequences in general."""

from __future__ import annotations

from slmagent.scenarios.code.families.family import Family
from slmagent.scenarios.code.families.shared import EDGES, GRIDS, calls_on, function, one_of

_GRID = ("[[3, 8, 1], [9, 2, 7]]", "[[5]]", "[[4, 0], [6, -3], [2, 11]]", "[[1, 2, 3], [4, 5, 6], [7, 8, 9]]")

SEQUENCE_FAMILIES: tuple[Family, ...] = (
    function(
        "grid-lines",
        GRIDS,
        '''
        def summarize(<g>):
            """Return the <how!> of each <axis!> of the <g>."""
            return [~<how>(line) for line in <axis>]
        ''',
        calls_on(_GRID),
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
        calls_on(_GRID, "5", "2"),
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
        calls_on(_GRID),
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
