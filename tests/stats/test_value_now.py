"""Values drawn from a belief cover what is true, and sum up what is believed."""

from __future__ import annotations

import numpy as np
import pytest

from foretell.stats.value_now import Belief, residual_deviation, values_now

ALL = np.array([True, True])


def belief(seen: object, rewards: object, sums: object) -> Belief:
    counts = np.array(seen, float)[:, None]
    return Belief(
        weights=np.ones((len(counts), 1)),
        seen=counts,
        rewards=np.array(rewards, float),
        sums=np.array(sums, float),
        residual=np.zeros(len(counts)),
        deviation=np.zeros(len(counts)),
        cancelled=np.zeros(len(counts)),
    )


def test_values_have_the_moments_of_the_posterior() -> None:
    """E[p·theta] is the product of the means; its second moment is that of Dirichlet and Beta."""
    seen, rewards, sums = np.array([[30, 10]]), np.array([40, 8]), np.array([2, 6])
    found = values_now(belief(seen, rewards, sums), np.array([True]), np.random.default_rng(1))
    law = (seen[0] + 1) / 42
    theta = (sums + 1) / (rewards + 2)
    assert found.values[0].mean == pytest.approx(law @ theta, abs=0.003)
    assert found.best.tolist() == [1.0]


def test_values_cover_the_truth() -> None:
    rng = np.random.default_rng(2)
    law, theta = np.array([[0.7, 0.3], [0.4, 0.6]]), np.array([0.05, 0.6])
    held = 0
    for _ in range(150):
        seen = np.array([rng.multinomial(120, one) for one in law])
        rewards = np.array([200, 150])
        found = values_now(belief(seen, rewards, rng.binomial(rewards, theta)), ALL, rng)
        held += sum(
            one.low <= truth <= one.high
            for one, truth in zip(found.values, law @ theta, strict=True)
        )
    assert held >= 0.92 * 300


def test_hypotheses_count_by_weight_and_the_residual_is_added() -> None:
    seen = np.array([[[1e6, 0.0], [0.0, 1e6]], [[1e6, 0.0], [1e6, 0.0]]])
    known = belief([[0, 0], [0, 0]], [1e6, 1e6], [2e5, 8e5])._replace(
        seen=seen,
        weights=np.array([[0.25, 0.75], [0.5, 0.5]]),
        residual=np.array([0.0, 0.3]),
        deviation=np.array([0.0, 0.01]),
    )
    found = values_now(known, ALL, np.random.default_rng(3))
    assert found.values[0].mean == pytest.approx(0.65, abs=0.02)
    assert found.values[1].mean == pytest.approx(0.5, abs=0.002)
    assert found.values[1].high - found.values[1].low == pytest.approx(0.039, abs=0.003)
    assert found.best == pytest.approx([0.75, 0.25], abs=0.03)
    assert values_now(known, np.array([False, True]), np.random.default_rng(3)).best[1] == 1.0
    assert not values_now(known, ~ALL, np.random.default_rng(3)).best.any()


def test_with_a_residual_of_its_own_rewards_a_value_is_as_sure_as_their_mean() -> None:
    """An action that earns a tenth of what its signals promise, beside many that keep to them."""
    rng = np.random.default_rng(4)
    law, theta = np.array([0.3, 0.7]), np.array([0.1, 0.7])
    true, count, held, widths = float(law @ theta) / 10, 400, 0, []
    for _ in range(150):
        seen = rng.multinomial(count, law)
        earned = float(rng.binomial(seen, theta / 10).sum())
        known = belief([seen], [1e5, 1e5], theta * 1e5)
        weight, rewards = np.ones(1), np.array([float(count)])
        known = known._replace(
            residual=np.array([(earned - seen @ theta) / count]),
            deviation=residual_deviation(np.ones(1), weight, rewards, np.array([earned])),
            cancelled=weight,
        )
        (found,) = values_now(known, np.array([True]), rng).values
        held += found.low <= true <= found.high
        widths.append(found.high - found.low)
    assert held >= 0.92 * 150
    assert np.mean(widths) <= 1.15 * 2 * 1.96 * np.sqrt(true * (1 - true) / count)
