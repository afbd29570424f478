"""The window over arrived rewards holds the W latest rounds, whatever the order of arrival."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from foretell.policies.parts.latest import EMPTY, Latest, add_latest, drop_before, new_latest
from tests.reference.sets import NaiveLatest

rounds_in_any_order = st.lists(st.integers(0, 400), unique=True, max_size=120)


def held(latest: Latest) -> dict[int, tuple[int, int]]:
    places = np.flatnonzero(latest.rounds != EMPTY)
    return {
        int(latest.rounds[place]): (int(latest.action[place]), int(latest.grains[place]))
        for place in places
    }


def what(t: int) -> tuple[int, int]:
    """Give the action and the grains of a round."""
    return t % 5, 1000 + t


def filled(window: int, rounds: list[int]) -> Latest:
    latest = new_latest(window)
    for t in rounds:
        add_latest(latest, t, *what(t))
    return latest


def assert_same_table(one: Latest, other: Latest) -> None:
    for left, right in zip(one, other, strict=True):
        np.testing.assert_array_equal(left, right)


@given(st.integers(1, 40), rounds_in_any_order)
def test_it_holds_what_the_naive_twin_holds(window: int, rounds: list[int]) -> None:
    latest, naive = new_latest(window), NaiveLatest(window)
    for t in rounds:
        taken, gone_action, gone_grains = add_latest(latest, t, *what(t))
        expected_taken, expected_gone = naive.add(t, *what(t))
        assert taken == expected_taken
        if expected_gone is None:
            assert gone_action == EMPTY
        else:
            assert (gone_action, gone_grains) == expected_gone
        assert held(latest) == naive.held
        assert latest.span[0] == len(naive.held)
        assert latest.span[1] <= min(naive.held)


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
    latest, naive = new_latest(window), NaiveLatest(window)
    there: set[int] = set()
    for t, (ago, comes) in enumerate(steps):
        oldest = t + 1 - window
        if oldest > 0:
            action, grains = drop_before(latest, oldest)
            gone = naive.drop_before(oldest)
            assert (action, grains) == ((EMPTY, 0) if gone is None else gone)
        late = t - ago
        if comes and late >= max(0, oldest) and late not in there:
            there.add(late)
            add_latest(latest, late, *what(late))
            naive.add(late, *what(late))
        assert held(latest) == naive.held


@given(st.integers(1, 12), rounds_in_any_order)
def test_an_emptied_place_leaves_no_trace(window: int, rounds: list[int]) -> None:
    """What was pushed out or refused is not to be seen in the table."""
    latest = filled(window, rounds)
    survivors = sorted(rounds)[-window:]
    again = filled(window, survivors)
    np.testing.assert_array_equal(latest.rounds, again.rounds)
    np.testing.assert_array_equal(latest.action, again.action)
    np.testing.assert_array_equal(latest.grains, again.grains)


def test_a_straggler_older_than_a_full_window_is_refused() -> None:
    latest = filled(100, list(range(1, 300, 2)))
    before = filled(100, list(range(1, 300, 2)))
    assert add_latest(latest, 98, 0, 1) == (False, EMPTY, 0)
    assert_same_table(latest, before)
    assert add_latest(latest, 298, 3, 7) == (True, *what(101))
    assert len(held(latest)) == 100
