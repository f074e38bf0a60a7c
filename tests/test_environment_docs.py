"""The pages of docs/environments are what would be made now, and the token budgets of small contexts are kept."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from slmagent.cli import main
from slmagent.cli.envs import DOCS_TASKS, measure_all
from slmagent.cli.names import environment_class
from slmagent.cli.terminal import messages
from slmagent.envs.base import ChatEnv
from slmagent.envs.registration import ENTRY_POINTS
from slmagent.evaluation.context import LevelContext, episode_tokens, measure_level, system_tokens
from slmagent.evaluation.environment_docs import INDEX, conversation, environment_page, example, index_page, page_name
from slmagent.types import Message

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "environments"
ENVIRONMENTS = {env_id: environment_class(env_id) for env_id in ENTRY_POINTS}
EACH = pytest.mark.parametrize("env_id", list(ENTRY_POINTS))
STALE = "docs/environments is stale; run: make docs"


class Characters:
    """Counts characters: a token each, and one for every mark of the template."""

    def encode_prompt(self, messages: list[Message]) -> list[int]:
        return [0] * sum(1 + len(message["content"]) for message in messages)

    def encode_action(self, text: str) -> list[int]:
        return [0] * (len(text) + 1)

    def encode_delta(self, reply: str) -> list[int]:
        return [0] * (len(reply) + 2)


CHARACTERS: Any = Characters()


def numbers_in(index: str) -> list[LevelContext]:
    """The numbers in the table of an index."""
    episodes = re.search(r"in (\d+) tasks a level", index)
    assert episodes is not None
    rows = re.findall(r"^\| \[(.+?)\].* \| (\d) \| .* \| (\d+)(?: to (\d+))? \| (\d+) \| (\d+) \|$", index, re.MULTILINE)
    return [
        LevelContext(env_id, int(level), int(episodes[1]), (int(low), int(high or low)), int(system), int(episode))
        for env_id, level, low, high, system, episode in rows
    ]


# ---- the committed pages --------------------------------------------------------------------------------------------


@EACH
def test_the_page_of_an_environment_is_fresh(env_id: str) -> None:
    assert (FOLDER / page_name(env_id)).read_text(encoding="utf-8") == environment_page(env_id, ENVIRONMENTS[env_id]), STALE


def test_the_index_is_fresh_but_for_its_numbers() -> None:
    committed = (FOLDER / INDEX).read_text(encoding="utf-8")
    contexts = numbers_in(committed)
    assert [(context.env_id, context.level) for context in contexts] == [
        (env_id, level) for env_id in sorted(ENVIRONMENTS) for level in sorted(ENVIRONMENTS[env_id].levels)
    ], STALE
    assert index_page(ENVIRONMENTS, contexts) == committed, STALE
    assert {context.episodes for context in contexts} == {2 * DOCS_TASKS}
    assert [problem for context in contexts for problem in context.broken()] == []


def test_there_is_no_page_that_nobody_makes() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {INDEX, *map(page_name, ENVIRONMENTS)}


@pytest.mark.model
def test_the_numbers_of_the_index_are_fresh(default_model: Path) -> None:
    assert measure_all(DOCS_TASKS, messages()) == numbers_in((FOLDER / INDEX).read_text(encoding="utf-8")), STALE


# ---- what a page holds ----------------------------------------------------------------------------------------------


@EACH
def test_docstrings_have_the_sections_of_gymnasium_and_name_every_level(env_id: str) -> None:
    page = environment_page(env_id, ENVIRONMENTS[env_id])
    sections = ["Description", "Observation", "Action", "Rewards", "Levels", "Episode End", "Arguments", "Version History"]
    assert re.findall(r"^## (.*)$", page, re.MULTILINE) == [*sections, "Conversations"]
    described = page[page.index("## Levels") : page.index("## Episode End")]
    for level, text in ENVIRONMENTS[env_id].levels.items():
        assert re.search(rf"^\* {level}: ", described, re.MULTILINE)
        assert f"### Level {level}: {text}\n" in page
    rewards = page[page.index("## Rewards") : page.index("## Levels")]
    assert [name for name in ENVIRONMENTS[env_id].default_weights if f"`{name}`" not in rewards] == []


def test_a_conversation_shows_every_word_and_reward() -> None:
    trajectory = example("SLMAgent/Booking-v0", 3)
    lines = conversation(trajectory)
    assert max(map(len, lines)) <= 118
    text = " ".join(line.partition(" |")[2].strip() for line in lines)
    for message in trajectory.messages[1:]:
        words = re.sub(r"</?tool_response>", "", message["content"]).split()
        assert " ".join(words) in " ".join(text.split())
    assert [line.split("reward ")[1].split()[0] for line in lines if "|   reward " in line] == [
        f"{turn.reward:+.2f}" for turn in trajectory.turns
    ]
    assert lines[-1].endswith(f"finished, return {trajectory.total_reward:+.2f}")
    assert [line[:12].strip() for line in lines if line[:12].strip()] == [
        "instructions", "user", "agent", "user", "agent", "tool", "agent", "tool", "agent",
    ]  # fmt: skip


def test_the_index_explains_every_argument() -> None:
    import inspect

    explained = re.findall(r"^\* `(\w+)`: ", index_page(ENVIRONMENTS, []), re.MULTILINE)
    assert explained == [name for name in inspect.signature(ChatEnv.__init__).parameters if name != "self"]


# ---- budgets --------------------------------------------------------------------------------------------------------


def test_tokens_are_counted_as_a_rollout_appends_them() -> None:
    talk: list[Message] = [
        {"role": "system", "content": "abc"},
        {"role": "user", "content": "de"},
        {"role": "assistant", "content": "fghi"},
        {"role": "user", "content": "j"},
        {"role": "assistant", "content": ""},
    ]
    assert system_tokens(CHARACTERS, talk) == 4 + 1
    assert episode_tokens(CHARACTERS, talk) == (4 + 3) + 5 + 3 + 1


def test_a_level_is_measured_by_its_longest_episode() -> None:
    context = measure_level("SLMAgent/Booking-v0", 4, CHARACTERS, tasks=6)
    assert (context.episodes, context.level) == (12, 4)
    assert context.turns[0] < context.turns[1]
    assert context.system < context.episode
    assert measure_level("SLMAgent/Booking-v0", 4, CHARACTERS, tasks=1).episode <= context.episode


def test_budgets_depend_on_the_level() -> None:
    fits = LevelContext("E", 2, 1, (1, 1), system=700, episode=1024)
    assert fits.broken() == []
    assert replace(fits, episode=1025).broken() == ["E, level 2: an episode takes 1025 tokens; at most 1024 are allowed"]
    assert replace(fits, system=701).broken() == ["E, level 2: the system message takes 701 tokens; at most 700 are allowed"]
    assert replace(fits, level=3, system=900, episode=2048).broken() == []
    assert len(replace(fits, level=5, episode=2049).broken()) == 1


@pytest.mark.model
def test_the_command_checks_and_fails_when_a_budget_is_broken(
    default_model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["envs", "--check", "--tasks", "2"]) == 0
    assert "too long" not in capsys.readouterr().out
    monkeypatch.setattr("slmagent.evaluation.context.EASY_SYSTEM_BUDGET", 20)
    assert main(["envs", "--check", "--tasks", "1"]) == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert "too long" in shown
    assert "SLMAgent/Booking-v0, level 0: the system message takes" in shown
    assert "level 3: the system" not in shown


def test_the_command_says_what_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SLMAGENT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    for words in (["envs", "--check"], ["envs", "docs", "--out", str(tmp_path / "docs")]):
        assert main(words) == 2
        assert "slmagent models pull smollm2-135m" in capsys.readouterr().err
    assert not (tmp_path / "docs").exists()
    assert main(["envs", "--check", "--tasks", "0"]) == 2
    assert "--tasks of at least 1" in capsys.readouterr().err
    assert main(["envs"]) == 0


def test_the_command_writes_the_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slmagent.cli.envs.load_chat_format", lambda name, console: CHARACTERS)
    monkeypatch.setattr("slmagent.cli.envs.DOCS_TASKS", 1)
    assert main(["envs", "docs", "--out", str(tmp_path / "pages")]) == 0
    assert {path.name for path in (tmp_path / "pages").iterdir()} == {INDEX, *map(page_name, ENVIRONMENTS)}
    assert len(numbers_in((tmp_path / "pages" / INDEX).read_text())) == sum(len(cls.levels) for cls in ENVIRONMENTS.values())
    (tmp_path / "file").write_text("")
    assert main(["envs", "docs", "--out", str(tmp_path / "file")]) == 2
