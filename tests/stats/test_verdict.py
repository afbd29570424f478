"""Verdicts say what the evidence says, and what would have been seen is seen."""

from __future__ import annotations

import math

import numpy as np
import pytest

from foretell.stats.signal_test import POOLED, WITHIN, SignalTest
from foretell.stats.verdict import detectable, judge, main_signal

ENOUGH = np.array([60, 50, 0])


@pytest.mark.parametrize(
    ("within", "pooled", "settled", "verdict", "moves"),
    [
        (1.0, 1.0, ENOUGH, "valid", False),
        (4.9, 19.0, ENOUGH, "valid", False),
        (5.1, 1.0, ENOUGH, "doubtful", False),
        (1.0, 20.1, ENOUGH, "doubtful", True),
        (6.0, 21.0, ENOUGH, "doubtful", True),
        (20.1, 21.0, ENOUGH, "misleading", False),
        (1e300, 1.0, np.array([900, 49, 49]), "too early", False),
    ],
)
def test_verdicts(within: float, pooled: float, settled: object, verdict: str, moves: bool) -> None:
    test = SignalTest(3, 2)
    test.peak[WITHIN], test.peak[POOLED] = math.log(within), math.log(pooled)
    found = judge(test, np.asarray(settled))
    assert (found.verdict, found.moves) == (verdict, moves)
    assert found.e_value == pytest.approx(within)


def campaign(rng: np.random.Generator, less: float) -> tuple[SignalTest, np.ndarray]:
    """Return the test of a campaign whose first action has less reward after the main signal."""
    test, rewards = SignalTest(2, 2), 3000
    actions, signals = rng.integers(2, size=rewards), (rng.random(rewards) < 0.5).astype(int)
    means = np.where(signals, np.where(actions == 0, 0.6 - less, 0.6), 0.05)
    for entry in zip(actions, signals, (rng.random(rewards) < means).astype(float), strict=True):
        test.enter([entry])
    return test, np.bincount(actions)


def test_what_would_have_been_seen_is_seen() -> None:
    rng = np.random.default_rng(1)
    test, settled = campaign(rng, 0.0)
    least = detectable(test, settled)
    assert main_signal(test) == 1
    assert judge(test, settled).verdict == "valid"
    assert 0.05 < least < 0.25
    verdicts = [judge(*campaign(rng, least)) for _ in range(20)]
    assert sum(one.verdict == "misleading" for one in verdicts) >= 14
    assert sum((one.action, one.signal) in ((0, 1), (1, 1)) for one in verdicts) >= 19


def test_nothing_would_have_been_seen_where_nothing_was_compared() -> None:
    assert detectable(SignalTest(3, 2), ENOUGH) == 1.0
    assert detectable(SignalTest(3, 2), np.array([900, 1, 1])) == 1.0
