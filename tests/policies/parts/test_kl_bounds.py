"""The S-free bounds hold at all times at once: simulated, with Clopper–Pearson intervals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta

from foretell.policies.parts.kl_bounds import mixture_level
from foretell.policies.parts.klmax import klmax
from foretell.policies.parts.ordered_theta import new_theta_prior
from foretell.policies.parts.theta import add_reward, new_rewards
from foretell.policies.parts.theta_bounds import bounds_update, new_theta_bounds
from foretell.policies.theta_spec import ThetaSpec
from foretell.types import Problem

RUNS = 250


def upper_end(failures: int, runs: int) -> float:
    """Return the upper end of the 95 % Clopper–Pearson interval."""
    return 1.0 if failures == runs else float(beta.ppf(0.975, failures + 1, runs - failures))


@pytest.mark.slow
@pytest.mark.parametrize("signals", [2, 3, 20])
@pytest.mark.parametrize("delta", [0.1, 0.3])
def test_the_index_is_ever_below_the_value_with_probability_delta_at_most(
    signals: int, delta: float
) -> None:
    rng = np.random.default_rng([signals, int(100 * delta)])
    moments = np.unique(np.geomspace(1, 2000, 45).astype(int))
    failures = 0
    for _ in range(RUNS):
        theta = rng.random(signals)
        law = rng.dirichlet(np.full(signals, 0.5))
        stream = rng.choice(signals, moments[-1], p=law)
        counts = np.zeros((1, signals), np.int64)
        seen = 0
        for moment in moments:
            counts[0] += np.bincount(stream[seen:moment], minlength=signals)
            seen = int(moment)
            level = mixture_level(seen, 1.0 / delta) / seen
            if klmax(counts, 0, seen, theta, level) < law @ theta - 1e-9:
                failures += 1
                break
    assert upper_end(failures, RUNS) <= delta


@pytest.mark.slow
@pytest.mark.parametrize("mean", [0.05, 0.5, 0.9])
def test_the_bounds_of_theta_hold_at_all_times_together(mean: float) -> None:
    delta, signals = 0.4, 2  # a bound of one signal fails with probability delta / 2S = 0.1
    rng = np.random.default_rng(int(100 * mean))
    failures = 0
    for _ in range(RUNS):
        theta = new_rewards(signals)
        bounds = new_theta_bounds(new_theta_prior(ThetaSpec(), Problem(2, signals)), theta, delta)
        for number, reward in enumerate(rng.random(500) < mean):
            add_reward(theta, 0, float(reward))
            if number < 40 or number % 5 == 0:
                bounds_update(bounds, theta, 0, delta)
                if bounds.upper[0] < mean:
                    failures += 1
                    break
    assert upper_end(failures, RUNS) <= delta / (2 * signals)
