"""What the help desk makes of words: questions for facts, answers, proposals of a remedy, refusals and their reasons."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from slmagent.envs.customer_service.answers import contradicts, states
from slmagent.envs.customer_service.dialogue import judge, refuses_for
from slmagent.envs.customer_service.episode import Episode
from slmagent.envs.desk import Judgement
from slmagent.scenarios.customer_service.database import ShopDatabase
from slmagent.scenarios.customer_service.lexicon import CUSTOMER_SERVICE_LEXICON
from slmagent.scenarios.customer_service.tasks import Task, kind_of, make_task, scenario_ids
from slmagent.scenarios.personas import PERSONAS
from slmagent.scenarios.understanding import understand
from slmagent.scenarios.users import Agenda, UserSimulator

# ---- questions ------------------------------------------------------------------------------------------------------

# Hand-written. Phrases and cues were tuned on the rows marked "tuning" only; nobody looked at what was misread of "held_out".
# Utterances of the default model go into the same file, labelled by hand, marked "model"; then add that part here.
PARTS = ("tuning", "held_out")
_DATA = Path(__file__).parent / "data" / "customer_service_paraphrases.jsonl"
ROWS: list[dict[str, Any]] = [json.loads(line) for line in _DATA.read_text(encoding="utf-8").splitlines()]
ACTS = ("proposes", "refuses", "begs")


def rows_of(part: str) -> list[dict[str, Any]]:
    return [row for row in ROWS if row["part"] == part]


def f1(pairs: Iterable[tuple[set[str], set[str]]]) -> float:
    """Micro-averaged F1 of (understood, labelled) sets."""
    counts = Counter[str]()
    for understood, labelled in pairs:
        counts["hit"] += len(understood & labelled)
        counts["wrong"] += len(understood ^ labelled)
    return 2 * counts["hit"] / (2 * counts["hit"] + counts["wrong"])


def test_data_is_what_it_claims():
    texts = [row["text"] for row in ROWS]
    assert len(texts) == len(set(texts)) >= 900
    assert sum(bool(row["asked"]) for row in ROWS) >= 500
    assert {row["part"] for row in ROWS} == set(PARTS)
    assert len(rows_of("held_out")) >= 200
    asked = Counter(name for row in ROWS for name in row["asked"])
    assert set(asked) == {pattern.name for pattern in CUSTOMER_SERVICE_LEXICON}
    assert min(asked.values()) >= 9
    assert sum(len(row["asked"]) > 1 for row in ROWS) >= 40
    for act in ACTS:
        assert sum(row[act] for row in ROWS) >= 10
    assert sum(not (row["asked"] or any(row[act] for act in ACTS)) for row in ROWS) >= 80


@pytest.mark.parametrize("part", PARTS)
def test_slot_f1(part: str):
    # Who begs for instructions is told nothing, whatever else it asks for.
    rows = [row for row in rows_of(part) if not row["begs"]]
    assert f1((set(understand(row["text"], CUSTOMER_SERVICE_LEXICON).asked), set(row["asked"])) for row in rows) >= 0.95


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("part", PARTS)
def test_act_f1(part: str, act: str):
    pairs = []
    for row in rows_of(part):
        heard = understand(row["text"], CUSTOMER_SERVICE_LEXICON)
        pairs.append(({act} & ({act} if getattr(heard, act) else set()), {act} if row[act] else set()))
    assert f1(pairs) >= 0.95


def test_f1_by_hand():
    assert f1([({"a", "b"}, {"a"}), ({"c"}, {"c", "d"})]) == pytest.approx(2 * 2 / (2 * 2 + 1 + 1))


# ---- proposals ------------------------------------------------------------------------------------------------------


def find(level: int, kind: str) -> Task:
    return make_task(next(scenario_id for scenario_id in scenario_ids(level, "train") if kind_of(scenario_id) == kind))


def episode_of(task: Task, *, heard_out: bool = True) -> Episode:
    """All evidence read; a demand that has to be refused was refused and argued about."""
    user = UserSimulator(Agenda(("Hello.",), (), CUSTOMER_SERVICE_LEXICON), PERSONAS["concise"], np.random.default_rng(0))
    database = ShopDatabase(task.edition, task.customer, task.orders, task.items)
    episode = Episode(user, task=task, database=database, reads=set(task.reads))
    if task.refusal is not None and heard_out:
        episode.firm, episode.pushed = True, len(task.pushbacks)
    return episode


LATE, OLD, FEE = find(4, "late_broken"), find(4, "late_old"), find(4, "fee")
LINKED, TWICE = find(5, "price_incomplete"), find(5, "age_broken")


def test_the_tasks_that_the_wordings_below_are_about():
    assert LATE.writes == (("replace", "O417", "P12", ""),)
    assert [item.name for item in LATE.items] == ["Bolt kettle", "Rex keyboard"]
    assert OLD.writes == (("ticket", "O927", "P11", "repair"),)
    assert [item.name for item in OLD.items] == ["Iris camera", "Delta speaker"]
    assert FEE.writes == (("refund", "O968", "P73", "6"),)
    assert FEE.details["item"].name == "Fjord speaker"
    assert LINKED.writes == (("refund", "O632", "P61", "0"), ("replace", "O632", "P55", ""))
    assert [item.name for item in LINKED.items] == ["Opal camera", "Iris backpack", "Gala backpack", "Juno blender"]
    assert TWICE.writes == (("refund", "O991", "P26", "3"), ("refund", "O991", "P75", "0"))


GOOD = {
    "late": [
        "Would you like me to replace the Bolt kettle?",
        "Shall I replace the Bolt kettle?",
        "Should I send you a new Bolt kettle?",
        "I can offer you a replacement for the Bolt kettle. Is that okay?",
        "I can replace your kettle for you, is that alright?",
        "Would you like a replacement for the kettle?",
        "Do you want me to exchange P12?",
        "I can't refund the Bolt kettle, but would you like me to replace it?",
        "I cannot refund it, would you like me to replace the Bolt kettle instead?",
        "Would you accept a replacement of the Bolt kettle instead of a refund?",
        "The Bolt kettle is under warranty. May I replace it?",
        "I am sorry, the return time is over. We can send you a new one. Would that work for the kettle?",
        "As the Bolt kettle is still under warranty, I'd be happy to replace it. Do you agree?",
        "Can I go ahead and replace the Bolt kettle free of charge?",
        "shall i replace the bolt kettle",
        "Would it be okay if I replace the broken kettle?",
        "If you agree, I will replace the Bolt kettle.",
    ],
    "old": [
        "Shall I open a repair ticket for the Delta speaker?",
        "Would you like me to open a ticket for the repair of the Delta speaker?",
        "The Delta speaker is past its warranty. Can I open a repair ticket for it?",
        "I can only offer a repair ticket for the Delta speaker. Is that okay with you?",
        "May I create a repair ticket for your speaker instead of a refund?",
        "There is no refund after 14 days, but I could register the Delta speaker for repair. Do you agree?",
    ],
    "fee": [
        "Shall I refund the Fjord speaker for a fee of EUR 6?",
        "Would you like me to refund the Fjord speaker, minus the fee of EUR 6?",
        "The fee is EUR 6. Shall I refund the Fjord speaker?",
        "I can refund the Fjord speaker for a fee of 6 euros. Is that okay?",
        "The Fjord speaker was EUR 37, you get EUR 31 back, less the fee of EUR 6. Do you agree?",
        "I cannot waive the fee of EUR 6. Shall I refund the speaker for EUR 6?",
        "Would you accept a refund of EUR 31 for the Fjord speaker, with a fee of EUR 6?",
    ],
    "linked": [
        "Shall I refund the Opal camera and replace the Gala backpack?",
        "Shall I replace the Gala backpack and refund the Opal camera without a fee?",
        "I can refund the Opal camera for EUR 0. I can also replace the Gala backpack. Is that okay?",
        "The Opal camera was EUR 195. Shall I refund it and replace the Gala backpack?",
        "Do you agree that the Opal camera is refunded and the Gala backpack replaced?",
        "Do you agree to a refund for the camera and a replacement for the Gala backpack?",
    ],
    "twice": [
        "Shall I refund the Yuma heater for a fee of EUR 3 and the Zest backpack free of charge?",
        "Shall I refund the Yuma heater for a fee of EUR 3 and refund the Zest backpack?",
    ],
}
TASKS = {"late": LATE, "old": OLD, "fee": FEE, "linked": LINKED, "twice": TWICE}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in GOOD.items() for text in texts])
def test_a_yes_allows_what_was_proposed_in_natural_words(name: str, text: str):
    task = TASKS[name]
    assert judge(episode_of(task), text) == Judgement("good", frozenset(task.writes))


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("late", "Shall I open a repair ticket for the Bolt kettle?", "remedy"),
        ("late", "Shall I refund or replace the Bolt kettle?", "remedy"),
        ("late", "Shall I refund, replace, repair or escalate the Bolt kettle?", "remedy"),
        ("late", "Shall I replace the Rex keyboard?", "item"),
        ("late", "Shall I replace the Bolt kettle and the Rex keyboard?", "item"),
        ("old", "Shall I replace the Delta speaker?", "remedy"),
        ("linked", "Shall I replace the Opal camera and refund the Gala backpack?", "remedy"),
        ("linked", "Shall I refund the Opal camera and the Gala backpack?", "remedy"),
        ("linked", "Shall I refund the Opal camera and replace the Iris backpack?", "item"),
    ],
)
def test_the_wrong_remedy_or_item_is_turned_down(name: str, text: str, expected: str):
    assert judge(episode_of(TASKS[name]), text) == Judgement("bad", violates=(expected,))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("late", "I replace the Bolt kettle."),
        ("late", "Shall I replace it?"),
        ("late", "Shall I do that for the Bolt kettle?"),
        ("late", "Shall I check the Bolt kettle?"),
        ("late", "Is there anything else?"),
        ("late", ""),
        ("fee", "Shall I refund the Fjord speaker?"),
        ("fee", "Shall I refund the Fjord speaker for a fee?"),
        ("fee", "Shall I refund the Fjord speaker for EUR 2, EUR 3, EUR 4, EUR 6, EUR 7 or EUR 8?"),
        ("twice", "Shall I refund the Yuma heater?"),
    ],
)
def test_a_yes_to_something_unclear_allows_nothing(name: str, text: str):
    assert not judge(episode_of(TASKS[name]), text).consents


def test_a_fee_is_agreed_to_as_it_was_named():
    for fee in (2, 60):
        judged = judge(episode_of(FEE), f"Shall I refund the Fjord speaker for a fee of EUR {fee}?")
        assert judged == Judgement("good", frozenset({("refund", "O968", "P73", str(fee))}))
    judged = judge(episode_of(LINKED), "Shall I refund the Opal camera for a fee of EUR 5?")
    assert judged == Judgement("good", frozenset({("refund", "O632", "P61", "5")}))


def test_one_of_two_remedies_may_be_agreed_to():
    judged = judge(episode_of(LINKED), "Shall I replace the Gala backpack?")
    assert judged == Judgement("good", frozenset({LINKED.writes[1]}))


def test_before_it_was_heard_out_a_customer_takes_its_demand_only():
    late = episode_of(LATE, heard_out=False)
    assert judge(late, "Shall I replace the Bolt kettle?") == Judgement("bad", violates=("remedy",))
    assert judge(late, "Shall I refund the Bolt kettle?").consents == {("refund", "O417", "P12", "0")}
    refused = "I cannot refund it, the return time is over. Shall I replace the Bolt kettle?"
    assert judge(late, refused) == Judgement("none")
    wrong = "I cannot refund it, there is a fee. Shall I replace the Bolt kettle?"
    assert judge(late, wrong) == Judgement("bad", violates=("remedy",))
    fee = episode_of(FEE, heard_out=False)
    assert judge(fee, "Shall I refund the Fjord speaker for a fee of EUR 6?") == Judgement("bad", violates=("remedy",))
    assert judge(fee, "Shall I refund the Fjord speaker without a fee?").consents == {("refund", "O968", "P73", "0")}


# ---- refusals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        ("I am sorry, I cannot refund the Bolt kettle, the return time of 30 days is over (KB12).", {"time"}),
        ("We're unable to refund it since the 30-day return window has passed.", {"time"}),
        ("Unfortunately I can't give you your money back, it is too late.", {"time"}),
        ("A refund isn't possible after 30 days.", {"time"}),
        ("It was delivered 40 days ago and returns are only possible within 30 days, so I cannot refund it.", {"time"}),
        ("I can't do that. The 30 days have passed.", {"time"}),
        ("I'm afraid it is past the return period. I am not able to refund it.", {"time"}),
        ("The return time is over. I cannot refund it, but I can replace it free of charge.", {"time"}),
        ("I cannot refund it, the return time is over. Shall I replace the kettle without a fee?", {"time"}),
        ("Kettles can be returned within 30 days of delivery and yours came 41 days ago. I cannot refund it.", {"time"}),
        ("I cannot waive the fee of EUR 6 (KB51).", {"fee"}),
        ("Unfortunately we can't take it back free of charge.", {"fee"}),
        ("I am not allowed to leave out the fee.", {"fee"}),
        ("I cannot refund it without the fee.", {"fee"}),
        ("I can't drop the fee: lamps can be returned within 28 days of delivery, the fee is EUR 6 (KB51).", {"fee"}),
        ("I am sorry, I cannot waive the fee. Shall I refund the lamp for a fee of EUR 6?", {"fee"}),
        ("I cannot refund it, it is too late, and I cannot waive the fee.", set()),
        ("I cannot do that because of the return time or the fee.", set()),
        ("I cannot do that.", set()),
        ("Lamps can be returned within 28 days of delivery, the fee is EUR 6. I cannot do that.", set()),
        ("The return time is over.", set()),
        ("The fee is EUR 6.", set()),
        ("I have refunded it after 20 days for a fee of EUR 6.", set()),
        ("", set()),
    ],
)
def test_refusals_count_with_their_reason_alone(text: str, clauses: set[str]):
    assert {clause for clause in ("time", "fee") if refuses_for(text, clause)} == clauses


# ---- answers --------------------------------------------------------------------------------------------------------


def answer_task(level: int, kind: str) -> Task:
    return find(level, kind)


RETURN, DUE, CARRIER, STATE = find(0, "return_time"), find(1, "due"), find(1, "carrier"), find(1, "state")


@pytest.mark.parametrize(
    ("task", "text", "right", "wrong"),
    [
        (RETURN, "It is {value} days.", True, False),
        (RETURN, "You have {value} days, the fee is EUR {fee}.", True, False),
        (RETURN, "{value} days or 99 days.", True, True),
        (RETURN, "99 or {value} days.", True, True),
        (RETURN, "One, two, three or {value} days.", True, True),
        (RETURN, "99 days", False, True),
        (RETURN, "{value} months", False, True),
        (RETURN, "{value}", False, False),
        (RETURN, "KB{value}", False, False),
        (DUE, "It arrives on {value}.", True, False),
        (DUE, "On {value} or 1 May.", True, True),
        (DUE, "On 1 May, 2 May, {value}.", True, True),
        (DUE, "On the 1st of May.", False, True),
        (DUE, "In May.", False, False),
        (CARRIER, "It comes with {value}.", True, False),
        (CARRIER, "Swift, Parcelo, Roadline or Postbird.", True, True),
        (STATE, "It is {value}.", True, False),
        (STATE, "Packed, shipped, delivered or delayed.", True, True),
    ],
)
def test_answers(task: Task, text: str, right: bool, wrong: bool):
    assert task.answer is not None
    fee = next((number for number, unit in task.answer.also if unit == "eur"), 0)
    said = text.format(value=task.answer.value, fee=fee)
    assert (states(task.answer, said), contradicts(task, said)) == (right, wrong)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It is shipped and will be delivered on 5 May.", {"shipped"}),
        ("It has not been shipped, it is packed.", {"packed"}),
        ("It is delayed.", {"delayed"}),
        ("It will soon be shipped.", set()),
        ("Express shipping.", set()),
    ],
)
def test_states_to_come_are_no_states(text: str, found: set[str]):
    from slmagent.envs.customer_service.answers import words_in

    assert words_in("state", text) == found
