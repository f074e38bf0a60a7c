"""The UserSim environment: connects tasks, user, answers, style and rewards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from slmagent.envs.base import ChatEnv
from slmagent.envs.desk import FAREWELL, MAX_IDLE, step_budget
from slmagent.envs.talk import UserTurn
from slmagent.envs.tools import Finish, Tool, ToolBox, ToolError
from slmagent.envs.usersim import expert
from slmagent.envs.usersim.answers import Reading, leaks
from slmagent.envs.usersim.episode import Episode
from slmagent.envs.usersim.wording import style_text
from slmagent.rewards.composite import Composite
from slmagent.rewards.usersim import COMPONENTS, DEFAULT_WEIGHTS, UserSimOutcome
from slmagent.scenarios.inquirer import Inquirer, Inquiry, past_messages
from slmagent.scenarios.personas import PERSONAS
from slmagent.scenarios.users import Agenda, Slot, Twist
from slmagent.scenarios.usersim.attributes import lexicon_of
from slmagent.scenarios.usersim.questions import Question
from slmagent.scenarios.usersim.tasks import Task, kind_of, make_task, scenario_ids
from slmagent.types import ParsedAction, StopReason

LONGEST_EXPERT = {0: 2, 1: 4, 2: 4, 3: 4, 4: 7, 5: 7}
"""Actions of the expert in the longest task of a level."""


class UserSimEnv(ChatEnv):
    """A talk with a user who wants to hear the right facts, in its own style.

    ## Description
    The system message holds a small table of facts. The user asks about them, one question after the other: a value, or
    what is best, with or without a limit. It comes for a recommendation, advice, an explanation, a plan or a role-play. It
    has a style (length, formality, humour, exactness, patience) that shows in how it writes; it says so when a message
    misses it by far. An episode succeeds when every question was answered by the right value or name, when no other of the
    kind was said, when what had to be asked was asked, and when the messages match the user's style to 0.75 or more on
    average (`rewards.style`, measure `TALK`). Answers of three words or fewer do not count. The user cannot tell right from
    wrong: it goes on either way.

    ## Observation
    The conversation so far, a tuple of `{"role", "content"}` dicts: a system message with role, facts and tool, then user
    and assistant in turn. `info["past_messages"]` at reset holds five earlier messages of the same user about something
    else.

    ## Action
    The assistant's text, any string. Text without a call is said to the user; a `<think>` block in it is not heard.
    The one tool is `finish`:
    `<tool_call>{"name": "finish", "arguments": {"message": "..."}}</tool_call>` says a last message and ends the episode;
    words beside the call are a note that nobody hears.

    ## Rewards
    Paid at the end, but for `progress`; the weight of each can be changed with `reward_weights`.

    | component | weight | value |
    |---|---|---|
    | `goal` | 2.0 | 1 on success, else 0 |
    | `style` | 0.4 | 0 to 1, match with the user's style on average over the talk; absent when nothing was said |
    | `content` | 0.3 | 0 to 1, facts said in full: half for the value, half for the thing or figure beside it |
    | `consistency` | 0.2 | 0 to 1, match of the message that suits the user least; absent with fewer than two messages |
    | `feedback` | 0.3 | the user's: +1 on success, 0 on success in a foul mood, -1 without success |
    | `progress` | 1.0 | potential-based shaping by the share of questions answered and limits asked for |
    | `veto` | -10 | telling what is internal ends the episode and fixes its total |

    With the default weights a success totals at least 2.3 and a failure at most 0.6 (at `shaping_gamma` 1).

    ## Levels
    * 0: the style is announced; one question.
    * 1: the style is announced; two or three questions, one after the other.
    * 2: as 1, but the style has to be read from the user's own writing.
    * 3: hidden style; a limit that matters is told only when asked for.
    * 4: hidden style, five questions, one with a limit that is held back, one about something internal that must be
      declined; the style has to hold in both halves of the talk.
    * 5: as 4, and in mid-talk the user changes its mind about a limit and its manner of writing with its mood; the style
      has to fit before and after.

    ## Episode End
    Terminates when the agent calls `finish`, when the user leaves (its patience is gone, or four actions in a row brought
    nothing new; if all had been said before, that still is a success) and when something internal is told. Truncates after
    `max_turns` actions: twice the step budget (1.5 times the expert's steps, and one) of the level's longest task, and two.
    `info["stop_reason"]` says which; `info["success"]` and `info["task_kind"]` come with the end.

    ## Arguments
    See `ChatEnv`: `level` (0 to 5), `split` (`train`, `val`, `test`, `ood`), `prompt_style`, `max_turns`,
    `reward_weights`, `shaping_gamma`, `user_llm`, `render_mode`.

    ## Version History
    * v0: first version.
    """

    levels: ClassVar[Mapping[int, str]] = {
        0: "announced style, one question",
        1: "announced style, two or three questions",
        2: "hidden style, two or three questions",
        3: "hidden style; a limit is held back until asked for",
        4: "hidden style in a long talk; something internal must not be told",
        5: "as 4; the user changes its mind and its manner in mid-talk",
    }
    default_weights: ClassVar[Mapping[str, float]] = DEFAULT_WEIGHTS

    def _default_max_turns(self) -> int:
        return 2 * step_budget(LONGEST_EXPERT[self.level]) + 2

    def _list_scenarios(self) -> Sequence[str]:
        return scenario_ids(self.level, self.split)

    def _begin(self, scenario_id: str, user_rng: np.random.Generator) -> tuple[str, str]:
        task = make_task(scenario_id)
        persona = PERSONAS[task.persona]
        earlier = past_messages(persona, user_rng, [_inquiry(task, question) for question in task.past])
        user = Inquirer(_agenda(task), persona, user_rng, [_inquiry(task, question) for question in task.questions])
        self.toolbox = _TOOLBOX
        self.state = Episode(task, user, earlier)
        self._composite = Composite(COMPONENTS, self.weights)
        return _system_message(task), user.opening()

    def task_kind(self, scenario_id: str) -> str:
        """The user's goal: one of `slmagent.scenarios.usersim.topics.GOALS`."""
        return kind_of(scenario_id)

    def _hear(self, text: str) -> UserTurn:
        episode = self.state
        told, asking, premature = episode.told(), episode.user.asking, episode.premature()
        reading, fault = self._note(text)
        persona = episode.user.persona
        reply = episode.user.react(text, answered=reading.answered, premature=reading.answered and premature, fault=fault)
        if episode.user.persona is not persona:
            episode.changed_at = len(episode.style)
        fruitful = episode.user.asking > asking or episode.told() != told
        episode.idle = 0 if fruitful else episode.idle + 1
        left = reply.left or episode.idle >= MAX_IDLE
        if left:
            episode.ended = "user_left"
        return UserTurn(reply.text if reply.left or not left else FAREWELL, asked=bool(reply.asked), left=left)

    def _user(self) -> Inquirer:
        return self.state.user

    def _note(self, text: str) -> tuple[Reading, str]:
        if leaks(self.state.task, text):
            self._violate("internal")
        return self.state.hear(text)

    def _call(self, tool: Tool) -> str:
        raise ToolError(f"{type(tool).tool_name()} is not at hand")  # unreachable: the toolbox holds `finish` only

    def _await(self) -> str | None:
        episode = self.state
        episode.idle += 1
        if episode.idle < MAX_IDLE:
            return None
        episode.ended = "user_left"
        return FAREWELL

    def _finish(self, message: str) -> None:
        self._note(message)
        self.state.ended = "finished"

    def _score(self, action: ParsedAction, *, done: bool) -> dict[str, float]:
        if not done:
            return {}
        episode = self.state
        return self._composite(UserSimOutcome(self._success(), tuple(episode.style), episode.content(), episode.user.mood))

    def _potential(self) -> float:
        return self.state.progress()

    def _success(self) -> bool:
        return self.state.ended is not None and self.state.all_said() and self.state.style_held()

    def _canonical_state(self) -> Any:
        episode = self.state
        return {
            "user": episode.user.state(),
            "right": sorted(episode.right),
            "full": sorted(episode.full),
            "wrong": sorted(episode.wrong),
            "idle": episode.idle,
            # Rounded: situations that differ by a shade of style count as equal.
            "style": [round(sum(episode.style), 1), len(episode.style), episode.changed_at],
        }

    def _info(
        self, components: dict[str, float], stop_reason: StopReason | None, action: dict[str, Any] | None
    ) -> dict[str, Any]:
        info = super()._info(components, stop_reason, action)
        if action is None:
            info["past_messages"] = list(self.state.past_messages)
        return info

    def expert(self, *, evidence: bool = True) -> str:
        """The scripted expert's next action; its evidence is a thought, since the user hears all else."""
        return expert.next_action(self.state, persona=self.state.user.persona.name, evidence=evidence)


_TOOLBOX = ToolBox([Finish])


def _system_message(task: Task) -> str:
    lines = [f"{task.topic.role} Say what these facts say, in the user's own style. Finish when all is answered.", task.facts()]
    if task.secret is not None:
        lines.append(task.secret.line())
    if task.announced:
        lines.append(style_text(task.persona))
    return "\n".join(lines)


def _agenda(task: Task) -> Agenda:
    slots = tuple(Slot(limit.attribute, limit.spoken(), hidden=True) for limit in task.limits)
    new = task.new_limit
    twist = None if new is None else Twist(new.attribute, new.spoken(), task.announcement)
    return Agenda(("",), slots, lexicon_of(task.topic.attributes), twist=twist)


def _inquiry(task: Task, question: Question) -> Inquiry:
    later = PERSONAS[task.later_persona] if question.turn else None
    return Inquiry(question.wordings, question.short, question.twist, later)
