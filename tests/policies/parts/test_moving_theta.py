"""A theta that moves is found, one that rests is not, and neither is an action that matters."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta

from foretell.policies.parts.moving_theta import (
    MovingTheta,
    draw_since,
    moving_credit,
    new_moving_theta,
    theta_moves,
)
from foretell.policies.parts.residual import Residual, doubted, new_residual, residual_credit
from foretell.policies.parts.run_length import ACTIVE, AGE
from foretell.policies.parts.theta import add_reward, new_rewards
from tests.reference.moving_theta import evidence_of

ACTIONS, SIGNALS = 4, 3
THETA = np.array([0.8, 0.4, 0.2])
NONE_MORE = np.zeros(ACTIONS)


def played(
    seed: int,
    rounds: int,
    change: np.ndarray,
    extra: np.ndarray = NONE_MORE,
    *,
    gaussian: bool = False,
    fractional: bool = False,
) -> tuple[MovingTheta, Residual, bool]:
    """Play adaptively; theta is THETA for a half, then `change`; actions may pay `extra`."""
    rng = np.random.default_rng(seed)
    moving = new_moving_theta(SIGNALS, gaussian=gaussian)
    residual = new_residual(ACTIONS, SIGNALS, gaussian=gaussian)
    theta, gains, ever = new_rewards(SIGNALS), np.ones(ACTIONS), False
    for t in range(rounds):
        action = int(rng.integers(ACTIONS)) if rng.random() < 0.5 else int(np.argmax(gains))
        signal = int(rng.integers(SIGNALS))
        mean = (THETA if t < rounds // 2 else change)[signal] + extra[action]
        if gaussian:
            reward = float(mean + rng.standard_normal())
        elif fractional:
            reward = float(rng.beta(4 * mean, 4 - 4 * mean))
        else:
            reward = float(rng.random() < mean)
        residual_credit(residual, theta, t, action, signal, reward)
        moving_credit(moving, theta, t, signal, reward)
        add_reward(theta, signal, reward)
        gains[action] = 0.9 * gains[action] + 0.1 * reward
        ever = ever or theta_moves(moving, residual.evidence[0])
    return moving, residual, ever


@pytest.mark.parametrize("seed", range(4))
def test_the_evidence_is_that_of_all_changes_weighed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    moving, theta = new_moving_theta(2, gaussian=False), new_rewards(2)
    rounds = np.sort(rng.choice(200, 20, replace=False))
    rewards = [(int(t), i % 2, int(rng.random() < 0.6)) for i, t in enumerate(rounds)]
    for t, signal, reward in rewards:
        moving_credit(moving, theta, t, signal, float(reward))
        add_reward(theta, signal, float(reward))
    assert moving.runs.tally.tolist() == [0, 0, 0]
    assert moving.evidence[0] == pytest.approx(evidence_of(rewards, ACTIVE, AGE), abs=1e-9)
    np.testing.assert_allclose(moving.runs.weight.sum(axis=1), 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bernoulli", "fractional", "gaussian"])
def test_a_theta_that_rests_is_found_to_move_in_one_run_of_twenty_at_most(kind: str) -> None:
    runs = 75
    fractional, gaussian = kind == "fractional", kind == "gaussian"
    wrong = sum(
        played(seed, 150, THETA, fractional=fractional, gaussian=gaussian)[2]
        for seed in range(runs)
    )
    assert float(beta.ppf(0.975, wrong + 1, runs - wrong)) <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("gaussian", [False, True])
def test_a_theta_that_jumps_is_found_and_the_old_rewards_are_left_out(gaussian: bool) -> None:
    after = np.array([0.2, 0.4, 0.9]) + (np.array([-2.0, 0.0, 2.0]) if gaussian else 0.0)
    for seed in range(2):
        moving, residual, ever = played(seed, 1200, after, gaussian=gaussian)
        assert ever
        assert theta_moves(moving, residual.evidence[0])
        draw_since(moving, np.random.default_rng(seed))
        counts = moving.scratch_since.counts
        means = moving.scratch_since.grains / 2**30 / counts
        assert (counts[[0, 2]] < 280).all()
        np.testing.assert_allclose(means[[0, 2]], after[[0, 2]], atol=0.25)


@pytest.mark.slow
def test_where_the_action_matters_theta_is_not_said_to_move() -> None:
    extra = np.array([0.2, -0.2, 0.2, -0.2])
    for seed in range(2):
        moving, residual, _ = played(seed, 1200, THETA, extra)
        assert doubted(residual)
        assert not theta_moves(moving, residual.evidence[0])


def test_a_late_reward_counts_for_its_own_time_only() -> None:
    moving, theta = new_moving_theta(1, gaussian=False), new_rewards(1)
    for t in range(100, 160):
        moving_credit(moving, theta, t, 0, float(t % 2))
        add_reward(theta, 0, float(t % 2))
    before = moving.runs.totals[0].copy()
    weight, used = moving.runs.weight[0].copy(), int(moving.runs.used[0])
    moving_credit(moving, theta, 110, 0, 1.0)
    counted = moving.runs.start[0, :used] <= 110
    assert counted.any()
    assert not counted.all()
    np.testing.assert_array_equal(moving.runs.totals[0, :used] - before[:used], counted)
    young = ~counted
    np.testing.assert_allclose(moving.runs.weight[0, :used][young], weight[:used][young])
