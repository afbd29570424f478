"""Wilcoxon's test and Holm's correction, against SciPy and against all signs tried."""

from __future__ import annotations

import itertools
from typing import get_args

import numpy as np
import pytest
from scipy import stats

from foretell.stats.paired_tests import (
    MOST_EXACT,
    Alternative,
    holm_adjusted,
    signed_rank_test,
)
from foretell.types import Floats

ALTERNATIVES: tuple[Alternative, ...] = get_args(Alternative)


def differences(seed: int, count: int) -> Floats:
    return np.random.default_rng(seed).normal(0.3, 1.0, count)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("count", [1, 2, 3, 7, 20, MOST_EXACT])
def test_few_differences_have_the_exact_distribution(count: int, alternative: Alternative) -> None:
    for seed in range(5):
        drawn = differences(seed, count)
        expected = stats.wilcoxon(drawn, alternative=alternative, method="exact").pvalue
        assert signed_rank_test(drawn, alternative) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_many_differences_have_the_normal_one_with_ties_and_continuity(
    alternative: Alternative,
) -> None:
    for seed in range(8):
        drawn = differences(seed, 70 + 40 * seed)
        if seed % 2:
            drawn = np.round(2.0 * drawn) / 2.0  # ties and zeros
        expected = stats.wilcoxon(
            drawn, alternative=alternative, correction=True, method="asymptotic"
        ).pvalue
        kept = int((drawn != 0.0).sum())
        assert kept > MOST_EXACT
        assert signed_rank_test(drawn, alternative) == pytest.approx(expected, abs=2e-12)


@pytest.mark.parametrize("drawn", [[1, -1, 2, 2, -3, 0], [1, 1, 1, -1], [2.5], [0, 0, -4, 4, 4]])
def test_ties_have_the_exact_distribution_of_all_signs(drawn: list[float]) -> None:
    given = np.array(drawn, float)
    kept = given[given != 0.0]
    ranks = stats.rankdata(np.abs(kept))
    seen = ranks[kept > 0.0].sum()
    sums = [
        sum(rank for rank, sign in zip(ranks, signs, strict=True) if sign)
        for signs in itertools.product([False, True], repeat=len(ranks))
    ]
    below, above = np.mean(np.array(sums) <= seen), np.mean(np.array(sums) >= seen)
    assert signed_rank_test(given, "less") == pytest.approx(below)
    assert signed_rank_test(given, "greater") == pytest.approx(above)
    assert signed_rank_test(given) == pytest.approx(min(1.0, 2.0 * min(below, above)))


def test_the_sign_of_all_differences_turns_the_alternative() -> None:
    for count in (9, 80):
        drawn = differences(1, count)
        assert signed_rank_test(drawn, "less") == signed_rank_test(-drawn, "greater")
        assert signed_rank_test(drawn) == signed_rank_test(-drawn)
        assert signed_rank_test(drawn) == signed_rank_test(3.0 * drawn)
    assert signed_rank_test(np.zeros(5)) == 1.0


def test_a_true_hypothesis_is_rejected_no_more_often_than_the_level() -> None:
    rng = np.random.default_rng(0)
    for count in (12, 60):
        p_values = [signed_rank_test(rng.normal(0.0, 1.0, count)) for _ in range(1000)]
        assert 0.025 < np.mean(np.array(p_values) <= 0.05) < 0.075


def test_holm_rejects_one_after_the_other_until_the_first_that_stays() -> None:
    rng = np.random.default_rng(2)
    for _ in range(50):
        p_values = rng.random(6) ** 3
        adjusted = holm_adjusted(p_values.tolist())
        for level in (0.01, 0.05, 0.3):
            rejected = set()
            for index, number in enumerate(np.argsort(p_values)):
                if p_values[number] > level / (6 - index):
                    break
                rejected.add(int(number))
            assert {n for n in range(6) if adjusted[n] <= level} == rejected
    assert holm_adjusted([]) == []
