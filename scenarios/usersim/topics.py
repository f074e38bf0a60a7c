"""What the talks are about. `home` serves train, val and test; `ood` shares no thing, name or wording with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slmagent.scenarios.splits import Family

GOALS = ("recommendation", "advice", "explanation", "planning", "role_play")
"""What users come for; the task kinds."""


@dataclass(frozen=True, slots=True)
class Topic:
    """One kind of things to talk about."""

    role: str
    """First sentence of the system message."""
    noun: str
    attributes: tuple[str, str, str]
    """Names in `attributes.ATTRIBUTES`, of different units."""
    names: tuple[str, ...]

    @property
    def currency(self) -> str:
        """The unit of money in this talk."""
        return "coin" if "coins" in self.attributes else "eur"


_HOME: Mapping[str, tuple[Topic, ...]] = {
    "recommendation": (
        Topic(
            "You recommend tents in an outdoor shop.", "tent", ("price", "weight", "capacity"),
            ("Alta", "Brio", "Corvo", "Dunora", "Elbrus", "Fjella", "Gampo", "Hirta", "Islay", "Jura"),
        ),
        Topic(
            "You recommend electric bikes.", "bike", ("price", "weight", "range"),
            ("Arrow", "Bolero", "Cresta", "Dakota", "Enduro", "Falco", "Gazela", "Hermes", "Ibex", "Jaguar"),
        ),
    ),
    "advice": (
        Topic(
            "You advise people on house plants.", "plant", ("price", "height", "dry_days"),
            ("Monstera", "Ficus", "Calathea", "Aloe", "Yucca", "Dracaena", "Begonia", "Cyclamen", "Hoya", "Pilea"),
        ),
        Topic(
            "You advise readers on evening classes.", "class", ("price", "hours", "capacity"),
            ("Pottery", "Sewing", "Salsa", "Yoga", "Chess", "Origami", "Guitar", "Fencing", "Juggling", "Calligraphy"),
        ),
    ),
    "explanation": (
        Topic(
            "You explain how cakes are made.", "cake", ("degrees", "minutes", "shelf_life"),
            ("Pavlova", "Strudel", "Brownie", "Macaron", "Meringue", "Eclair", "Gugelhupf", "Panettone", "Stollen", "Baklava"),
        ),
        Topic(
            "You explain how breads are baked.", "bread", ("degrees", "minutes", "shelf_life"),
            ("Ciabatta", "Focaccia", "Brioche", "Challah", "Pumpernickel", "Baguette", "Naan", "Bagel", "Lavash", "Sourdough"),
        ),
    ),
    "planning": (
        Topic(
            "You help families to plan day trips.", "trip", ("price", "hours", "distance"),
            ("Lindau", "Meersburg", "Bregenz", "Konstanz", "Appenzell", "Ravensburg", "Feldkirch", "Bern", "Dornbirn", "Chur"),
        ),
        Topic(
            "You help companies to plan an outing.", "outing", ("price", "hours", "capacity"),
            ("Rafting", "Bowling", "Karting", "Archery", "Curling", "Sailing", "Caving", "Paintball", "Minigolf", "Zorbing"),
        ),
    ),
    "role_play": (
        Topic(
            "You play the keeper of a mountain inn in a tale.", "room", ("coins", "beds", "steps"),
            ("Falcon", "Otter", "Badger", "Heron", "Lynx", "Marmot", "Raven", "Stag", "Weasel", "Wolf"),
        ),
        Topic(
            "You play a harbour master in a tale.", "ship", ("coins", "sea_days", "beds"),
            ("Albatross", "Kraken", "Mermaid", "Neptune", "Orca", "Poseidon", "Siren", "Triton", "Walrus", "Nautilus"),
        ),
    ),
}  # fmt: skip

_OOD: Mapping[str, tuple[Topic, ...]] = {
    "recommendation": (
        Topic(
            "Visitors of a boat fair ask you which kayak suits them.", "kayak", ("price", "weight", "capacity"),
            ("Tolvan", "Ursuk", "Vanoi", "Wessel", "Xanto", "Ylva", "Zephra", "Quando"),
        ),
    ),
    "advice": (
        Topic(
            "Gardeners turn to you for counsel on palms.", "palm", ("price", "height", "dry_days"),
            ("Areca", "Kentia", "Livistona", "Phoenix", "Sabal", "Washingtonia", "Butia", "Rhapis"),
        ),
    ),
    "explanation": (
        Topic(
            "Apprentices let you explain the glazes of a pottery.", "glaze", ("degrees", "hours", "shelf_life"),
            ("Celadon", "Tenmoku", "Shino", "Raku", "Majolica", "Oribe", "Chun", "Kaki"),
        ),
    ),
    "planning": (
        Topic(
            "Guests of a hotel plan their river cruises with you.", "cruise", ("price", "hours", "distance"),
            ("Danube", "Mosel", "Neckar", "Rhone", "Tagus", "Volga", "Duero", "Loire"),
        ),
    ),
    "role_play": (
        Topic(
            "In this game you are a wizard who deals in potions.", "potion", ("coins", "minutes", "shelf_life"),
            ("Basilisk", "Chimera", "Dragon", "Griffin", "Hydra", "Phantom", "Sphinx", "Unicorn"),
        ),
    ),
}  # fmt: skip

TOPICS: Mapping[Family, Mapping[str, tuple[Topic, ...]]] = {"home": _HOME, "ood": _OOD}
"""Family -> goal -> topics."""
