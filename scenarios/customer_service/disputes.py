"""Levels 4 and 5: what the customer wants is refused and a remedy offered; two linked problems with a wrong story."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slmagent.scenarios.customer_service.complaints import STORIES, problem_item, remedy_write
from slmagent.scenarios.customer_service.inventory import TIERS
from slmagent.scenarios.customer_service.knowledge import Article, Edition
from slmagent.scenarios.customer_service.orders import bought, line
from slmagent.scenarios.customer_service.policy import DAYS_PER_MONTH, DEFECT, Policy
from slmagent.scenarios.customer_service.questions import customer_of
from slmagent.scenarios.customer_service.records import LONGEST_IN_DAYS
from slmagent.scenarios.customer_service.tasks import Read, searches_for
from slmagent.scenarios.draw import Draw
from slmagent.scenarios.splits import Family
from slmagent.scenarios.users import Slot

DISPUTE_KINDS = ("late_broken", "fee", "late_old", "late_broken", "fee")
"""Late: past the return time, broken and under warranty, or broken and past that too. Fee: in time, but unwilling to pay."""
LINKED_KINDS = ("price_broken", "age_wrong", "price_incomplete", "age_broken")
"""What is wrong in the story, and the problem of the second item."""
OLD_REMEDY = "repair"

_DEMANDS: Mapping[Family, Mapping[str, tuple[str, ...]]] = {
    "home": {
        "late": (
            "The {item} from order {order} broke down and I want my money back, now!",
            "I am furious: the {item} of order {order} stopped working. Give me a refund at once!",
        ),
        "fee": (
            "I return the {item} from order {order} and I will certainly not pay a fee for that!",
            "Take back the {item} of order {order}, all of my money, no fee. I am angry enough!",
        ),
    },
    "ood": {
        "late": ("Order {order}: the {item} gave up. My cash back, today!", "{order}: your {item} died on me. Pay up!"),
        "fee": (
            "Order {order}: the {item} goes back and it had better be free!",
            "{order}: back with the {item}, free of charge!",
        ),
    },
}
_PUSHBACKS: Mapping[Family, tuple[str, ...]] = {
    "home": (
        "That is ridiculous, I am a loyal customer.",
        "Your colleague promised me something else.",
        "I will tell everybody how you treat people.",
        "Any other shop would just do it.",
    ),
    "ood": (
        "I know people at the newspaper.",
        "So this is how you thank people who buy here.",
        "My neighbour got it without any fuss.",
    ),
}
_LINKED: Mapping[Family, Mapping[str, tuple[str, ...]]] = {
    "home": {
        "price": (
            "Two things about order {order}, and I am really upset. I return the {first}, for which I paid EUR {claim}. "
            "As for the {second}: {story}.",
        ),
        "age": (
            "Two things about order {order}, and I am really upset. I return the {first}, which came {claim} days ago. "
            "As for the {second}: {story}.",
        ),
    },
    "ood": {
        "price": ("Order {order} is a disaster. The {first}, EUR {claim} I paid, goes back. As for the {second}: {story}.",),
        "age": ("Order {order} is a disaster. The {first}, here for {claim} days, goes back. As for the {second}: {story}.",),
    },
}


def refused_demand(draw: Draw, shop: Edition, kind: str) -> dict[str, Any] | None:
    """An angry demand that a rule forbids; the customer takes the allowed remedy after it has heard why."""
    person = customer_of(draw, shop)
    order, products = bought(draw, shop, person, draw.integer(2, 3))
    product = products[0]
    window, fee = shop.windows[product.type], shop.fees[product.type]
    covered = DAYS_PER_MONTH * shop.warranties[product.type]
    if kind == "fee":
        if fee == 0:
            return None
        age, remedy = draw.integer(1, window), "refund"
    elif kind == "late_broken":
        age, remedy = draw.integer(window + 1, min(covered - 1, LONGEST_IN_DAYS)), "replace"
    else:
        if covered > DAYS_PER_MONTH * 12:
            return None
        age, remedy = DAYS_PER_MONTH * draw.integer(covered // DAYS_PER_MONTH + 1, 20), OLD_REMEDY
    item = line(order, product, "delivered", "", age=age)
    items = [item, *(line(order, other, "delivered", "", age=age) for other in products[1:])]
    draw.shuffle(items)
    keys = [f"returns/{product.type}"] if kind == "fee" else [f"returns/{product.type}", f"warranty/{product.type}", "late"]
    articles = [shop.by_key[key] for key in keys]
    pushbacks = tuple(draw.sample(_PUSHBACKS[shop.family], draw.integer(1, 2)))
    clause = "fee" if kind == "fee" else "time"
    openings = _DEMANDS[shop.family]["fee" if kind == "fee" else "late"]
    return {
        "customer": person,
        "wanted": (order.order_id, item.name),
        "openings": tuple(text.format(item=item.name, order=order.order_id) for text in openings),
        "reads": (("order", order.order_id), *(("article", article.article_id) for article in articles)),
        "writes": (remedy_write(remedy, item, fee),),
        "wishes": (
            Slot("order", order.order_id),
            Slot("item", f"the {item.name}"),
            Slot("problem", "I do not want it any more" if kind == "fee" else "it does not work any more"),
            Slot("remedy", "a refund without a fee" if kind == "fee" else "my money back"),
        ),
        "cites": (articles[-1].article_id,),
        "orders": (order,),
        "items": tuple(items),
        "policy": Policy(shop, person.tier, {} if kind == "fee" else {item.product_id: DEFECT}),
        "refusal": clause,
        "pushbacks": pushbacks,
        "mood": -0.6,
        "expert_turns": 4 + searches_for(shop, [article.article_id for article in articles]) + len(pushbacks),
        "subject": (item.name.lower(),),
        "details": {
            "item": item,
            "remedies": {item.product_id: remedy},
            "fee": fee,
            "window": window,
            "reason": articles[0],
            "grounds": {item.product_id: articles[-1]},
        },
    }


def linked_problems(draw: Draw, shop: Edition, kind: str) -> dict[str, Any]:
    """A return that only the customer's tier still allows, told with a wrong figure, and a second item with a problem."""
    wrong, problem = kind.split("_")
    person = customer_of(draw, shop, draw.pick([tier for tier in TIERS if shop.extra_days[tier]]))
    order, products = bought(draw, shop, person, draw.integer(3, 4))
    first, second = products[:2]
    window, extra, fee = shop.windows[first.type], shop.extra_days[person.tier], shop.fees[first.type]
    returned = line(order, first, "delivered", "", age=draw.integer(window + 1, min(window + extra, LONGEST_IN_DAYS)))
    faulty = problem_item(draw, shop, line(order, second, "delivered", "", age=returned.age), problem)
    items = [returned, faulty, *(line(order, other, "delivered", "", age=returned.age) for other in products[2:])]
    draw.shuffle(items)
    truth = (first.price, "eur") if wrong == "price" else (returned.age, "day")
    claim = first.price + draw.pick((-9, 10, 20, 30)) if wrong == "price" else draw.integer(5, window - 5)
    story = draw.pick(STORIES[shop.family][problem])
    articles: list[Article] = [shop.by_key[f"returns/{first.type}"], shop.by_key[f"tier/{person.tier}"]]
    articles.append(shop.by_key[f"problem/{problem}"])
    reads: list[Read] = [("order", order.order_id), *(("article", article.article_id) for article in articles)]
    remedy = shop.remedies[problem]
    return {
        "customer": person,
        "wanted": (order.order_id, returned.name),
        "openings": tuple(
            text.format(order=order.order_id, first=returned.name, second=faulty.name, claim=claim, story=story)
            for text in _LINKED[shop.family][wrong]
        ),
        "reads": tuple(reads),
        "writes": (remedy_write("refund", returned, fee), remedy_write(remedy, faulty)),
        "wishes": (
            Slot("order", order.order_id),
            Slot("item", f"the {returned.name} and the {faulty.name}"),
            Slot("problem", f"with the {faulty.name} {story}"),
            Slot("remedy", f"a refund for the {returned.name}"),
        ),
        "cites": tuple(article.article_id for article in articles[1:]),
        "orders": (order,),
        "items": tuple(items),
        "policy": Policy(shop, person.tier, {faulty.product_id: problem}),
        "premise": truth,
        "mood": -0.4,
        "expert_turns": 5 + searches_for(shop, [article.article_id for article in articles]),
        "subject": (returned.name.lower(), faulty.name.lower()),
        "details": {
            "item": returned,
            "second": faulty,
            "remedies": {returned.product_id: "refund", faulty.product_id: remedy},
            "fee": fee,
            "window": window,
            "extra": extra,
            "grounds": {returned.product_id: articles[1], faulty.product_id: articles[2]},
        },
    }
