"""The largest value wins, and ties are drawn uniformly among the eligible."""

from __future__ import annotations

import math

import numpy as np
import pytest

from foretell.policies.parts.argmax import argmax, argmax_shares

DRAWS = 4000


def shares(values: list[float], eligible: list[bool]) -> list[float]:
    rng = np.random.default_rng(0)
    drawn = [argmax(np.array(values), np.array(eligible), rng) for _ in range(DRAWS)]
    return list(np.bincount(drawn, minlength=len(values)) / DRAWS)


@pytest.mark.parametrize(
    ("values", "eligible", "expected"),
    [
        ([1.0, 1.0, 1.0], [True] * 3, [1 / 3] * 3),
        ([math.inf, 0.0, math.inf], [True] * 3, [0.5, 0.0, 0.5]),
        ([-math.inf, -math.inf], [True] * 2, [0.5, 0.5]),
        ([0.3, 0.3 + 1e-13, 0.2], [True] * 3, [0.5, 0.5, 0.0]),
        ([0.3, 0.3 + 1e-11, 0.2], [True] * 3, [0.0, 1.0, 0.0]),
        ([9.0, 1.0, 1.0], [False, True, True], [0.0, 0.5, 0.5]),
        ([-5.0, 9.0], [True, False], [1.0, 0.0]),
    ],
)
def test_ties_are_drawn_uniformly(
    values: list[float], eligible: list[bool], expected: list[float]
) -> None:
    np.testing.assert_allclose(shares(values, eligible), expected, atol=0.05)
    exact = np.array(values)
    argmax_shares(exact, np.array(eligible))
    np.testing.assert_array_equal(exact, expected)


def test_a_single_winner_takes_nothing_from_the_random_stream() -> None:
    rng = np.random.default_rng(1)
    argmax(np.array([0.0, 1.0]), np.ones(2, np.bool_), rng)
    assert rng.random() == np.random.default_rng(1).random()
