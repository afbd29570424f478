"""The words of the claims: each check holds where it should, and refuses where it should not."""

from __future__ import annotations

import numpy as np
import pytest

from foretell.studies.checks import (
    Curve,
    all_better,
    all_learn,
    all_stall,
    none_worse,
    uniform_slope,
)
from foretell.worlds import scenario
from tests.studies.test_batch_statistics import batch_of

NOISE = np.random.default_rng(1).normal(0.0, 1.0, (40, 1))
ROUNDS = np.arange(1, 2001)[None, :]


def curve(per_round: float, stops_after: int = 2000) -> Curve:
    """Return a curve that pays `per_round` until it stops paying."""
    return Curve("it", batch_of(per_round * np.minimum(ROUNDS, stops_after) + NOISE))


def test_uniform_play_pays_the_mean_gap() -> None:
    assert uniform_slope(scenario("paper-stationary")) == pytest.approx(0.265)
    mixed = scenario("paper", alpha=0.5, mu=(0.1, 0.1, 0.1, 0.9))
    assert uniform_slope(mixed) == pytest.approx(0.62 - np.mean([0.4, 0.26, 0.19, 0.62]))


def test_learning_and_stalling_exclude_each_other() -> None:
    steep, flat = curve(0.2), curve(0.2, stops_after=900)
    assert all_stall([steep]).holds
    assert all_learn([steep]).holds is False
    assert all_learn([flat]).holds
    assert all_stall([flat]).holds is False
    assert all_stall([steep, flat]).holds is False


def test_half_of_uniform_play_is_the_border() -> None:
    assert all_stall([curve(0.130)]).holds is False
    assert all_stall([curve(0.1325)]).holds is None
    assert all_stall([curve(0.136)]).holds


def test_better_needs_the_whole_interval() -> None:
    small, large = curve(0.1), curve(0.2)
    assert all_better([(small, large)]).holds
    assert all_better([(large, small)]).holds is False
    assert all_better([(small, small)]).holds is None
    assert all_better([(small, large), (large, small)]).holds is False
    assert all_better([(small, large), (small, small)]).holds is None


def test_on_par_allows_a_tenth() -> None:
    assert none_worse([(curve(0.105), curve(0.1))]).holds
    assert none_worse([(curve(0.05), curve(0.1))]).holds
    assert none_worse([(curve(0.12), curve(0.1))]).holds is False


def test_many_comparisons_show_those_nearest_to_failing() -> None:
    pairs = [(curve(0.1), curve(0.2))] * 6 + [(curve(0.3), curve(0.2))]
    measured = all_better(pairs).measured
    assert measured.startswith("6 of 7 hold")
    assert measured.count("[") == 4
