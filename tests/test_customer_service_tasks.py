"""CustomerService tasks and knowledge base: figures that agree, answers that are found, disjoint splits, stable generation."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slmagent.envs.customer_service.answers import all_units
from slmagent.envs.customer_service.env import LONGEST_EXPERT
from slmagent.scenarios.customer_service.complaints import STORIES
from slmagent.scenarios.customer_service.database import ShopDatabase
from slmagent.scenarios.customer_service.disputes import _DEMANDS, _LINKED, _PUSHBACKS
from slmagent.scenarios.customer_service.house_rules import ACCOUNT, ARTICLES, PRIVACY, PROBLEMS, REMEDIES, REMEDY_TEXTS
from slmagent.scenarios.customer_service.inventory import HOME, INVENTORIES, OOD, STATES, TIERS
from slmagent.scenarios.customer_service.knowledge import EDITIONS, Edition, edition
from slmagent.scenarios.customer_service.policy import CLAUSES, DEFECT, Policy
from slmagent.scenarios.customer_service.records import LONGEST_IN_DAYS, Customer, Item, age_text
from slmagent.scenarios.customer_service.tasks import Task, kind_of, kinds_of, make_task, scenario_ids
from slmagent.scenarios.quantities import quantities_in, singular
from slmagent.scenarios.splits import SPLIT_SIZES, Family
from slmagent.types import SPLITS

LEVELS = range(6)
EACH_LEVEL = pytest.mark.parametrize("level", LEVELS)
SHOPS: list[tuple[Family, int]] = [
    *(("home", number) for split in ("train", "val", "test") for number in EDITIONS[split]),
    *(("ood", number) for number in EDITIONS["ood"]),
]
EACH_SHOP = pytest.mark.parametrize(("family", "number"), SHOPS)
ARTICLE_NUMBERS: dict[Family, int] = {"home": 75, "ood": 65}


def archive(shop: Edition) -> ShopDatabase:
    return ShopDatabase(shop, Customer("C1", "Anna Adams", "blue"), (), ())


def sample(level: int, split: str, count: int) -> list[Task]:
    return [make_task(scenario_id) for scenario_id in scenario_ids(level, split)[-count:]]


# ---- the knowledge base ---------------------------------------------------------------------------------------------


@EACH_SHOP
def test_every_figure_is_the_editions_and_is_told_once(family: Family, number: int):
    shop = edition(family, number)
    assert len(shop.articles) == ARTICLE_NUMBERS[family] >= 60
    for unique in ("article_id", "key", "title", "text"):
        assert len({getattr(article, unique) for article in shop.articles}) == len(shop.articles)
    units = all_units()
    for article in shop.articles:
        told = quantities_in(article.text, units)
        # "for EUR 0" is a remedy's wording for no fee.
        assert told - {(0, "eur")} == set(article.figures) - {(0, "eur")}, article
    for type_ in INVENTORIES[family].types:
        returns = {(shop.windows[type_.name], "day"), (shop.fees[type_.name], "eur")}
        assert set(shop.by_key[f"returns/{type_.name}"].figures) == returns
        assert shop.by_key[f"warranty/{type_.name}"].figures == ((shop.warranties[type_.name], "month"),)
    for tier in TIERS:
        if shop.extra_days[tier]:
            assert shop.by_key[f"tier/{tier}"].figures == ((shop.extra_days[tier], "day"),)
    assert 0 == shop.extra_days["blue"] < shop.extra_days["silver"] < shop.extra_days["gold"]
    for problem in PROBLEMS:
        said = shop.by_key[f"problem/{problem}"].text
        texts = REMEDY_TEXTS[family]
        assert [remedy for remedy in REMEDIES if texts[remedy] in said] == [shop.remedies[problem]]


@EACH_SHOP
def test_articles_agree_with_the_products_of_the_database(family: Family, number: int):
    shop = edition(family, number)
    database = archive(shop)
    for product in shop.products:
        row = database.product(product.product_id)
        assert row == product
        article = shop.by_key[f"product/{product.name}"]
        assert (product.price, "eur") in article.figures
        assert product.name in article.text
        # No other article names the product, so nothing can contradict its price.
        assert [other.key for other in shop.articles if product.name in other.text] == [article.key]
    prices = [product.price for product in shop.products]
    assert len(set(prices)) == len(prices) == len({product.name.split()[0] for product in shop.products})
    assert database.product("P1") is None


@EACH_LEVEL
def test_tasks_agree_with_the_articles(level: int):
    for split in SPLITS:
        for task in sample(level, split, 40):
            prices = {product.product_id: product.price for product in task.edition.products}
            assert all(item.price == prices[item.product_id] for item in task.items)
            by_id = {article.article_id: article for article in task.edition.articles}
            assert all(name in by_id for kind, name in task.reads if kind == "article")
            assert {("article", name) for name in task.cites} <= set(task.reads)
            if level == 0:
                assert task.answer is not None
                assert (int(task.answer.value), task.answer.kind) in by_id[task.cites[0]].figures


@pytest.mark.parametrize("split", SPLITS)
def test_questions_find_their_article_first(split: str):
    """Each wording of each question, as customers ask it."""
    keys = set()
    for task in sample(0, split, 200):
        database = archive(task.edition)
        for opening in task.openings:
            assert database.search(opening)[0].article_id == task.cites[0], opening
        keys.add(task.details["article"].key)
    assert len(keys) > 30


@EACH_SHOP
def test_complaints_and_plain_words_find_their_article(family: Family, number: int):
    database = archive(edition(family, number))

    def found(query: str) -> list[str]:
        return [article.key for article in database.search(query)]

    for problem, stories in STORIES[family].items():
        for story in stories:
            assert f"problem/{problem}" in found(story), story
    back, cover = {"home": ("return", "warranty"), "ood": ("send back", "guarantee")}[family]
    for type_ in INVENTORIES[family].types:
        assert f"returns/{type_.name}" in found(f"can I {back} my {type_.name}?")
        assert f"warranty/{type_.name}" in found(f"{type_.name} {cover}")
    for tier in ("silver", "gold"):
        assert f"tier/{tier}" in found(f"I am a {tier} customer")
    assert "late" in found("it is too late" if family == "ood" else "a late return")


def test_searching_survives_any_query():
    database = archive(edition("home", 0))
    assert (
        database.search("") == database.search("the of a") == database.search('"*()^:') == database.search("\x00\ud800") == []
    )
    assert database.search("KETTLES OR NOT NEAR(kettle)")[0].key.endswith("kettle")
    assert len(database.search("kettle " * 10_000)) == 3


# ---- tasks ----------------------------------------------------------------------------------------------------------


@EACH_LEVEL
def test_no_task_is_in_two_splits(level: int):
    seen: dict[tuple[object, ...], str] = {}
    for split in SPLITS:
        for task in sample(level, split, 120):
            assert seen.setdefault(task.signature, split) == split
            assert task.edition.number in EDITIONS[split]
            assert task.edition.family == ("ood" if split == "ood" else "home")


def test_editions_of_the_splits_are_disjoint_and_different():
    numbers = [number for split in ("train", "val", "test") for number in EDITIONS[split]]
    assert len(set(numbers)) == len(numbers)
    figures = {tuple(article.figures for article in edition(*shop).articles) for shop in SHOPS}
    assert len(figures) == len(SHOPS)
    # A figure that was learnt by heart is mostly wrong in another edition.
    learnt, other = edition("home", 0), edition("home", EDITIONS["test"][0])
    same = [key for key in learnt.by_key.keys() & other.by_key.keys() if learnt.by_key[key].figures]
    agree = sum(learnt.by_key[key].figures == other.by_key[key].figures for key in same)
    assert agree < 0.25 * len(same)
    # Ids tell nothing.
    assert sum(learnt.by_key[key].article_id == other.by_key[key].article_id for key in same) < 0.25 * len(same)


def test_the_ood_inventory_is_unseen():
    for name in ("models", "methods", "payments", "carriers", "first_names", "last_names"):
        assert not set(getattr(HOME, name)) & set(getattr(OOD, name))
        assert len(set(getattr(HOME, name))) == len(getattr(HOME, name))
    for name in ("name", "plural", "unit"):
        assert not {getattr(type_, name) for type_ in HOME.types} & {getattr(type_, name) for type_ in OOD.types}
    assert HOME.month != OOD.month
    assert not HOME.tool_names
    assert len(OOD.tool_names) == 7


def test_ood_wording_is_unseen():
    def wordings(family: Family) -> set[str]:
        rules = [rule for group in (ACCOUNT, PRIVACY) for rule in group[family]]
        texts = [text for rule in rules for text in (rule.title, rule.sentence, *rule.questions)]
        texts += [text for pair in ARTICLES[family].values() for text in pair]
        texts += [text for group in (_DEMANDS, _LINKED, STORIES) for some in group[family].values() for text in some]
        texts += [*_PUSHBACKS[family], *Policy(edition(family, 0), "blue").text().splitlines()]
        return {text.casefold() for text in texts}

    assert not wordings("home") & wordings("ood")


@EACH_LEVEL
def test_ood_openings_are_unseen(level: int):
    names = {word for kind in (HOME, OOD) for word in (*kind.models, *kind.methods, *kind.payments)}
    names |= {word for kind in (HOME, OOD) for type_ in kind.types for word in (type_.name, type_.plural)}
    pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})\b|\d", re.IGNORECASE)

    def shapes(split: str) -> set[str]:
        return {pattern.sub("X", text) for task in sample(level, split, 50) for text in task.openings}

    assert not (shapes("train") | shapes("val") | shapes("test")) & shapes("ood")


@EACH_LEVEL
def test_splits_are_large_and_kinds_are_stratified(level: int):
    assert {split: len(scenario_ids(level, split)) for split in SPLITS} == dict(SPLIT_SIZES)
    kinds = Counter(kind_of(scenario_id) for scenario_id in scenario_ids(level, "test"))
    share = Counter(kinds_of(level))
    assert set(kinds) == set(share)
    for kind, count in kinds.items():
        assert count == pytest.approx(500 * share[kind] / share.total(), abs=1)
    assert all(task.kind == kind_of(task.scenario_id) for task in sample(level, "test", 10))
    assert len({task.persona for task in sample(level, "test", 60)}) == 6


@EACH_LEVEL
def test_experts_need_no_longer_than_the_turn_limit_assumes(level: int):
    longest = max(task.expert_turns for split in SPLITS for task in sample(level, split, 120))
    assert longest == LONGEST_EXPERT[level]


def test_doing_nothing_is_never_right():
    for level in LEVELS:
        assert all(task.writes or task.answer is not None for task in sample(level, "train", 60))


def test_level_0_asks_for_one_figure_of_one_article():
    tasks = sample(0, "train", 200)
    assert {task.kind for task in tasks} == set(kinds_of(0))
    for task in tasks:
        assert task.answer is not None
        assert task.reads == (("article", task.details["article"].article_id),)
        assert (task.writes, task.items, task.policy, task.wishes) == ((), (), None, ())
        said = " ".join(task.openings).lower()
        assert any(word in said for word in task.subject)
        assert not quantities_in(said, (task.answer.kind,)), "the question gives no figure away"


def test_what_is_asked_about_is_named_by_the_words_people_use():
    """Either form of the word, singular or plural, is naming it."""
    named: dict[str, str] = {}
    for split in ("train", "ood"):
        for task in map(make_task, scenario_ids(0, split)[:800]):
            article = task.details["article"]
            if task.kind in ("account", "privacy"):
                (word,) = task.subject
                last = article.title.split()[-1].lower()
                named[last] = word
                assert word in last
                assert word in {"cookies": "cookie"}.get(last, singular(last))
    assert len(named) >= 30
    assert named["breaches"] == "breach"


def test_level_1_asks_about_one_item_of_several():
    for task in sample(1, "train", 150):
        assert task.answer is not None
        assert task.reads == (("order", task.orders[0].order_id),)
        assert 3 <= len(task.items) <= 6
        item: Item = task.details["item"]
        of = {"date": lambda row: f"{row.due} May" if row.due else "", "state": lambda row: row.state}
        of |= {"carrier": lambda row: row.carrier if " with " in row.progress("May") else "", "eur": lambda row: str(row.price)}
        values = [of[task.answer.kind](row) for row in task.items]
        assert of[task.answer.kind](item) == task.answer.value
        assert len(set(values) - {""}) >= 2, "reading out every value would be an answer"
        if task.answer.kind in ("date", "eur"):
            assert values.count(task.answer.value) == 1
        assert all(row.state in STATES for row in task.items)


def test_answers_stand_at_every_place_of_the_order():
    places = Counter()
    for task in sample(1, "train", 300):
        place = task.items.index(task.details["item"])
        places[place == 0, place == len(task.items) - 1] += 1
    assert 0.15 < places[True, False] / 300 < 0.35
    assert 0.15 < places[False, True] / 300 < 0.35


def test_level_2_is_a_return_in_time_with_the_articles_fee():
    tasks = sample(2, "train", 120)
    for task in tasks:
        item: Item = task.details["item"]
        type_ = item.name.split()[-1]
        assert 1 <= item.age <= task.edition.windows[type_]
        fee = task.edition.fees[type_]
        assert task.writes == (("refund", item.order_id, item.product_id, str(fee)),)
        assert (fee > 0) == (task.kind == "with_fee")
        assert ("article", task.edition.by_key[f"returns/{type_}"].article_id) in task.reads
        assert not any(wish.hidden for wish in task.wishes)
        assert all(str(number) not in task.openings[0].replace(item.order_id, "") for number in range(10, 60))
    assert len({task.writes[0][3] for task in tasks}) >= 5


def test_level_3_withholds_order_item_and_problem():
    tasks = sample(3, "train", 120)
    knowing = [task for task in tasks if any(wish.name == "order" for wish in task.wishes)]
    assert 0.5 < len(knowing) / len(tasks) < 0.9
    for task in tasks:
        assert all(wish.hidden for wish in task.wishes)
        assert {wish.name for wish in task.wishes} - {"order"} == {"item", "problem"}
        assert not any(wish.value.lower() in opening.lower() for wish in task.wishes for opening in task.openings)
        assert (("customer", "") in task.reads) is (task not in knowing)
        assert len(task.orders) == 2
        item: Item = task.details["item"]
        assert [row.name for row in task.items].count(item.name) == 1
        remedy = task.edition.remedies[task.kind]
        expected = {"refund": ("refund", "0"), "replace": ("replace", ""), "escalate": ("escalate", "")}
        assert (task.writes[0][0], task.writes[0][3]) == expected.get(remedy, ("ticket", remedy))
        assert (item.state == "delayed") is (task.kind == "lost")
    assert {task.details["remedies"][task.details["item"].product_id] for task in tasks} == set(REMEDIES) - {"repair"}


def test_level_4_demands_what_a_rule_forbids_and_offers_what_it_allows():
    for split in SPLITS:
        for task in sample(4, split, 60):
            item: Item = task.details["item"]
            type_ = item.name.split()[-1]
            policy = task.policy
            assert policy is not None
            assert task.mood < 0
            assert 1 <= len(task.pushbacks) <= 2
            demanded = ("refund", item.order_id, item.product_id, "0")
            assert task.refusal in policy.broken(demanded, item, consented=True)
            assert policy.broken(task.writes[0], item, consented=True) == []
            assert policy.broken(task.writes[0], item, consented=False) == ["consent"]
            if task.kind == "fee":
                assert item.age <= task.edition.windows[type_]
                assert task.edition.fees[type_] > 0
            else:
                assert item.age > task.edition.windows[type_]
                covered = item.age < 30 * task.edition.warranties[type_]
                assert (task.kind == "late_broken") is covered is (task.writes[0][0] == "replace")
                # The fee was not the reason: a late refund breaks the time rule with any fee.
                for fee in range(10):
                    assert "time" in policy.broken((*demanded[:3], str(fee)), item, consented=True)


def test_level_5_links_two_problems_a_wrong_figure_and_an_exception():
    for split in SPLITS:
        for task in sample(5, split, 60):
            first, second = task.details["item"], task.details["second"]
            type_ = first.name.split()[-1]
            assert task.policy is not None
            window = task.edition.windows[type_]
            assert window < first.age <= window + task.edition.extra_days[task.customer.tier]
            assert first.age <= LONGEST_IN_DAYS, "told in days"
            assert Policy(task.edition, "blue").broken(task.writes[0], first, consented=True) == ["time"], (
                "only the tier allows it"
            )
            for write, item in zip(task.writes, (first, second), strict=True):
                assert task.policy.broken(write, item, consented=True) == []
            assert task.premise in ((first.price, "eur"), (first.age, "day"))
            number, unit = task.premise
            for opening in task.openings:
                claimed = quantities_in(opening, (unit,))
                assert len(claimed) == 1
                assert (number, unit) not in claimed
            rows = [item.line(INVENTORIES[task.family].month) for item in task.items if item == first]
            assert task.premise in quantities_in(rows[0], (unit,)), "the record shows the truth"


def test_tasks_are_the_same_in_another_process():
    ids = [scenario_ids(level, split)[11] for level in LEVELS for split in SPLITS]
    script = (
        "import sys\n"
        "from slmagent.scenarios.customer_service.tasks import make_task\n"
        "def text(value): return repr(sorted(map(repr, value))) if isinstance(value, frozenset) else repr(value)\n"
        "for scenario_id in sys.argv[1:]:\n"
        "    task = make_task(scenario_id)\n"
        "    print([text(getattr(task, name)) for name in task.__slots__ if name not in ('details', 'answer', 'policy')],\n"
        "          task.answer and (task.answer.kind, task.answer.value, sorted(task.answer.also)))"
    )

    def run(seed: str) -> str:
        environment = {"PYTHONHASHSEED": seed, "PATH": ""}
        return subprocess.run(
            [sys.executable, "-c", script, *ids], capture_output=True, text=True, check=True, env=environment
        ).stdout

    first = run("1")
    assert len(first.splitlines()) == len(ids)
    assert first == run("2")


@pytest.mark.parametrize(
    "bad", ["", "booking-1-train-00000", "customer-service-1-train-99999", "customer-service-9-train-00000"]
)
def test_unknown_ids_are_refused(bad: str):
    with pytest.raises(ValueError, match="expected one like 'customer-service-1-train-00042'"):
        make_task(bad)


# ---- records, policy, database --------------------------------------------------------------------------------------


def test_ages_in_words():
    told = [age_text(days) for days in (1, 2, 59, 60, 300)]
    assert told == ["1 day ago", "2 days ago", "59 days ago", "2 months ago", "10 months ago"]


SHOP = edition("home", 1)
"""Refunds what is wrong on arrival, replaces what is broken or incomplete."""


def item(*, age: int = 10, state: str = "delivered", type_: str = "kettle") -> Item:
    return Item("O1", "P1", f"Aria {type_}", 50, state, "", age)


def test_the_shop_that_the_rules_below_are_about():
    assert (SHOP.windows["kettle"], SHOP.fees["kettle"], SHOP.warranties["kettle"]) == (WINDOW, FEE, MONTHS)
    assert SHOP.extra_days == {"blue": 0, "silver": 9, "gold": 13}
    assert (SHOP.remedies["wrong"], SHOP.remedies["broken"], SHOP.remedies["incomplete"]) == ("refund", "replace", "replace")


WINDOW, FEE, MONTHS = SHOP.windows["kettle"], SHOP.fees["kettle"], SHOP.warranties["kettle"]


@pytest.mark.parametrize(
    ("kind", "detail", "problem", "tier", "what", "broken"),
    [
        ("refund", str(FEE), "", "blue", item(age=WINDOW), []),
        ("refund", str(FEE), "", "blue", item(age=WINDOW + 1), ["time"]),
        ("refund", str(FEE), "", "silver", item(age=WINDOW + 9), []),
        ("refund", str(FEE), "", "silver", item(age=WINDOW + 10), ["time"]),
        ("refund", str(FEE), "", "gold", item(age=WINDOW + 13), []),
        ("refund", str(FEE + 1), "", "blue", item(age=1), ["fee"]),
        ("refund", str(FEE), "", "blue", item(state="shipped", age=0), ["time"]),
        ("refund", "0", "wrong", "blue", item(age=WINDOW + 1), []),
        ("refund", str(FEE + 1), "wrong", "blue", item(age=1), ["fee"]),
        ("refund", "99", DEFECT, "blue", item(age=WINDOW + 1), ["time", "fee"]),
        ("replace", "", DEFECT, "blue", item(age=30 * MONTHS - 1), []),
        ("replace", "", DEFECT, "blue", item(age=30 * MONTHS), ["warranty"]),
        ("replace", "", "", "blue", item(age=1), ["warranty"]),
        ("replace", "", "incomplete", "blue", item(age=1), []),
        ("replace", "", "wrong", "blue", item(age=1), ["warranty"]),
        ("ticket", "repair", "", "blue", item(age=900), []),
        ("escalate", "", "", "blue", item(age=900), []),
    ],
)
def test_policy_predicates(kind: str, detail: str, problem: str, tier: str, what: Item, broken: list[str]):
    policy = Policy(SHOP, tier, {"P1": problem} if problem else {})
    write = (kind, "O1", "P1", detail)
    assert policy.broken(write, what, consented=True) == broken
    unasked = [] if kind == "escalate" else ["consent"]
    assert policy.broken(write, what, consented=False) == [name for name in CLAUSES if name in (*broken, *unasked)]


def test_every_clause_has_a_text_in_both_families():
    for family in ("home", "ood"):
        lines = Policy(edition(family, 0), "blue").text().splitlines()
        assert len(lines) == 1 + len(CLAUSES)
        assert [line[:2] for line in lines[1:]] == [f"{number}." for number in range(1, len(CLAUSES) + 1)]


def test_the_database_reports_exactly_what_changed():
    task = make_task(scenario_ids(3, "train")[0])
    database = ShopDatabase(task.edition, task.customer, task.orders, task.items)
    assert database.customer() == task.customer
    assert tuple(database.orders()) == task.orders
    assert tuple(line for order in task.orders for line in database.items(order.order_id)) == tuple(
        line for order in task.orders for line in task.items if line.order_id == order.order_id
    )
    assert database.order("O1") is None
    assert database.item(task.orders[0].order_id, "P1") is None
    assert database.writes() == Counter()
    database.act("refund", "O1", "P1", "5")
    database.act("escalate", "O1", "P2")
    assert database.writes() == Counter({("refund", "O1", "P1", "5"): 1, ("escalate", "O1", "P2", ""): 1})


# ---- quantities -----------------------------------------------------------------------------------------------------

UNITS = ("eur", "day", "month", "percent", "times", "address", "inch", "company")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("30 days", {(30, "day")}),
        ("a 30-day period", {(30, "day")}),
        ("one day, TWO Months", {(1, "day"), (2, "month")}),
        ("14 working days", {(14, "day")}),
        ("12 addresses, 27 inches, 3 companies", {(12, "address"), (27, "inch"), (3, "company")}),
        ("10%, 11 % or 12 percent", {(10, "percent"), (11, "percent"), (12, "percent")}),
        ("3 times a month", {(3, "times")}),
        ("EUR 5, €6, 7 EUR, 8 euros, 9€ and EUR10", {(number, "eur") for number in (5, 6, 7, 8, 9, 10)}),
        ("EUR 5.00 or 6,00 euros", {(5, "eur"), (6, "eur")}),
        ("EUR 5.50, 1.5 days, EUR 55.50, 2:30 days", set()),
        ("EUR 1,000", set()),
        ("14, 20, or 30 days", {(14, "day"), (20, "day"), (30, "day")}),
        (
            "5-10 days, 11 to 12 months, 1/2 days",
            {(5, "day"), (10, "day"), (11, "month"), (12, "month"), (1, "day"), (2, "day")},
        ),
        ("EUR 5 or 6", {(5, "eur"), (6, "eur")}),
        ("EUR 5, 10 days", {(5, "eur"), (10, "day")}),
        ("EUR 5 and 10 for express", {(5, "eur"), (10, "eur")}),
        ("Aria kettle EUR 39 delivered 17 days ago P31", {(39, "eur"), (17, "day")}),
        ("within 28 days of delivery, the fee is EUR 6. KB51", {(28, "day"), (6, "eur")}),
        ("KB30 days, P5 EUR, x5 days", set()),
        ("30 apples, 30, 1234567 days", set()),
        ("EUR", set()),
        ("", set()),
    ],
)
def test_quantities_by_hand(text: str, found: set[tuple[int, str]]):
    assert quantities_in(text, UNITS) == found


def test_only_the_units_asked_for_are_found():
    assert quantities_in("5 days, EUR 6", ("eur",)) == {(6, "eur")}
    assert quantities_in("5 days, EUR 6", ()) == set()


@given(st.text(), st.lists(st.sampled_from(UNITS)))
def test_any_text_is_read(text: str, units: list[str]):
    found = quantities_in(text, units)
    assert all(unit in units and 0 <= number <= 999_999 for number, unit in found)


@given(
    st.lists(st.tuples(st.integers(0, 999_999), st.sampled_from(("day", "month", "eur"))), min_size=1, max_size=5),
    st.sampled_from([". ", " and then ", "; also ", "\n"]),
)
def test_what_was_written_is_found(wanted: list[tuple[int, str]], between: str):
    text = between.join(f"EUR {number}" if unit == "eur" else f"it takes {number} {unit}s" for number, unit in wanted)
    assert quantities_in(text, ("day", "month", "eur")) == set(wanted)


@given(
    st.lists(st.integers(0, 999_999), min_size=1, max_size=6),
    st.sampled_from([", ", " or ", " and ", "/", "-", " to ", ", or "]),
)
def test_a_list_shares_its_unit(numbers: list[int], between: str):
    listed = between.join(map(str, numbers))
    assert quantities_in(f"It is {listed} days.", ("day", "eur")) == {(number, "day") for number in numbers}
    assert quantities_in(f"It is EUR {listed}.", ("day", "eur")) == {(number, "eur") for number in numbers}
    assert quantities_in(f"It is {listed} euros.", ("day", "eur")) == {(number, "eur") for number in numbers}


@pytest.mark.parametrize(
    ("word", "unit"),
    [("days", "day"), ("day", "day"), ("addresses", "address"), ("inches", "inch"), ("times", "times"), ("%", "percent")],
)
def test_singular(word: str, unit: str):
    assert singular(word) == unit
