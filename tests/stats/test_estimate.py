"""Estimates print well, are Student's over runs, and hold as often as they claim."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

from foretell.stats.estimate import (
    Estimate,
    estimate_action,
    estimate_mean,
    estimate_signal,
)
from foretell.types import GRAIN

KNOWN = [Estimate(0.02, 0.0199, 0.0201), Estimate(0.6, 0.5999, 0.6001)]


@pytest.mark.parametrize("paid", [0, 1])
def test_a_mean_lies_in_its_interval_to_the_last_digit(paid: int) -> None:
    for count in range(1, 2000):
        found = estimate_signal(count, paid * count * int(GRAIN))
        assert found is not None
        assert 0.0 <= found.low <= found.mean == paid <= found.high <= 1.0


def test_the_interval_of_a_signal_is_that_of_wilson() -> None:
    found = estimate_signal(10, 3 * int(GRAIN))
    assert found is not None
    for end in (found.low, found.high):  # where the score test is just not refused
        assert abs(0.3 - end) / math.sqrt(end * (1 - end) / 10) == pytest.approx(1.96)


def test_an_action_shown_once_is_not_said_to_pay_nothing() -> None:
    found = estimate_action(np.array([1, 0]), [Estimate(0.0, 0.0, 0.02), Estimate(1.0, 0.96, 1.0)])
    assert found is not None
    assert found.mean == 0.0
    assert found.high > 0.7


def test_a_signal_of_unknown_reward_may_pay_anything() -> None:
    known = estimate_action(np.array([10, 0]), [Estimate(0.0, 0.0, 0.2), Estimate(0.1, 0.0, 0.2)])
    unknown = estimate_action(np.array([10, 0]), [Estimate(0.0, 0.0, 0.2), None])
    assert known is not None
    assert unknown is not None
    assert unknown.high > known.high
    assert estimate_action(np.array([10, 1]), [Estimate(0.0, 0.0, 0.2), None]) is None
    assert estimate_action(np.array([0, 0]), KNOWN) is None


@pytest.mark.parametrize("rate", [0.05, 0.3, 0.5])
@pytest.mark.parametrize("count", [1, 5, 20, 200])
def test_intervals_of_actions_hold_as_often_as_they_say(rate: float, count: int) -> None:
    rng = np.random.default_rng(5)
    truth = 0.02 + rate * 0.58
    held = 0
    for clicks in rng.binomial(count, rate, size=1000):
        found = estimate_action(np.array([count - clicks, clicks]), KNOWN)
        assert found is not None
        held += found.low <= truth <= found.high
    assert held >= 915


def test_both_sources_of_doubt_are_in_the_interval_of_an_action() -> None:
    sure = estimate_action(np.array([500_000, 500_000]), KNOWN)
    vague = estimate_action(
        np.array([500_000, 500_000]), [Estimate(0.02, 0.0, 0.1), Estimate(0.6, 0.4, 0.8)]
    )
    assert sure is not None
    assert vague is not None
    assert sure.high - sure.low < 0.003
    assert vague.mean - vague.low == pytest.approx(math.hypot(0.01, 0.1), rel=1e-3)
    assert vague.high - vague.mean == pytest.approx(math.hypot(0.04, 0.1), rel=1e-3)


def test_an_estimate_is_the_student_interval() -> None:
    samples = np.random.default_rng(5).normal(3.0, 2.0, 30)
    found = Estimate.of(samples)
    low, high = scipy.stats.t.interval(0.95, 29, samples.mean(), scipy.stats.sem(samples))
    assert (found.mean, found.low, found.high) == pytest.approx((samples.mean(), low, high))


@pytest.mark.parametrize(
    ("numbers", "printed"),
    [
        ((123.456, 100.2, 140.9), "123 [100, 141]"),
        ((12.3456, 11.0, 13.0), "12.3 [11.0, 13.0]"),
        ((0.12345, 0.1, 0.2), "0.123 [0.100, 0.200]"),
    ],
)
def test_an_estimate_prints_as_many_digits_as_it_deserves(
    numbers: tuple[float, float, float], printed: str
) -> None:
    assert str(Estimate(*numbers)) == printed


@pytest.mark.parametrize("rate", [0.05, 0.4])
def test_a_mean_covers_what_its_rewards_had_as_theirs_however_they_were_chosen(rate: float) -> None:
    """Of two actions the one that has done better is played on; means fall by half meanwhile."""
    rng = np.random.default_rng(8)
    held = tried = 0
    for _ in range(600):
        counts, totals, means = np.zeros(2), np.zeros(2), np.zeros(2)
        for t in range(300):
            played = int(totals[1] * counts[0] > totals[0] * counts[1]) if t > 60 else t % 2
            mean = rate if t < 150 else rate / 2
            counts[played] += 1
            totals[played] += rng.random() < mean
            means[played] += mean
        for count, total, own in zip(counts.tolist(), totals.tolist(), means.tolist(), strict=True):
            found = estimate_mean(int(count), total, total)
            assert found is not None
            tried += 1
            held += found.low <= own / count <= found.high
    assert held >= 0.93 * tried


def test_a_mean_of_rewards_that_hardly_differ_is_narrow() -> None:
    found = estimate_mean(400, 200.0, 400 * (0.25 + 0.05**2))
    assert found is not None
    assert found.mean == 0.5
    assert found.high - found.low == pytest.approx(2 * 1.96 * math.hypot(0.0025, 0.00245), rel=0.02)
    assert estimate_mean(0, 0.0, 0.0) is None
