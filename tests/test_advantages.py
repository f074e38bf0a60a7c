"""Credit per turn against numbers worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy_env import made_episode

from slmagent.trainers.advantages import (
    group_advantages,
    groups_of,
    leave_one_out_advantages,
    returns_to_go,
    soften_blame,
    turn_advantages,
)
from slmagent.types import TrajectoryGroup

REWARD = st.floats(-10, 10).map(lambda value: round(value, 3))


def credit(*members: tuple[str, Sequence[float]], gamma: float = 1.0, unmatched: float = 1.0) -> list[list[float]]:
    """Credit of members given as (anchors, one character a turn; rewards)."""
    group = TrajectoryGroup("g", tuple(made_episode(rewards, anchors) for anchors, rewards in members))
    return turn_advantages(group, [rewards for _, rewards in members], gamma, unmatched=unmatched)


# ---- returns and whole episodes ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rewards", "gamma", "returns"),
    [
        ([1, 2, 3], 1.0, [6, 5, 3]),
        ([1, 2, 3], 0.5, [2.75, 3.5, 3]),  # 2 + 3/2 = 3.5, 1 + 3.5/2 = 2.75
        ([1, 2, 3], 0.0, [1, 2, 3]),
        ([-1], 0.9, [-1]),
        ([], 0.9, []),
    ],
)
def test_returns_to_go(rewards: list[float], gamma: float, returns: list[float]) -> None:
    assert returns_to_go(rewards, gamma) == returns


def test_group_advantages() -> None:
    assert group_advantages([1, 2, 6]) == [-2, -1, 3]
    deviation = (14 / 3) ** 0.5
    assert group_advantages([1, 2, 6], normalise=True) == pytest.approx([-2 / deviation, -1 / deviation, 3 / deviation])


def test_leave_one_out_advantages() -> None:
    # The means of the others are 4, 3.5 and 1.5.
    assert leave_one_out_advantages([1, 2, 6]) == [-3, -1.5, 4.5]


@pytest.mark.parametrize("returns", [[], [3.7], [0.1] * 3, [0.1] * 7, [0.1 + 0.2, 0.3, 0.3], [1e9 / 3 * 3, 1e9]])
def test_groups_without_a_difference_have_no_advantage(returns: list[float]) -> None:
    """Exactly none, also where only the rounding of sums differs."""
    zeros = [0.0] * len(returns)
    assert group_advantages(returns) == group_advantages(returns, normalise=True) == zeros
    assert leave_one_out_advantages(returns) == zeros


@given(st.lists(REWARD, min_size=2, max_size=8))
def test_leaving_one_out_scales_the_groups_advantages(returns: list[float]) -> None:
    """A - (sum - A) / (n - 1) = n / (n - 1) (A - mean), and advantages sum to zero."""
    count = len(returns)
    plain = group_advantages(returns)
    assert sum(plain) == pytest.approx(0, abs=1e-9)
    assert leave_one_out_advantages(returns) == pytest.approx([count / (count - 1) * value for value in plain], abs=1e-9)


# ---- turns ------------------------------------------------------------------------------------------------------------------


def test_one_turn_is_the_groups_advantage() -> None:
    assert credit(("s", [1]), ("s", [2]), ("s", [6])) == [[-2], [-1], [3]]


def test_where_members_meet_again_what_came_before_made_no_difference() -> None:
    assert credit(("sx", [0, 1]), ("sx", [0, 0])) == [[0.0, 0.5], [0.0, -0.5]]


@given(
    first=REWARD,
    later=st.lists(REWARD, min_size=2, max_size=6),
    gamma=st.sampled_from([1.0, 0.9, 0.3]),
)
def test_meeting_again_gives_exactly_no_credit_whatever_follows(first: float, later: list[float], gamma: float) -> None:
    for turns in credit(*[("sx", [first, reward]) for reward in later], gamma=gamma):
        assert turns[0] == 0.0


def test_detours_to_the_same_place_differ_by_what_they_earned() -> None:
    """s -> a or b -> x. V(s) = (1 + 3 + 2 + 4) / 4 = 2.5, V(x) = (1 + 3) / 2 = 2 with two members each way."""
    members = (("sax", [0, 0, 1]), ("sax", [0, 0, 3]), ("sbx", [0, 1, 1]), ("sbx", [0, 1, 3]))
    # At s: V(a) - V(s) = 2 - 2.5; at a: V(x) - V(a) = 0; at x: 1 - 2 or 3 - 2.
    assert credit(*members) == [[-0.5, 0.0, -1], [-0.5, 0.0, 1], [0.5, 0.0, -1], [0.5, 0.0, 1]]


def test_the_choice_that_separates_gets_the_difference() -> None:
    members = (("sa", [0, 1]), ("sb", [0, 0]))
    assert credit(*members) == [[0.5, 0.5], [-0.5, -0.5]]
    assert credit(*members, unmatched=0.0) == [[0.5, 0.0], [-0.5, 0.0]]
    assert credit(*members, unmatched=0.5) == [[0.5, 0.25], [-0.5, -0.25]]


def test_later_rewards_are_discounted() -> None:
    # Returns 1 + 0.5 * 4 = 3 and 1 + 0.5 * 0 = 1; V(s) = 2, V(a) = 4, V(b) = 0; the episodes' advantages are +-1.
    assert credit(("sa", [1, 4]), ("sb", [1, 0]), gamma=0.5) == [[1.0, 1.0], [-1.0, -1.0]]
    # V(x) = 2; V(s) = 1 + 0.5 * 2 = 2.
    assert credit(("sx", [1, 4]), ("sx", [1, 0]), gamma=0.5) == [[0.0, 2.0], [0.0, -2.0]]


def test_coming_back_counts_as_another_visit() -> None:
    # Returns from s: 1 and 2 of the first member, 0 of the second; V(s) = 1.
    assert credit(("ss", [-1, 2]), ("s", [0])) == [[-1.0, 1.0], [-1.0]]


def test_a_loop_of_one_member_alone_takes_the_episodes_advantage() -> None:
    # V(s) = 0.5; x is visited twice, but by one member: what counts is its own return from there on, 1, and not the mean, 0.5.
    assert credit(("sxx", [0, 1, 0]), ("s", [0])) == [[0.5, 0.5, 0.5], [-0.5]]


def test_a_veto_hits_the_turn_that_broke_the_rule() -> None:
    members = (("sxv", [0.2, 0, -10.2]), ("sxy", [0.2, 0, 2]), ("sxy", [0.2, 0, 2]))
    blamed, *others = credit(*members)
    # V(x) = (-10.2 + 2 + 2) / 3; the vetoed member is alone in v, and V(y) = 2.
    value = -6.2 / 3
    assert blamed == pytest.approx([0, -10.2 - value, -10 - (-10 + 2.2 + 2.2) / 3])
    assert blamed[0] == 0.0
    assert others == [pytest.approx([0, 2 - value, 0])] * 2


def test_blame_weighs_as_much_as_its_token_was_likely() -> None:
    logprobs = [math.log(p) for p in (0.1, 0.5, 0.25, 0.9)]
    assert soften_blame([1.0, -1.0, -2.0, 0.0], logprobs) == pytest.approx([1.0, -0.5, -0.5, 0.0])


@given(st.lists(REWARD, min_size=1, max_size=5), st.integers(2, 5), st.sampled_from([1.0, 0.7]), st.booleans())
def test_members_that_fared_the_same_get_exactly_nothing(rewards: list[float], count: int, gamma: float, apart: bool) -> None:
    """On one way through the same situations, or each on a way of its own behind the first."""
    ways = ["s" + "abcde"[member] * (len(rewards) - 1) if apart else "svwxy"[: len(rewards)] for member in range(count)]
    assert credit(*[(way, rewards) for way in ways], gamma=gamma) == [[0.0] * len(rewards)] * count


def test_staying_in_place_at_a_cost_is_worse_than_going_on_even_if_all_did_it() -> None:
    # Returns from s: 0.9 and 1, so V(s) = 0.95.
    assert credit(("ss", [-0.1, 1]), ("ss", [-0.1, 1])) == [pytest.approx([-0.1, 0.05])] * 2


@given(st.lists(st.lists(REWARD, min_size=1, max_size=4), min_size=1, max_size=5), st.sampled_from([1.0, 0.5]))
def test_without_keys_every_turn_takes_its_episodes_advantage(rewards: list[list[float]], gamma: float) -> None:
    group = TrajectoryGroup("g", tuple(made_episode(member, [""] * len(member)) for member in rewards))
    expected = group_advantages([returns_to_go(member, gamma)[0] for member in rewards])
    actual = turn_advantages(group, rewards, gamma)
    assert actual == [[value] * len(member) for value, member in zip(expected, rewards, strict=True)]


def test_a_single_member_gets_nothing() -> None:
    assert credit(("sab", [1, 2, 3])) == [[0.0, 0.0, 0.0]]


def test_groups_keep_the_order_of_first_appearance() -> None:
    episodes = [made_episode([reward], group_id=name) for name, reward in (("b", 0), ("a", 1), ("b", 2), ("c", 3), ("a", 4))]
    groups = groups_of(episodes)
    assert [group.group_id for group in groups] == ["b", "a", "c"]
    assert [[member.total_reward for member in group.trajectories] for group in groups] == [[0, 2], [1, 4], [3]]
