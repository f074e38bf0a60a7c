"""Families about text and lists of words."""

from __future__ import annotations

from slmagent.scenarios.code.families.family import Family
from slmagent.scenarios.code.families.shared import ORDER, SEPARATOR, TEXTS, WORDS, function, one_of

_LISTS = (
    'f(["Oslo", "rome", "Bern", "level"])',
    "f([])",
    'f(["a1", "B", "Anna", "noon"])',
    'f(["kiwi pie", "Fig", "OLIVE", "12"])',
    'f(["x y", "Otto", "stats", "x y"])',
    'f(["tub", "cab", "web", "kiwi"])',
)
_TEXTS = (
    'f("Hello, World 42!")',
    'f("")',
    'f("The 3 Owls  sat")',
    'f("aeiou XYZ")',
    'f("tabs\\tand CAPS 7")',
    'f("no-one_there")',
)

TEXT_FAMILIES: tuple[Family, ...] = (
    function(
        "keep-words",
        WORDS,
        '''
        def select_<xs>(<xs>):
            """Return the <xs> that <test!>."""
            return [<x> for <x> in <xs> if ~<test>]
        ''',
        _LISTS,
        ("list|return|keep|filter|select",),
        test=one_of(
            ("len(<x>) > 3", "have more than three letters", "", "3|three|longer"),
            ("len(<x>) == 4", "have exactly four letters", "", "4|four"),
            ("<x>.istitle()", "are written like a title", "", "title"),
            ("<x>.isdigit()", "consist of digits only", "", "digit|number"),
            ("<x> == <x>[::-1]", "read the same backwards", "", "palindrome|backward|reverse"),
            ("<x>.isupper()", "are in capitals", "", "upper|capital"),
            ('" " in <x>', "contain a space", "", "space|blank"),
            ("<x>[0] in 'aeiou'", "begin with a small vowel", "", "vowel"),
            ("<x>.islower()", "are in small letters", "", "lower|small"),
            ("not <x>.isalpha()", "are not made of letters alone", "", "letter|alpha"),
        ),
    ),
    function(
        "change-words",
        WORDS,
        '''
        def change_<xs>(<xs>):
            """Return the <xs>, each <how!>."""
            return [~<x><how> for <x> in <xs>]
        ''',
        _LISTS,
        ("each|every|all",),
        how=one_of(
            (".upper()", "in capitals", "", "upper|capital"),
            (".lower()", "in small letters", "", "lower|small"),
            (".title()", "written like a title", "", "title"),
            ("[::-1]", "backwards", "", "backward|reverse"),
            ("[0]", "cut down to its first letter", "", "first"),
            ("[-1]", "cut down to its last letter", "", "last"),
            ("[:3]", "cut down to three letters", "", "3|three"),
            ('.replace(" ", "_")', "with underscores for spaces", "", "underscore|space"),
            (".capitalize()", "with its first letter alone in capitals", "", "capital"),
            (' + "!"', "with an exclamation mark behind it", "", "exclamation|!"),
            (".swapcase()", "with capitals and small letters swapped", "", "swap"),
            ("[1:]", "without its first letter", "", "without|first"),
        ),
    ),
    function(
        "join-words",
        WORDS,
        '''
        def join_<xs>(<xs>):
            """Join the <xs>, <way!>, by <sep!>."""
            ordered = ~<way>
            return ~<sep>.join(ordered)
        ''',
        _LISTS,
        ("join|concat",),
        sep=SEPARATOR,
        way=one_of(
            ("list(<xs>)", "as they come"),
            ("sorted(<xs>)", "sorted", "", "sort|order"),
            ("<xs>[::-1]", "the last one first", "", "reverse|backward|last"),
            ("sorted(<xs>, key=len)", "the shortest first", "", "short|length"),
            ("sorted(set(<xs>))", "each once and sorted", "", "once|unique|distinct|set"),
        ),
    ),
    function(
        "sort-words",
        WORDS,
        '''
        def <xs>_in_order(<xs>):
            """Return the <xs> by <key!>, <order!>."""
            return sorted(~<xs>, key=<key><order>)
        ''',
        _LISTS,
        ("sort|order|from",),
        order=ORDER,
        key=one_of(
            ("len", "length", "", "length|len|long|short"),
            ("str.lower", "the alphabet, in small letters", "", "alphabet|lower"),
            ("lambda <x>: <x>[-1]", "their last letter", "", "last"),
            ("lambda <x>: <x>[::-1]", "their reversed form", "", "reverse|backward"),
        ),
    ),
    function(
        "count-characters",
        TEXTS,
        '''
        def count_characters(<t>):
            """Count the characters of the <t> that <test!>."""
            return sum(1 for character in <t> if ~<test>)
        ''',
        _TEXTS,
        ("count|number|how many",),
        test=one_of(
            ("character.isdigit()", "are digits", "", "digit"),
            ("character.isupper()", "are capitals", "", "upper|capital"),
            ("character.islower()", "are small letters", "", "lower|small"),
            ("character.isspace()", "are white space", "", "space"),
            ("character.isalpha()", "are letters", "", "letter|alpha"),
            ('character in "aeiou"', "are small vowels", "", "vowel"),
            ("not character.isalnum()", "are neither letters nor digits", "", "neither|not|punctuation|special"),
            ('character.lower() == "o"', "are an o, large or small", "", "o"),
        ),
    ),
    function(
        "pad",
        tuple({"t": name} for name in ("number", "code", "ticket", "page")),
        '''
        def pad_<t>(<t>, width):
            """Write the <t> in the given width, <side!>, filled up with <fill!>."""
            text = ~str(<t>)
            return ~text.<side>(width, <fill>)
        ''',
        ("f(7, 3)", "f(1234, 3)", "f(42, 6)", "f(0, 2)", "f(99, 5)"),
        ("width|pad|fill",),
        side=one_of(("rjust", "at the right"), ("ljust", "at the left"), ("center", "in the middle")),
        fill=one_of(('"0"', "zeros"), ('"*"', "stars"), ('"."', "dots"), ('"_"', "underscores")),
    ),
    function(
        "field",
        tuple({"t": name} for name in ("line", "row", "record", "entry")),
        '''
        def field_of(<t>):
            """Return the <n!> field of a <t> whose fields are parted by <sep!>, without spaces around it."""
            fields = ~<t>.split(<sep>)
            return ~fields[<n>].strip()
        ''',
        (
            'f("a, b; c | d: e, f; g")',
            'f("1;2;3, 4, 5 | 6 | 7 : 8 : 9")',
            'f("x : y : z")',
            'f("p | q | r, s, t")',
            'f("one; two; three")',
            'f("k, l, m")',
        ),
        (),
        n=one_of(("0", "first"), ("-1", "last")),
        sep=one_of(('","', "commas"), ('";"', "semicolons"), ('"|"', "bars"), ('":"', "colons")),
    ),
    function(
        "initials",
        tuple({"t": name} for name in ("name", "title", "phrase", "motto")),
        '''
        def initials(<t>):
            """Join the <which!> letters of the words of the <t>, in <case!>, by <sep!>."""
            letters = [~word[<which>].<case>() for word in <t>.split()]
            return ~<sep>.join(letters)
        ''',
        ('f("ada lovelace")', 'f("Grace Brewster Hopper")', 'f("alan")', 'f("")', 'f("edsger W dijkstra")'),
        (),
        which=one_of(("0", "first"), ("-1", "last")),
        case=one_of(("upper", "capitals"), ("lower", "small letters")),
        sep=one_of(('""', "nothing"), ('"."', "dots"), ('" "', "spaces")),
    ),
    function(
        "shorten",
        TEXTS,
        '''
        def shorten(<t>, width):
            """Cut a <t> longer than width to its <end!> characters, with <mark!> at the cut, counted, too."""
            if len(<t>) <= width:
                return ~<t>
            mark = ~<mark>
            return ~<end>
        ''',
        ('f("abcdefghij", 6)', 'f("short", 10)', 'f("exactly", 7)', 'f("a longer sentence here", 9)', 'f("xxyyzz", 5)'),
        (),
        mark=one_of(('"..."', "three dots"), ('"-"', "a hyphen"), ('"~"', "a tilde"), ('" >"', "a space and an arrow")),
        end=one_of(("<t>[: width - len(mark)] + mark", "first"), ("mark + <t>[len(<t>) - width + len(mark) :]", "last")),
    ),
    function(
        "pair",
        tuple({"t": name} for name in ("line", "setting", "option", "field")),
        '''
        def read_<t>(<t>):
            """Split a <t> at the first <sep!> into its stripped name and its value as <kind!>."""
            name, value = <t>.split(~<sep>, 1)
            return name.strip(), ~<kind>
        ''',
        ('f("size" + <sep> + "12")', 'f(" width " + <sep> + " 40 ")', 'f("rate" + <sep> + "7 ")', 'f("a" + <sep> + "0")'),
        ("split|part",),
        sep=one_of(('"="', "equals sign"), ('":"', "colon")),
        kind=one_of(
            ("int(value)", "a whole number"),
            ("float(value)", "a float"),
            ("value.strip()", "stripped text"),
            ("value.strip().split()", "a list of words"),
            ("len(value.strip())", "the length of its text"),
        ),
    ),
    function(
        "clean",
        TEXTS,
        '''
        def clean_<t>(<t>):
            """Return the <t> with <what!>, <case!>."""
            cleaned = ~<what>
            return cleaned~<case>
        ''',
        _TEXTS,
        (),
        what=one_of(
            ('<t>.replace(" ", "_")', "underscores for spaces", "", "underscore"),
            ('<t>.replace("-", " ")', "spaces for hyphens", "", "hyphen"),
            ('<t>.replace(" ", "")', "no spaces", "", "space"),
            ('" ".join(<t>.split())', "single spaces", "", "space|split"),
            ('<t>.strip("!,. ")', "no marks at its ends", "", "strip|end"),
        ),
        case=one_of(
            (".lower()", "in small letters", "", "lower|small"),
            (".upper()", "in capitals", "", "upper|capital"),
            ("", "otherwise as it is"),
        ),
    ),
    function(
        "longest",
        WORDS,
        '''
        def <x>_choice(<xs>):
            """Return the <which!> of the <xs>, or <none!> if there are none."""
            if not <xs>:
                return ~<none>
            return ~<which>
        ''',
        _LISTS,
        (),
        none=one_of(
            ('""', "an empty text", "for an empty list return an empty text"),
            ("None", "None", "for an empty list return None"),
            ('"?"', "a question mark", "for an empty list return a question mark"),
            vague="what suits you",
            topic="empty input",
            cues=("empty", "are none", "no entries|words|names|elements|items", "nothing"),
            question="What should come out for an empty list?",
        ),
        which=one_of(
            ("max(<xs>, key=len)", "longest", "", "long"),
            ("min(<xs>, key=len)", "shortest", "", "short"),
            ("min(<xs>)", "first in the alphabet", "", "alphabet|first|min"),
            ("max(<xs>)", "last in the alphabet", "", "alphabet|last|max"),
            ("<xs>[len(<xs>) // 2]", "middle one", "", "middle"),
        ),
    ),
    function(
        "number-lines",
        tuple({"t": name} for name in ("lines", "verses", "items", "steps")),
        '''
        def numbered(<t>):
            """Return the <t>, each with its number before it, counted from <start!>, as in `<form!>`."""
            return [~f"<form>" for number, entry in enumerate(<t>, <start>)]
        ''',
        ('f(["a", "b"])', "f([])", 'f(["x"])', 'f(["one", "two", "three"])'),
        ("number",),
        start=one_of(("1", "1"), ("0", "0"), ("10", "10")),
        form=one_of(
            ("{number}. {entry}", "1. text"),
            ("{number}: {entry}", "1: text"),
            ("({number}) {entry}", "(1) text"),
            ("{entry} #{number}", "text #1"),
        ),
    ),
)
