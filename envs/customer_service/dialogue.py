"""What the agent's words commit to: the remedy it asks agreement for, and the reason it refuses with."""

from __future__ import annotations

import re

from slmagent.envs.customer_service.episode import Episode
from slmagent.envs.desk import NOTHING, Judgement, Write
from slmagent.scenarios.customer_service.lexicon import CUSTOMER_SERVICE_LEXICON
from slmagent.scenarios.quantities import quantities_in
from slmagent.scenarios.understanding import understand

_REMEDIES = {
    "refund": re.compile(r"\brefund|\bpay(?:ing)? (?:it |you |that )?back|\bmoney back|\breimburs", re.IGNORECASE),
    "replace": re.compile(r"\breplac|\bexchang|\bnew one\b|\bsend (?:it |you )?(?:another|again)", re.IGNORECASE),
    "parts": re.compile(
        r"\bparts?\b[\w\s]{0,12}\b(?:ticket|case)|\b(?:ticket|case) for (?:the |missing )*parts?\b", re.IGNORECASE
    ),
    "carrier": re.compile(
        r"\bcarrier\b[\w\s]{0,12}\b(?:ticket|case)|\b(?:ticket|case) (?:for|with) the carrier\b", re.IGNORECASE
    ),
    "repair": re.compile(r"\brepair", re.IGNORECASE),
    "escalate": re.compile(r"\bescalat|\bsupervisor|\bhand (?:it|this|the \w+) over\b", re.IGNORECASE),
}
_REASONS = {
    "time": re.compile(
        r"\b(?:return (?:time|period|window)|deadline)\b|\btoo late\b"
        r"|\b(?:within|after|past|over|only|than) (?:the )?\d+ days\b|\b\d+ days (?:are|is) (?:over|up|past)\b",
        re.IGNORECASE,
    ),
    "fee": re.compile(r"\bfees?\b|\bcharge\b", re.IGNORECASE),
}
_SENTENCE = re.compile(r"(?<=[.?!;])\s+|\n+")


def judge(episode: Episode, text: str) -> Judgement:
    """Whether the customer wants what a message asks agreement for, and what it agrees to with a yes.

    Agreement is to the remedies that the message names with their items and fees: a yes to something unnamed allows nothing. A
    customer whose demand has to be refused takes no other remedy before it has heard the reason and had its say.
    """
    if not understand(text, CUSTOMER_SERVICE_LEXICON).proposes:
        return NOTHING
    asking = _proposing_part(text)
    remedies = {name for name, pattern in _REMEDIES.items() if pattern.search(asking)}
    items = named_items(episode, asking) or named_items(episode, text)
    if not remedies or not items:
        return NOTHING
    task = episode.task
    if task.refusal is not None and (not episode.firm or episode.pushed < len(task.pushbacks)):
        # Still to be argued about: beside a refusal the user argues, without one it insists on its demand.
        return NOTHING if refuses_for(text, task.refusal) else Judgement("bad", violates=("remedy",))
    wanted = {write: (_remedy_of(write), write[2]) for write in task.writes}
    if not items <= {product for _, product in wanted.values()}:
        return Judgement("bad", violates=("item",))
    if not remedies <= {remedy for remedy, _ in wanted.values()}:
        return Judgement("bad", violates=("remedy",))
    named = [write for write, (remedy, product) in wanted.items() if remedy in remedies and product in items]
    agreed = frozenset(write for write in named if _names_fee(write, text))
    return Judgement("good", agreed) if agreed else NOTHING


def refuses_for(text: str, clause: str) -> bool:
    """Whether a message refuses, and for that reason alone; naming every reason is none."""
    if not understand(text, CUSTOMER_SERVICE_LEXICON).refuses:
        return False
    return {name for name, pattern in _REASONS.items() if pattern.search(text)} == {clause}


def named_items(episode: Episode, text: str) -> set[str]:
    """Ids of the ordered products that a text names, by name, by id, or by type where only one is of that type."""
    said = text.lower()
    items = episode.task.items
    types = [item.name.split()[-1] for item in items]
    named = {item.product_id for item in items if item.name.lower() in said or re.search(rf"\b{item.product_id}\b", text)}
    for item, type_ in zip(items, types, strict=True):
        if types.count(type_) == 1 and re.search(rf"\bthe {type_}\b", said):
            named.add(item.product_id)
    return named


def _remedy_of(write: Write) -> str:
    return write[3] if write[0] == "ticket" else write[0]


def _names_fee(write: Write, text: str) -> bool:
    return write[0] != "refund" or write[3] == "0" or (int(write[3]), "eur") in quantities_in(text, ("eur",))


def _proposing_part(text: str) -> str:
    """The sentences that ask for agreement; others may explain."""
    return " ".join(sentence for sentence in _SENTENCE.split(text) if understand(sentence, CUSTOMER_SERVICE_LEXICON).proposes)
