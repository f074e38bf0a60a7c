"""Names of the shop's world. `home` serves train, val and test; `ood` shares no product, person or tool name with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slmagent.scenarios.splits import Family

TIERS: tuple[str, ...] = ("blue", "silver", "gold")
STATES: tuple[str, ...] = ("packed", "shipped", "delivered", "delayed")
"""Where an ordered item can be."""


@dataclass(frozen=True, slots=True)
class ProductType:
    """A kind of product, and the one figure that its articles tell."""

    name: str
    plural: str
    detail: str
    """Sentence with `{name}` and `{value}`."""
    unit: str
    """Unit of the figure, in the singular."""
    low: int
    high: int
    question: str
    """Question for the figure, with `{name}`."""


@dataclass(frozen=True, slots=True)
class Inventory:
    """What a family of splits can be about."""

    month: str
    types: tuple[ProductType, ...]
    models: tuple[str, ...]
    """Model names; each belongs to one product."""
    methods: tuple[str, ...]
    """Ways of shipping."""
    payments: tuple[str, ...]
    carriers: tuple[str, ...]
    first_names: tuple[str, ...]
    last_names: tuple[str, ...]
    tool_names: Mapping[str, str]
    """Canonical tool name -> name shown to the agent; empty where nothing is renamed."""


HOME = Inventory(
    month="May",
    types=(
        ProductType("kettle", "kettles", "The {name} holds {value} cups.", "cup", 4, 12, "How many cups does the {name} hold?"),
        ProductType("lamp", "lamps", "The {name} needs {value} watts.", "watt", 5, 60, "How many watts does the {name} need?"),
        ProductType(
            "backpack", "backpacks", "The {name} holds {value} litres.", "litre", 12, 70, "How many litres fit into the {name}?"
        ),
        ProductType(
            "camera", "cameras", "The {name} has {value} megapixels.", "megapixel", 12, 60,
            "How many megapixels does the {name} have?",
        ),
        ProductType(
            "keyboard", "keyboards", "The {name} has {value} keys.", "key", 61, 110, "How many keys does the {name} have?"
        ),
        ProductType(
            "blender", "blenders", "The {name} has {value} speeds.", "speed", 2, 12, "How many speeds does the {name} have?"
        ),
        ProductType(
            "heater", "heaters", "The {name} weighs {value} kilos.", "kg", 2, 19, "How many kilos does the {name} weigh?"
        ),
        ProductType(
            "speaker", "speakers", "The {name} plays {value} hours on one charge.", "hour", 5, 40,
            "How many hours does the {name} play on one charge?",
        ),
    ),
    models=(
        "Aria", "Bolt", "Cedar", "Delta", "Fjord", "Gala", "Halo", "Iris", "Juno", "Kiwi", "Luna", "Mira",
        "Nova", "Opal", "Polo", "Quartz", "Rex", "Sol", "Terra", "Uno", "Vega", "Wave", "Yuma", "Zest",
    ),
    methods=("standard", "express", "overnight", "pickup", "bulky"),
    payments=("card", "bank transfer", "invoice", "gift card"),
    carriers=("Swift", "Parcelo", "Roadline", "Postbird"),
    first_names=(
        "Anna", "Ben", "Clara", "David", "Emma", "Felix", "Grace", "Hugo", "Ida", "Jonas",
        "Karen", "Leo", "Maria", "Nina", "Oscar", "Paula", "Robert", "Sara", "Tom", "Vera",
    ),
    last_names=(
        "Adams", "Baker", "Carter", "Davis", "Evans", "Fischer", "Green", "Hansen", "Ivanov", "Jensen",
        "Keller", "Lopez", "Moore", "Novak", "Olsen", "Parker", "Rossi", "Smith", "Turner", "Weber",
    ),
    tool_names={},
)  # fmt: skip

OOD = Inventory(
    month="September",
    types=(
        ProductType(
            "tent", "tents", "The {name} sleeps {value} persons.", "people", 2, 9, "How many persons sleep in the {name}?"
        ),
        ProductType("drill", "drills", "The {name} comes with {value} bits.", "bit", 5, 80, "The {name}: with how many bits?"),
        ProductType(
            "scooter", "scooters", "The {name} runs {value} kilometres.", "km", 12, 60,
            "How many kilometres does the {name} run?",
        ),
        ProductType(
            "monitor", "monitors", "The {name} measures {value} inches.", "inch", 19, 43, "The {name} measures how many inches?"
        ),
        ProductType("toaster", "toasters", "The {name} has {value} levels.", "level", 3, 12, "The {name}: how many levels?"),
        ProductType("helmet", "helmets", "The {name} has {value} vents.", "vent", 4, 24, "How many vents are in the {name}?"),
    ),
    models=(
        "Amber", "Birch", "Comet", "Dune", "Ember", "Flint", "Grove", "Heron", "Islet",
        "Jasper", "Knoll", "Larch", "Maple", "Night", "Onyx", "Pine", "Ridge", "Slate",
    ),
    methods=("economy", "priority", "same-day", "locker", "freight"),
    payments=("debit", "wallet", "instalments", "voucher"),
    carriers=("Arrow", "Courio", "Northpost", "Wheelie"),
    first_names=("Aisha", "Chen", "Diego", "Fatima", "Hiro", "Imani", "Kofi", "Lucia", "Mei", "Omar", "Priya", "Yuki"),
    last_names=("Abebe", "Castro", "Diallo", "Gupta", "Haddad", "Ito", "Kim", "Mensah", "Okafor", "Park", "Silva", "Tanaka"),
    tool_names={
        "search_kb": "find_article",
        "get_order": "order_record",
        "get_customer": "customer_record",
        "refund": "pay_back",
        "replace_item": "send_replacement",
        "create_ticket": "open_case",
        "escalate": "hand_over",
    },
)  # fmt: skip

INVENTORIES: Mapping[Family, Inventory] = {"home": HOME, "ood": OOD}
