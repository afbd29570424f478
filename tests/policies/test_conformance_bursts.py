"""A burst of decisions whose signals are still to come is spread over the actions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import foretell as ft
from foretell.policies.registry import start
from foretell.policies.verbs import choose, credit, has, indices, observe, play
from foretell.types import Ints
from tests.reference.replay import indices_of

ACTIONS, SIGNALS = 5, 2
EVERYTHING = np.ones(ACTIONS, np.bool_)
COUNT_PENDING = [
    "nsd-ucrl2(scale=0.3)",
    "nsd-kl",
    "nsd-kl(level='ln t')",
    "nsd-kl-glr(forced=0)",
    "nsd-kl-glr(forced=0, robust=True)",
]


def begun(text: str, horizon: int | None = None) -> Any:
    spec = ft.policy(text)
    changes = (5,) if ft.registered_policies()[spec.name].lab_only else ()
    return start(spec, ft.Problem(ACTIONS, SIGNALS, horizon=horizon, changes=changes))


INDEX = [name for name in ft.registered_policies() if has(indices, begun(name, 10_000))]


def burst(state: Any, first: int, plays: int, *, committed: bool = True) -> Ints:
    """Return how often each action is chosen while no signal comes."""
    rng = np.random.default_rng(0)
    chosen = np.zeros(ACTIONS, np.int64)
    for t in range(first, first + plays):
        action = choose(state, t, EVERYTHING, rng)
        if committed:
            play(state, t, action)
        chosen[action] += 1
    return chosen


def taught(text: str) -> tuple[Any, int]:
    """Return a policy that has seen 50 signals of every action, and knows that action 2 is best."""
    state = begun(text)
    t = 0
    for each in range(50):
        for action in range(ACTIONS):
            signal = int(each % 10 < (8 if action == 2 else 7))
            play(state, t, action)
            observe(state, t, action, signal)
            credit(state, t, action, signal, float(signal))
            t += 1
    return state, t


@pytest.mark.parametrize("name", INDEX)
def test_before_the_first_signal_every_action_is_played_as_often(name: str) -> None:
    shares = burst(begun(name, 10_000), 0, 10_000) / 10_000
    np.testing.assert_allclose(shares, 0.2, atol=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("text", COUNT_PENDING)
def test_pending_plays_spread_a_burst(text: str) -> None:
    state, t = taught(text)
    alone = burst(state, t, 300, committed=False)
    spread = burst(state, t, 3000)
    assert alone[2] == 300
    assert spread[2] == spread.max()
    assert spread[2] < 0.9 * 3000
    assert spread.min() > 50


@pytest.mark.parametrize("text", COUNT_PENDING)
def test_choices_are_the_largest_indices_while_signals_are_pending(text: str) -> None:
    state, t = taught(text)
    rng = np.random.default_rng(1)
    for later in range(t, t + 200):
        values = indices_of(state, later, ACTIONS)
        action = choose(state, later, EVERYTHING, rng)
        assert values[action] >= values.max() - 1e-12
        play(state, later, action)


@pytest.mark.parametrize("text", COUNT_PENDING)
def test_a_pending_play_shrinks_the_index_of_its_action_alone(text: str) -> None:
    state, t = taught(text)
    before = indices_of(state, t, ACTIONS)
    play(state, t, 0)
    pending = indices_of(state, t, ACTIONS)
    assert pending[0] < before[0]
    np.testing.assert_array_equal(pending[1:], before[1:])
