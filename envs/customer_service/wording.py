"""How the expert words its messages for each kind of customer. Short: every token of a demonstration is trained."""

from __future__ import annotations

from slmagent.envs.wording import one_of
from slmagent.scenarios.customer_service.knowledge import Article
from slmagent.scenarios.customer_service.records import Item


def value_text(kind: str, value: str) -> str:
    """A value with its unit, as it is said."""
    if kind == "eur":
        return f"EUR {value}"
    if kind in ("date", "state", "carrier"):
        return value
    plural = {"inch": "inches", "address": "addresses"}.get(kind, kind if kind in _NO_PLURAL else f"{kind}s")
    return f"{value} {kind if value == '1' else plural}"


_NO_PLURAL = ("times", "percent", "kg", "km", "people")


def article_text(persona: str, article: Article, value: str) -> str:
    """Says the figure that an article tells."""
    topic, source = article.title[0].lower() + article.title[1:], article.article_id
    return one_of(
        persona,
        terse=f"{article.title}: {value}, {source}.",
        plain=f"For {topic} it is {value}, see {source}.",
        playful=f"Hey, for {topic} it's {value}, see {source}!",
        full=f"Thank you for asking. I have looked it up for you: for {topic} it is {value}, as our article {source} says.",
    )


def order_text(persona: str, item: Item, kind: str, value: str) -> str:
    """Says where an item is, or what it cost."""
    fact = {
        "date": f"arrives on {value}",
        "state": f"is {value}",
        "carrier": f"comes with {value}",
        "eur": f"was {value}",
    }[kind]
    return one_of(
        persona,
        terse=f"The {item.name} {fact}.",
        plain=f"Your {item.name} {fact}.",
        playful=f"Good news, the {item.name} {fact}!",
        full=f"Thank you for your question. I have checked your order for you: your {item.name} {fact}.",
    )


def question_text(persona: str, missing: list[str]) -> str:
    """Asks for what the customer has not told: order, item, problem."""
    long = {"order": "which order is it", "item": "which item", "problem": "what is wrong"}
    short = {"order": "order number", "item": "item", "problem": "problem"}
    asked = _list([long[name] for name in missing])
    named = _list([short[name] for name in missing])
    return one_of(
        persona,
        terse=f"{_capital(named)}, please?",
        plain=f"I am sorry. {_capital(asked)}?",
        playful=f"Oh no! {_capital(asked)}?",
        full=f"I am sorry to hear that. Could you please tell me: {asked}?",
    )


REMEDIES = {
    "refund": ("refund", "refunded"),
    "replace": ("replace", "replaced"),
    "parts": ("open a parts ticket for", "registered with a parts ticket"),
    "carrier": ("open a carrier ticket for", "registered with a carrier ticket"),
    "repair": ("open a repair ticket for", "registered with a repair ticket"),
    "escalate": ("escalate", "escalated"),
}
"""Remedy -> how it is offered, and how it is said to be done."""


def offer(remedy: str, item: Item, fee: int) -> str:
    """What is offered, as the end of "Shall I ...?"."""
    cost = f" for a fee of EUR {fee}" if remedy == "refund" and fee else ""
    return f"{REMEDIES[remedy][0]} the {item.name}{cost}"


def refusal_text(persona: str, item: Item, clause: str, figure: int, source: str, offered: str, *, round_: int) -> str:
    """Refuses a demand with its reason and offers what is allowed, in other words each time.

    Args:
        persona: Whom it is said to.
        item: What is demanded for.
        clause: `time` or `fee`.
        figure: Days of the return time, or euros of the fee.
        source: The article that says so.
        offered: As `offer` gives it.
        round_: How often the customer has argued.
    """
    if clause == "time":
        reasons = (
            f"cannot refund the {item.name}, the return time of {figure} days is over ({source})",
            f"cannot refund it after {figure} days ({source})",
            f"cannot change that, it is too late for a refund ({source})",
        )
    else:
        reasons = (
            f"cannot waive the fee of EUR {figure} ({source})",
            f"cannot drop the fee ({source})",
            f"am not allowed to leave out the fee ({source})",
        )
    reason = reasons[round_ % len(reasons)]
    return one_of(
        persona,
        terse=f"I {reason}. Shall I {offered}?",
        plain=f"I am sorry, I {reason}. Shall I {offered}?",
        playful=f"Oh no, I {reason}! Shall I {offered}?",
        full=f"I understand that this is not what you hoped for, but I {reason}. Shall I {offered} for you?",
    )


def correction_text(persona: str, truth: str, exception: str, offered: str) -> str:
    """Puts the story right, names the exception and asks for agreement."""
    return one_of(
        persona,
        terse=f"{_capital(truth)}. {_capital(exception)}. Shall I {offered}?",
        plain=f"I am sorry. {_capital(truth)}. {_capital(exception)}. Shall I {offered}?",
        playful=f"Oh no! {_capital(truth)}. {_capital(exception)}. Shall I {offered}?",
        full=f"I am sorry for the trouble. I see that {truth}. {_capital(exception)}. Shall I {offered} for you?",
    )


def done_text(persona: str, what: str, sources: list[str]) -> str:
    """Says what was done, and the articles it rests on."""
    source = " and ".join(sources)
    return one_of(
        persona,
        terse=f"The {what}, see {source}.",
        plain=f"Your {what}, see {source}.",
        playful=f"Done! Your {what}, see {source}!",
        full=f"Thank you for your patience. I have taken care of it: your {what}, as our article {source} says.",
    )


def _list(parts: list[str]) -> str:
    return ", ".join(parts[:-1]) + (", and " if len(parts) > 2 else " and " if len(parts) == 2 else "") + parts[-1]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
