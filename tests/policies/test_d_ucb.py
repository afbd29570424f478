"""Discounted UCB against brute force."""

from __future__ import annotations

import numpy as np
import pytest

from foretell.policies import DUcb
from tests.reference.baselines import ranked, run_with_delay


@pytest.mark.parametrize("delay", [0, 7, 30])
def test_discounted_counts_are_the_brute_force_sums(delay: int) -> None:
    gamma, xi = 0.9, 0.6
    state, _, received = run_with_delay(DUcb(gamma=gamma, xi=xi), 60, delay)
    last = 59
    counts, sums = np.zeros(3), np.zeros(3)
    for t, action, _, reward in received:
        counts[action] += gamma ** (last - t)
        sums[action] += gamma ** (last - t) * reward
    np.testing.assert_allclose(state.rewards.counts, counts, rtol=1e-12)
    np.testing.assert_allclose(state.rewards.sums, sums, rtol=1e-12, atol=1e-15)
    slow = sums / counts + 2 * np.sqrt(xi * np.log(max(1.0, counts.sum())) / counts)
    np.testing.assert_allclose(ranked(state, 60), slow, rtol=1e-12)
