"""Intervals by resampling: as wide as theory says, and paired."""

from __future__ import annotations

import math

import numpy as np
import pytest

from foretell.stats.estimate import Estimate
from foretell.studies.leaderboard.bootstrap import (
    RESAMPLES,
    geometric,
    ranks,
    ratio,
    ratios,
    resampled,
    spread,
)


def test_a_mean_has_its_student_interval_about() -> None:
    regret = np.random.default_rng(0).normal(100, 10, 200)
    draws = resampled({"a": regret}, 0, "a scenario")["a"]
    found, expected = spread(float(regret.mean()), draws), Estimate.of(regret)
    assert found.high - found.low == pytest.approx(expected.high - expected.low, rel=0.15)
    assert found.low < regret.mean() < found.high


def test_policies_meet_the_same_runs() -> None:
    rng = np.random.default_rng(1)
    luck = rng.normal(0, 5, 400)
    one, other = 30 + luck + rng.normal(0, 1, 400), 20 + luck
    means = resampled({"one": one, "other": other}, 3, "x")
    paired = spread(1.5, ratios(means["one"], means["other"]))
    apart = resampled({"one": one}, 4, "x")["one"]
    alone = spread(1.5, ratios(apart, means["other"]))
    assert paired.low < one.mean() / other.mean() < paired.high
    assert paired.high - paired.low < 0.5 * (alone.high - alone.low)
    again = resampled({"other": other}, 3, "x")["other"]
    assert again.tobytes() == means["other"].tobytes()
    assert resampled({"other": other}, 3, "y")["other"].tobytes() != again.tobytes()


def test_ranks_are_sure_where_policies_differ() -> None:
    rng = np.random.default_rng(2)
    regrets = {
        "good": rng.normal(10, 5, 100),
        "equal": rng.normal(10, 5, 100),
        "bad": rng.normal(30, 5, 100),
    }
    found = ranks(resampled(regrets, 0, "x"), list(regrets))
    assert set(found["bad"]) == {3.0}
    assert set(found["good"]) == {1.0, 2.0}
    assert np.all(sum(found.values()) == 6.0)


def test_what_has_no_number_is_left_out() -> None:
    assert ratio(1.0, 0.0) == math.inf
    nothing = ratios(np.ones(RESAMPLES), np.zeros(RESAMPLES))
    assert np.isinf(nothing).all()
    assert spread(math.inf, nothing) == Estimate(math.inf, math.inf, math.inf)
    kept = geometric([np.full(3, 2.0), np.full(3, 8.0), np.full(3, math.inf)])
    assert kept is not None
    np.testing.assert_allclose(kept, 4.0)
    assert geometric([]) is None
