"""The window over arrived rewards holds the W latest rounds, whatever the order of arrival."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from foretell.policies.parts.reward_window import (
    EMPTY,
    RewardWindow,
    new_reward_window,
    window_add,
    window_drop_before,
)
from tests.reference.pending_and_window import NaiveLatest

rounds_in_any_order = st.lists(st.integers(0, 400), unique=True, max_size=120)


def contents(held: RewardWindow) -> dict[int, tuple[int, int]]:
    occupied = np.flatnonzero(held.rounds != EMPTY)
    return {
        int(held.rounds[index]): (int(held.action[index]), int(held.grains[index]))
        for index in occupied
    }


def what(t: int) -> tuple[int, int]:
    """Return the action and the grains of a round."""
    return t % 5, 1000 + t


def filled(window: int, rounds: list[int]) -> RewardWindow:
    held = new_reward_window(window)
    for t in rounds:
        window_add(held, t, *what(t))
    return held


def assert_same_table(one: RewardWindow, other: RewardWindow) -> None:
    for left, right in zip(one, other, strict=True):
        np.testing.assert_array_equal(left, right)


@given(st.integers(1, 40), rounds_in_any_order)
def test_it_holds_what_the_naive_twin_holds(window: int, rounds: list[int]) -> None:
    held, naive = new_reward_window(window), NaiveLatest(window)
    for t in rounds:
        taken, gone_action, gone_grains = window_add(held, t, *what(t))
        expected_taken, expected_gone = naive.add(t, *what(t))
        assert taken == expected_taken
        if expected_gone is None:
            assert gone_action == EMPTY
        else:
            assert (gone_action, gone_grains) == expected_gone
        assert contents(held) == naive.held
        assert held.span[0] == len(naive.held)
        assert held.span[1] <= min(naive.held)


@given(st.integers(1, 40), rounds_in_any_order, st.randoms(use_true_random=False))
def test_the_table_does_not_depend_on_the_order_of_insertion(
    window: int, rounds: list[int], random: np.random.Generator
) -> None:
    shuffled = list(rounds)
    random.shuffle(shuffled)
    assert_same_table(filled(window, rounds), filled(window, shuffled))


@given(
    st.integers(1, 12),
    st.lists(st.tuples(st.integers(0, 20), st.booleans()), min_size=1, max_size=120),
)
def test_a_window_over_rounds_holds_what_the_naive_twin_holds(
    window: int, steps: list[tuple[int, bool]]
) -> None:
    """Each round enters the window, and then the reward of some round not long ago arrives."""
    held, naive = new_reward_window(window), NaiveLatest(window)
    there: set[int] = set()
    for t, (ago, comes) in enumerate(steps):
        oldest = t + 1 - window
        if oldest > 0:
            action, grains = window_drop_before(held, oldest)
            gone = naive.drop_before(oldest)
            assert (action, grains) == ((EMPTY, 0) if gone is None else gone)
        late = t - ago
        if comes and late >= max(0, oldest) and late not in there:
            there.add(late)
            window_add(held, late, *what(late))
            naive.add(late, *what(late))
        assert contents(held) == naive.held


@given(st.integers(1, 12), rounds_in_any_order)
def test_an_emptied_slot_leaves_no_trace(window: int, rounds: list[int]) -> None:
    """What was pushed out or refused is not to be seen in the table."""
    held = filled(window, rounds)
    survivors = sorted(rounds)[-window:]
    again = filled(window, survivors)
    np.testing.assert_array_equal(held.rounds, again.rounds)
    np.testing.assert_array_equal(held.action, again.action)
    np.testing.assert_array_equal(held.grains, again.grains)


def test_a_straggler_older_than_a_full_window_is_refused() -> None:
    held = filled(100, list(range(1, 300, 2)))
    before = filled(100, list(range(1, 300, 2)))
    assert window_add(held, 98, 0, 1) == (False, EMPTY, 0)
    assert_same_table(held, before)
    assert window_add(held, 298, 3, 7) == (True, *what(101))
    assert len(contents(held)) == 100
