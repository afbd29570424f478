"""Estimates of another policy's value equal plain sums, and their intervals hold."""

from __future__ import annotations

import numpy as np
import pytest

from foretell.stats.estimate import Z
from foretell.stats.off_policy import Weighted
from tests.reference.off_policy import mean_and_error

DECISIONS = 3000


def drawn(seed: int) -> tuple[Weighted, list[int]]:
    """Return decisions between two actions, drawn with 1/4 and wanted with 3/4."""
    rng = np.random.default_rng(seed)
    wanted = rng.random(DECISIONS) < 0.25
    weights = np.where(wanted, 3.0, 1.0 / 3.0)
    rewards = (rng.random(DECISIONS) < np.where(wanted, 0.7, 0.2)).astype(np.float64)
    groups = np.arange(DECISIONS) // 2 * 2
    return Weighted(weights, rewards, groups), groups.tolist()


def test_the_estimates_are_plain_means_with_the_error_of_their_groups() -> None:
    weighted, groups = drawn(0)
    terms = (weighted.weights * weighted.rewards).tolist()
    mean, error = mean_and_error(terms, groups)
    found = weighted.inverse_propensity()
    assert found.mean == pytest.approx(mean)
    assert found.low == pytest.approx(mean - Z * error, abs=2e-3)
    assert found.high == pytest.approx(mean + Z * error, abs=5e-3)
    total = weighted.weights.sum()
    normalised = weighted.self_normalised().mean
    assert normalised == pytest.approx((weighted.weights @ weighted.rewards) / total)


@pytest.mark.parametrize("seed", range(5))
def test_all_estimates_find_the_value(seed: int) -> None:
    weighted, _ = drawn(seed)
    truth = 0.75 * 0.7 + 0.25 * 0.2
    expected = np.where(weighted.weights > 1.0, 0.6, 0.3)
    model = expected, np.full(DECISIONS, 0.75 * 0.6 + 0.25 * 0.3)
    for found in (
        weighted.inverse_propensity(),
        weighted.self_normalised(),
        weighted.doubly_robust(*model),
    ):
        assert found.low <= found.mean <= found.high
        assert abs(found.mean - truth) < 0.05
    gain = weighted.gain(*model, live=np.ones(DECISIONS))
    assert abs(gain.mean - (truth - weighted.rewards.mean())) < 0.05


def test_a_wrong_model_does_not_move_the_doubly_robust_mean() -> None:
    weighted, _ = drawn(1)
    nothing = weighted.doubly_robust(np.zeros(DECISIONS), np.zeros(DECISIONS))
    assert nothing.mean == pytest.approx(weighted.inverse_propensity().mean)


def test_repeats_of_one_draw_say_no_more_than_the_draw() -> None:
    weights, rewards = np.array([1.0, 4.0] * 50), np.array([0.0, 1.0] * 50)
    once = Weighted(weights, rewards, np.arange(100))
    twice = Weighted(np.repeat(weights, 2), np.repeat(rewards, 2), np.repeat(np.arange(100), 2))
    assert twice.effective() == pytest.approx(once.effective())
    assert twice.inverse_propensity() == pytest.approx(once.inverse_propensity(), rel=0.05)


def test_no_reward_among_few_decisions_is_no_certainty() -> None:
    few = Weighted(np.ones(20), np.zeros(20), np.arange(20))
    assert few.doubly_robust(np.zeros(20), np.zeros(20)).high > 0.1
    nobody = Weighted(np.zeros(20), np.zeros(20), np.arange(20))
    assert nobody.self_normalised()[1:] == (0.0, 1.0)
    assert nobody.effective() == 0.0
