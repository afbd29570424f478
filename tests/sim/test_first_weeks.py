"""The first weeks by simulation: an even split earns itself, and the default policy earns more."""

from __future__ import annotations

import numpy as np

from foretell.policies import policy
from foretell.sim.first_weeks import FEW_DECISIONS, PARTS, first_weeks


def test_an_even_split_earns_what_an_even_split_earns() -> None:
    found = first_weeks(policy("uniform"), actions=4, signals=3, decisions=5000, window=0.5)
    assert np.abs(found.middle).max() < 0.1
    assert found.until[-1] == 1.0
    assert len(found.until) == PARTS


def test_a_policy_that_learns_earns_more_once_rewards_count() -> None:
    spec = policy("nsd-psrl")
    found = first_weeks(spec, actions=3, signals=3, decisions=400, window=0.5)
    assert found.middle[-1] > 0.1
    assert found.middle[-1] > found.middle[0]
    for low, middle, high in zip(found.low, found.middle, found.high, strict=True):
        assert low <= middle <= high
    assert found == first_weeks(spec, actions=3, signals=3, decisions=400, window=0.5)


def test_large_problems_have_fewer_decisions_and_the_smallest_has_some() -> None:
    assert first_weeks(policy("ts"), 30, 5, 10_000, 0.5).decisions == FEW_DECISIONS
    assert first_weeks(policy("ts"), 2, 2, 3, 0.5).decisions == PARTS
