"""Reward components by hand-computed numbers."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slmagent.rewards.booking import COMPONENTS, DEFAULT_WEIGHTS, BookingOutcome, Efficiency, Feedback
from slmagent.rewards.composite import Composite, merge_weights
from slmagent.rewards.shaping import shaping_reward
from slmagent.rewards.style import style_match, words_liked
from slmagent.scenarios.personas import PERSONAS, Persona

GOOD = BookingOutcome(success=True, steps=3, budget=6, mood=0.4, rules=True, style=0.75)


def test_a_success_by_hand():
    parts = Composite(COMPONENTS, DEFAULT_WEIGHTS)(GOOD)
    # B = 5, E = 2 - 3/6, U = 3, C = 1, P = 2 x 0.75
    assert parts == pytest.approx({"goal": 2.0, "efficiency": 0.225, "feedback": 0.6, "compliance": 0.05, "style": 0.3})
    assert sum(parts.values()) == pytest.approx(0.4 * 5 + 0.15 * 1.5 + 0.2 * 3 + 0.05 + 0.2 * 1.5)


def test_a_failure_by_hand():
    parts = Composite(COMPONENTS, DEFAULT_WEIGHTS)(replace(GOOD, success=False))
    assert parts == pytest.approx({"goal": 0.0, "efficiency": 0.0, "feedback": -0.6, "compliance": 0.05, "style": 0.3})


def test_what_cannot_be_checked_is_absent():
    parts = Composite(COMPONENTS, DEFAULT_WEIGHTS)(replace(GOOD, rules=False, style=None))
    assert set(parts) == {"goal", "efficiency", "feedback"}


@pytest.mark.parametrize(("steps", "value"), [(1, 2 - 1 / 6), (6, 1.0), (7, -1.0), (20, -1.0)])
def test_efficiency(steps: int, value: float):
    assert Efficiency()(replace(GOOD, steps=steps)) == pytest.approx(value)


@pytest.mark.parametrize(("success", "mood", "value"), [(True, 1.0, 3), (True, -0.5, 3), (True, -0.6, 0), (False, 1.0, -3)])
def test_feedback(success: bool, mood: float, value: float):
    assert Feedback()(replace(GOOD, success=success, mood=mood)) == value


@given(
    st.booleans(),
    st.integers(1, 60),
    st.integers(2, 30),
    st.floats(-1, 1),
    st.booleans(),
    st.one_of(st.none(), st.floats(0, 1)),
)
def test_components_keep_their_ranges(success: bool, steps: int, budget: int, mood: float, rules: bool, style: float | None):
    outcome = BookingOutcome(success, steps, budget, mood, rules, style)
    for component in COMPONENTS:
        value = component(outcome)
        assert value is None or component.low <= value <= component.high
        assert component.__doc__


def test_weights_can_be_changed_by_name():
    weights = merge_weights(DEFAULT_WEIGHTS, {"style": 0, "veto": -20})
    assert weights == {**DEFAULT_WEIGHTS, "style": 0.0, "veto": -20.0}
    assert DEFAULT_WEIGHTS["style"] == 0.2


@pytest.mark.parametrize("bad", [{"stile": 1.0}, {"style": "much"}, {"style": math.inf}, {"style": math.nan}, {"style": True}])
def test_bad_weights_are_refused(bad: dict[str, object]):
    with pytest.raises(ValueError, match=r"unknown reward component|expected a finite number"):
        merge_weights(DEFAULT_WEIGHTS, bad)


def test_shaping_by_hand():
    assert shaping_reward(0.0, 0.5, gamma=1.0, done=False) == 0.5
    assert shaping_reward(0.5, 0.75, gamma=0.9, done=False) == pytest.approx(0.175)
    assert shaping_reward(0.75, 1.0, gamma=0.9, done=True) == -0.75


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.floats(0, 1))
def test_shaping_telescopes_to_minus_the_first_potential(potentials: list[float], gamma: float):
    steps = len(potentials)
    total = sum(
        gamma**t * shaping_reward(potentials[t], potentials[t + 1] if t + 1 < steps else 1.0, gamma=gamma, done=t + 1 == steps)
        for t in range(steps)
    )
    assert total == pytest.approx(-potentials[0], abs=1e-9)


# ---- style ----------------------------------------------------------------------------------------------------------

CONCISE, DETAILED = PERSONAS["concise"], PERSONAS["detailed"]
HUMOROUS, TECHNICAL = PERSONAS["humorous"], PERSONAS["technical"]


def test_style_by_hand():
    plain = Persona("plain", verbosity=0.0, formality=0.5)
    assert words_liked(plain) == 5.0
    # Five words, neither formal nor informal, nothing playful: right in everything.
    assert style_match(["one two three four five"], plain) == pytest.approx(1.0)
    # Forty words are eight times too long: 1 - ln(8 / 1.6) / ln 4 < 0, so the half for length is lost.
    assert style_match(["word " * 40], plain) == pytest.approx(0.5)
    # Sixteen words are 3.2 times what is liked, twice the tolerance: 1 - ln 2 / ln 4 = 1/2 of the half for length.
    assert style_match(["word " * 16], plain) == pytest.approx(0.75)
    # The mean over messages.
    assert style_match(["word " * 40, "one two three four five"], plain) == pytest.approx(0.75)


@pytest.mark.parametrize("said", [[], [""], ["", " ?!"]])
def test_saying_nothing_has_no_style(said: list[str]):
    assert style_match(said, CONCISE) is None


def test_each_persona_likes_its_own_manner_best():
    manners = {
        "concise": "Booked FL337, reference B17.",
        "detailed": (
            "Thank you for waiting. I have booked your flight FL337 at 14:30, please keep the reference B17 for your records."
        ),
        "humorous": "Done! FL337 is yours, reference B17, happy flying!",
        "technical": "Your booking B17 is confirmed: FL337, 14:30, EUR 456.",
    }
    for name in manners:
        scores = {other: style_match([text], PERSONAS[name]) or 0.0 for other, text in manners.items()}
        assert max(scores, key=scores.__getitem__) == name, scores


@given(st.lists(st.text(max_size=60), max_size=4), st.sampled_from(list(PERSONAS.values())))
def test_style_is_bounded_for_any_text(said: list[str], persona: Persona):
    match = style_match(said, persona)
    assert match is None or 0.0 <= match <= 1.0
