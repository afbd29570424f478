"""EXP3.S against the weights of its paper."""

from __future__ import annotations

import math

import numpy as np
import pytest

from foretell.policies import Exp3S, start
from foretell.policies.verbs import credit, drawn, play
from foretell.types import Problem
from tests.reference.baselines import run_with_delay


@pytest.mark.parametrize("delay", [0, 5])
def test_exp3s_weights_are_the_papers(delay: int) -> None:
    rounds, gamma, actions = 50, 0.2, 3
    state, history, _ = run_with_delay(Exp3S(gamma=gamma), rounds, delay)
    weights = np.ones(actions)
    played = {}
    for t, action, _, _ in history:
        shares = (1 - gamma) * weights / weights.sum() + gamma / actions
        played[t] = shares[action]
        if t >= delay:
            u, earlier, _, reward = history[t - delay]
            total = weights.sum()
            weights[earlier] *= math.exp(gamma * reward / played[u] / actions)
            weights += math.e / rounds / actions * total
    np.testing.assert_allclose(state.weights, weights / weights.sum(), rtol=1e-10)


def test_exp3s_weights_by_the_propensity_that_it_is_handed() -> None:
    gamma, actions = 0.2, 3
    state = start(Exp3S(gamma=gamma), Problem(actions, 3, horizon=100))
    play(state, 0, 1)
    drawn(state, 0, 1, 0.5)
    credit(state, 0, 1, 0, 1.0)
    weights = np.full(actions, 1 / 3)
    weights[1] *= math.exp(gamma / 0.5 / actions)
    weights += math.e / 100 / actions
    np.testing.assert_allclose(state.weights, weights / weights.sum(), rtol=1e-12)


def test_no_propensity_moves_a_weight_by_more_than_its_own_could() -> None:
    state = start(Exp3S(gamma=0.2), Problem(3, 3, horizon=100))
    play(state, 0, 1)
    drawn(state, 0, 1, 1e-9)
    credit(state, 0, 1, 0, 1.0)
    assert state.weights[1] / state.weights[0] < math.e
