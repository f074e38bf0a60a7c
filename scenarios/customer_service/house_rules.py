"""What the shop's articles say besides products: accounts, privacy, shipping, refunds, problems. Plain data, two wordings.

`{value}` is drawn for each edition of the shop; questions are what customers ask about it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slmagent.scenarios.splits import Family

PROBLEMS = ("broken", "wrong", "incomplete", "lost", "dangerous")
"""What can be wrong with an ordered item."""
REMEDIES = ("replace", "refund", "parts", "carrier", "repair", "escalate")
"""What can be done about it; `parts`, `carrier` and `repair` are tickets."""


@dataclass(frozen=True, slots=True)
class HouseRule:
    """One figure of the shop's rules."""

    key: str
    unit: str
    low: int
    high: int
    title: str
    sentence: str
    questions: tuple[str, ...]


ACCOUNT: Mapping[Family, tuple[HouseRule, ...]] = {
    "home": (
        HouseRule(
            "password", "character", 8, 16, "Passwords", "A password needs at least {value} characters.",
            ("How many characters does a password need?", "How long does my password have to be, in characters?"),
        ),
        HouseRule(
            "lock", "minute", 10, 60, "Locked accounts", "After five failed log-ins an account is locked for {value} minutes.",
            ("For how many minutes is an account locked?", "My account is locked, how many minutes do I have to wait?"),
        ),
        HouseRule(
            "code", "minute", 3, 20, "Sign-in codes", "A sign-in code is valid for {value} minutes.",
            ("How many minutes is a sign-in code valid?", "How long can I use a sign-in code?"),
        ),
        HouseRule(
            "points", "month", 6, 36, "Loyalty points", "Loyalty points expire after {value} months.",
            ("When do loyalty points expire?", "After how many months do my loyalty points expire?"),
        ),
        HouseRule(
            "addresses", "address", 3, 20, "Address book", "The address book holds up to {value} addresses.",
            ("How many addresses fit into the address book?", "How many addresses can my address book hold?"),
        ),
        HouseRule(
            "invite", "eur", 5, 25, "Inviting friends", "For each friend you invite you get EUR {value}.",
            ("What do I get for inviting friends?", "How many euros do I get when I invite friends?"),
        ),
        HouseRule(
            "vouchers", "month", 3, 24, "Vouchers", "A voucher can be used for {value} months.",
            ("How long can a voucher be used?", "For how many months can I use vouchers?"),
        ),
        HouseRule(
            "gift", "year", 1, 5, "Gift cards", "A gift card can be spent for {value} years.",
            ("For how many years can gift cards be spent?", "How many years can I spend a gift card?"),
        ),
        HouseRule(
            "student", "percent", 5, 20, "Student discount", "Students get a discount of {value} percent.",
            ("How many percent is the student discount?", "What is the discount for students?"),
        ),
        HouseRule(
            "newsletter", "times", 2, 8, "Newsletter", "The newsletter comes {value} times a month.",
            ("How many times a month does the newsletter come?", "How often does the newsletter come?"),
        ),
    ),
    "ood": (
        HouseRule(
            "password", "symbol", 8, 16, "Choosing a passphrase", "Your passphrase must have {value} symbols or more.",
            ("Passphrase: the least number of symbols?", "What is the shortest passphrase, in symbols?"),
        ),
        HouseRule(
            "lock", "minute", 10, 60, "Blocked log-in", "A blocked log-in opens again after {value} minutes.",
            ("Blocked log-in. Minutes until it opens?", "When does a blocked log-in open again?"),
        ),
        HouseRule(
            "code", "minute", 3, 20, "One-time pins", "A one-time pin works for {value} minutes.",
            ("One-time pin: good for how many minutes?", "The minutes that a one-time pin works?"),
        ),
        HouseRule(
            "points", "month", 6, 36, "Bonus stars", "Bonus stars are lost after {value} months.",
            ("Bonus stars: lost after how many months?", "The life of bonus stars, in months?"),
        ),
        HouseRule(
            "addresses", "contact", 3, 20, "Contact list", "You can save {value} contacts in your list.",
            ("The contact list takes how many contacts?", "The most contacts I can save?"),
        ),
        HouseRule(
            "invite", "eur", 5, 25, "Referrals", "A referral earns you EUR {value}.",
            ("A referral earns me what?", "My reward for a referral?"),
        ),
        HouseRule(
            "vouchers", "month", 3, 24, "Coupons", "Coupons stay good for {value} months.",
            ("Coupons stay good for how many months?", "Months until coupons end?"),
        ),
        HouseRule(
            "gift", "year", 1, 5, "Store credit", "Store credit lapses after {value} years.",
            ("Store credit lapses after how many years?", "Years until store credit lapses?"),
        ),
        HouseRule(
            "student", "percent", 5, 20, "Teachers", "Teachers pay {value} percent less.",
            ("Teachers pay how many percent less?", "I am one of many teachers: my percent off?"),
        ),
        HouseRule(
            "newsletter", "times", 2, 8, "Catalogue", "The printed catalogue appears {value} times a year.",
            ("The printed catalogue: how many times a year?", "How many times does the catalogue appear?"),
        ),
    ),
}  # fmt: skip
PRIVACY: Mapping[Family, tuple[HouseRule, ...]] = {
    "home": (
        HouseRule(
            "deletion", "day", 7, 60, "Deleting an account", "When you delete an account all data is gone in {value} days.",
            ("After how many days is my data gone when I delete my account?", "How fast is a deleted account's data gone?"),
        ),
        HouseRule(
            "chats", "day", 14, 120, "Chat records", "Chat records are kept for {value} days.",
            ("How many days are chat records kept?", "How long do you keep the record of this chat?"),
        ),
        HouseRule(
            "invoices", "year", 5, 12, "Stored invoices", "Invoices are stored for {value} years.",
            ("How many years are invoices stored?", "For how many years do you store my invoices?"),
        ),
        HouseRule(
            "cookies", "day", 20, 180, "Cookies", "Our cookies expire after {value} days.",
            ("After how many days do cookies expire?", "When do your cookies expire?"),
        ),
        HouseRule(
            "recordings", "week", 2, 26, "Call recordings", "Recorded calls are erased after {value} weeks.",
            ("After how many weeks are recorded calls erased?", "When are call recordings erased?"),
        ),
        HouseRule(
            "copy", "day", 3, 30, "Copies of data", "A copy of your personal data arrives within {value} days.",
            ("How many days until I get a copy of my personal data?", "When does a copy of my personal data arrive?"),
        ),
        HouseRule(
            "breach", "hour", 12, 72, "Data breaches", "A data breach is announced within {value} hours.",
            ("Within how many hours is a data breach announced?", "When do you announce a data breach?"),
        ),
        HouseRule(
            "age", "year", 14, 18, "Age limit", "The age limit for an account is {value} years.",
            ("What is the age limit for an account?", "What age limit, in years, does an account have?"),
        ),
    ),
    "ood": (
        HouseRule(
            "deletion", "day", 7, 60, "Closing a profile", "A closed profile is wiped in {value} days.",
            ("A closed profile is wiped in how many days?", "Days until a closed profile is wiped?"),
        ),
        HouseRule(
            "chats", "day", 14, 120, "Message logs", "Message logs stay for {value} days.",
            ("Message logs stay for how many days?", "The days that message logs stay?"),
        ),
        HouseRule(
            "invoices", "year", 5, 12, "Archived receipts", "Receipts stay in the archive for {value} years.",
            ("Receipts stay archived for how many years?", "Years of archived receipts?"),
        ),
        HouseRule(
            "cookies", "day", 20, 180, "Trackers", "Trackers run out in {value} days.",
            ("Trackers run out in how many days?", "Days until trackers run out?"),
        ),
        HouseRule(
            "recordings", "week", 2, 26, "Voice mail", "Voice mail is removed after {value} weeks.",
            ("Voice mail is removed after how many weeks?", "Weeks until voice mail is removed?"),
        ),
        HouseRule(
            "copy", "day", 3, 30, "Exporting your file", "An export of your file takes {value} days.",
            ("An export of my file takes how many days?", "Days for an export of my file?"),
        ),
        HouseRule(
            "breach", "hour", 12, 72, "Leaks", "We tell you of a leak in {value} hours.",
            ("You tell me of a leak in how many hours?", "Hours until you tell of a leak?"),
        ),
        HouseRule(
            "age", "year", 14, 18, "Youngest members", "Members are {value} years or older.",
            ("Members are how many years or older?", "Youngest members: how many years?"),
        ),
    ),
}  # fmt: skip

ARTICLES: Mapping[Family, Mapping[str, tuple[str, str]]] = {
    "home": {
        "returns": ("Returning {plural}", "{Plural} can be returned within {days} days of delivery, the fee is EUR {fee}."),
        "warranty": ("Warranty on {plural}", "{Plural} have a warranty of {months} months."),
        "shipping": ("{Method} shipping", "{Method} shipping takes {days} days and costs EUR {price}."),
        "payment": ("Refunds by {payment}", "Money that was paid by {payment} is back within {days} days."),
        "product": ("{Model} {type}", "{detail} The price is EUR {price}."),
        "late": (
            "Late returns",
            "After the return time there is no refund. A broken item is replaced under warranty, else it gets a repair ticket.",
        ),
        "tier": ("{Tier} customers", "{Tier} customers may return items {days} days longer."),
        "broken": ("Broken items", "When an item arrives broken we {remedy}."),
        "wrong": ("Wrong items", "When the wrong item arrives we {remedy}."),
        "incomplete": ("Missing parts", "When parts of an item are missing we {remedy}."),
        "lost": ("Lost parcels", "When a parcel is lost we {remedy}."),
        "dangerous": ("Dangerous items", "When an item smokes or burns we {remedy}."),
    },
    "ood": {
        "returns": ("Sending back {plural}", "You have {days} days to send back {plural} for EUR {fee}."),
        "warranty": ("Guarantee for {plural}", "The guarantee for {plural} runs {months} months."),
        "shipping": ("Delivery: {method}", "{Method} delivery needs {days} days, for EUR {price}."),
        "payment": ("Paid with {payment}", "Sums paid with {payment} return in {days} days."),
        "product": ("About the {model} {type}", "{detail} It sells for EUR {price}."),
        "late": (
            "Too late to send back",
            "Past the deadline no sum is paid back. Under guarantee a broken item is exchanged, else open a case for repair.",
        ),
        "tier": ("The {tier} club", "The {tier} club has {days} days more to send things back."),
        "broken": ("Damage", "For damage on arrival we {remedy}."),
        "wrong": ("Mix-ups", "After a mix-up of items we {remedy}."),
        "incomplete": ("Incomplete sets", "If a set is incomplete we {remedy}."),
        "lost": ("Vanished parcels", "If a parcel vanished we {remedy}."),
        "dangerous": ("Hazards", "If an item is a hazard we {remedy}."),
    },
}
"""Kind of article -> title and text."""
REMEDY_TEXTS: Mapping[Family, Mapping[str, str]] = {
    "home": {
        "replace": "replace it",
        "refund": "refund it without a fee",
        "parts": "open a parts ticket",
        "carrier": "open a carrier ticket",
        "repair": "open a repair ticket",
        "escalate": "escalate the case",
    },
    "ood": {
        "replace": "send a replacement",
        "refund": "pay it back for EUR 0",
        "parts": "open a case for parts",
        "carrier": "open a case for the carrier",
        "repair": "open a case for repair",
        "escalate": "hand the matter over",
    },
}
