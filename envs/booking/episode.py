"""What an episode of Booking keeps track of, and when its goal is met."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from slmagent.envs.booking.answers import judge
from slmagent.scenarios.booking.database import BookingDatabase
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
    idle: int = 0
    """Actions in a row that brought nothing new."""
    stated: bool = False
    """The answer was said after its evidence had been read."""
    contradicted: bool = False
    """Another value of the answer's kind was said."""
    satisfied: bool = False
    """The user knows that it has what it wanted."""
    ended: str | None = None
    """`finished` or `user_left`, once that has happened."""

    def hear(self, text: str) -> None:
        """Takes note of a message to the user."""
        self.said.append(text)
        if self.task.answer is not None:
            states, contradicts = judge(self.task.answer, text)
            self.stated = self.stated or (states and self.evidence_read())
            self.contradicted = self.contradicted or contradicts

    def evidence_read(self) -> bool:
        """Whether every look-up that the outcome rests on has been made."""
        return self.reads.issuperset(self.task.reads)

    def goal_met(self) -> bool:
        """Whether the state is the one the user asked for: exactly the gold changes, and the answer given."""
        if self.database.writes() != Counter(self.task.writes):
            return False
        return self.task.answer is None or (self.stated and not self.contradicted)

    def progress(self) -> float:
        """Share of the task that is done, in [0, 1]: look-ups and changes that the goal needs, less changes that nobody asked for."""
        wanted, made = Counter(self.task.writes), self.database.writes()
        done = [read in self.reads for read in self.task.reads]
        steps = len(done) + wanted.total()
        reached = sum(done) + (wanted & made).total()
        if self.task.answer is not None:
            steps += 1
            reached += self.stated and not self.contradicted
        return max(0.0, reached / steps - WRITE_PENALTY * (made - wanted).total())
