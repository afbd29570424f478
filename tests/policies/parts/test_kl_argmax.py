"""What is skipped could not have won: the choice is that of all indices."""

from __future__ import annotations

import math

import numpy as np

from foretell.policies.parts.argmax import argmax
from foretell.policies.parts.kl_argmax import is_below, kl_argmax, kl_bound


def test_the_choice_is_that_of_all_indices() -> None:
    rng = np.random.default_rng(0)
    for case in range(800):
        size = int(rng.integers(1, 8))
        means = rng.random(size).round(1 if case % 2 else 6) * (0.02 if case % 3 == 0 else 1.0)
        levels = rng.exponential(0.3, size).round(1 if case % 2 else 6)
        if case % 5 == 0:
            levels[rng.integers(size)] = math.inf
        eligible = rng.random(size) < 0.8
        eligible[rng.integers(size)] = True
        values = np.array([kl_bound(*pair) for pair in zip(means, levels, strict=True)])
        one, other = np.random.default_rng(case), np.random.default_rng(case)
        assert kl_argmax(means, levels, eligible, one) == argmax(values, eligible, other)
        assert one.random() == other.random()


def test_what_is_called_smaller_is() -> None:
    rng = np.random.default_rng(1)
    skipped = 0
    for _ in range(4000):
        mean, level, target = rng.random(), rng.exponential(0.2), rng.random()
        if is_below(mean, level, target):
            skipped += 1
            assert kl_bound(mean, level) < target
    assert skipped > 400
