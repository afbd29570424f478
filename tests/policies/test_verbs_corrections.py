"""A wrong signal or reward is undone to the last bit, in any order and in any window."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foretell as ft
from foretell.policies.registry import start
from foretell.policies.state import fingerprint
from foretell.policies.verbs import credit, has, observe, play, uncredit, unobserve

ACTIONS, SIGNALS, ROUNDS = 3, 3, 24
ORDER_FREE = [
    name for name, known in ft.registered_policies().items() if not (known.stream or known.lab_only)
]
WINDOWED = [
    name
    for name in ORDER_FREE
    if "window" in ft.registered_policies()[name].spec.__dataclass_fields__
]
SPECS = [
    *ORDER_FREE,
    *(f"{name}(window={window})" for name in WINDOWED for window in (1, 7, 100)),
    "sw-ucb(over='rounds')",
    "sw-ucb(window=1, over='rounds')",
    "sw-ucb(window=7, over='rounds')",
    "sw-ucb(window=100, over='rounds')",
]
UNDOABLE = [
    text for text in SPECS if has(uncredit, start(ft.policy(text), ft.Problem(ACTIONS, SIGNALS)))
]

histories = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 4).map(lambda n: n / 4)),
    min_size=ROUNDS,
    max_size=ROUNDS,
)
chosen_rounds = st.sets(st.integers(0, ROUNDS - 1), min_size=1)
History = list[tuple[int, int, float]]


def state_without(text: str, history: History, unseen: set[int], unpaid: set[int]) -> Any:
    """Return the state after the history without some signals and some rewards."""
    state = start(ft.policy(text), ft.Problem(ACTIONS, SIGNALS))
    for t, (action, signal, reward) in enumerate(history):
        play(state, t, action)
        if t not in unseen:
            observe(state, t, action, signal)
        if t not in unpaid:
            credit(state, t, action, signal, reward)
    return state


def test_every_live_policy_free_of_order_can_undo_a_signal() -> None:
    for text in SPECS:
        assert has(unobserve, start(ft.policy(text), ft.Problem(ACTIONS, SIGNALS)))


def test_only_a_window_over_rewards_cannot_undo_a_reward() -> None:
    """A reward pushes another one out of it, which is gone for good."""
    unable = {text.partition("(")[0] for text in set(SPECS) - set(UNDOABLE)}
    assert unable == {"sw-ucb", "sw-kl-ucb", "sw-ts"}
    assert "sw-ucb(window=7, over='rounds')" in UNDOABLE
    assert "sw-ucb" in UNDOABLE


@pytest.mark.parametrize("text", SPECS)
@settings(max_examples=15)
@given(history=histories, wrong=chosen_rounds)
def test_signals_undone_were_never_observed(text: str, history: History, wrong: set[int]) -> None:
    state = state_without(text, history, set(), wrong)
    for t in wrong:
        unobserve(state, t, *history[t][:2])
    assert fingerprint(state) == fingerprint(state_without(text, history, wrong, wrong))


@pytest.mark.parametrize("text", SPECS)
@settings(max_examples=15)
@given(history=histories, wrong=chosen_rounds)
def test_a_corrected_signal_was_always_the_right_one(
    text: str, history: History, wrong: set[int]
) -> None:
    state = state_without(text, history, set(), wrong)
    right = list(history)
    for t in wrong:
        action, signal, reward = history[t]
        right[t] = (action, (signal + 1) % SIGNALS, reward)
        unobserve(state, t, action, signal)
        observe(state, t, action, right[t][1])
    assert fingerprint(state) == fingerprint(state_without(text, right, set(), wrong))


@pytest.mark.parametrize("text", UNDOABLE)
@settings(max_examples=15)
@given(history=histories, wrong=chosen_rounds)
def test_rewards_undone_were_never_credited(text: str, history: History, wrong: set[int]) -> None:
    state = state_without(text, history, set(), set())
    for t in wrong:
        uncredit(state, t, *history[t])
    assert fingerprint(state) == fingerprint(state_without(text, history, set(), wrong))


def test_a_round_that_left_the_window_is_left_alone() -> None:
    state = start(ft.NsdUcrl2(window=2), ft.Problem(2, 2))
    for t in range(3):
        play(state, t, 0)
        observe(state, t, 0, 1)
    before = fingerprint(state)
    unobserve(state, 0, 0, 1)
    assert fingerprint(state) == before
    unobserve(state, 1, 0, 1)
    np.testing.assert_array_equal(state.law.counts, [[0, 1], [0, 0]])
    np.testing.assert_array_equal(state.law.seen, [1, 0])
    np.testing.assert_array_equal(state.law.plays, [2, 0])
