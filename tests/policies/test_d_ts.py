"""Discounted Thompson sampling forgets."""

from __future__ import annotations

import numpy as np

from foretell.policies import start
from foretell.policies.d_ts import DTs
from foretell.policies.verbs import choose, credit, play
from foretell.types import Problem


def test_discounted_thompson_returns_to_the_prior() -> None:
    state = start(DTs(gamma=0.5), Problem(2, 2, horizon=500))
    play(state, 0, 0)
    credit(state, 0, 0, 0, 1.0)
    for t in range(1, 200):
        play(state, t, 1)
        credit(state, t, 1, 0, 0.0)
    both = np.ones(2, np.bool_)
    chosen = [choose(state, 200, both, np.random.default_rng(s)) for s in range(400)]
    # Beta(1, 1) against Beta(1, 3): the first wins in 3/4 of the draws.
    assert 0.65 < 1 - np.mean(chosen) < 0.85
