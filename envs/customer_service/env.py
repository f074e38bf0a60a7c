"""The CustomerService environment: connects tasks, records, knowledge base, customer, tools and rewards."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from slmagent.envs.customer_service.dialogue import judge, refuses_for
from slmagent.envs.customer_service.episode import Episode
from slmagent.envs.customer_service.expert import Expert
from slmagent.envs.customer_service.manners import manners_of
from slmagent.envs.customer_service.tools import TOOLS_BY_LEVEL, Desk, write_of
from slmagent.envs.desk import DeskEnv, Judgement, step_budget
from slmagent.envs.tools import Tool, ToolBox
from slmagent.rewards.composite import Composite
from slmagent.rewards.customer_service import COMPONENTS, DEFAULT_WEIGHTS, ServiceOutcome
from slmagent.rewards.guards import make_guard
from slmagent.scenarios.customer_service.database import ShopDatabase
from slmagent.scenarios.customer_service.inventory import INVENTORIES
from slmagent.scenarios.customer_service.lexicon import CUSTOMER_SERVICE_LEXICON
from slmagent.scenarios.customer_service.tasks import Task, kind_of, make_task, scenario_ids
from slmagent.scenarios.personas import PERSONAS, Persona
from slmagent.scenarios.splits import Family
from slmagent.scenarios.users import Agenda, UserSimulator
from slmagent.types import ParsedAction

LONGEST_EXPERT = {0: 2, 1: 2, 2: 4, 3: 6, 4: 9, 5: 8}
"""Actions of the expert in the longest task of a level."""


class CustomerServiceEnv(DeskEnv[Episode]):
    """A shop's help desk: answer from the knowledge base and the records, and settle complaints by the rules.

    ## Description
    A customer asks or complains. Behind the tools lie an SQLite database, one per episode, with products, the customer's
    orders, refunds, replacements, tickets and escalations, and a knowledge base of 65 or more articles with a full-text
    index (FTS5). Articles are written from the shop's figures, so they never contradict the records; the figures differ
    between editions of the shop, and the editions of the splits are disjoint, so figures have to be looked up. Success is
    judged on the final state: the changes that follow from articles and records, and no others, with the evidence for them
    read by the end. Where the goal is information (levels 0 and 1) the value has to be said after its evidence was read,
    and no other value of the kind besides.

    ## Observation
    The conversation so far, a tuple of `{"role", "content"}` dicts: a system message with the rules and the tools, then
    user and assistant in turn. Tool results are user messages in `<tool_response>` tags, one line a row, identifier last,
    as in `Aria kettle EUR 39 delivered 17 days ago P31`.

    ## Action
    The assistant's text, any string. `<tool_call>{"name": "search_kb", "arguments": {"query": "returning
    kettles"}}</tool_call>` calls a tool; words beside a call are a note that nobody hears. Text without a call is said to
    the customer. `finish` says a last message and ends the episode. A call that cannot be read or carried out is answered
    by an error that names the problem.

    Tools (levels show those that their tasks need; the `ood` split renames them): `search_kb`, `get_customer`,
    `get_order`, `refund`, `replace_item`, `create_ticket`, `escalate`, `finish`. Tools obey: keeping to the rules is the
    agent's duty.

    ## Rewards
    Paid at the end, but for `progress`; the weight of each can be changed with `reward_weights`.

    | component | weight | value |
    |---|---|---|
    | `understand` | 0.1 | 1 when a message names what the customer asks about |
    | `info_retrieval` | 0.3 | overlap of the articles cited (once read) with those to name; absent where there are none |
    | `solution_complete` | 0.4 | share of the required steps that was done; at most 0.9 without success |
    | `user_satisfaction` | 1.0 | 0.8 to 1 by the customer's mood on success, at most 0.1 otherwise |
    | `repetition` | 0.1 | minus the worst repetition among the messages, at most 1 |
    | `off_topic` | 0.1 | minus the mean distance from the topic, at most 1 |
    | `filler` | 0.05 | minus the mean share of empty phrases, at most 1 |
    | `progress` | 1.0 | potential-based shaping by the share of the task done, less unwanted changes |
    | `veto` | -1 | a broken rule or an insult ends the episode and fixes its total |

    With the default weights a success totals at least 0.95 and a failure at most 0.86 (at `shaping_gamma` 1).

    ## Levels
    * 0: one factual question (returns, warranty, shipping, refunds, products, accounts, privacy), one article.
    * 1: one item of an order of several: when it comes, with whom, how far it is, what it was.
    * 2: a return by the book: order, article, refund with the right fee.
    * 3: a vague complaint; order, item and problem are told on asking, and an article says what to do.
    * 4: an angry customer demands what a rule forbids (a late refund, a waived fee) and argues; the reason has to be given
      and upheld, and the allowed remedy offered, agreed to and carried out.
    * 5: two linked problems; the story has a wrong figure that has to be put right, only the customer's tier still allows
      the return, and both remedies have to be agreed to.

    ## Episode End
    Terminates when the agent calls `finish`, when the customer leaves (its patience is gone, or four actions in a row
    brought nothing new; if it had got all it wanted before, that still is a success) and when a rule is broken. Truncates
    after `max_turns` actions: twice the step budget of the level's longest task, and two. `info["stop_reason"]` says
    which; `info["success"]` and `info["task_kind"]` come with the end.

    ## Arguments
    See `ChatEnv`: `level` (0 to 5), `split` (`train`, `val`, `test`, `ood`), `prompt_style`, `max_turns`,
    `reward_weights`, `shaping_gamma`, `user_llm`, `render_mode`. Besides: `off_topic` (`lexical`, or `embedding`: needs
    the extra `embed`) and `toxicity` (`lexicon`, or `classifier`: needs the extra `guards`).

    ## Version History
    * v0: first version.
    """

    levels: ClassVar[Mapping[int, str]] = {
        0: "one factual question, one article",
        1: "where an item of an order is",
        2: "a return by the book",
        3: "a vague complaint, details on asking",
        4: "an angry demand that a rule forbids, and the remedy it allows",
        5: "two linked problems, a wrong story, an exception",
    }
    default_weights: ClassVar[Mapping[str, float]] = DEFAULT_WEIGHTS

    def __init__(self, *, off_topic: str = "lexical", toxicity: str = "lexicon", **kwargs: Any) -> None:
        self.off_topic = off_topic
        self.toxicity = toxicity
        # Made once here so that a variant whose extra is missing is refused now and not in the middle of an episode.
        make_guard("off_topic", off_topic)
        make_guard("toxicity", toxicity)
        super().__init__(**kwargs)

    def _default_max_turns(self) -> int:
        return 2 * step_budget(LONGEST_EXPERT[self.level]) + 2

    def _list_scenarios(self) -> Sequence[str]:
        return scenario_ids(self.level, self.split)

    def _begin(self, scenario_id: str, user_rng: np.random.Generator) -> tuple[str, str]:
        task = make_task(scenario_id)
        database = ShopDatabase(task.edition, task.customer, task.orders, task.items)
        self.toolbox = _toolbox(task.level, task.family)
        user = UserSimulator(
            Agenda(task.openings, task.wishes, CUSTOMER_SERVICE_LEXICON, task.pushbacks), _persona(task), user_rng
        )
        self.state = Episode(user, task=task, database=database)
        self._desk = Desk(database, INVENTORIES[task.family].month)
        self._composite = Composite(COMPONENTS, self.weights)
        rules = f"\n{task.policy.text()}" if task.policy else ""
        system = "You work at a shop's help desk. Use the tools for the customer, name the article you rely on, then finish."
        return f"{system}{rules}", user.opening()

    def task_kind(self, scenario_id: str) -> str:
        """Kinds are listed by `slmagent.scenarios.customer_service.tasks.kinds_of`."""
        return kind_of(scenario_id)

    def _note(self, text: str) -> None:
        episode = self.state
        task, refusal = episode.task, episode.task.refusal
        # The conversation before this action, which is its last message.
        history = self._messages[:-1]
        manners = manners_of(text, history, task.edition, off_topic=self.off_topic, toxicity=self.toxicity)
        episode.manners.append(manners)
        if manners.toxic:
            self._violate("toxicity")
        episode.hear(text, refuses=refusal is not None and refuses_for(text, refusal))

    def _judge(self, text: str) -> Judgement:
        return judge(self.state, text)

    def _call(self, tool: Tool) -> str:
        episode, write = self.state, write_of(tool)
        broken: list[str] = []
        if write is not None and episode.task.policy is not None:
            item = self._desk.item(write)
            broken = episode.task.policy.broken(write, item, consented=write in episode.consents)
        text, reads = self._desk.carry_out(tool)
        episode.reads.update(reads)
        for clause in broken:
            self._violate(clause)
        return text

    def _score(self, action: ParsedAction, *, done: bool) -> dict[str, float]:
        if not done:
            return {}
        episode = self.state
        return self._composite(
            ServiceOutcome(
                success=self._success(),
                confirmed=episode.confirmed(),
                cites=episode.task.cites,
                relied={name for kind, name in episode.task.reads if kind == "article"},
                cited=episode.cited,
                done=episode.progress(),
                mood=episode.user.mood,
                repetition=max((manners.repetition for manners in episode.manners), default=None),
                off_topic=_mean([manners.off_topic for manners in episode.manners]),
                filler=_mean([manners.filler for manners in episode.manners]),
            )
        )

    def _goal_state(self) -> dict[str, Any]:
        return {"corrected": self.state.corrected, "cited": sorted(self.state.cited)}

    def expert(self, *, evidence: bool = True) -> str:
        """The scripted expert's next action; it reads the state that the agent has to find out."""
        return Expert(self.state, self.toolbox, evidence=evidence).act()


@functools.cache
def _toolbox(level: int, family: Family) -> ToolBox:
    return ToolBox(TOOLS_BY_LEVEL[level], INVENTORIES[family].tool_names)


@functools.cache
def _moody(persona: str, shift: float) -> Persona:
    base = PERSONAS[persona]
    return dataclasses.replace(base, mood_start=max(-1.0, min(1.0, base.mood_start + shift)))


def _persona(task: Task) -> Persona:
    return _moody(task.persona, task.mood)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
