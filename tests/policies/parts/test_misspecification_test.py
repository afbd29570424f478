"""The test of "the reward depends on the signal alone": its level and its power."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta

from foretell.policies.parts.residual import (
    doubted,
    new_residual,
    residual_close,
    residual_credit,
    residual_update,
)
from foretell.policies.parts.theta import add_reward, new_rewards

ACTIONS, SIGNALS = 4, 3
LAW = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.1, 0.4, 0.5]])
THETA = np.array([0.8, 0.4, 0.2])
REACHED = LAW.cumsum(axis=1)[:, :-1]


def rejects(seed: int, rounds: int, alpha: float, *, fractional: bool, gaussian: bool) -> bool:
    """Play adaptively in a mixture world; cells close now and then."""
    rng = np.random.default_rng(seed)
    mu = np.array([0.1, 0.1, 0.1, 0.9])
    residual = new_residual(ACTIONS, SIGNALS, gaussian=gaussian)
    theta = new_rewards(SIGNALS)
    gains = np.ones(ACTIONS)
    for t in range(rounds):
        action = int(rng.integers(ACTIONS)) if rng.random() < 0.5 else int(np.argmax(gains))
        if rng.random() < 0.01:
            residual_close(residual, action, t)
        mixed = rng.random() < alpha
        luck = rng.random()
        signal = int(SIGNALS * luck) if mixed else int((REACHED[action] <= luck).sum())
        mean = mu[action] if mixed else THETA[signal]
        if gaussian:
            reward = mean + rng.standard_normal()
        else:
            reward = rng.beta(4 * mean, 4 - 4 * mean) if fractional else float(rng.random() < mean)
        residual_credit(residual, theta, t, action, signal, float(reward))
        add_reward(theta, signal, float(reward))
        gains[action] = 0.9 * gains[action] + 0.1 * reward
        if doubted(residual):
            return True
    return False


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bernoulli", "fractional", "gaussian"])
def test_where_the_model_holds_it_is_rejected_in_one_run_of_twenty_at_most(kind: str) -> None:
    runs = 150
    options = {"fractional": kind == "fractional", "gaussian": kind == "gaussian"}
    failures = sum(rejects(seed, 500, 0.0, **options) for seed in range(runs))
    assert float(beta.ppf(0.975, failures + 1, runs - failures)) <= 0.05


@pytest.mark.slow
def test_where_the_action_matters_it_is_rejected() -> None:
    found = [rejects(seed, 2500, 0.5, fractional=False, gaussian=False) for seed in range(20)]
    assert sum(found) >= 19


def test_plays_on_their_way_count_against_the_spread() -> None:
    rng = np.random.default_rng(0)
    residual, theta = new_residual(ACTIONS, SIGNALS, gaussian=False), new_rewards(SIGNALS)
    for t in range(1600):
        action, signal = t % ACTIONS, int(rng.integers(SIGNALS))
        residual.open.seen[action, signal] += 1
        reward = float(rng.random() < (0.9 if action == 0 else 0.1))
        residual_credit(residual, theta, t, action, signal, reward)
        add_reward(theta, signal, reward)
        residual_update(residual, theta, action)
    assert doubted(residual)
    assert residual.mean[0] > 0.4
    assert residual.mean[1] < -0.1
    residual_close(residual, 1, 1600)
    residual_update(residual, theta, 1)
    before = residual.deviation[1]
    residual.open.seen[1, :] += 30
    residual_update(residual, theta, 1)
    assert residual.deviation[1] < 0.75 * before
