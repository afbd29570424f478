"""EXP3.S against the weights of its paper."""

from __future__ import annotations

import math

import numpy as np
import pytest

from foretell.policies import Exp3S
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
