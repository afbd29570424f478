"""A delay curve is the quantiles of the ages, to within the bins in which they were counted."""

from __future__ import annotations

import numpy as np

from foretell.stats.delay_curves import POINTS, delay_curve


def test_a_curve_is_the_quantiles_of_the_ages_to_within_a_bin() -> None:
    ages = np.random.default_rng(2).exponential(50.0, 3_000)
    edges = np.geomspace(0.01, 1_000.0, 120)
    counted, _ = np.histogram(ages, np.concatenate([[0.0], edges]))
    curve = delay_curve(edges, counted.cumsum() / 7.0)
    assert len(curve.ages) == len(curve.shares) == POINTS
    expected = np.quantile(ages, curve.shares, method="inverted_cdf")
    np.testing.assert_allclose(curve.ages, expected, rtol=0.12)
    assert curve.ages == sorted(curve.ages)
    median = curve.age(0.5)
    assert median is not None
    assert abs(median / np.median(ages) - 1.0) < 0.12


def test_arrivals_of_one_bin_are_spread_over_it() -> None:
    curve = delay_curve(np.array([1.0, 2.0, 4.0]), np.array([0.0, 0.0, 3.0]))
    np.testing.assert_allclose(curve.ages, 2.0 + 2.0 * np.array(curve.shares))


def test_nothing_that_arrived_is_an_empty_curve() -> None:
    curve = delay_curve(np.array([1.0]), np.array([0.0]))
    assert (curve.ages, curve.shares, curve.age(0.5)) == ([], [], None)
