"""Names of the booking world. `home` serves train, val and test; `ood` shares no city, hotel, airline or person with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slmagent.scenarios.splits import Family

CONDITIONS = ("sunny", "cloudy", "rainy", "windy", "foggy", "stormy")
TIERS = ("blue", "silver", "gold", "platinum")
FARES = ("basic", "standard", "flex")


@dataclass(frozen=True, slots=True)
class Inventory:
    """What a family of splits can be about."""

    month: str
    cities: tuple[str, ...]
    hotel_names: tuple[str, ...]
    airlines: Mapping[str, str]
    """Code -> name; flight ids are a code and three digits."""
    first_names: tuple[str, ...]
    last_names: tuple[str, ...]
    tool_names: Mapping[str, str]
    """Canonical tool name -> name shown to the agent; empty where nothing is renamed."""


HOME = Inventory(
    month="June",
    cities=(
        "Paris", "Rome", "London", "Berlin", "Madrid", "Vienna", "Prague", "Dublin",
        "Oslo", "Lisbon", "Athens", "Milan", "Munich", "Venice", "Geneva", "Warsaw",
    ),
    hotel_names=(
        "Aurora", "Bristol", "Central", "Diana", "Europa", "Garden", "Harbour", "Imperial",
        "Meridian", "Orient", "Palace", "Regent", "Savoy", "Terminus", "Victoria", "Windsor",
    ),
    airlines={"FL": "Flightline"},
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
    month="October",
    cities=("Tokyo", "Boston", "Cairo", "Delhi", "Denver", "Lagos", "Lima", "Seoul", "Sydney", "Toronto", "Nairobi", "Quito"),
    hotel_names=(
        "Bamboo", "Cedar", "Desert", "Falcon", "Jasmine", "Lotus", "Maple", "Pearl", "Sunrise", "Tiger", "Willow", "Zenith",
    ),
    airlines={"AX": "Axis Air", "NW": "Northwind"},
    first_names=("Aisha", "Chen", "Diego", "Fatima", "Hiro", "Imani", "Kofi", "Lucia", "Mei", "Omar", "Priya", "Yuki"),
    last_names=("Abebe", "Castro", "Diallo", "Gupta", "Haddad", "Ito", "Kim", "Mensah", "Okafor", "Park", "Silva", "Tanaka"),
    tool_names={
        "search_flights": "find_flights",
        "search_hotels": "find_hotels",
        "get_weather": "weather_forecast",
        "get_user": "customer_record",
        "book_flight": "reserve_flight",
        "book_hotel": "reserve_hotel",
        "change_booking": "rebook",
        "cancel_booking": "cancel_reservation",
        "notify_user": "send_message",
    },
)  # fmt: skip

INVENTORIES: Mapping[Family, Inventory] = {"home": HOME, "ood": OOD}
