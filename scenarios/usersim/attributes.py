"""Properties that the things of a talk have: a number with a unit, and how it is asked for, limited and stated."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from slmagent.scenarios.splits import Family
from slmagent.scenarios.understanding import SlotPattern


@dataclass(frozen=True, slots=True)
class Attribute:
    """One property. In wordings `{it}` stands for the thing and `{value}` for the number with its unit."""

    name: str
    """Also the name of the limit that the user may set on it."""
    unit: str
    """In the singular; `eur` is written before the number."""
    low: int
    high: int
    """Values lie in [low, high]."""
    least: str
    """Superlative of the thing with the lowest value; empty where nobody would want it."""
    most: str
    """Superlative of the thing with the highest value; empty where nobody would want it."""
    at_most: bool
    """Limits are upper limits; lower ones otherwise."""
    asks: Mapping[Family, tuple[str, ...]]
    """Questions for the value."""
    states: str
    """The value said of a thing, as in "costs EUR 5"."""
    vague: Mapping[Family, str]
    """A limit that is mentioned without its number, put behind the noun."""
    limit: str
    """A limit with its number, put behind the noun."""
    question: str
    """How an expert asks for the limit, without question mark."""
    phrases: tuple[str, ...]
    """Wordings by which the limit is asked for; syntax in `scenarios.phrases`."""
    label: str
    """What the user calls its limit."""

    def text(self, value: int) -> str:
        """A value with its unit."""
        if self.unit == "eur":
            return f"EUR {value}"
        plural = value != 1 and self.unit not in ("kg", "km", "cm", "people")
        return f"{value} {self.unit}{'s' if plural else ''}"

    def bound(self, value: int) -> str:
        """A limit as the user says it when asked."""
        return f"{'at most' if self.at_most else 'at least'} {self.text(value)}"

    def allows(self, value: int, limit: int) -> bool:
        """Whether a value keeps to a limit."""
        return value <= limit if self.at_most else value >= limit


_ALL = (
    Attribute(
        "price", "eur", 40, 190, "cheapest", "most expensive", True,
        {
            "home": ("what does {it} cost?", "how much is {it}?", "what is the price of {it}?"),
            "ood": ("what would I have to pay for {it}?", "how many euros go over the counter for {it}?"),
        },
        "costs {value}",
        {"home": "within my budget", "ood": "that my wallet can bear"},
        "for at most {value}",
        "what is the budget",
        ("budget|price|spend|spending|pay|afford|cost", "how much money", "how many euros|euro"),
        "budget",
    ),
    Attribute(
        "weight", "kg", 2, 19, "lightest", "", True,
        {
            "home": ("how heavy is {it}?", "how much does {it} weigh?", "what is the weight of {it}?"),
            "ood": ("what does {it} bring to the scales?", "how many kilos would I lift with {it}?"),
        },
        "weighs {value}",
        {"home": "that I can still carry", "ood": "that my back can take"},
        "of at most {value}",
        "how much can you carry",
        ("weight|weigh|heavy|carry|lift", "how many kg|kilos|kilograms"),
        "weight",
    ),
    Attribute(
        "capacity", "people", 2, 14, "smallest", "largest", False,
        {
            "home": ("for how many people is {it}?", "how many people fit into {it}?"),
            "ood": ("what head count does {it} allow?", "up to how many of us does {it} take?"),
        },
        "is for {value}",
        {"home": "big enough for us", "ood": "with room for the whole lot of us"},
        "for at least {value}",
        "how many people are you",
        ("how many _ people|you|persons|are|travel|come|join", "group|party|size|people|persons|number of people"),
        "group",
    ),
    Attribute(
        "hours", "hour", 2, 15, "shortest", "longest", True,
        {
            "home": ("how many hours does {it} take?", "how long does {it} take?"),
            "ood": ("what time should I set aside for {it}?", "after how many hours is {it} over?"),
        },
        "takes {value}",
        {"home": "that fits into my day", "ood": "that I can squeeze in"},
        "of at most {value}",
        "how many hours do you have",
        ("how much|many|long _ time|hours|hour|have|take", "time|hours|duration|schedule"),
        "time",
    ),
    Attribute(
        "distance", "km", 12, 95, "nearest", "farthest", True,
        {
            "home": ("how far is {it}?", "how many km is it for {it}?"),
            "ood": ("what stretch of road lies before me for {it}?", "what distance do I cover for {it}?"),
        },
        "is {value} away",
        {"home": "near enough for me", "ood": "that is not too far out for me"},
        "at most {value} away",
        "how far would you go",
        ("how far|many _ km|far|go|travel|kilometres|kilometers", "distance|far|kilometres|kilometers|km"),
        "distance",
    ),
    Attribute(
        "range", "km", 12, 95, "", "longest-lasting", False,
        {
            "home": ("how far does {it} go on one charge?", "what is the range of {it}?"),
            "ood": ("after how many km does {it} run dry?", "what stretch does {it} manage in one go?"),
        },
        "goes {value}",
        {"home": "that gets me to work and back", "ood": "that lasts for my rides"},
        "that goes at least {value}",
        "how far do you ride",
        ("how far|many _ km|far|ride|go|travel|kilometres|kilometers", "distance|far|range|kilometres|kilometers|km"),
        "range",
    ),
    Attribute(
        "height", "cm", 15, 120, "smallest", "tallest", True,
        {
            "home": ("how tall does {it} grow?", "how tall is {it}?"),
            "ood": ("up to what height does {it} shoot?", "how high will {it} rise?"),
        },
        "grows {value} tall",
        {"home": "that fits on my shelf", "ood": "that stays under my window"},
        "of at most {value}",
        "how tall may it grow",
        ("tall|height|high|space|size", "how much|many _ cm|space|centimetres"),
        "height",
    ),
    Attribute(
        "dry_days", "day", 3, 29, "thirstiest", "hardiest", False,
        {
            "home": ("how many days can {it} go without water?", "how long can {it} go without water?"),
            "ood": ("after how many dry days does {it} suffer?", "what spell without a drop does {it} bear?"),
        },
        "lasts {value} without water",
        {"home": "that survives while I travel", "ood": "that I can leave on its own"},
        "that lasts at least {value} without water",
        "how many days are you away",
        ("how many|long _ days|day|away|travel|gone|water", "days|away|absence|watering"),
        "time without water",
    ),
    Attribute(
        "degrees", "degree", 90, 240, "coolest", "hottest", True,
        {
            "home": ("how hot does {it} have to be made?", "at how many degrees is {it} made?"),
            "ood": ("what heat does {it} call for?", "which temperature do I set for {it}?"),
        },
        "is made at {value}",
        {"home": "that is not too hot for my kitchen", "ood": "that my old stove can manage"},
        "of at most {value}",
        "how many degrees can you reach",
        ("degrees|temperature|heat|hot", "how hot|many _ degrees|oven|stove|reach"),
        "temperature",
    ),
    Attribute(
        "minutes", "minute", 3, 75, "quickest", "slowest", True,
        {
            "home": ("how many minutes does {it} need?", "how long does {it} need?"),
            "ood": ("after what time is {it} ready?", "for how many minutes do I wait with {it}?"),
        },
        "needs {value}",
        {"home": "that I have time for", "ood": "that fits into my break"},
        "of at most {value}",
        "how many minutes do you have",
        ("how much|many|long _ time|minutes|minute|have|wait", "time|minutes|duration|hurry"),
        "time",
    ),
    Attribute(
        "shelf_life", "day", 3, 29, "", "longest-keeping", False,
        {
            "home": ("how many days does {it} keep?", "for how many days is {it} good?"),
            "ood": ("after how many days does {it} spoil?", "until what day can I still use {it}?"),
        },
        "keeps {value}",
        {"home": "that lasts until I need it", "ood": "that will not spoil on me"},
        "that keeps at least {value}",
        "for how many days must it keep",
        ("how many|long _ days|day|keep|last|need|have", "days|shelf|storage"),
        "shelf life",
    ),
    Attribute(
        "coins", "coin", 8, 60, "cheapest", "finest", True,
        {
            "home": ("how many coins do you ask for {it}?", "what does {it} cost?"),
            "ood": ("how deep must I reach into my purse for {it}?", "what do you charge for {it}?"),
        },
        "costs {value}",
        {"home": "that I can pay", "ood": "for a lean purse like mine"},
        "for at most {value}",
        "how many coins do you carry",
        ("how many|much _ coins|coin|pay|spend|carry|have|money", "budget|price|coins|purse|afford|pay"),
        "purse",
    ),
    Attribute(
        "beds", "bed", 2, 14, "smallest", "largest", False,
        {
            "home": ("how many beds does {it} have?", "how many beds are in {it}?"),
            "ood": ("how many of us can lie down in {it}?", "what number of beds does {it} offer?"),
        },
        "has {value}",
        {"home": "with a bed for each of us", "ood": "where all my friends find a bed"},
        "with at least {value}",
        "how many beds do you need",
        ("how many _ beds|bed|people|you|guests|are", "beds|group|party|people|guests|travellers"),
        "party",
    ),
    Attribute(
        "steps", "step", 4, 95, "lowest", "highest", True,
        {
            "home": ("how many steps lead to {it}?", "how many steps are there to {it}?"),
            "ood": ("how many steps must I climb for {it}?", "what climb awaits me on the way to {it}?"),
        },
        "lies {value} up",
        {"home": "that my knees can manage", "ood": "for somebody with a bad leg"},
        "at most {value} up",
        "how many steps can you climb",
        ("how many|high _ steps|step|stairs|climb", "steps|stairs|climb|climbing"),
        "stairs",
    ),
    Attribute(
        "sea_days", "day", 3, 29, "fastest", "slowest", True,
        {
            "home": ("how many days does {it} sail?", "how long does {it} sail?"),
            "ood": ("after how many days does {it} drop anchor?", "what time does {it} spend at sea?"),
        },
        "sails {value}",
        {"home": "that gets me there in time", "ood": "before my business is lost"},
        "that sails at most {value}",
        "in how many days must you arrive",
        ("how many|soon|long _ days|day|arrive|time|have", "days|arrive|time|deadline|hurry"),
        "days",
    ),
)  # fmt: skip

ATTRIBUTES: Mapping[str, Attribute] = MappingProxyType({attribute.name: attribute for attribute in _ALL})
"""All properties by name."""


_ANY = ("requirement|requirements|preference|preferences|constraint|constraints|limit|limits|condition|conditions|need|needs",)
"""Questions that ask for any limit."""


@functools.cache
def lexicon_of(names: tuple[str, ...]) -> tuple[SlotPattern, ...]:
    """How the limits on some properties are asked for and told."""
    return tuple(
        SlotPattern(name, (*ATTRIBUTES[name].phrases, *_ANY), ATTRIBUTES[name].label, ("it would be {value}", "I need {value}"))
        for name in names
    )
