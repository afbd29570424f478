"""The GLR test on rewards against brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretell.policies.parts.prefix_grid import grid_add, new_prefix_grid
from foretell.policies.parts.reward_change_test import glr_statistic, glr_threshold
from foretell.types import GRAIN
from tests.reference.baselines import slow_kl, splits


@given(st.integers(2, 400), st.integers(0, 2**32 - 1), st.booleans())
def test_the_reward_statistic_is_the_brute_force_one(length: int, seed: int, real: bool) -> None:
    rng = np.random.default_rng(seed)
    rewards = rng.random(length) if real else (rng.random(length) < 0.3).astype(float)
    rewards[length // 2 :] = 1 - rewards[length // 2 :]
    grains = np.floor(rewards * GRAIN + 0.5).astype(np.int64)
    grid = new_prefix_grid(2, 1, length)
    for grain in grains:
        grid_add(grid, 1, 0, int(grain))
    rewards = grains / GRAIN
    slow = 0.0
    for moment, _ in splits(length):
        before, after = rewards[:moment].mean(), rewards[moment:].mean()
        both = rewards.mean()
        statistic = moment * slow_kl(before, both) + (length - moment) * slow_kl(after, both)
        slow = max(slow, statistic)
    assert glr_statistic(grid, 1) == pytest.approx(slow, abs=1e-6)
    assert glr_statistic(grid, 0) == 0.0


def test_the_threshold_is_the_papers() -> None:
    assert glr_threshold(50, 0.01) == pytest.approx(math.log(50**1.5 / 0.01))
