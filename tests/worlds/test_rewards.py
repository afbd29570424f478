"""Rewards have the mean theta of their signal, and the spread of their family."""

from __future__ import annotations

import numpy as np
import pytest

import foretell as ft
from foretell.errors import InvalidInput
from foretell.types import GRAIN, Floats, RewardScale

LAW = [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]]
ROUNDS = 12_000


def rewards_by_signal(rewards: ft.rewards.RewardFamily, theta: list[float]) -> list[Floats]:
    recipe = ft.Scenario(law=LAW, theta=theta, rewards=rewards)
    batch = ft.simulate(recipe, "uniform", ROUNDS, runs=1, compiled=False, trajectories=True)
    assert batch.trajectories is not None
    signals, drawn = batch.trajectories.signals[0], batch.trajectories.rewards[0]
    return [drawn[signals == signal] for signal in range(3)]


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-5.0, 15.0), (100.0, 100.5)])
def test_bernoulli_rewards_are_one_of_two(low: float, high: float) -> None:
    shares = [0.9, 0.4, 0.0]
    theta = [low + share * (high - low) for share in shares]
    for drawn, share in zip(
        rewards_by_signal(ft.rewards.Bernoulli(low, high), theta), shares, strict=True
    ):
        assert set(drawn) <= {low, high}
        assert (drawn == high).mean() == pytest.approx(share, abs=0.04)


@pytest.mark.parametrize("concentration", [0.5, 4.0, 60.0])
def test_beta_rewards_have_the_mean_and_the_spread(concentration: float) -> None:
    low, width = -2.0, 5.0
    shares = [0.9, 0.4, 0.05]
    family = ft.rewards.Beta(low, low + width, concentration=concentration)
    groups = rewards_by_signal(family, [low + width * share for share in shares])
    for drawn, share in zip(groups, shares, strict=True):
        assert drawn.min() >= low
        assert drawn.max() <= low + width
        assert drawn.mean() == pytest.approx(low + width * share, abs=0.04 * width)
        variance = share * (1 - share) / (concentration + 1)
        assert drawn.var() == pytest.approx(width**2 * variance, rel=0.2)


def test_beta_rewards_at_the_ends_have_no_noise() -> None:
    groups = rewards_by_signal(ft.rewards.Beta(), [0.0, 1.0, 0.5])
    assert set(groups[0]) == {0.0}
    assert set(groups[1]) == {1.0}


def test_fixed_rewards_are_their_mean() -> None:
    groups = rewards_by_signal(ft.rewards.Fixed(-1.0, 3.0), [-1.0, 0.7, 3.0])
    for drawn, mean in zip(groups, [-1.0, 0.7, 3.0], strict=True):
        np.testing.assert_allclose(drawn, mean, atol=4 / GRAIN)


@pytest.mark.parametrize(("sigma", "centre"), [(1.0, 0.0), (3.0, -7.0), (0.01, 500.0)])
def test_gaussian_rewards_have_the_mean_and_the_sigma(sigma: float, centre: float) -> None:
    means = [centre + sigma * offset for offset in (-3.0, 0.0, 8.0)]
    groups = rewards_by_signal(ft.rewards.Gaussian(sigma, centre), means)
    for drawn, mean in zip(groups, means, strict=True):
        assert drawn.mean() == pytest.approx(mean, abs=0.1 * sigma)
        assert drawn.std() == pytest.approx(sigma, rel=0.08)


def test_rewards_are_whole_grains() -> None:
    recipe = ft.Scenario(law=LAW, theta=[0.3, 0.5, 0.7], rewards=ft.rewards.Beta())
    batch = ft.simulate(recipe, "uniform", 300, runs=1, compiled=False, trajectories=True)
    assert batch.trajectories is not None
    grains = batch.trajectories.rewards * GRAIN
    np.testing.assert_array_equal(grains, np.round(grains))


def test_the_range_of_rewards_does_not_change_what_is_learned() -> None:
    """Rewards in [−5, 15] are the same problem in other money: 20 times the regret."""
    unit = ft.Scenario(law=LAW, theta=[0.8, 0.4, 0.2], delay=5)
    money = ft.Scenario(
        law=LAW, theta=[11.0, 3.0, -1.0], delay=5, rewards=ft.rewards.Bernoulli(-5.0, 15.0)
    )
    one, other = (
        ft.simulate(recipe, "nsd-ucrl2(window=50)", 300, runs=2, compiled=False, trajectories=True)
        for recipe in (unit, money)
    )
    np.testing.assert_array_equal(one.actions, other.actions)
    np.testing.assert_allclose(20 * one.regret, other.regret, rtol=1e-12)


@pytest.mark.parametrize("scale", [RewardScale(), RewardScale("bounded", -3.0, 4.5)])
def test_a_scale_maps_there_and_back(scale: RewardScale) -> None:
    for share in np.linspace(0, 1, 33):
        natural = scale.natural(float(share))
        assert scale.unit(natural) == pytest.approx(share, abs=1 / GRAIN)
    assert scale.unit(scale.low) == 0.0
    assert scale.unit(scale.high) == 1.0
    with pytest.raises(InvalidInput, match="declared range"):
        scale.unit(scale.high + 0.1)


def test_a_gaussian_scale_takes_any_number() -> None:
    scale = RewardScale.gaussian(2.0, centre=1.0)
    assert scale.unit(5.0) == 2.0
    assert scale.unit(-5.0) == -3.0
    assert scale.natural(-3.0) == -5.0
