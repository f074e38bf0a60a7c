"""The pages of docs/environments, made from the environments themselves: docstrings, levels, and conversations as played."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Mapping, Sequence

from slmagent.agents.episodes import requests_for, run_episodes
from slmagent.agents.scripted import ExpertAgent
from slmagent.envs.base import ChatEnv
from slmagent.errors import SlmagentError
from slmagent.evaluation.context import EASY_EPISODE_BUDGET, EASY_LEVELS, EASY_SYSTEM_BUDGET, EPISODE_BUDGET, LevelContext
from slmagent.evaluation.conversations import Earned, describe
from slmagent.types import Trajectory

INDEX = "README.md"
WIDTH = 118
NOTE = "<!-- Made by `make docs` from the docstrings and from episodes of the expert; edit those. -->"
_EXAMPLES = "The scripted expert in the first task of each level's `train` split, with what every action earned."
_MEASURED = (
    "Turns and tokens are those of the scripted expert in {episodes} tasks a level: fewest to most actions, the longest system "
    "message with its tools, the longest whole episode (tokenizer of SmolLM2, compact prompts)."
)


def page_name(env_id: str) -> str:
    """`SLMAgent/Booking-v0` -> `booking.md`."""
    return re.sub(r"-v\d+$", "", env_id.rpartition("/")[2]).lower() + ".md"


def pages(environments: Mapping[str, type[ChatEnv]], contexts: Sequence[LevelContext]) -> dict[str, str]:
    """All pages by file name: the index and one an environment.

    Args:
        environments: Class by id.
        contexts: What each level takes.

    Raises:
        SlmagentError: The expert fails in an example.
    """
    made = {page_name(env_id): environment_page(env_id, cls) for env_id, cls in sorted(environments.items())}
    return {INDEX: index_page(environments, contexts), **made}


def index_page(environments: Mapping[str, type[ChatEnv]], contexts: Sequence[LevelContext]) -> str:
    """Which environments and levels there are, what they take, and the arguments that all share."""
    rows = ["| environment | level | what it asks for | turns | system | episode |", "|---|---|---|---|---|---|"]
    for context in sorted(contexts, key=lambda context: (context.env_id, context.level)):
        name = f"[{context.env_id}]({page_name(context.env_id)})"
        text = environments[context.env_id].levels[context.level]
        turns = " to ".join(map(str, dict.fromkeys(context.turns)))
        rows.append(f"| {name} | {context.level} | {text} | {turns} | {context.system} | {context.episode} |")
    measured = _MEASURED.format(episodes=max((context.episodes for context in contexts), default=0))
    budgets = (
        f"`slmagent envs --check` holds these numbers against their budgets: {EPISODE_BUDGET:,} tokens for a whole episode; "
        f"at levels {EASY_LEVELS[0]} to {EASY_LEVELS[-1]}, {EASY_EPISODE_BUDGET:,} for an episode and {EASY_SYSTEM_BUDGET} "
        "for the system message."
    )
    arguments = [f"* `{name}`: {text}" for name, text in _arguments(ChatEnv)]
    return "\n".join(
        [
            *(NOTE, "", "# Environments", ""),
            *(*rows, "", _wrapped(measured), "", _wrapped(budgets), ""),
            *("## Arguments of all environments", "", *(_wrapped(line, hanging="  ") for line in arguments), ""),
        ]
    )


def environment_page(env_id: str, cls: type[ChatEnv]) -> str:
    """The docstring of an environment and one conversation a level.

    Raises:
        SlmagentError: The expert fails.
    """
    summary, _, sections = (inspect.getdoc(cls) or "").partition("\n\n")
    lines = [NOTE, "", f"# {env_id}", "", summary, "", sections, "", "## Conversations", ""]
    lines += [
        _wrapped("The scripted expert in the first task of each level's `train` split, with what every action earned."),
        "",
    ]
    for level, text in sorted(cls.levels.items()):
        lines += [f"### Level {level}: {text}", "", "```text", *conversation(example(env_id, level)), "```", ""]
    return "\n".join(lines)


def example(env_id: str, level: int) -> Trajectory:
    """The expert's episode in the first task of a level.

    Raises:
        SlmagentError: It does not succeed.
    """
    (trajectory,) = run_episodes(ExpertAgent, requests_for(env_id, level, "train", 1))
    if not trajectory.success:
        raise SlmagentError(f"the expert fails in {trajectory.scenario_id}: {trajectory.error or trajectory.stop_reason}")
    return trajectory


def conversation(trajectory: Trajectory) -> list[str]:
    """A conversation as lines of text: who on the left, what on the right, and under each action what it earned."""
    lines: list[str] = []
    for message in describe(trajectory):
        who = message.who
        for part in message.parts:
            for line in part.text.splitlines():
                for piece in textwrap.wrap(line, WIDTH - 15, break_on_hyphens=False) or [""]:
                    lines.append(f"{who:>12} | {piece}".rstrip())
                    who = ""
        if message.earned is not None:
            lines.append(f"{'':>12} |   {_earned(message.earned)}")
    return [*lines, f"{'':>12} | {trajectory.stop_reason.replace('_', ' ')}, return {trajectory.total_reward:+.2f}"]


def _earned(earned: Earned) -> str:
    parts = ", ".join(f"{name} {amount:+.2f}" for name, amount in earned.components)
    return f"reward {earned.reward:+.2f}" + (f" = {parts}" if parts else "")


def _arguments(cls: type) -> list[tuple[str, str]]:
    """Names and explanations in the `Args` section of a docstring."""
    section = re.search(r"^Args:\n((?:    .*\n|\n)+)", inspect.getdoc(cls) or "", re.MULTILINE)
    if section is None:
        return []
    entries = re.findall(r"^    (\w+): (.*(?:\n     .*)*)", section[1], re.MULTILINE)
    return [(name, " ".join(text.split())) for name, text in entries]


def _wrapped(text: str, *, hanging: str = "") -> str:
    return textwrap.fill(text, WIDTH, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False)
