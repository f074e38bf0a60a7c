"""What the agent's words commit to: the remedy it asks agreement for, and the reason it refuses with."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from slmagent.envs.customer_service.episode import Episode
from slmagent.envs.desk import NOTHING, Judgement, Write
from slmagent.scenarios.customer_service.lexicon import CUSTOMER_SERVICE_LEXICON
from slmagent.scenarios.customer_service.records import Item
from slmagent.scenarios.quantities import quantities_in
from slmagent.scenarios.understanding import Understanding, understand

_REMEDIES = {
    "refund": re.compile(
        r"\brefund|\bpay(?:ing)? (?:it |you |that )?back|\b(?:money|EUR \d+) back|\breimburs"
        r"|\b(?:accept|process|approve|register|arrange) (?:the|your|a) return\b",
        re.IGNORECASE,
    ),
    "replace": re.compile(
        r"\breplac|\bexchang|\bnew one\b|\banother one\b|\bsend (?:it |you )?(?:another|again|(?:a )?new)\b", re.IGNORECASE
    ),
    "parts": re.compile(
        r"\bparts?\b[\w\s]{0,12}\b(?:ticket|case)|\b(?:ticket|case) for (?:the |missing )*parts?\b", re.IGNORECASE
    ),
    "carrier": re.compile(
        r"\bcarrier\b[\w\s]{0,12}\b(?:ticket|case)|\b(?:ticket|case) (?:for|with) the carrier\b", re.IGNORECASE
    ),
    "repair": re.compile(r"\brepair", re.IGNORECASE),
    "escalate": re.compile(r"\bescalat|\bsupervisor|\bhand (?:it|this|the \w+) over\b", re.IGNORECASE),
}
_DENIED = re.compile(
    r"\b(?:can ?not|can['\u2019]t|won['\u2019]t|will not|unable to|not (?:be )?(?:able|allowed|permitted|possible) to"
    r"|no|instead of|rather than)\s+(?:\w+\s+){0,3}?(?:refund|replace|exchange|repair|pay|escalate|money)\w*",
    re.IGNORECASE,
)
"""Remedies that are named only to say that there is none: "I cannot refund it", "instead of a refund"."""
_REASONS = {
    "time": re.compile(
        r"\b(?:return|refund)s? (?:time|period|window|policy)\b|\btime (?:limit|for returns|to return)\b|\bdeadline\b"
        r"|\btoo late\b|\b\d+[- ]day\b|\b(?:within|after|past|over|only|than|beyond|outside) (?:the |of )?\d+ days\b"
        r"|\b\d+ days (?:ago|old|(?:are|is|have|has) (?:over|up|past|passed|gone|expired))\b",
        re.IGNORECASE,
    ),
    "fee": re.compile(r"\bfees?\b|\bcharged?\b|\bfree\b", re.IGNORECASE),
}
_ARTICLE_FORMS = re.compile(r"\bwithin \d+ days of delivery\b|\bthe fee is EUR \d+", re.IGNORECASE)
"""How an article says both figures; quoting it gives neither as the reason."""
_FREE = re.compile(
    r"\b(?:free|no|without)(?: of| any| an?| extra| additional)* (?:fees?|charges?)\b|\bfor free\b", re.IGNORECASE
)
_CAN = re.compile(r"\b(?:I|we) (?:can|could|will|would) (?!not\b|only\b)\w", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.?!;])\s+|\n+")
_TURN = re.compile(r",?\s+\b(?:but|however)\b,?\s*", re.IGNORECASE)


def judge(episode: Episode, text: str) -> Judgement:
    """Whether the customer wants what a message asks agreement for, and what it agrees to with a yes.

    Agreement is to the remedies that the message names with their items and fees: a yes to something unnamed allows nothing. A
    customer whose demand has to be refused takes no other remedy before it has heard the reason and had its say; it agrees,
    however, to an agent that gives in.
    """
    if not _heard(text).proposes:
        return NOTHING
    asking, remedies = _asked_for(text)
    items = named_items(episode, asking)
    if len(items) < len(remedies):  # "The kettle is under warranty. Shall I replace it?"
        items = named_items(episode, text)
    if not remedies or not items:
        return NOTHING
    if len(remedies) == len(items):
        pairs = set(zip(remedies, items, strict=True))
    elif len(remedies) == 1 or len(items) == 1:
        pairs = {(remedy, item) for remedy in remedies for item in items}
    else:
        return NOTHING
    task = episode.task
    if task.refusal is not None and (not episode.firm or episode.pushed < len(task.pushbacks)):
        # Still to be argued about: beside a refusal the user argues, without one it insists on its demand.
        if _heard(text).refuses:
            return NOTHING if refuses_for(text, task.refusal) else Judgement("bad", violates=("remedy",))
        return _giving_in(task.details["item"], task.refusal, pairs, _euros(asking))
    wanted = {(_remedy_of(write), write[2]): write for write in task.writes}
    if not {item for _, item in pairs} <= {item for _, item in wanted}:
        return Judgement("bad", violates=("item",))
    if not pairs <= wanted.keys():
        return Judgement("bad", violates=("remedy",))
    named = [wanted[pair] for pair in pairs]
    prices = {item.product_id: item.price for item in task.items}
    terms = [_terms(write, named, prices, _euros(asking), _euros(text)) for write in named]
    agreed = frozenset(write for write in terms if write is not None)
    return Judgement("good", agreed) if agreed else NOTHING


def refuses_for(text: str, clause: str) -> bool:
    """Whether a message refuses, and for that reason alone; naming every reason is none.

    What is offered in its stead ("but I can replace it free of charge") and the article's own words give no reason.
    """
    if not _heard(text).refuses:
        return False
    kept: list[str] = []
    for part in _parts(text):
        heard = _heard(part)
        if heard.refuses:
            kept.append(part)
        elif not heard.proposes and not (_CAN.search(part) and _named_remedies(part)):
            kept.append(_FREE.sub("", part))
    said = _ARTICLE_FORMS.sub("", " ".join(kept))
    return {name for name, pattern in _REASONS.items() if pattern.search(said)} == {clause}


def named_items(episode: Episode, text: str) -> list[str]:
    """Ids of the ordered products that a text names, in its order: by name, model or id, or by type where only one is of it."""
    items = episode.task.items
    types = [item.name.split()[-1] for item in items]
    places: dict[str, int] = {}
    for item, type_ in zip(items, types, strict=True):
        model = item.name.split()[0]
        names = rf"\b{item.product_id}\b|\b{model}\b|(?i:\b{re.escape(item.name)}\b)"
        if types.count(type_) == 1:
            names += rf"|(?i:\b(?:the|your|this|that) (?:\w+ )?{type_}\b)"
        if match := re.search(names, text):
            places[item.product_id] = match.start()
    return sorted(places, key=lambda product: places[product])


def _heard(text: str) -> Understanding:
    return understand(text, CUSTOMER_SERVICE_LEXICON)


def _parts(text: str) -> list[str]:
    """Sentences, cut where they turn ("..., but ...")."""
    return [part for sentence in _SENTENCE.split(text) for part in _TURN.split(sentence)]


def _asked_for(text: str) -> tuple[str, list[str]]:
    """The parts that ask for agreement, or that lead up to "is that okay?", and the remedies they name, in order."""
    parts = _parts(text)
    asking = " ".join(part for part in parts if _heard(part).proposes)
    if remedies := _named_remedies(asking):
        return asking, remedies
    offering = " ".join(part for part in parts if not _heard(part).refuses)
    return offering, _named_remedies(offering)


def _named_remedies(text: str) -> list[str]:
    said = _DENIED.sub("", text)
    places = {name: match.start() for name, pattern in _REMEDIES.items() if (match := pattern.search(said))}
    return sorted(places, key=lambda remedy: places[remedy])


def _giving_in(item: Item, refusal: str, pairs: set[tuple[str, str]], amounts: set[int]) -> Judgement:
    """What a customer makes of an offer while its demand stands: it takes what it demands, by no rule allowed."""
    if pairs != {("refund", item.product_id)} or (refusal == "fee" and amounts - {0, item.price}):
        return Judgement("bad", violates=("remedy",))
    fees = amounts - {item.price}
    return Judgement("good", frozenset({("refund", item.order_id, item.product_id, str(min(fees, default=0)))}))


def _remedy_of(write: Write) -> str:
    return write[3] if write[0] == "ticket" else write[0]


def _terms(write: Write, named: Iterable[Write], prices: Mapping[str, int], asking: set[int], text: set[int]) -> Write | None:
    """A change as the customer has heard of it, with the fee that was named; None if that is not clear.

    Args:
        write: The change that is wanted.
        named: All changes that the message asks agreement for.
        prices: By product; naming a price, or what is left of it after the fee, is naming no fee.
        asking: Euros in the sentences that ask for agreement.
        text: Euros in the whole message.
    """
    if write[0] != "refund":
        return write
    fee = int(write[3])
    others = {int(other[3]) for other in named if other != write and other[0] == "refund"}
    fees = asking - others - {*prices.values(), prices[write[2]] - fee}
    if fees:
        return (*write[:3], str(min(fees))) if len(fees) == 1 else None
    return write if fee == 0 or fee in text else None


def _euros(text: str) -> set[int]:
    return {int(number) for number, _ in quantities_in(text, ("eur",))} or ({0} if _FREE.search(text) else set())
