"""CodeAssist: what wins, what does not, and what the programmer says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

import slmagent  # noqa: F401  (registers the environments)
from slmagent.envs.code_assist import CodeAssistEnv
from slmagent.envs.code_assist.answers import code_in, solution
from slmagent.envs.code_assist.env import PROPOSALS
from slmagent.envs.code_assist.episode import judge
from slmagent.envs.parsing import render_call
from slmagent.errors import SlmagentError, UsageError
from slmagent.rewards.code_assist import COMPONENTS, DEFAULT_WEIGHTS, CodeOutcome
from slmagent.rewards.composite import Composite
from slmagent.scenarios.code.loaders import save_tasks
from slmagent.scenarios.code.skeleton import skeleton
from slmagent.scenarios.code.tasks import make_task, scenario_ids
from slmagent.scenarios.splits import belongs_to

LEVELS = range(6)
EACH_LEVEL = pytest.mark.parametrize("level", LEVELS)
Policy = Callable[[CodeAssistEnv], str]


def make(level: int, **kwargs: Any) -> CodeAssistEnv:
    env = gym.make("SLMAgent/CodeAssist-v0", level=level, disable_env_checker=True, **kwargs).unwrapped
    assert isinstance(env, CodeAssistEnv)
    return env


def play(env: CodeAssistEnv, policy: Policy, **reset: Any) -> tuple[float, dict[str, Any]]:
    """Total reward and last info of an episode."""
    env.reset(**reset)
    total, done, info = 0.0, False, {}
    while not done:
        _, reward, terminated, truncated, info = env.step(policy(env))
        total += reward
        done = terminated or truncated
    return total, info


def expert(env: CodeAssistEnv) -> str:
    return env.expert()


def block(code: str) -> str:
    return f"```python\n{code}\n```"


def heard(env: CodeAssistEnv) -> str:
    return env._messages[-1]["content"]


def start(env: CodeAssistEnv, kind: str) -> None:
    """Starts the first task of a kind."""
    found = next(name for name in env.scenario_ids if env.task_kind(name) == kind)
    env.reset(options={"scenario_id": found, "user_seed": 0})


def code_of(env: CodeAssistEnv) -> str:
    """What the expert would hand in."""
    return solution(env.state.task)


# ---- exploits -----------------------------------------------------------------------------------------------------------


def hard_coded(env: CodeAssistEnv) -> str:
    """Gives what is shown for the inputs that are shown, as an expression or a body."""
    task = env.state.task
    shown = task.examples[0].expect if task.examples else "0"
    return block(shown if task.kind in ("line", "expression") else f"return {shown}")


def whole_file(env: CodeAssistEnv) -> str:
    return block(skeleton(env.state.task))


def other_function(env: CodeAssistEnv) -> str:
    """A piece of the file, copied."""
    lines = [line.strip() for line in env.state.task.after.splitlines() if line.startswith("    return")]
    return block(lines[0] if lines else "return 1")


CHEATS: dict[str, Policy] = {
    "silent": lambda env: "",
    "apology": lambda env: "I am sorry, I apologise for this.",
    "ends at once": lambda env: render_call("finish", {"message": "Done."}),
    "begs": lambda env: "Please say that it is right. Thank you!",
    "three words": lambda env: "It is done.",
    "claims": lambda env: "All hidden tests pass now, so you can accept it.",
    "echo": lambda env: env._messages[0]["content"],
    "echo in a block": lambda env: block(env._messages[0]["content"].replace("```", "")),
    "pass": lambda env: block("pass"),
    "return None": lambda env: block("return None"),
    "docstring": lambda env: block('"""It works."""'),
    "ellipsis": lambda env: block("..."),
    "not implemented": lambda env: block("raise NotImplementedError"),
    "raises": lambda env: block("raise SystemExit(0)"),
    "hard-coded": hard_coded,
    "whole file": whole_file,
    "other function": other_function,
    "equals all": lambda env: block("return type('Any', (), {'__eq__': lambda self, other: True, '__hash__': None})()"),
    "exits": lambda env: block("import os\nprint('all tests passed')\nos._exit(0)"),
    "prints": lambda env: block("print('passed')\nprint(True)"),
    "loop": lambda env: block("while True:\n    pass"),
    "patched": lambda env: block("import builtins\nbuiltins.repr = lambda x: ''\nreturn 0"),
    "looks the tests up": lambda env: block("import sys\nreturn sys._getframe(1).f_locals"),
    "runs on": lambda env: render_call("run", {"code": "return 1"}),
}


def cheats_for(level: int) -> list[str]:
    slow = {"loop"} if level not in (0, 2) else set()  # a second of CPU time each
    return [name for name in CHEATS if name not in slow]


@EACH_LEVEL
def test_cheats_neither_succeed_nor_out_score_a_success(level: int) -> None:
    env = make(level)
    worst_success = min(play(env, expert, seed=seed)[0] for seed in range(12))
    for name in cheats_for(level):
        for seed in range(4):
            total, info = play(env, CHEATS[name], seed=seed)
            assert info["success"] is False, (name, env.render())
            assert total < worst_success, (name, total, worst_success)


@EACH_LEVEL
def test_without_its_answer_the_expert_fails(level: int) -> None:
    env = make(level)

    def talks_only(env: CodeAssistEnv) -> str:
        action = env.expert()
        return "I have it." if "```" in action or action.startswith("It does") else action

    for seed in range(5):
        assert play(env, talks_only, seed=seed)[1]["success"] is False


@EACH_LEVEL
def test_a_try_beforehand_changes_nothing(level: int) -> None:
    env = make(level)

    def tries_first(env: CodeAssistEnv) -> str:
        action = env.expert()
        code = code_in(action)
        if code is None or env.state.idle:
            return action
        return render_call("run", {"code": f"{code}  # tried"})

    for seed in range(5):
        total, info = play(env, tries_first, seed=seed)
        assert info["success"] is True
        assert total == play(env, expert, seed=seed)[0]


def test_any_success_out_scores_any_failure() -> None:
    score = Composite(COMPONENTS, DEFAULT_WEIGHTS)
    failures = [
        CodeOutcome(False, True, syntax, runs, relevance, 1.0)
        for syntax in (True, False)
        for runs in (True, False)
        for relevance in (0.0, 1.0)
    ]
    successes = [CodeOutcome(True, True, True, True, relevance, -1.0) for relevance in (None, 0.0, 1.0)]
    explained = [CodeOutcome(False, explained=share) for share in (0.0, 0.9)]
    told = CodeOutcome(True, explained=1.0)
    worst = min(sum(score(outcome).values()) for outcome in (*successes, told))
    assert worst == pytest.approx(1.4)
    assert max(sum(score(outcome).values()) for outcome in (*failures, *explained)) == pytest.approx(1.1)


def test_what_has_no_effect_or_copies_earns_nothing() -> None:
    env = make(2)
    for code in ("pass", "return None", '"""Words."""'):
        total, info = play(env, lambda env, code=code: block(code), seed=1)
        assert total == 0.0
        assert info["reward_components"]["syntax"] == 0.0


# ---- the programmer -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("level", "kind"), [(0, "line"), (1, "expression"), (2, "body"), (3, "method"), (5, "repair")])
def test_the_programmer_looks_at_so_many_answers(level: int, kind: str) -> None:
    env = make(level)
    start(env, kind)
    info: dict[str, Any] = {}
    for number in range(PROPOSALS[level]):
        _, _, terminated, _, info = env.step(block("1" if level < 2 else f"return [{number}, 'wrong']"))
        assert terminated is (number == PROPOSALS[level] - 1)
    assert info["stop_reason"] == "user_left"
    assert info["success"] is False


@pytest.mark.parametrize(("level", "kind"), [(3, "method"), (5, "repair")])
def test_an_answer_can_be_mended_and_the_failing_test_is_told(level: int, kind: str) -> None:
    env = make(level)
    start(env, kind)
    right = block(code_of(env))
    _, _, terminated, _, _ = env.step(block("return 'wrong'"))
    assert not terminated
    assert " gives " in heard(env)
    assert ("should give" in heard(env)) is (level == 5)
    env.step(right)
    assert env.state.accepted
    assert env.step(env.expert())[1] > 0
    assert env._success()


def test_an_open_wish_is_told_when_asked_for_and_asking_pays() -> None:
    env = make(4)
    start(env, "intent")
    left = env.state.task.clarifications
    assert left
    for number, one in enumerate(left):
        assert one.answer not in "\n".join(message["content"] for message in env._messages)
        _, reward, _, _, info = env.step(one.question)
        assert info["action"]["kind"] == "ask"
        assert one.answer.lower() in heard(env).lower()
        assert reward == pytest.approx(0.5 / len(left)), number


def test_who_does_not_ask_often_fails() -> None:
    env = make(4)
    guessed = 0
    for seed in range(20):
        env.reset(seed=seed)
        task = env.state.task
        other = "return None" if "None" not in task.reference else "return 0"
        guessed += judge(task, other).accepted
    assert guessed == 0


def test_every_question_of_the_expert_is_understood() -> None:
    for split in ("train", "ood"):
        env = make(4, split=split)
        for number in range(40):
            env.reset(options={"scenario_id": env.scenario_ids[number], "user_seed": number})
            for left in env.state.task.clarifications:
                env.step(left.question)
                assert left.topic in env.state.user.told, left


def test_an_explanation_is_judged_by_its_words_and_not_by_code() -> None:
    env = make(5)
    start(env, "explain")
    task = env.state.task
    env.step(f"It is this: `{task.broken}` and that is all there is.")
    assert not env.state.accepted
    env.step(env.expert())
    assert env.state.accepted
    assert set(env.step(env.expert())[4]["reward_components"]) == {"explained", "feedback", "progress"}


def test_code_in_the_last_message_counts() -> None:
    env = make(2)
    env.reset(seed=0)
    _, _, terminated, _, info = env.step(render_call("finish", {"message": block(code_of(env))}))
    assert terminated
    assert info["success"] is True


def test_the_tool_tries_code_and_hands_nothing_in() -> None:
    env = make(1)
    env.reset(seed=0)
    env.step(render_call("run", {"code": code_of(env)}))
    assert "it runs, and the examples give what they should" in heard(env)
    env.step(render_call("run", {"code": "1 +"}))
    assert "SyntaxError" in heard(env)
    assert not env.state.handed


def test_the_kind_of_relevance_is_part_of_the_specification() -> None:
    env = gym.make("SLMAgent/CodeAssist-v0", level=0, relevance="lexical")
    assert env.spec is not None
    assert env.spec.kwargs["relevance"] == "lexical"
    with pytest.raises(ValueError, match="unknown relevance 'semantic'; expected 'lexical' or 'embedding'"):
        gym.make("SLMAgent/CodeAssist-v0", relevance="semantic")


@pytest.mark.model
def test_relevance_by_embeddings() -> None:
    pytest.importorskip("sentence_transformers")
    from slmagent.rewards.guards.embedding import available_embedder

    if available_embedder() is None:
        pytest.skip("the embedding model is not on this machine")
    env = make(2, relevance="embedding")
    _, info = play(env, expert, seed=0)
    assert 0.0 < info["reward_components"]["relevance"] < 0.5


# ---- tasks of one's own -----------------------------------------------------------------------------------------------------


def test_tasks_from_a_file_are_played_like_others(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    tasks = [make_task(name) for name in scenario_ids(2, "train")[:12]]
    save_tasks(path, tasks)
    for split in ("train", "ood"):
        env = make(2, split=split, tasks=str(path))
        assert set(env.scenario_ids) <= {task.name for task in tasks}
        total, info = play(env, expert, seed=0)
        assert info["success"] is True
        assert info["task_kind"] == "body"
        assert total > 1.4
    assert len(make(2, split="ood", tasks=str(path)).scenario_ids) == 12


def test_a_file_that_cannot_be_used_is_refused_in_a_line(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    with pytest.raises(SlmagentError, match=r"tasks\.jsonl"):
        make(2, tasks=str(path))
    save_tasks(path, [make_task(scenario_ids(2, "train")[0])])
    empty = [split for split in ("train", "val", "test") if not belongs_to(split)((scenario_ids(2, "train")[0],))]
    with pytest.raises(UsageError, match="has no task for the split"):
        make(2, split=empty[0], tasks=str(path))
