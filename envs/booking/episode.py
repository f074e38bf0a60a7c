"""What an episode of Booking keeps track of, and when its goal is met."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from slmagent.envs.booking.answers import judge
from slmagent.envs.desk import DeskEpisode, counted, share_done
from slmagent.scenarios.booking.database import BookingDatabase, Write
from slmagent.scenarios.booking.tasks import Task


@dataclass(slots=True)
class Episode(DeskEpisode):
    """Mutable state of one episode."""

    task: Task = field(kw_only=True)
    database: BookingDatabase = field(kw_only=True)

    def hear(self, text: str, *, refuses: bool) -> None:
        """Takes note of a message to the user.

        Args:
            text: The message.
            refuses: It refuses the request for the reason for which it has to be refused.
        """
        self.said.append(text)
        self.firm = self.firm or (refuses and self.evidence_read())
        if self.task.answer is not None:
            states, contradicts = judge(self.task.answer, text)
            self.stated = self.stated or (states and self.evidence_read())
            self.contradicted = self.contradicted or contradicts

    def evidence_read(self) -> bool:
        """Whether every look-up that the outcome rests on has been made."""
        return self.reads.issuperset(self.task.reads)

    def wanted_writes(self) -> tuple[Write, ...]:
        """What the user wants at this moment, before or after its change of mind."""
        first = self.task.first_writes
        return self.task.writes if first is None or self.twisted else first

    def writes(self) -> Counter[Write]:
        """What has changed since the start."""
        return self.database.writes()

    def goal_met(self) -> bool:
        """Whether the state is the one the user asked for: exactly the gold changes, the answer given, the refusal upheld."""
        if self.writes() != counted(self.task.writes):
            return False
        if self.task.answer is not None:
            return self.stated and not self.contradicted
        return self.task.refusal is None or (self.firm and self.pushed >= len(self.task.pushbacks))

    def progress(self) -> float:
        """Share of the task that is done, in [0, 1], less a penalty for changes that nobody asked for.

        Counted are the look-ups and changes that the goal needs, withheld wishes that were asked for, agreements, the answer
        and the refusal.
        """
        wanted, made = counted(self.task.writes), self.writes()
        marks = [read in self.reads for read in self.task.reads]
        told = self.told()
        marks += [known(name, told, self.task) for name in self.task.details.get("hidden", ())]
        if self.task.answer is not None:
            marks.append(self.stated and not self.contradicted)
        if self.task.refusal is not None:
            marks.append(self.firm)
        elif self.task.policy is not None:
            changes = [write for write in self.task.writes if write[0] != "notify"]
            marks.append(all(agreed(self.consents, write) or made[write] > 0 for write in changes))
        return share_done(marks, wanted, made)


def known(wish: str, told: frozenset[str], task: Task) -> bool:
    """Whether a withheld wish is known; a preference also by its parts (time, budget, stops)."""
    return wish in told or (wish == "preference" and told.issuperset(task.details["parts"]))


def agreed(consents: set[Write], write: tuple[Any, ...]) -> bool:
    """Whether the user has agreed to a change of the database."""
    return (("new", write[2]) if write[0] == "new" else write) in consents
