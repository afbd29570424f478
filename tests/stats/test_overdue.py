"""What was due since the last reward is what would have come."""

from __future__ import annotations

import numpy as np
import pytest

from foretell.stats.delay_curves import delay_curve
from foretell.stats.overdue import MadeAt, arrival_rate, due, silence
from foretell.types import Floats

EDGES = np.arange(1.0, 101.0)


def test_what_is_due_is_what_comes() -> None:
    """Rewards of a young campaign, too: decisions that have not reached an age do not count."""
    rng = np.random.default_rng(1)
    expected, came = [], []
    for _ in range(40):
        at = rng.uniform(0.0, 100.0, 2000)
        delay = np.where(rng.random(2000) < 0.3, rng.exponential(20.0, 2000), np.inf)
        then, now = 60.0, 75.0
        arrived = at + delay < then
        arrivals = np.histogram(delay[arrived], np.concatenate([[0.0], EDGES]))[0].astype(float)
        made = at[at < now]
        begin = np.arange(0.0, now, 2.5)
        count = np.histogram(made, np.append(begin, now))[0].astype(float)
        stretches = MadeAt.over(begin, begin + 2.5, count)
        known = MadeAt.over(begin, begin + 2.5, np.where(begin < then, count, 0.0))
        by_age = arrival_rate(known, EDGES, arrivals, then)
        expected.append(due(stretches, EDGES, by_age, then, now))
        came.append(np.sum((at + delay >= then) & (at + delay < now)))
    assert np.mean(expected) == pytest.approx(np.mean(came), rel=0.05)


def test_a_single_arrival_at_an_age_that_few_have_reached_does_not_outweigh_the_others() -> None:
    """Rewards take up to 40 hours, evenly, and the campaign is 25 hours old: half take 12.5."""
    rng, edges = np.random.default_rng(2), np.arange(1, 251) / 10.0

    def median(ages: Floats, made: MadeAt, least: float) -> float:
        arrivals = np.histogram(ages, np.concatenate([[0.0], edges]))[0].astype(float)
        found = delay_curve(edges, arrival_rate(made, edges, arrivals, 25.0, least)).age(0.5)
        assert found is not None
        return found

    found, with_late, without = [], [], []
    for _ in range(200):
        made = MadeAt(rng.uniform(0.0, 25.0, 300), np.ones(300))
        delay = rng.uniform(0.0, 40.0, 300)
        came = delay[(rng.random(300) < 0.5) & (made.at + delay < 24.9)]
        found.append(median(came, made, 30.0))
        late = np.append(came, 24.95)
        with_late.append(median(late, made, 30.0))
        without.append(median(late, made, 0.0))
    assert np.median(with_late) < np.median(found) + 2.0
    assert np.median(without) > 20.0, "what would be said else"
    low, high = np.quantile(found, (0.05, 0.95))
    assert 8.0 < low < 12.5 < high < 17.0


def test_nothing_is_due_before_anything_came() -> None:
    made = MadeAt(np.array([0.0, 1.0]), np.array([5.0, 5.0]))
    by_age = arrival_rate(made, EDGES, np.zeros(100), 10.0)
    assert due(made, EDGES, by_age, 10.0, 90.0) == 0.0
    assert silence(0.0, 0) == silence(0.0, 10) == 1.0


def test_silence_is_that_of_a_rate_that_is_itself_uncertain() -> None:
    rng = np.random.default_rng(2)
    rates = rng.gamma(10, 1 / 10, 200_000)
    assert silence(5.0, 10) == pytest.approx(np.exp(-5.0 * rates).mean(), rel=0.03)
