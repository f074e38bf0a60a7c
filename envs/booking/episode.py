"""What an episode of Booking keeps track of, and when its goal is met."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from slmagent.envs.booking.answers import judge
from slmagent.scenarios.booking.database import BookingDatabase, Write
from slmagent.scenarios.booking.tasks import Read, Task
from slmagent.scenarios.users import UserSimulator

WRITE_PENALTY = 0.5
"""Share of the potential that one change nobody asked for costs."""


@dataclass(slots=True)
class Episode:
    """Mutable state of one episode. The database and the user are copied with it by `copy.deepcopy`."""

    task: Task
    database: BookingDatabase
    user: UserSimulator
    reads: set[Read] = field(default_factory=set)
    """Look-ups that succeeded."""
    calls: set[str] = field(default_factory=set)
    """Every successful call, as text; the same again brings nothing new."""
    said: list[str] = field(default_factory=list)
    """Messages to the user, the last one of `finish` included."""
    consents: set[Write] = field(default_factory=set)
    """What the user has agreed to: ("new", item) or a whole change or cancellation, fee included."""
    twisted: bool = False
    """The user has changed its mind."""
    idle: int = 0
    """Actions in a row that brought nothing new."""
    stated: bool = False
    """The answer was said after its evidence had been read."""
    contradicted: bool = False
    """Another value of the answer's kind was said."""
    pushed: int = 0
    """How often the user has argued against a refusal."""
    firm: bool = False
    """The request was refused for the right reason, after its evidence had been read and since the user last argued."""
    satisfied: bool = False
    """The user knows that it has what it wanted."""
    heard_progress: float = 0.0
    """Progress when the user was last spoken to."""
    ended: str | None = None
    """`finished` or `user_left`, once that has happened."""

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

    def told(self) -> set[str]:
        """Wishes that the agent has heard of."""
        return set(self.user.state()["told"])

    def goal_met(self) -> bool:
        """Whether the state is the one the user asked for: exactly the gold changes, the answer given, the refusal upheld."""
        if self.database.writes() != Counter(self.task.writes):
            return False
        if self.task.answer is not None:
            return self.stated and not self.contradicted
        return self.task.refusal is None or (self.firm and self.pushed >= len(self.task.pushbacks))

    def progress(self) -> float:
        """Share of the task that is done, in [0, 1], less a penalty for changes that nobody asked for.

        Counted are the look-ups and changes that the goal needs, withheld wishes that were asked for, agreements, the answer
        and the refusal.
        """
        wanted, made = Counter(self.task.writes), self.database.writes()
        marks = [read in self.reads for read in self.task.reads]
        marks += [known(name, self.told(), self.task) for name in self.task.details.get("hidden", ())]
        if self.task.answer is not None:
            marks.append(self.stated and not self.contradicted)
        if self.task.refusal is not None:
            marks.append(self.firm)
        elif self.task.policy is not None:
            changes = [write for write in self.task.writes if write[0] != "notify"]
            marks.append(all(agreed(self.consents, write) or made[write] > 0 for write in changes))
        reached = sum(marks) + (wanted & made).total()
        return max(0.0, reached / (len(marks) + wanted.total()) - WRITE_PENALTY * (made - wanted).total())


def known(wish: str, told: set[str], task: Task) -> bool:
    """Whether a withheld wish is known; a preference also by its parts (time, budget, stops)."""
    return wish in told or (wish == "preference" and told.issuperset(task.details["parts"]))


def agreed(consents: set[Write], write: tuple[Any, ...]) -> bool:
    """Whether the user has agreed to a change of the database."""
    return (("new", write[2]) if write[0] == "new" else write) in consents
