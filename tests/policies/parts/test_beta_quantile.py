"""Tails and quantiles of Beta laws are SciPy's."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from foretell.policies.parts.beta_quantile import beta_tail, beta_upper, log_beta, log_gamma


def test_log_gamma_is_that_of_the_library() -> None:
    for x in [0.1, 0.5, 1.0, 1.5, 2.0, 9.99, 10.0, 123.25, 1e5, 1e8]:
        assert log_gamma(x) == pytest.approx(math.lgamma(x), rel=1e-13, abs=1e-13)


@pytest.mark.parametrize("size", [0.0, 3.0, 200.0, 2e4])
def test_tails_and_quantiles(size: float) -> None:
    rng = np.random.default_rng(0)
    for _ in range(60):
        a, b = 1.0 + size * rng.random(), 1.0 + size * rng.random()
        law = stats.beta(a, b)
        x = law.ppf(rng.random())
        scale = log_beta(a, b)
        assert beta_tail(a, b, scale, x) == pytest.approx(law.sf(x), rel=1e-8, abs=1e-12)
        for tail in (0.5, 1e-2, 1e-5):
            assert beta_upper(a, b, tail) == pytest.approx(law.isf(tail), rel=1e-8)
    assert beta_tail(2.0, 2.0, log_beta(2.0, 2.0), 0.0) == 1.0
    assert beta_tail(2.0, 2.0, log_beta(2.0, 2.0), 1.0) == 0.0
    assert beta_upper(2.0, 2.0, 1.0) == 0.0
