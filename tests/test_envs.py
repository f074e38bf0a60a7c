"""What every registered environment promises, at every level: one set of tests over the registry."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slmagent.envs.base import ChatEnv
from slmagent.envs.registration import ENTRY_POINTS, register_all
from slmagent.types import SPLITS

IDS_AND_LEVELS = [
    (env_id, level)
    for env_id in ENTRY_POINTS
    for level in gym.make(env_id, disable_env_checker=True).unwrapped.levels  # type: ignore[attr-defined]
]
EVERYWHERE = pytest.mark.parametrize(("env_id", "level"), IDS_AND_LEVELS)
EACH_ID = pytest.mark.parametrize("env_id", list(ENTRY_POINTS))


def make(env_id: str, **kwargs: Any) -> ChatEnv:
    env = gym.make(env_id, disable_env_checker=True, **kwargs).unwrapped
    assert isinstance(env, ChatEnv)
    return env


def play(env: ChatEnv, **reset: Any) -> tuple[list[Any], dict[str, Any]]:
    """An expert episode: everything that came back, and the last info."""
    observation, info = env.reset(**reset)
    record: list[Any] = [observation, info]
    done = False
    while not done:
        observation, reward, terminated, truncated, info = env.step(env.expert())
        record += [observation, reward, terminated, truncated, info]
        done = terminated or truncated
    return record, info


def digest(env_id: str, level: int) -> str:
    """A hash over expert episodes and a stubborn one, of all splits."""
    parts = []
    for split in SPLITS:
        env = make(env_id, level=level, split=split)
        parts.append(play(env, seed=5)[0])
        parts.append(play(env)[0])
        env.reset()
        parts.append([env.step("What do you want?"), env.step('<tool_call>{"name": 1}</tool_call>')])
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@EVERYWHERE
@pytest.mark.parametrize("split", ["train", "ood"])
def test_check_env_without_a_warning(env_id: str, level: int, split: str):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gym.make(env_id, level=level, split=split, render_mode="ansi")
        check_env(env.unwrapped)


@EVERYWHERE
def test_the_expert_succeeds_on_every_split_and_the_components_sum_to_the_reward(env_id: str, level: int):
    for split in SPLITS:
        env = make(env_id, level=level, split=split)
        for seed in range(12):
            record, info = play(env, seed=seed, options={"user_seed": seed})
            assert info["success"] is True, env.render()
            assert info["stop_reason"] == "finished"
            steps = [record[start : start + 5] for start in range(2, len(record), 5)]
            for _, reward, _, _, step_info in steps:
                assert isinstance(reward, float)
                assert reward == sum(step_info["reward_components"].values())
                assert set(step_info["reward_components"]) <= set(env.default_weights)


@EVERYWHERE
def test_the_bare_style_succeeds_too(env_id: str, level: int):
    env = make(env_id, level=level)
    for seed in range(8):
        env.reset(seed=seed)
        done, info = False, {}
        while not done:
            _, _, terminated, truncated, info = env.step(env.expert(evidence=False))
            done = terminated or truncated
        assert info["success"] is True


@EVERYWHERE
def test_observations_are_append_only_alternating_and_fresh(env_id: str, level: int):
    env = make(env_id, level=level)
    observation, _ = env.reset(seed=1)
    assert [message["role"] for message in observation] == ["system", "user"]
    done = False
    while not done:
        kept = copy.deepcopy(observation)
        following, _, terminated, truncated, _ = env.step(env.expert())
        assert observation == kept
        assert following[: len(observation)] == observation
        assert not {id(message) for message in following} & {id(message) for message in observation}
        assert following in env.observation_space
        roles = [message["role"] for message in following[1:]]
        assert roles == [("user", "assistant")[place % 2] for place in range(len(roles))]
        observation, done = following, terminated or truncated
    observation[0]["content"] = "changed by the caller"
    assert env.reset(seed=1)[0][0]["content"] != "changed by the caller"


@EVERYWHERE
def test_info_is_json_and_gives_nothing_away(env_id: str, level: int):
    env = make(env_id, level=level)
    record, last = play(env, seed=3)
    for info in [record[1], *record[6::5]]:
        json.dumps(info, allow_nan=False)
        assert not [key for key in info if key == "episode" or key.startswith(("final_", "_"))]
        assert {
            "scenario_id",
            "level",
            "split",
            "turn",
            "reward_components",
            "stop_reason",
            "tools",
            "anchor",
            "events",
        } <= set(info)
    assert "success" not in record[1]
    assert "task_kind" not in record[1]
    assert last["task_kind"] == env.task_kind(env.scenario_id)


@EVERYWHERE
def test_info_belongs_to_the_caller(env_id: str, level: int):
    """What a step gave is what JSON makes of it, no later step changes it, and changing it changes no later step."""
    env, same = make(env_id, level=level), make(env_id, level=level)
    env.reset(seed=4)
    same.reset(seed=4)
    kept: list[tuple[dict, str]] = []
    done = False
    while not done:
        action = env.expert()
        *_, terminated, truncated, info = env.step(action)
        kept.append((info, json.dumps(info)))
        assert json.loads(kept[-1][1]) == info
        *_, other = same.step(action)
        assert json.dumps(other) == kept[-1][1]
        for value in other.values():
            if isinstance(value, list | dict):
                value.clear()
        done = terminated or truncated
    assert all(json.dumps(info) == text for info, text in kept)


@EVERYWHERE
def test_same_seed_gives_the_same_bytes_in_this_process(env_id: str, level: int):
    assert digest(env_id, level) == digest(env_id, level)


def test_same_seed_gives_the_same_bytes_in_other_processes_and_threads():
    here = {f"{env_id} {level}": digest(env_id, level) for env_id, level in IDS_AND_LEVELS}
    script = (
        "import json, sys, importlib.util\n"
        f"spec = importlib.util.spec_from_file_location('test_envs', {__file__!r})\n"
        "module = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(module)\n"
        "print(json.dumps({f'{env_id} {level}': module.digest(env_id, level) for env_id, level in module.IDS_AND_LEVELS}))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "12345"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=True)
    assert json.loads(done.stdout.splitlines()[-1]) == here
    with ThreadPoolExecutor(4) as pool:
        there = pool.map(lambda pair: digest(*pair), IDS_AND_LEVELS)
        assert list(there) == list(here.values())


@EVERYWHERE
def test_unseeded_resets_are_reproducible_and_differ(env_id: str, level: int):
    def first_twenty() -> list[str]:
        env = make(env_id, level=level)
        env.reset(seed=11)
        return [json.dumps(env.reset()) for _ in range(20)]

    episodes = first_twenty()
    assert episodes == first_twenty()
    assert len(set(episodes)) > 15


@EVERYWHERE
def test_a_scenario_and_a_user_seed_fix_the_episode(env_id: str, level: int):
    env = make(env_id, level=level)
    options = {"scenario_id": env.scenario_ids[7], "user_seed": 4}
    first = env.reset(seed=0, options=options)
    assert first == env.reset(seed=99, options=options)
    assert first[1]["scenario_id"] == env.scenario_ids[7]
    wordings = {env.reset(options={**options, "user_seed": seed})[0][1]["content"] for seed in range(12)}
    assert len(wordings) > 1


@EVERYWHERE
def test_a_deep_copy_goes_on_alike(env_id: str, level: int):
    env = make(env_id, level=level)
    env.reset(seed=2)
    env.step(env.expert())
    twin = copy.deepcopy(env)
    done = False
    while not done:
        action = env.expert()
        assert twin.expert() == action
        outcome, same = env.step(action), twin.step(action)
        assert json.dumps(outcome) == json.dumps(same)
        done = outcome[2] or outcome[3]


@EVERYWHERE
def test_every_turn_can_be_forked(env_id: str, level: int):
    """Also in another environment, several times, after the episode went elsewhere; later episodes are the same, too."""

    def rest(env: ChatEnv) -> str:
        outcomes: list[Any] = []
        while not outcomes or not (outcomes[-1][2] or outcomes[-1][3]):
            outcomes.append(env.step(env.expert()))
        return json.dumps([outcomes, env.reset()])

    env, other = make(env_id, level=level), make(env_id, level=level)
    env.reset(seed=2)
    forks = []
    done = False
    while not done:
        before = env.snapshot()
        forks.append((before, rest(env)))
        observation, info = env.restore(before)
        assert list(observation) == before.episode["_messages"]
        assert info["stop_reason"] is None
        _, _, terminated, truncated, _ = env.step(env.expert())
        done = terminated or truncated
    assert len(forks) > 1
    for before, expected in reversed(forks):
        for target in (env, other, env):
            target.restore(before)
            target.step('<tool_call>{"name": "nothing"}</tool_call>')
            target.restore(before)
            assert rest(target) == expected


@EACH_ID
def test_snapshots_that_do_not_fit_are_refused(env_id: str):
    env = make(env_id, level=1)
    with pytest.raises(gym.error.ResetNeeded, match="before the first episode"):
        env.restore(env.snapshot())
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"expected a snapshot of .*, 2, 'train'"):
        make(env_id, level=2).restore(env.snapshot())


@EVERYWHERE
def test_equal_situations_have_equal_anchors(env_id: str, level: int):
    env = make(env_id, level=level)
    options = {"scenario_id": env.scenario_ids[0], "user_seed": 0}
    anchors = []
    for evidence in (True, False):
        _, info = env.reset(options=options)
        anchors.append([info["anchor"]])
        done = False
        while not done:
            _, _, terminated, truncated, info = env.step(env.expert(evidence=evidence))
            anchors[-1].append(info["anchor"])
            done = terminated or truncated
    assert anchors[0][:-1] == anchors[1][:-1]
    assert len(set(anchors[0][:-1])) == len(anchors[0]) - 1
    env.reset(options={"scenario_id": env.scenario_ids[1], "user_seed": 0})
    assert env.step("")[4]["anchor"] not in anchors[0]


@EVERYWHERE
def test_the_potential_starts_at_zero(env_id: str, level: int):
    env = make(env_id, level=level)
    for seed in range(20):
        env.reset(seed=seed)
        assert env._potential() == 0.0


@EVERYWHERE
def test_shaping_cancels_out_in_the_discounted_return(env_id: str, level: int):
    gamma = 0.9
    env = make(env_id, level=level, shaping_gamma=gamma)
    record, _ = play(env, seed=6)
    parts = [info["reward_components"]["progress"] for info in record[6::5]]
    assert sum(gamma**place * part for place, part in enumerate(parts)) == pytest.approx(0.0, abs=1e-9)
    assert max(parts) > 0.0


_ENVS: dict[tuple[str, int], ChatEnv] = {}
PIECES = [
    "<tool_call>",
    "</tool_call>",
    "{",
    "}",
    '"',
    ":",
    ",",
    "name",
    "arguments",
    "finish",
    "message",
    "[",
    "null",
    "1e999",
    "Shall I book FL123?",
]


@EVERYWHERE
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    actions=st.lists(st.one_of(st.text(), st.lists(st.sampled_from(PIECES)).map("".join)), min_size=1, max_size=6),
    seed=st.integers(0, 99),
)
def test_any_text_is_survived_and_never_wins(env_id: str, level: int, actions: list[str], seed: int):
    env = _ENVS.setdefault((env_id, level), make(env_id, level=level))
    env.reset(seed=seed)
    for action in actions:
        observation, reward, terminated, truncated, info = env.step(action)
        assert observation in env.observation_space
        assert np.isfinite(reward)
        json.dumps(info, allow_nan=False)
        if terminated or truncated:
            assert info["success"] is False
            break


@EVERYWHERE
def test_tool_arguments_of_every_kind_are_survived(env_id: str, level: int):
    env = make(env_id, level=level)
    values: list[Any] = [
        "",
        "\ud800",
        "x" * 10_000,
        10**30,
        -1,
        1.5,
        True,
        None,
        [],
        {},
        "0 June",
        "3 June",
        "FL1'; DROP TABLE flights",
    ]
    _, info = env.reset(seed=0)
    for tool in info["tools"]:
        function = tool["function"]
        for value in values:
            arguments = dict.fromkeys(function["parameters"].get("properties", {}), value)
            if function["name"] == "finish":
                continue
            env.reset(seed=0)
            call = json.dumps({"name": function["name"], "arguments": arguments})
            observation, _, _, _, _ = env.step(f"<tool_call>{call}</tool_call>")
            assert observation[-1]["content"].startswith("<tool_response>")


@EACH_ID
def test_a_non_string_action_is_refused_and_changes_nothing(env_id: str):
    env = make(env_id)
    env.reset(seed=0)
    twin = copy.deepcopy(env)
    for action in (None, 3, b"bytes", ["text"], {"content": "text"}):
        with pytest.raises(TypeError, match="expected the action to be a str"):
            env.step(action)  # type: ignore[arg-type]
    action = env.expert()
    assert json.dumps(env.step(action)) == json.dumps(twin.step(action))


@EACH_ID
@pytest.mark.parametrize(
    ("kwargs", "problem"),
    [
        ({"level": 6}, r"unknown level 6 for \w+; expected one of \[0, 1, 2, 3, 4, 5\]"),
        ({"level": -1}, "unknown level -1"),
        ({"level": True}, "unknown level True"),
        ({"level": "1"}, "unknown level '1'"),
        ({"split": "dev"}, "unknown split 'dev'; expected one of train, val, test, ood"),
        ({"prompt_style": "xml"}, "unknown prompt_style 'xml'; expected 'compact' or 'json'"),
        ({"max_turns": 0}, "expected max_turns >= 1, actual 0"),
        ({"shaping_gamma": 1.5}, r"expected shaping_gamma in \[0, 1\], actual 1.5"),
        ({"reward_weights": {"gaol": 1.0}}, "unknown reward component 'gaol'"),
        ({"reward_weights": {"progress": float("nan")}}, "expected a finite number as the weight of 'progress'"),
    ],
)
def test_bad_arguments_are_named(env_id: str, kwargs: dict[str, Any], problem: str):
    with pytest.raises(ValueError, match=problem):
        gym.make(env_id, **kwargs)


@EACH_ID
def test_bad_reset_options_are_named(env_id: str):
    env = make(env_id, level=1)
    with pytest.raises(ValueError, match="unknown reset option 'scenario'"):
        env.reset(options={"scenario": "x"})
    wanted = env.scenario_ids[42]
    with pytest.raises(ValueError, match=f"did you mean '{wanted[:-1]}"):
        env.reset(options={"scenario_id": wanted + "x"})
    with pytest.raises(ValueError, match="they look like"):
        env.reset(options={"scenario_id": "?"})


@EACH_ID
def test_stepping_needs_a_running_episode(env_id: str):
    env = make(env_id)
    with pytest.raises(gym.error.ResetNeeded):
        env.step("Hello")
    play(env, seed=0)
    with pytest.raises(gym.error.ResetNeeded):
        env.step("Hello")


@EACH_ID
def test_unknown_ids_are_refused_with_the_nearest(env_id: str):
    with pytest.raises(gym.error.NameNotFound):
        gym.make(env_id.replace("-v0", "x-v0"))


@EACH_ID
def test_max_turns_truncates(env_id: str):
    env = make(env_id, level=2, max_turns=1)
    env.reset(seed=0)
    _, _, terminated, truncated, info = env.step(env.expert())
    assert (terminated, truncated) == (False, True)
    assert info["stop_reason"] == "max_turns"
    assert info["success"] is False


@EACH_ID
def test_render_modes(env_id: str, capsys: pytest.CaptureFixture[str]):
    env = make(env_id, render_mode="ansi")
    env.reset(seed=0)
    env.step(env.expert())
    text = env.render()
    assert isinstance(text, str)
    assert text.startswith("[system] ")
    assert "[assistant] " in text
    human = make(env_id, render_mode="human")
    human.reset(seed=0)
    human.step(human.expert())
    assert capsys.readouterr().out.strip() == text.strip()
    assert human.render() is None


@EACH_ID
def test_json_prompts_hold_the_schemas(env_id: str):
    env = make(env_id, level=1, prompt_style="json")
    observation, info = env.reset(seed=0)
    lines = [line for line in observation[0]["content"].splitlines() if line.startswith("{")]
    assert [json.loads(line) for line in lines] == info["tools"]
    assert play(env, seed=0)[1]["success"]


@EACH_ID
def test_sync_vector_env_and_wrappers(env_id: str):
    vector = gym.make_vec(env_id, num_envs=3, vectorization_mode="sync", level=1)
    try:
        observations, _ = vector.reset(seed=1)
        assert len(observations) == 3
        observations, rewards, terminations, truncations, infos = vector.step(("Hello.", "One moment.", ""))
        assert rewards.shape == terminations.shape == truncations.shape == (3,)
        assert [len(observation) for observation in observations] == [4, 4, 4]
        assert infos["turn"].tolist() == [1, 1, 1]
    finally:
        vector.close()
    wrapped = gym.wrappers.RecordEpisodeStatistics(gym.wrappers.TimeLimit(gym.make(env_id, level=1), 1))
    wrapped.reset(seed=0)
    _, _, terminated, truncated, info = wrapped.step("One moment.")
    assert (terminated, truncated) == (False, True)
    assert info["episode"]["l"] == 1


@EACH_ID
def test_async_vector_env(env_id: str):
    vector = gym.make_vec(
        env_id, num_envs=2, vectorization_mode="async", vector_kwargs={"shared_memory": False}, level=1, split="val"
    )
    try:
        observations, _ = vector.reset(seed=1)
        single = make(env_id, level=1, split="val")
        assert tuple(observations[0]) == single.reset(seed=1)[0]
        observations, *_ = vector.step(("Hello.", "Hello."))
        assert tuple(observations[0]) == single.step("Hello.")[0]
    finally:
        vector.close()


@EACH_ID
def test_specs_survive_json(env_id: str):
    env = gym.make(env_id, level=2, split="ood", reward_weights={"progress": 0.5})
    assert env.spec is not None
    again = gym.make(type(env.spec).from_json(env.spec.to_json()), disable_env_checker=True).unwrapped
    assert isinstance(again, ChatEnv)
    assert (again.level, again.split, again.weights["progress"]) == (2, "ood", 0.5)


def test_registration_is_idempotent_and_documented_forms_work():
    register_all()
    register_all()
    assert set(ENTRY_POINTS) <= set(gym.registry)
    script = (
        "import sys, gymnasium as gym\n"
        "env = gym.make('slmagent:SLMAgent/Booking-v0', level=1)\n"
        "env.reset(seed=0)\n"
        "env.step('Hello.')\n"
        "assert 'torch' not in sys.modules and 'transformers' not in sys.modules, 'an environment imported torch'\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
