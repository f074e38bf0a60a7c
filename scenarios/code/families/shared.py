"""Names and choices that several families share."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import dedent

from slmagent.scenarios.code.families.family import Choice, Family, Naming, Option


def function(
    name: str, namings: tuple[Naming, ...], source: str, calls: tuple[str, ...], gist: tuple[str, ...] = (), **choices: Choice
) -> Family:
    """A family of functions."""
    return Family(name, dedent(source).strip("\n"), namings, calls, choices, gist)


def class_of(name: str, namings: tuple[Naming, ...], source: str, calls: tuple[str, ...], **choices: Choice) -> Family:
    """A family of classes."""
    return Family(name, dedent(source).strip("\n"), namings, calls, choices, kind="class")


def one_of(
    *options: tuple[str, ...], vague: str = "", topic: str = "", cues: tuple[str, ...] = (), question: str = ""
) -> Choice:
    """A choice; options are the fields of `Option`, in order."""
    return Choice(tuple(Option(*option) for option in options), vague, topic, cues, question)


def calls_on(inputs: tuple[str, ...], *more: str) -> tuple[str, ...]:
    """A call for each input and each further argument."""
    return tuple(f"f({value}{', ' + extra if extra else ''})" for value in inputs for extra in more or ("",))


def _plural(*pairs: str) -> tuple[Mapping[str, str], ...]:
    return tuple({"xs": many, "x": one} for many, one in (pair.split("/") for pair in pairs))


NUMBERS = _plural("prices/price", "weights/weight", "scores/score", "lengths/length", "delays/delay", "speeds/speed")
WORDS = _plural("names/name", "words/word", "titles/title", "labels/label", "tags/tag", "cities/city")
NUMBERS_OOD = _plural("harvests/harvest", "tides/tide", "gusts/gust", "depths/depth")
WORDS_OOD = _plural("species/bird", "stars/star", "rivers/river", "spices/spice")
TEXTS = ({"t": "text"}, {"t": "line"}, {"t": "message"}, {"t": "note"})
TEXTS_OOD = ({"t": "verse"}, {"t": "entry"}, {"t": "rumour"}, {"t": "riddle"})
TABLES = (
    {"m": "stock", "k": "item", "v": "amount"},
    {"m": "balances", "k": "account", "v": "balance"},
    {"m": "votes", "k": "party", "v": "count"},
    {"m": "points", "k": "player", "v": "score"},
)
TABLES_OOD = (
    {"m": "flocks", "k": "meadow", "v": "sheep"},
    {"m": "cargo", "k": "barrel", "v": "litres"},
    {"m": "catches", "k": "boat", "v": "fish"},
    {"m": "rainfall", "k": "valley", "v": "inches"},
)
RECORDS = (
    {"rs": "orders", "r": "order", "a": "price", "b": "amount", "n": "customer"},
    {"rs": "flights", "r": "flight", "a": "fare", "b": "seats", "n": "city"},
    {"rs": "books", "r": "book", "a": "pages", "b": "copies", "n": "author"},
    {"rs": "rooms", "r": "room", "a": "rent", "b": "beds", "n": "floor"},
)
RECORDS_OOD = (
    {"rs": "gardens", "r": "garden", "a": "width", "b": "plants", "n": "owner"},
    {"rs": "comets", "r": "comet", "a": "period", "b": "moons", "n": "finder"},
    {"rs": "quilts", "r": "quilt", "a": "patches", "b": "colours", "n": "maker"},
    {"rs": "herds", "r": "herd", "a": "milk", "b": "goats", "n": "village"},
)
GRIDS = ({"g": "grid"}, {"g": "table"}, {"g": "matrix"}, {"g": "board"})
GRIDS_OOD = ({"g": "mosaic"}, {"g": "plots"}, {"g": "hive"}, {"g": "atlas"})

_RISING = "ascending|smallest to|smallest first|increasing|lowest to"
_FALLING = "descending|largest to|largest first|reverse|decreasing|highest to"
EDGES = one_of(
    (">", "above", "", "above|greater|more|over|exceed|larger|higher|>"),
    (">=", "at or above", "", "at least|or above|or equal|or more|not below|>="),
    ("<", "below", "", "below|less|smaller|under|lower|<"),
    ("<=", "at or below", "", "at most|or below|or equal|or less|not above|<="),
)
ENDS = one_of(("max", "highest"), ("min", "lowest"))
OVER = one_of(
    (">", "above", "leave out what is exactly at the limit", "above|greater|more|over|exceed|larger|higher|>"),
    (">=", "at or above", "keep what is exactly at the limit, too", "at least|or above|or equal|or more|not below|>="),
    vague="over",
    topic="limit",
    cues=("exactly", "limit itself", "equal|equals", "at the limit", "inclusive|include|included|including", "strictly"),
    question="What about a value exactly at the limit?",
)
ORDER = one_of(
    ("", "from the smallest to the largest", "the smallest comes first", _RISING),
    (", reverse=True", "from the largest to the smallest", "the largest comes first", _FALLING),
    vague="in order",
    topic="order",
    cues=("order", "ascending|descending", "smallest|largest first", "which comes first", "way|direction"),
    question="In which order should they come, ascending or descending?",
)
EMPTY = one_of(
    ("0", "0 if there are none", "for an empty list the result is 0"),
    ("None", "None if there are none", "for an empty list the result is None"),
    ("-1", "-1 if there are none", "for an empty list the result is -1"),
    vague="something sensible if there are none",
    topic="empty input",
    cues=("empty", "no values|items|elements|entries", "are none", "nothing"),
    question="What should come out for an empty list?",
)
SEPARATOR = one_of(
    ('", "', "commas and spaces", "use a comma and a space"),
    ('"; "', "semicolons and spaces", "use a semicolon and a space"),
    ('" / "', "slashes with spaces around them", "use a slash with a space on each side"),
    ('"-"', "hyphens", "use a hyphen without spaces"),
    vague="a separator",
    topic="separator",
    cues=("separator|delimiter", "between", "character|comma|semicolon|hyphen|slash", "join them with"),
    question="Which separator should I use?",
)
DIGITS = one_of(
    ("0", "to no decimals", "round to no decimals at all"),
    ("1", "to one decimal", "round to one decimal"),
    ("2", "to two decimals", "round to two decimals"),
    ("3", "to three decimals", "round to three decimals"),
    vague="in the usual way",
    topic="rounding",
    cues=("decimals|digits|places", "round|rounded|rounding", "precise|precision|exact"),
    question="To how many decimals should I round?",
)
LISTS = (
    "f([3, 8, 5, 12, 7], 7)",
    "f([], 4)",
    "f([4, 4, 9, 1, -2, 10], 4)",
    "f([10, 0, -6, 25, 2], 2)",
    "f([6], 6)",
    "f([1, 2, 3], 9)",
)
PLAIN = ("f([3, 8, 5, 12, 7])", "f([4, 9, 1, 4, -2, 10])", "f([25, 6, 14, 2])", "f([-3, -8, -5, 4])", "f([7, 2, 30, 11, 5, 9])")
