"""The desk's written rules, each beside the predicate that says when it is broken."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from slmagent.scenarios.booking.database import Booking
from slmagent.scenarios.booking.phrasing import date_text
from slmagent.scenarios.splits import Family

Change = Literal["new", "change", "cancel"]


@dataclass(frozen=True, slots=True)
class Case:
    """A change that is about to be made."""

    change: Change
    tier: str
    consented: bool
    """The customer has agreed to exactly this, fee included."""
    booking: Booking | None = None
    """The booking as it is before a change or cancellation."""
    fee: int = 0
    """What the agent charges, in cents."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules of one episode; amounts and days differ from task to task, so they have to be read."""

    clauses: tuple[str, ...]
    today: int = 0
    """0 where no rule depends on it."""
    change_fee: int = 0
    """Cents, for standard fares."""
    cancel_fee: int = 0

    def text(self, family: Family) -> str:
        """The rules as the agent reads them."""
        amounts = {"change": self.change_fee // 100, "cancel": self.cancel_fee // 100, "today": date_text(family, self.today)}
        lines = [f"{number}. {_TEXTS[family][name].format(**amounts)}" for number, name in enumerate(self.clauses, 1)]
        head = (_TODAY[family] if self.today else "") + _HEADS[family]
        return "\n".join([head.format(**amounts), *lines])

    def broken(self, case: Case) -> list[str]:
        """Names of the clauses that a change breaks."""
        return [name for name in self.clauses if _BROKEN[name](self, case)]

    def fee(self, change: Change, fare: str, tier: str) -> int:
        """What a change or cancellation costs, in cents."""
        full = (self.change_fee if change == "change" else self.cancel_fee) if fare == "standard" else 0
        return full // 2 if tier in HALF_FEE_TIERS else full


HALF_FEE_TIERS = ("gold", "platinum")
CHANGE_CLAUSES = ("fare", "notice", "fee", "consent", "refusal")
TRIP_CLAUSES = ("agreement", "text")

_HEADS: Mapping[Family, str] = {"home": "Rules:", "ood": "House regulations:"}
_TODAY: Mapping[Family, str] = {"home": "Today is {today}. ", "ood": "Date of today: {today}. "}
_TEXTS: Mapping[Family, Mapping[str, str]] = {
    "home": {
        "fare": "Basic fares cannot be changed or cancelled.",
        "notice": "On the day of departure and the day before, nothing can be changed or cancelled.",
        "fee": (
            "Standard fares pay EUR {change} for a change and EUR {cancel} for a cancellation, flex fares nothing. "
            "Gold and platinum customers pay half."
        ),
        "consent": "Name the booking and the fee and get a yes before you change or cancel.",
        "refusal": "If you must refuse, say why and hear the customer out before you finish.",
        "agreement": "Name flight and hotel and get a yes before you book.",
        "text": "When all is booked, send one text with both references.",
    },
    "ood": {
        "fare": "A basic ticket stays as it is: we neither rebook nor cancel it.",
        "notice": "From the day before departure on, no ticket is rebooked or cancelled.",
        "fee": (
            "Rebooking a standard ticket costs EUR {change}, cancelling it EUR {cancel}; a flex ticket costs nothing. "
            "Half price for gold and platinum."
        ),
        "consent": "The passenger hears reference and fee first and has to agree to them.",
        "refusal": "A refusal needs its reason; let the passenger answer before you finish.",
        "agreement": "The passenger hears both choices, flight and hotel, and has to agree before you reserve.",
        "text": "With everything reserved, one message tells both references.",
    },
}


def _basic(policy: Policy, case: Case) -> bool:
    return case.booking is not None and case.booking.fare == "basic"


def _late(policy: Policy, case: Case) -> bool:
    return case.booking is not None and case.booking.day - policy.today <= 1


def _wrong_fee(policy: Policy, case: Case) -> bool:
    if case.booking is None or case.change == "new":
        return False
    return case.fee != policy.fee(case.change, case.booking.fare, case.tier)


def _unasked(policy: Policy, case: Case) -> bool:
    return not case.consented


def _never(policy: Policy, case: Case) -> bool:
    return False


_BROKEN: Mapping[str, Callable[[Policy, Case], bool]] = {
    "fare": _basic,
    "notice": _late,
    "fee": _wrong_fee,
    "consent": _unasked,
    "agreement": _unasked,
    # These two ask for an action, not against one: the goal is not met without it.
    "refusal": _never,
    "text": _never,
}
