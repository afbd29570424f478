"""The interval of the uplift holds at all times at once."""

from __future__ import annotations

import numpy as np
import pytest

from foretell.stats.uplift import RewardSums, uplift


@pytest.mark.parametrize(("policy", "holdout"), [(0.3, 0.2), (0.05, 0.05), (0.6, 0.1)])
def test_the_interval_holds_at_every_moment_of_a_campaign(policy: float, holdout: float) -> None:
    rng = np.random.default_rng(2)
    missed, runs = 0, 300
    for _ in range(runs):
        held_out = rng.random(6000) < 0.1
        rewards = rng.random(6000) < np.where(held_out, holdout, policy)
        counts = np.cumsum([~held_out, held_out], axis=1)
        totals = np.cumsum([rewards & ~held_out, rewards & held_out], axis=1)
        for moment in range(100, 6000, 100):
            sums = [
                RewardSums(int(count), float(total), float(total))
                for count, total in zip(counts[:, moment], totals[:, moment], strict=True)
            ]
            found = uplift(*sums)
            assert found is not None
            if not found.low <= policy - holdout <= found.high:
                missed += 1
                break
    assert missed <= 0.05 * runs


def test_the_uplift_turns_with_its_sides_and_needs_both() -> None:
    one, other = RewardSums(900, 300.0, 250.0), RewardSums(100, 20.0, 15.0)
    forward, back = uplift(one, other), uplift(other, one)
    assert forward is not None
    assert back is not None
    assert tuple(forward) == pytest.approx((-back.mean, -back.high, -back.low))
    assert uplift(one, RewardSums(0, 0.0, 0.0)) is None
