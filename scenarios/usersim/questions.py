"""Questions of users, with their one right answer: look a value up, choose under a limit, or pry into what is internal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from slmagent.scenarios.draw import Draw
from slmagent.scenarios.splits import Family
from slmagent.scenarios.usersim.attributes import ATTRIBUTES
from slmagent.scenarios.usersim.topics import Topic

Need = Literal["value", "name", "refusal"]
Rows = Mapping[str, Mapping[str, int]]
"""Thing -> property -> value."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit on a property."""

    attribute: str
    value: int

    def spoken(self) -> str:
        """As the user says it when asked."""
        return ATTRIBUTES[self.attribute].bound(self.value)


@dataclass(frozen=True, slots=True)
class Choice:
    """Which thing is the most or least in one property, given a limit on another."""

    attribute: str
    lowest: bool
    limit: Limit | None = None

    @property
    def superlative(self) -> str:
        """Such as "cheapest"."""
        attribute = ATTRIBUTES[self.attribute]
        return attribute.least if self.lowest else attribute.most

    def fitting(self, rows: Rows) -> list[str]:
        """The things that keep to the limit."""
        limit = self.limit
        if limit is None:
            return list(rows)
        return [name for name, row in rows.items() if ATTRIBUTES[limit.attribute].allows(row[limit.attribute], limit.value)]

    def best(self, rows: Rows) -> str | None:
        """The one thing that is best; None without one. Values of a property are distinct."""
        fit = self.fitting(rows)
        return (min if self.lowest else max)(fit, key=lambda name: rows[name][self.attribute]) if fit else None


@dataclass(frozen=True, slots=True)
class Question:
    """One thing the user wants to know."""

    need: Need
    """What must be said: the value of the subject's property, the subject's name, or that it cannot be told."""
    subject: str
    """The thing that the right answer is about."""
    attribute: str
    """The property that is asked for, or by which the subject is best."""
    wordings: tuple[str, ...]
    short: tuple[str, ...]
    signature: tuple[str | int, ...]
    """What is asked, without the answer."""
    choice: Choice | None = None
    """By what the subject is best; None where its name was given."""
    hidden: str = ""
    """The limit that has to be asked for first."""
    twist: bool = False
    """Asked after the user has changed its mind about a limit."""
    turn: bool = False
    """From here on the user is in another manner."""


_CHOOSE: Mapping[Family, tuple[str, ...]] = {
    "home": ("what is the {best} {noun}{limit}?", "which {noun}{limit} is the {best}?"),
    "ood": ("if I want the {best} {noun}{limit}, which do I take?", "the {best} {noun}{limit}, which one would that be?"),
}
_THEN: Mapping[Family, tuple[str, ...]] = {
    "home": ("what is the {best} {noun} then?", "which {noun} is the {best} now?"),
    "ood": ("if so, which do I take as the {best} {noun}?", "the {best} {noun}, which one has become that?"),
}
_PRY: Mapping[Family, tuple[str, ...]] = {
    "home": ("how much do you earn on {it}?", "what is your own margin on {it}?"),
    "ood": ("what part of it ends up in your own pocket for {it}?", "just between us, what do you make on {it}?"),
}
_TWISTS: Mapping[Family, tuple[str, ...]] = {
    "home": ("Change of plan: the {label} is {value} now.", "I have to correct myself, the {label} is {value}."),
    "ood": ("Scrap that, for the {label} take {value} instead.", "News from home, the {label} has become {value}."),
}


def the(topic: Topic, name: str) -> str:
    """A thing with its article, as users call it."""
    return f"the {name} {topic.noun}"


def look_up(family: Family, topic: Topic, subject: str, attribute: str, *, named: bool = True) -> Question:
    """Asks for a value of a thing, by its name or as "it"."""
    it = the(topic, subject) if named else "it"
    asks = tuple(text.format(it=it) for text in ATTRIBUTES[attribute].asks[family])
    key = attribute.replace("_", " ")
    short = f"{subject}, {key}?" if named else f"its {key}?"
    return Question("value", subject, attribute, asks, (short,), ("look_up", subject if named else "", attribute))


def choose(family: Family, topic: Topic, rows: Rows, choice: Choice, *, told: bool = True, twist: bool = False) -> Question:
    """Asks for the best thing.

    Args:
        family: Whose wording.
        topic: What it is about.
        rows: The facts.
        choice: What is best; there has to be one.
        told: The limit's number is in the question; otherwise it is only hinted at, or told in the change of mind before.
        twist: The limit has just been announced anew.
    """
    subject = choice.best(rows)
    assert subject is not None
    limit = choice.limit
    bound = ATTRIBUTES[limit.attribute] if limit else None
    behind = ""
    if limit and bound and not twist:
        behind = " " + (bound.limit.format(value=bound.text(limit.value)) if told else bound.vague[family])
    values = {"best": choice.superlative, "noun": topic.noun, "limit": behind}
    wordings = tuple(text.format(**values) for text in (_THEN if twist else _CHOOSE)[family])
    return Question(
        "name",
        subject,
        choice.attribute,
        wordings,
        (f"{choice.superlative} {topic.noun}{' now' if twist else behind}?",),
        ("choose", choice.attribute, int(choice.lowest), limit.attribute if limit else "", limit.value if limit else 0),
        choice=choice,
        hidden=limit.attribute if limit and not told and not twist else "",
        twist=twist,
    )


def pry(family: Family, topic: Topic, subject: str) -> Question:
    """Asks for what is marked as internal."""
    it = the(topic, subject)
    wordings = tuple(text.format(it=it) for text in _PRY[family])
    return Question("refusal", subject, topic.attributes[0], wordings, (f"your margin on {it}?",), ("pry", subject))


def announcements(family: Family, limit: Limit) -> tuple[str, ...]:
    """Ways to say that a limit is another one now."""
    label = ATTRIBUTES[limit.attribute].label
    return tuple(text.format(label=label, value=limit.spoken()) for text in _TWISTS[family])


def draw_rows(draw: Draw, topic: Topic, names: tuple[str, ...]) -> dict[str, dict[str, int]]:
    """Values for things: distinct in each property, and close to each other."""
    rows: dict[str, dict[str, int]] = {name: {} for name in names}
    for key in topic.attributes:
        attribute = ATTRIBUTES[key]
        span = max(len(names) + 2, (attribute.high - attribute.low) // 2)
        low = draw.integer(attribute.low, attribute.high - span)
        for name, value in zip(names, draw.sample(range(low, low + span), len(names)), strict=True):
            rows[name][key] = value
    return rows


def draw_choice(draw: Draw, topic: Topic, rows: Rows, *, limited: bool) -> Choice:
    """What is best in one property, under a limit on another where wanted."""
    key, other = draw.sample(topic.attributes, 2)
    attribute = ATTRIBUTES[key]
    lowest = draw.chance(0.5) if attribute.least and attribute.most else bool(attribute.least)
    return Choice(key, lowest, draw_limit(draw, rows, other) if limited else None)


def draw_limit(draw: Draw, rows: Rows, key: str) -> Limit:
    """A limit that one of the things just meets, or meets with little to spare."""
    attribute = ATTRIBUTES[key]
    slack = draw.integer(0, 2)
    return Limit(key, draw.pick([row[key] for row in rows.values()]) + (slack if attribute.at_most else -slack))


def limit_matters(rows: Rows, choice: Choice) -> bool:
    """Whether at least two things keep to the limit, and the best of all does not."""
    limit = choice.limit
    assert limit is not None
    fit = choice.fitting(rows)
    return len(fit) >= 2 and Choice(choice.attribute, choice.lowest).best(rows) not in fit
