"""Style profiles: features by hand, a classifier that learns from simulated users, and its way into the system message."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slmagent  # noqa: F401  (registers the environments)
from slmagent.agents.profiles import LEVELS, TRAITS, Profile, Profiler, describe, featurize, load_profiler, model_path, words_in
from slmagent.cli import main
from slmagent.envs.wrappers.profile import ProfilePrompt
from slmagent.errors import MissingExtraError, UsageError
from slmagent.fetching import ModelError
from slmagent.scenarios.personas import PERSONAS, Persona
from slmagent.trainers.profiles import SimulatedUser, TraitAccuracy, save_profiler, simulate_user, train_profiler

needs_sklearn = pytest.mark.skipif(importlib.util.find_spec("sklearn") is None, reason="scikit-learn is not installed")
Trained = tuple[dict[str, Any], list[TraitAccuracy]]

SURFACE = 9


def zero_model(**changes: Any) -> dict[str, Any]:
    """A classifier that knows two words and thinks everybody medium."""
    even = {"weights": np.zeros((3, SURFACE + 2)).tolist(), "bias": [0.0, 1.0, 0.0]}
    return {"format": 1, "vocabulary": ["cat", "hello"], "traits": {trait: dict(even) for trait in TRAITS}, **changes}


@pytest.fixture(scope="module")
def trained() -> Trained:
    return train_profiler(800, 400, seed=3)


# ---- features -------------------------------------------------------------------------------------------------------


def test_features_by_hand() -> None:
    features = featurize(["Hello, it's 10 pm!", "my cat? my cat.", "..."], {"cat": 0, "hello": 1})
    expected = [
        np.log(7 / 2),  # words a message that has any: hello it's pm, my cat my cat
        np.log(7 / 3),  # words a sentence
        (5 + 4 + 2 + 2 + 3 + 2 + 3) / 7,
        1 / 2,  # messages that start in lower case
        1 / 7,  # contractions a word
        1 / 3,  # exclamation marks a sentence
        1 / 3,  # question marks a sentence
        1 / 3,  # inner marks a sentence
        2 / 7,  # digits a word
        1 / 2,  # messages with "cat"
        1 / 2,  # messages with "hello"
    ]
    np.testing.assert_allclose(features, expected)


@given(st.lists(st.text(max_size=60), max_size=5))
def test_any_messages_give_finite_features_or_a_clear_error(messages: list[str]) -> None:
    assert np.isfinite(featurize([*messages, "a"], {})).all()
    profiler = Profiler(zero_model())
    if any(words_in(message) for message in messages):
        assert set(profiler.profile(messages).levels.values()) == {"medium"}
    else:
        with pytest.raises(UsageError, match="with words in them"):
            profiler.profile(messages)


def test_the_profile_is_the_likeliest_level_of_each_trait() -> None:
    model = zero_model()
    model["traits"]["humour"] = {"weights": np.zeros((3, SURFACE + 2)).tolist(), "bias": [0.0, 0.0, 0.0]}
    model["traits"]["humour"]["weights"][2][SURFACE] = 2.0  # "cat" in half of the messages: logits 0, 0, 1
    profile = Profiler(model).profile(["The cat.", "A dog."])
    assert profile.levels == {**dict.fromkeys(TRAITS, "medium"), "humour": "high"}
    assert profile.certainty["humour"] == pytest.approx(np.e / (2 + np.e))


def test_the_sentence_names_what_is_not_medium() -> None:
    medium: dict[str, Any] = dict.fromkeys(TRAITS, "medium")
    certain: dict[str, float] = dict.fromkeys(TRAITS, 1.0)
    assert Profile(medium, certain).sentence() == "The user writes in an average style."
    levels: dict[str, Any] = {**medium, "length": "low", "formality": "high", "humour": "high", "patience": "low"}
    said = Profile(levels, certain).sentence()
    assert said == "The user writes briefly, formally and with humour; answer the same way. The user loses patience quickly."


# ---- simulated users ------------------------------------------------------------------------------------------------


def test_simulated_users_are_repeatable_and_differ() -> None:
    users = [simulate_user((0, 0, index), "train") for index in range(30)]
    assert users[7] == simulate_user((0, 0, 7), "train")
    assert len({user.messages for user in users}) == 30
    assert all(1 <= len(user.messages) <= 10 and all(user.messages) for user in users)
    assert all({user.level(trait) for user in users} == set(LEVELS) for trait in TRAITS)


@pytest.mark.parametrize(
    ("verbosity", "patience", "length", "bears"),
    [
        (0.0, 1, "low", "low"),
        (0.33, 2, "low", "low"),
        (0.34, 3, "medium", "medium"),
        (0.7, 5, "high", "high"),
        (1.0, 9, "high", "high"),
    ],
)
def test_levels_are_thirds(verbosity: float, patience: int, length: str, bears: str) -> None:
    user = SimulatedUser(Persona("x", verbosity=verbosity, patience=patience), ())
    assert (user.level("length"), user.level("patience")) == (length, bears)


# ---- training -------------------------------------------------------------------------------------------------------


@needs_sklearn
def test_it_learns_style_from_messages(trained: Trained) -> None:
    model, results = trained
    by_trait = {result.trait: result for result in results}
    assert list(by_trait) == list(TRAITS)
    assert all(result.n == 400 for result in results)
    # Well above the majority baseline of about 1/3 for what can be read from text; patience hardly can.
    for trait, floor in {"length": 0.48, "formality": 0.65, "humour": 0.52, "technicality": 0.42}.items():
        assert by_trait[trait].right / 400 >= floor, by_trait[trait]
        assert by_trait[trait].majority / 400 <= 0.40
    assert by_trait["patience"].right > by_trait["patience"].majority
    json.dumps(model)
    assert 100 < len(model["vocabulary"]) < 1000


@needs_sklearn
def test_it_tells_the_built_in_personas_apart(trained: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    profiler = Profiler(trained[0])

    def share(name: str, trait: str, level: str) -> float:
        monkeypatch.setattr("slmagent.trainers.profiles.draw_persona", lambda rng: PERSONAS[name])
        users = [simulate_user((9, 9, index), "test") for index in range(40)]
        return sum(profiler.profile(user.messages).levels[trait] == level for user in users) / len(users)

    assert share("humorous", "humour", "high") > 0.6
    assert share("technical", "humour", "low") > 0.8
    assert share("concise", "length", "low") > 0.7
    assert share("detailed", "length", "high") > 0.7
    assert share("impatient", "formality", "low") > 0.7
    assert share("technical", "formality", "high") > 0.7


@needs_sklearn
def test_training_is_repeatable() -> None:
    assert train_profiler(120, 10, seed=1) == train_profiler(120, 10, seed=1)


def test_too_few_users_are_refused() -> None:
    with pytest.raises(UsageError, match="at least 100 users and 1 held out, actual 5 and 1"):
        train_profiler(5, 1)


def test_training_without_scikit_learn_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "sklearn", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'slmagent\[profiles\]'"):
        train_profiler(100, 1)


# ---- the file -------------------------------------------------------------------------------------------------------


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SLMAGENT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_an_untrained_classifier_names_the_command(cache: Path) -> None:
    with pytest.raises(ModelError, match=r"no style classifier at .*train it with: slmagent profile train"):
        describe(["Hello."])


@pytest.mark.parametrize("content", ["", "{", "[]", '{"format": 1}', json.dumps(zero_model(format=0))])
def test_a_damaged_file_is_said(cache: Path, content: str) -> None:
    model_path().parent.mkdir(parents=True)
    model_path().write_text(content)
    with pytest.raises(ModelError, match=r"cannot use the style classifier .*slmagent profile train"):
        load_profiler()


def test_what_is_saved_is_loaded_and_renewed(cache: Path, tmp_path: Path) -> None:
    assert save_profiler(zero_model()) == model_path() == cache / "profiles" / "style.json"
    assert [file.name for file in model_path().parent.iterdir()] == ["style.json"]
    assert load_profiler() is load_profiler()
    assert describe(["Hello."]) == "The user writes in an average style."
    changed = zero_model()
    changed["traits"]["length"]["bias"] = [5.0, 0.0, 0.0]
    save_profiler(changed, tmp_path / "other.json")
    shutil.copy(tmp_path / "other.json", model_path())
    assert describe(["Hello."]) == "The user writes briefly; answer the same way."


# ---- the command ----------------------------------------------------------------------------------------------------


@needs_sklearn
def test_the_command_trains_and_shows(cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", "show", "Hello."]) == 2
    assert "slmagent profile train" in capsys.readouterr().err
    assert main(["profile", "train", "--users", "150", "--held-out", "50"]) == 0
    shown = capsys.readouterr().out
    assert "accuracy on 50 held-out users" in shown
    assert all(trait in shown for trait in TRAITS)
    assert str(model_path()) in shown
    (tmp_path / "past.txt").write_text("Could you please tell me the price?\n\nThank you very much for your help.\n")
    assert main(["profile", "show", str(tmp_path / "past.txt"), "Good day."]) == 0
    shown = capsys.readouterr().out
    profile = load_profiler().profile(
        ["Could you please tell me the price?", "Thank you very much for your help.", "Good day."]
    )
    assert profile.sentence() in " ".join(shown.split())
    assert main(["profile", "show", "..."]) == 2
    assert "with words in them" in capsys.readouterr().err


# ---- the wrapper ----------------------------------------------------------------------------------------------------


class WithPast(gymnasium.Wrapper):
    """Booking with customers who wrote before."""

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(**kwargs)
        return observation, {**info, "past_messages": [f"hey, it is me, seed {kwargs.get('seed')}!"]}


def test_the_wrapper_ends_the_system_message_with_the_profile() -> None:
    plain = gymnasium.make("SLMAgent/Booking-v0", level=1)
    env = ProfilePrompt(
        WithPast(gymnasium.make("SLMAgent/Booking-v0", level=1)), describe=lambda past: f"They wrote: {past[0]}"
    )
    for seed in (0, 1):
        expected, _ = plain.reset(seed=seed)
        observation, _ = env.reset(seed=seed)
        assert observation[0]["content"] == f"{expected[0]['content']}\n\nThey wrote: hey, it is me, seed {seed}!"
        assert observation[1:] == expected[1:]
        assert env.observation_space.contains(observation)
        after, reward, _, _, _ = env.step("Hello.")
        plainly, plain_reward, _, _, _ = plain.step("Hello.")
        assert after[: len(observation)] == observation  # append-only
        assert after[1:] == plainly[1:]
        assert reward == plain_reward
        assert after[0] is not observation[0]  # fresh at each call


def test_the_wrapper_needs_past_messages() -> None:
    env = ProfilePrompt(gymnasium.make("SLMAgent/Booking-v0", level=1), describe=lambda past: "never")
    with pytest.raises(ValueError, match=r"expected a list of strings in info\['past_messages'\] at reset, actual None"):
        env.reset(seed=0)


def test_a_restored_episode_has_its_own_users_profile() -> None:
    env = ProfilePrompt(gymnasium.make("SLMAgent/UserSim-v0", level=2, disable_env_checker=True), describe=" / ".join)
    first, _ = env.reset(seed=0)
    before = env.snapshot()
    expected = env.step("One moment, please.")[0]
    other, _ = env.reset(seed=1)
    assert other[0] != first[0]
    assert env.restore(before)[0] == first
    assert env.step("One moment, please.")[0] == expected
