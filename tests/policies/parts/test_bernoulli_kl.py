"""The divergence and its inverse against SciPy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from foretell.policies.parts.bernoulli_kl import bernoulli_kl, kl_upper
from tests.reference.baselines import slow_kl

MEANS = st.floats(0.0, 1.0) | st.sampled_from([0.0, 1.0, 1e-9, 1 - 1e-9, 0.5])
LEVELS = st.floats(1e-9, 20.0)


@given(MEANS, LEVELS)
def test_the_upper_bound_is_the_root_of_the_divergence(mean: float, level: float) -> None:
    upper = kl_upper(mean, level)
    assert mean - 1e-12 <= upper <= 1.0
    if mean >= 1.0:
        assert upper == 1.0
        return
    top = 1.0 - 1e-16
    if slow_kl(mean, top) <= level:
        assert upper >= top - 1e-12
    else:
        slow = optimize.brentq(lambda q: slow_kl(mean, q) - level, mean, top, xtol=1e-14)
        assert upper == pytest.approx(slow, abs=1e-9)


@given(MEANS, MEANS)
def test_the_divergence_is_scipys(p: float, q: float) -> None:
    assert bernoulli_kl(p, q) == pytest.approx(max(0.0, slow_kl(p, q)), abs=1e-12, rel=1e-9)
