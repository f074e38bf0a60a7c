"""The CodeAssist environment: connects tasks, programmer, sandbox and rewards."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from slmagent.envs.base import ChatEnv
from slmagent.envs.code_assist import expert
from slmagent.envs.code_assist.answers import code_in, read_answer
from slmagent.envs.code_assist.episode import Episode, Handed
from slmagent.envs.code_assist.tools import Run
from slmagent.envs.code_assist.trial import try_program
from slmagent.envs.code_assist.view import system_text
from slmagent.envs.desk import FAREWELL, MAX_IDLE, step_budget
from slmagent.envs.talk import UserTurn
from slmagent.envs.tools import Finish, Tool, ToolBox, ToolError
from slmagent.rewards.code_assist import COMPONENTS, DEFAULT_WEIGHTS, CodeOutcome
from slmagent.rewards.code_measures import length_score, shared_names, similarity
from slmagent.rewards.composite import Composite
from slmagent.rewards.guards.embedding import Embed, find_embedder, load_embedder
from slmagent.scenarios.code.collection import collection
from slmagent.scenarios.code.programmer import Programmer
from slmagent.scenarios.personas import PERSONAS
from slmagent.types import ParsedAction

LONGEST_EXPERT = {0: 2, 1: 2, 2: 2, 3: 3, 4: 5, 5: 3}
"""Actions of the expert in the longest task of a level."""
PROPOSALS = {0: 1, 1: 1, 2: 1, 3: 2, 4: 1, 5: 3}
"""Answers that the programmer looks at."""
TELLS_EXPECTED = 5
"""Level from which the programmer also says what a failing test expected."""
Likeness = Literal["lexical", "embedding"]


class CodeAssistEnv(ChatEnv):
    """A programmer wants code at the cursor, or an explanation; the code is run in a sandbox against hidden tests.

    ## Description
    The system message shows the surroundings of the cursor: 20 lines on each side, the first 1,000 characters of a longer file,
    where the cursor is, and the names that can be used there. The programmer asks for the rest of a line, an expression, a
    body, a method, a repair, or what a function does. A message with a fenced code block hands code in. The programmer runs
    the hidden tests (in the `process` sandbox, with CPU limits, so verdicts repeat) and accepts, or says what failed. Episodes
    succeed when an answer is accepted.

    ## Observation
    The conversation so far, a tuple of `{"role", "content"}` dicts: a system message with the file and the tools, then user
    and assistant in turn.

    ## Action
    The assistant's text, any string. The last ```` ```python ```` block of a message without a call is handed in: what is
    missing, the whole line, or the whole function; indentation is put right. Text without a block is said to the programmer:
    a question, or an explanation. `run` tries code at the cursor without handing it in; `finish` ends the talk.

    ## Rewards
    Paid once, at the end, on the answer that was handed in last; the weight of each can be changed with `reward_weights`.

    | component | weight | value |
    |---|---|---|
    | `syntax` | 0.2 | 1 when the answer can be parsed in its place |
    | `compile` | 0.3 | 1 when file and tests run without an error that no test wants |
    | `relevance` | 0.5 | 0 to 1, share of the answer's names that stand in the file; `relevance="embedding"`: cosine |
    | `explained` | 0.5 | 0 to 1, share of what an explanation has to name; in place of all others but `feedback` |
    | `feedback` | 1.0 | 1 when the programmer accepts |
    | `length` | 0.1 | 1 to -1, falling from 1.5 to 4 times the length needed |
    | `progress` | 1.0 | potential-based shaping: open things asked about, acceptance |
    | `veto` | -1 | for rules of a subclass; code cannot break any here, since the sandbox refuses what it must not do |

    Answers without effect (`pass`, `return None`, a docstring) and copies of the context (more than half of their tokens in
    runs of ten that stand in the file) are never accepted and earn 0. With the default weights a success totals at least 1.4
    and a failure at most 1.1 (at `shaping_gamma` 1).

    ## Levels
    * 0: finish a line that has been begun; one answer decides.
    * 1: an expression, with an example; one answer decides.
    * 2: a body from its docstring; one answer decides.
    * 3: a method that uses the other members of its class; two answers, the programmer says what failed.
    * 4: a body whose docstring leaves something open, in files of up to 500 lines and more; one answer decides, so one has
      to ask.
    * 5: repair a body, three answers, with the failing test in full; or explain a function without a docstring.

    ## Episode End
    Terminates when the agent calls `finish`, when the programmer leaves (it has seen enough answers, its patience is gone, or
    four actions in a row brought nothing new; if it had accepted, that still is a success). Truncates after `max_turns`
    actions. `info["stop_reason"]` says which; `info["success"]` and `info["task_kind"]` come with
    the end.

    ## Arguments
    See `ChatEnv`: `level` (0 to 5), `split` (`train`, `val`, `test`, `ood`), `prompt_style`, `max_turns`,
    `reward_weights`, `shaping_gamma`, `user_llm`, `render_mode`. `relevance` is `lexical` or `embedding` (needs the extra
    `embed` and its model). `tasks` is a JSONL file of your own tasks, as `slmagent scenarios mine` writes it
    (docs/code_tasks.md); the level then decides how many answers there are and what the programmer tells.

    ## Version History
    * v0: first version.
    """

    levels: ClassVar[Mapping[int, str]] = {
        0: "finish a line",
        1: "an expression, with an example",
        2: "a function's body from its docstring, hidden tests",
        3: "a method that uses the members of its class",
        4: "long files, and a wish that leaves something open",
        5: "repair with feedback of failing tests; explanations",
    }
    default_weights: ClassVar[Mapping[str, float]] = DEFAULT_WEIGHTS

    def __init__(self, *, relevance: Likeness = "lexical", tasks: str | None = None, **kwargs: Any) -> None:
        if relevance not in ("lexical", "embedding"):
            raise ValueError(f"unknown relevance {relevance!r}; expected 'lexical' or 'embedding'")
        self.relevance = relevance
        self.collection = collection(tasks)
        self._embed = _embedder() if relevance == "embedding" else None
        super().__init__(**kwargs)

    def _default_max_turns(self) -> int:
        return 2 * step_budget(LONGEST_EXPERT[self.level]) + 2 * PROPOSALS[self.level]

    def _list_scenarios(self) -> Sequence[str]:
        return self.collection.ids(self.level, self.split)

    def _begin(self, scenario_id: str, user_rng: np.random.Generator) -> tuple[str, str]:
        task = self.collection.task(scenario_id)
        user = Programmer(task, PERSONAS[self.collection.persona(scenario_id)], user_rng)
        self.toolbox = _TOOLBOX
        self.state = Episode(task, user, PROPOSALS[self.level])
        self._composite = Composite(COMPONENTS, self.weights)
        return system_text(task), user.opening()

    def task_kind(self, scenario_id: str) -> str:
        """What is wanted: one of `slmagent.scenarios.code.records.TaskKind`."""
        return self.collection.kind(scenario_id)

    def _hear(self, text: str) -> UserTurn:
        episode = self.state
        told = episode.user.told
        handed = self._take(text) if episode.waiting else None
        if handed is None or handed.accepted:
            reply = episode.user.reply(
                text if handed is None else "", progressed=handed is not None, satisfied=episode.accepted
            )
        else:
            reply = episode.user.turn_down(self._problem(handed), last=not episode.waiting)
        fruitful = handed is not None or episode.user.told != told
        episode.idle = 0 if fruitful else episode.idle + 1
        left = reply.left or episode.idle >= MAX_IDLE
        if left:
            episode.ended = "user_left"
        return UserTurn(reply.text if reply.left or not left else FAREWELL, asked=bool(reply.asked), left=left)

    def _take(self, text: str) -> Handed | None:
        """Judges what a message hands in; None when it hands nothing in."""
        episode = self.state
        code = code_in(text)
        handed = None
        if episode.explaining:
            handed = episode.explain(text)
        elif code is not None:
            handed = episode.hand_in(code)
        if handed is not None:
            self._record("proposal", accepted=handed.accepted, failure=handed.trial.failure)
        return handed

    def _problem(self, handed: Handed) -> str:
        if handed.explained is not None:
            return "Tell me more of what it does."
        if not handed.worth and handed.trial.passed:
            return "That only repeats what is there."
        told = f", but it should give {handed.trial.expected}" if handed.trial.expected and self.level >= TELLS_EXPECTED else ""
        return f"{handed.trial.failure}{told}." if handed.trial.failure else ""

    def _user(self) -> Programmer:
        return self.state.user

    def _facts(self) -> tuple[str, ...]:
        return (*super()._facts(), *self.state.user.quoted)

    def _call(self, tool: Tool) -> str:
        if not isinstance(tool, Run):
            raise ToolError(f"{type(tool).tool_name()} is not at hand")  # unreachable: the toolbox holds no other
        episode = self.state
        if episode.explaining:
            raise ToolError("there is nothing to fill in; explain the function in words")
        fresh = tool.code not in episode.tried
        episode.tried.add(tool.code)
        episode.idle = 0 if fresh else episode.idle
        code = code_in(tool.code) or tool.code
        trial = try_program(read_answer(episode.task, code).program, episode.task.examples)
        if trial.failure:
            wanted = f", expected {trial.expected}" if trial.expected else ""
            return f"{trial.failure}{wanted}"
        return "it runs" + (", and the examples give what they should" if episode.task.examples else "; there are no examples")

    def _await(self) -> str | None:
        episode = self.state
        episode.idle += 1
        if episode.idle < MAX_IDLE:
            return None
        episode.ended = "user_left"
        return FAREWELL

    def _finish(self, message: str) -> None:
        if self.state.waiting:
            self._take(message)
        self.state.ended = "finished"

    def _score(self, action: ParsedAction, *, done: bool) -> dict[str, float]:
        return self._composite(self._outcome()) if done else {}

    def _outcome(self) -> CodeOutcome:
        episode = self.state
        if episode.explaining:
            best = max((handed.explained or 0.0 for handed in episode.handed), default=0.0)
            return CodeOutcome(self._success(), explained=best)
        if not episode.handed:
            return CodeOutcome(False)
        handed, task = episode.handed[-1], episode.task
        assert handed.answer is not None
        filling, context = handed.answer.filling, f"{task.before}{task.after}"
        likeness = shared_names(filling, context) if self._embed is None else similarity(self._embed, filling, context)
        needed = len(task.reference)
        return CodeOutcome(
            self._success(), handed.worth, handed.trial.syntax, handed.trial.runs, likeness, length_score(len(filling), needed)
        )

    def _potential(self) -> float:
        return self.state.progress()

    def _success(self) -> bool:
        return self.state.ended is not None and self.state.accepted

    def _canonical_state(self) -> Any:
        episode = self.state
        return {
            "user": episode.user.state(),
            "handed": [[one.accepted, one.trial.failure, one.explained] for one in episode.handed],
            "tried": sorted(map(ascii, episode.tried)),
            "idle": episode.idle,
        }

    def expert(self, *, evidence: bool = True) -> str:
        """The scripted expert's next action."""
        return expert.next_action(self.state, evidence=evidence)


@functools.cache
def _embedder() -> Embed:
    return functools.lru_cache(maxsize=4096)(load_embedder(find_embedder()))


_TOOLBOX = ToolBox([Run, Finish])
