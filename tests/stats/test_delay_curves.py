"""A delay curve is the quantiles of the ages."""

from __future__ import annotations

import numpy as np

from foretell.stats.delay_curves import POINTS, delay_curve


def test_a_curve_is_the_quantiles_of_the_ages_in_any_order() -> None:
    ages = np.random.default_rng(2).exponential(50.0, 333).tolist()
    curve = delay_curve(ages)
    assert len(curve.ages) == len(curve.shares) == POINTS
    assert curve == delay_curve(reversed(ages))
    expected = np.quantile(ages, curve.shares, method="inverted_cdf")
    np.testing.assert_array_equal(curve.ages, expected)


def test_a_single_arrival_is_every_quantile() -> None:
    assert delay_curve([7.0]).ages == [7.0] * POINTS


def test_nothing_that_arrived_is_an_empty_curve() -> None:
    assert delay_curve([]) == ([], [])
