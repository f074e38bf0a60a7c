"""Families about lists of numbers, and about single ones."""

from __future__ import annotations

from slmagent.scenarios.code.families.family import Family, Naming
from slmagent.scenarios.code.families.shared import DIGITS, EDGES, EMPTY, LISTS, NUMBERS, ORDER, OVER, PLAIN, function, one_of

_NO_NAMES: tuple[Naming, ...] = ({"v": "value"}, {"v": "number"}, {"v": "amount"}, {"v": "level"})

NUMBER_FAMILIES: tuple[Family, ...] = (
    function(
        "keep-by-limit",
        NUMBERS,
        '''
        def keep_<xs>(<xs>, limit):
            """Return the <xs> that are <edge!> the limit."""
            return [<x> for <x> in <xs> if ~<x> <edge> limit]
        ''',
        LISTS,
        ("list|return|keep|filter|select", "limit"),
        edge=EDGES,
    ),
    function(
        "keep-open",
        NUMBERS,
        '''
        def sorted_<xs>(<xs>, limit):
            """Return the <xs> <edge!> the limit, <order!>."""
            kept = [<x> for <x> in <xs> if ~<x> <edge> limit]
            return sorted(kept~<order>)
        ''',
        LISTS,
        ("sort|order|from", "limit"),
        edge=OVER,
        order=ORDER,
    ),
    function(
        "total-by-limit",
        NUMBERS,
        '''
        def sum_<xs>(<xs>, limit):
            """<what!> the <xs> that are <edge!> the limit."""
            return sum(~<what> for <x> in <xs> if <x> <edge> limit)
        ''',
        LISTS,
        ("limit",),
        edge=EDGES,
        what=one_of(
            ("<x>", "Add up", "", "sum|add|total"),
            ("1", "Count", "", "count|number|how many"),
            ("<x> * <x>", "Add up the squares of", "", "square"),
            ("<x> // 2", "Add up the halves, rounded down, of", "", "half|halves|divi"),
        ),
    ),
    function(
        "change-all",
        NUMBERS,
        '''
        def change_<xs>(<xs>):
            """Return the <xs>, each <op!> <k!>."""
            return [~<x> <op> <k> for <x> in <xs>]
        ''',
        PLAIN,
        ("each|every|all",),
        op=one_of(
            ("+", "increased by", "", "add|increase|plus"),
            ("-", "reduced by", "", "subtract|reduce|minus|decrease"),
            ("*", "multiplied by", "", "multipl|times"),
            ("//", "divided, without rest, by", "", "divi"),
            ("%", "as the rest of division by", "", "rest|remainder|modulo"),
        ),
        k=one_of(("2", "2", "", "2|two"), ("3", "3", "", "3|three"), ("5", "5", "", "5|five"), ("10", "10", "", "10|ten")),
    ),
    function(
        "extremes",
        NUMBERS,
        '''
        def <join!>_of_<xs>(<xs>):
            """Return the <join!> of the highest and the lowest of the <xs>."""
            high = ~max(<xs>)
            low = ~min(<xs>)
            return ~<join>
        ''',
        PLAIN,
        (),
        join=one_of(
            ("high - low", "spread"),
            ("high + low", "sum"),
            ("(high + low) / 2", "middle"),
            ("high * low", "product"),
        ),
    ),
    function(
        "clamp",
        _NO_NAMES,
        '''
        def clamp_<v>(<v>, low, high):
            """Return the <v>, but <what!>."""
            return ~<what>
        ''',
        ("f(5, 2, 9)", "f(1, 2, 9)", "f(12, 2, 9)", "f(2, 2, 9)", "f(-7, -3, 0)", "f(4, -3, 0)"),
        (),
        what=one_of(
            ("min(max(<v>, low), high)", "not below low and not above high", "", "between|range|clamp|limit"),
            ("max(<v>, low)", "not below low", "", "at least|not below|low"),
            ("min(<v>, high)", "not above high", "", "at most|not above|high"),
        ),
    ),
    function(
        "trimmed",
        NUMBERS,
        '''
        def trimmed_<xs>(<xs>):
            """Drop the <cut!> of the <xs> and return the <how!> of the others."""
            kept = ~sorted(<xs>)[<cut>]
            return ~<how>
        ''',
        PLAIN,
        (),
        cut=one_of(
            ("1:", "lowest"),
            (":-1", "highest"),
            ("1:-1", "lowest and the highest"),
            ("2:", "two lowest"),
            (":-2", "two highest"),
        ),
        how=one_of(
            ("sum(kept) / len(kept)", "mean"),
            ("sum(kept)", "sum"),
            ("max(kept) - min(kept)", "spread"),
            ("kept[len(kept) // 2]", "upper middle one"),
        ),
    ),
    function(
        "nth",
        NUMBERS,
        '''
        def pick_<x>(<xs>):
            """Return the <n!> <end!> of the <xs>."""
            return ~sorted(<xs><end>)[<n>]
        ''',
        PLAIN,
        (),
        n=one_of(("0", "very"), ("1", "second"), ("2", "third"), ("3", "fourth")),
        end=one_of(("", "smallest", "", "small|low"), (", reverse=True", "largest", "", "large|high|big")),
    ),
    function(
        "running",
        NUMBERS,
        '''
        def running_<xs>(<xs>):
            """Return the list of the <step!> of the <xs> so far."""
            result = []
            for <x> in <xs>:
                last = result[-1] if result else <x>
                result.append(~<step>)
            return result
        ''',
        PLAIN,
        (),
        step=one_of(
            ("max(last, <x>)", "largest"),
            ("min(last, <x>)", "smallest"),
            ("last + <x> if result else <x>", "sums"),
            ("last * <x> if result else <x>", "products"),
            ("<x> - last", "steps"),
        ),
    ),
    function(
        "percent",
        _NO_NAMES,
        '''
        def adjust_<v>(<v>, percent):
            """Return the <v> <what!>, rounded <digits!>."""
            changed = ~<what>
            return round(changed~, <digits>)
        ''',
        ("f(80, 25)", "f(19.99, 7)", "f(3.456, 12.5)", "f(250, 0)", "f(1234.5, 33)"),
        ("percent",),
        what=one_of(
            ("<v> * (100 - percent) / 100", "reduced by percent", "", "reduc|discount|lower|minus|subtract"),
            ("<v> * (100 + percent) / 100", "increased by percent", "", "increas|add|raise|plus"),
            ("<v> * percent / 100", "of which only percent are left", "", "share|percent of|part|only"),
            ("<v> * 100 / (100 + percent)", "before percent were added", "", "before|without|net|remove"),
        ),
        digits=DIGITS,
    ),
    function(
        "units",
        tuple({"v": name} for name in ("value", "quantity", "measure", "amount")),
        '''
        def convert_<v>(<v>):
            """Turn <unit!>."""
            return ~<v> <unit>
        ''',
        ("f(3)", "f(12)", "f(0)", "f(250)", "f(7.5)"),
        (),
        unit=one_of(
            ("* 60", "hours into minutes"),
            ("* 24", "days into hours"),
            ("* 7", "weeks into days"),
            ("* 100", "metres into centimetres"),
            ("* 1000", "kilograms into grams"),
            ("* 12", "years into months"),
            ("/ 60", "minutes into hours"),
            ("/ 24", "hours into days"),
            ("/ 7", "days into weeks"),
            ("/ 100", "cents into euros"),
            ("/ 1000", "metres into kilometres"),
            ("/ 12", "inches into feet"),
            ("* 3600", "hours into seconds"),
            ("/ 3600", "seconds into hours"),
        ),
    ),
    function(
        "digits",
        _NO_NAMES,
        '''
        def digits_of_<v>(<v>):
            """Return the <how!> of the <which!>digits of a whole <v>, which has at least one."""
            digits = [int(digit) for digit in str(<v>)]
            return ~<how>([digit for digit in digits<which>])
        ''',
        ("f(4821)", "f(77316)", "f(902)", "f(128456)", "f(3120)"),
        ("digit",),
        how=one_of(
            ("sum", "sum", "", "sum|add|total"),
            ("max", "largest", "", "largest|max|highest"),
            ("min", "smallest", "", "smallest|min|lowest"),
            ("len", "number", "", "count|number|how many"),
        ),
        which=one_of(("", ""), (" if digit % 2 == 0", "even ", "", "even"), (" if digit > 3", "over-three ", "", "3|three")),
    ),
    function(
        "multiples",
        tuple({"v": name} for name in ("stop", "end", "top", "limit")),
        '''
        def multiples_to_<v>(<v>):
            """Return the multiples of <k!> from <k!> up to <v>, <edge!> <v> itself."""
            return [number for number in range(~<k>, <v><edge>) if number % <k> == 0]
        ''',
        ("f(12)", "f(20)", "f(35)", "f(1)", "f(42)", "f(60)"),
        ("multiple|divi",),
        k=one_of(("2", "2"), ("3", "3"), ("4", "4"), ("5", "5"), ("6", "6"), ("7", "7")),
        edge=one_of(
            ("", "without", "leave it out"),
            (" + 1", "with", "it belongs to them"),
            vague="up to",
            topic="end",
            cues=("itself", "inclusive|include|included", "end|last|limit|upper", "up to and"),
            question="Is the end itself included?",
        ),
    ),
    function(
        "series",
        tuple({"v": name} for name in ("count", "size", "steps", "rounds")),
        '''
        def series_sum(<v>):
            """Add up <term!> for all numbers from 1 to <v>."""
            return sum(~<term> for number in range(1, <v> + 1))
        ''',
        ("f(4)", "f(1)", "f(0)", "f(7)", "f(10)"),
        (),
        term=one_of(
            ("number", "the number"),
            ("number ** 2", "the square"),
            ("number ** 3", "the cube"),
            ("2 ** number", "2 to the power of the number"),
            ("number * (number + 1)", "the product with its successor"),
            ("2 * number - 1", "the double less 1"),
        ),
    ),
    function(
        "pairwise",
        tuple({"a": a, "b": b} for a, b in (("first", "second"), ("left", "right"), ("planned", "actual"), ("old", "new"))),
        '''
        def combine(<a>, <b>):
            """Return, place by place, the <op!> of <a> and <b>."""
            return [~<op> for one, other in zip(<a>, <b>)]
        ''',
        ("f([1, 5, 9], [4, 5, 2])", "f([], [])", "f([7, 0], [3, 8, 1])", "f([2, 2, -6], [10, -1, 3])"),
        (),
        op=one_of(
            ("one + other", "sum"),
            ("one - other", "difference"),
            ("one * other", "product"),
            ("max(one, other)", "larger"),
            ("min(one, other)", "smaller"),
            ("one == other", "equality"),
            ("one > other", "truth that the first is larger"),
            ("abs(one - other)", "distance"),
        ),
    ),
    function(
        "gaps",
        NUMBERS,
        '''
        def <x>_gaps(<xs>):
            """Return the <op!> of each of the <xs> and the one before it."""
            return [~<op> for before, after in zip(<xs>, <xs>[1:])]
        ''',
        PLAIN,
        (),
        op=one_of(
            ("after - before", "difference"),
            ("after + before", "sum"),
            ("abs(after - before)", "distance"),
            ("max(before, after)", "larger"),
            ("after > before", "comparison, True for a rise,"),
            ("(before + after) / 2", "mean"),
        ),
    ),
    function(
        "quantified",
        NUMBERS,
        '''
        def check_<xs>(<xs>, limit):
            """Tell whether <q!> of the <xs> is <edge!> the limit."""
            return ~<q>(<x> <edge> limit for <x> in <xs>)
        ''',
        LISTS,
        ("limit",),
        q=one_of(("any", "at least one", "", "any|one"), ("all", "each", "", "all|every|each")),
        edge=EDGES,
    ),
    function(
        "between",
        _NO_NAMES,
        '''
        def <v>_fits(<v>, low, high):
            """Tell whether the <v> lies between low and high, <a!>, <b!>."""
            return ~low <a> <v> <b> high
        ''',
        ("f(5, 2, 9)", "f(2, 2, 9)", "f(9, 2, 9)", "f(1, 2, 9)", "f(10, 2, 9)", "f(3, 3, 3)", "f(4, 4, 8)", "f(7, 1, 7)"),
        ("between|range",),
        a=one_of(("<", "low excluded"), ("<=", "low included")),
        b=one_of(("<", "high excluded"), ("<=", "high included")),
    ),
    function(
        "mean-or",
        NUMBERS,
        '''
        def mean_<x>(<xs>):
            """Return the mean of the <xs> <digits!>, or <empty!>."""
            if not <xs>:
                return ~<empty>
            total = ~sum(<xs>)
            return round(~total / len(<xs>), <digits>)
        ''',
        ("f([])", "f([3, 8, 5, 12])", "f([1, 2, 2])", "f([10, 11, 13])", "f([0.125, 0.25])", "f([7])"),
        ("mean|average",),
        digits=DIGITS,
        empty=EMPTY,
    ),
    function(
        "best-place",
        NUMBERS,
        '''
        def place_of_<x>(<xs>):
            """Return the index of the <end!> of the <xs>, or <empty!>."""
            if not <xs>:
                return <empty>
            best = ~<end>(<xs>)
            return <xs>.index(best)
        ''',
        ("f([])", *PLAIN),
        ("index|position|place",),
        end=one_of(("max", "largest", "", "large|max|high"), ("min", "smallest", "", "small|min|low")),
        empty=EMPTY,
    ),
    function(
        "step-cost",
        _NO_NAMES,
        '''
        def cost_of(<v>):
            """Charge <base!> for up to 10 and <more!> for each one above 10."""
            cost = ~<base>
            if <v> > 10:
                cost += ~(<v> - 10) * <more>
            return cost
        ''',
        ("f(3)", "f(10)", "f(11)", "f(25)", "f(0)"),
        (),
        base=one_of(("5", "5"), ("8", "8"), ("12", "12"), ("20", "20")),
        more=one_of(("2", "2"), ("3", "3"), ("4", "4"), ("7", "7")),
    ),
)
