"""What an episode of CustomerService keeps track of, and when its goal is met."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from slmagent.envs.customer_service.answers import contradicts, states
from slmagent.envs.customer_service.manners import Manners
from slmagent.envs.desk import DeskEpisode, Write, counted, share_done
from slmagent.scenarios.customer_service.database import ShopDatabase
from slmagent.scenarios.customer_service.tasks import Task
from slmagent.scenarios.quantities import quantities_in

_ARTICLE_ID = re.compile(r"\bKB\d{2}\b")


@dataclass(slots=True)
class Episode(DeskEpisode):
    """Mutable state of one episode."""

    task: Task = field(kw_only=True)
    database: ShopDatabase = field(kw_only=True)
    cited: set[str] = field(default_factory=set)
    """Articles named to the customer after they had been read."""
    corrected: bool = False
    """What is wrong in the customer's story was put right, after the order had been read."""
    manners: list[Manners] = field(default_factory=list)
    """What the guards say of each message to the customer."""

    def hear(self, text: str, *, refuses: bool) -> None:
        """Takes note of a message to the user.

        Args:
            text: The message.
            refuses: It refuses the demand for the reason for which it has to be refused.
        """
        task = self.task
        self.said.append(text)
        self.firm = self.firm or (refuses and self.evidence_read())
        self.cited |= {name for name in _ARTICLE_ID.findall(text) if ("article", name) in self.reads}
        if task.premise is not None and ("order", task.orders[0].order_id) in self.reads:
            self.corrected = self.corrected or task.premise in quantities_in(text, (task.premise[1],))
        if task.answer is not None:
            self.stated = self.stated or (states(task.answer, text) and self.evidence_read())
            self.contradicted = self.contradicted or contradicts(task, text)

    def evidence_read(self) -> bool:
        """Whether every look-up that the outcome rests on has been made."""
        return self.reads.issuperset(self.task.reads)

    def writes(self) -> Counter[Write]:
        """What has changed since the start."""
        return counted(tuple(self.database.actions()))

    def goal_met(self) -> bool:
        """Whether exactly the right changes were made on read evidence, and answer, refusal and correction were given."""
        task = self.task
        if self.writes() != counted(task.writes) or not self.evidence_read():
            return False
        if task.answer is not None and (not self.stated or self.contradicted):
            return False
        if task.premise is not None and not self.corrected:
            return False
        return task.refusal is None or (self.firm and self.pushed >= len(task.pushbacks))

    def progress(self) -> float:
        """Share of the task that is done, in [0, 1], less a penalty for changes that nobody asked for.

        Counted are the look-ups and changes that the goal needs, withheld facts that were asked for, agreements, the answer,
        the refusal and the correction.
        """
        task = self.task
        wanted, made = counted(task.writes), self.writes()
        marks = [read in self.reads for read in task.reads]
        told = self.told()
        marks += [name in told for name in task.details.get("hidden", ())]
        if task.answer is not None:
            marks.append(self.stated and not self.contradicted)
        if task.refusal is not None:
            marks.append(self.firm)
        if task.premise is not None:
            marks.append(self.corrected)
        if task.policy is not None:
            marks.append(all(write in self.consents or made[write] > 0 for write in task.writes))
        return share_done(marks, wanted, made)

    def confirmed(self) -> bool:
        """Whether some message named what the customer asks about."""
        return any(all(word in text.lower() for word in self.task.subject) for text in self.said)
