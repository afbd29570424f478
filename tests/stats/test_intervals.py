"""Intervals of a mean are Student's."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from foretell.errors import InvalidInput
from foretell.stats.intervals import mean_interval, student_quantile


@pytest.mark.parametrize("freedom", [1, 2, 3, 9, 49, 199, 5000])
@pytest.mark.parametrize("probability", [0.0005, 0.1, 0.5, 0.8, 0.975, 0.9995])
def test_the_quantile_is_that_of_scipy(probability: float, freedom: int) -> None:
    expected = scipy.stats.t.ppf(probability, freedom)
    assert student_quantile(probability, freedom) == pytest.approx(expected, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("level", [0.5, 0.95, 0.99])
@pytest.mark.parametrize("runs", [2, 5, 50])
def test_the_interval_is_that_of_scipy(runs: int, level: float) -> None:
    samples = np.random.default_rng(runs).gamma(2.0, size=(runs, 4))
    low, high = scipy.stats.t.interval(
        level, runs - 1, samples.mean(axis=0), scipy.stats.sem(samples, axis=0)
    )
    np.testing.assert_allclose(mean_interval(samples, level), [low, high], rtol=1e-6)


def test_a_single_run_has_no_interval() -> None:
    assert np.isnan(mean_interval(np.ones((1, 3)))).all()


def test_the_interval_covers_the_mean_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    ends = mean_interval(rng.standard_normal((8, 3000)), 0.8)
    assert ((ends[0] < 0) & (ends[1] > 0)).mean() == pytest.approx(0.8, abs=0.04)


@pytest.mark.parametrize("level", [0.0, 1.0, 95, -1, float("nan")])
def test_a_level_outside_zero_and_one_is_refused(level: float) -> None:
    with pytest.raises(InvalidInput, match="level of an interval"):
        mean_interval(np.ones((2, 2)), level)
