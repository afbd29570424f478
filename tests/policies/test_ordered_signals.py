"""A declared order of signals pays where it is right, and costs little where it is wrong.

The long form, with tables: `python -m benchmarks.default_policy`.
"""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.default_policy import (
    against_best_window,
    blind_ratio,
    geometric_mean,
    order_ratios,
)
from benchmarks.default_worlds import (
    DEVELOPMENT,
    blind_problem,
    ordered_trials,
    reversed_trial,
    shop,
)

pytestmark = [pytest.mark.compiled, pytest.mark.slow]
ORDERED = "nsd-adaptive(ordered=True)"
RUNS = 5


def test_a_right_order_pays() -> None:
    ratios = order_ratios(ordered_trials(31)[:3], RUNS, seed=1)
    assert geometric_mean(ratios) < 0.75
    assert max(ratios) < 1.1


def test_a_right_order_pays_most_where_rewards_are_slow() -> None:
    ratios = order_ratios(ordered_trials(31, longest_delay=True)[:3], RUNS, seed=2)
    assert geometric_mean(ratios) < 0.4


def test_a_wrong_order_is_overruled() -> None:
    wrong = [reversed_trial(trial) for trial in ordered_trials(31)[:3]]
    assert geometric_mean(order_ratios(wrong, RUNS, seed=3)) < 2.0


def test_before_the_first_reward_the_default_earns_more_than_uniform_play() -> None:
    ratios = [blind_ratio(blind_problem(number, 5), ORDERED, 4, 6) for number in range(6)]
    assert np.mean(ratios) > 1.05
    assert blind_ratio(shop(), ORDERED, 20, 7) > 1.3
    assert blind_ratio(shop(), "nsd-adaptive", 20, 7) < 1.1, "without the order it does not"


def test_looks_and_sharpness_trade_risers_for_stationary_worlds() -> None:
    risers = [trial for trial in DEVELOPMENT if trial.kind == "riser"][:1]
    stationary = [trial for trial in DEVELOPMENT if trial.kind == "stationary"][:1]
    usual = "nsd-psrl-cp"
    for trials, most in ((risers, 1.8), (stationary, 1.6)):
        assert geometric_mean(against_best_window(trials, [usual], RUNS, seed=8)[usual]) < most
