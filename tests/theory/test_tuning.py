"""The windows: each minimises what it claims to minimise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretell.errors import InvalidInput
from foretell.theory import (
    BadRounds,
    Bound,
    Setting,
    bad_rounds,
    best_gap_window,
    best_window,
    experiments_window,
    gap_window,
    printed_bound,
    problem_dependent_bound,
    switching_bound,
    theorem_window,
)

PAPER = Setting(horizon=8000, actions=4, signals=3, switches=3, delay=500)

small = st.builds(
    Setting,
    horizon=st.integers(10, 250),
    actions=st.integers(2, 6),
    signals=st.integers(2, 6),
    switches=st.integers(0, 9),
    delta=st.floats(0.01, 1.0),
    constants=st.sampled_from(["literal", "tight"]),
)
long = st.builds(
    Setting,
    horizon=st.integers(10**5, 10**7),
    actions=st.integers(2, 9),
    signals=st.integers(2, 9),
    switches=st.integers(1, 20),
    constants=st.sampled_from(["literal", "tight"]),
)
by_gap = partial(problem_dependent_bound, smallest_gap=0.28, probabilities=0.1)
count = partial(bad_rounds, epsilon=0.9, probabilities=0.9)


@given(small, st.sampled_from([switching_bound, by_gap, count]))
def test_the_minimiser_beats_every_window(
    setting: Setting, bound: Callable[..., Bound | BadRounds]
) -> None:
    totals = [bound(setting, window=window).total for window in range(1, setting.horizon + 1)]
    assert bound(setting).total == pytest.approx(min(totals), rel=1e-12)


@given(long, st.sampled_from([switching_bound, by_gap]))
def test_the_minimiser_beats_a_grid_on_long_horizons(
    setting: Setting, bound: Callable[..., Bound]
) -> None:
    grid = np.unique(np.geomspace(1, setting.horizon, 200).astype(int)).tolist()
    totals = [bound(setting, window=window).total for window in grid]
    assert bound(setting).total <= min(totals) * (1.0 + 1e-12)


def frozen_bound(setting: Setting, window: float) -> float:
    return printed_bound(setting, window, log_of_window=False)


def frozen_gap_bound(setting: Setting, window: float, gap: float = 0.28) -> float:
    logarithm = np.log(setting.actions * setting.horizon / setting.delta)
    learning = setting.actions * setting.signals * setting.horizon * logarithm / (gap * window)
    return float(window * setting.switches + learning)


@given(long)
def test_the_window_of_theorem_2_minimises_the_printed_bound(setting: Setting) -> None:
    window = theorem_window(setting)
    if window < setting.horizon:
        least = frozen_bound(setting, window)
        for times in (0.5, 0.9, 0.99, 1.01, 1.1, 2.0):
            assert least < frozen_bound(setting, times * window)


@given(long)
def test_the_window_of_theorem_3_minimises_its_printed_order(setting: Setting) -> None:
    window = gap_window(setting, 0.28)
    if window < setting.horizon:
        least = frozen_gap_bound(setting, window)
        for times in (0.5, 0.9, 0.99, 1.01, 1.1, 2.0):
            assert least < frozen_gap_bound(setting, times * window)


@pytest.mark.parametrize("delta", [1.0, 0.1, 0.01])
def test_with_its_own_logarithm_the_printed_window_is_ten_to_fourteen_percent_too_small(
    delta: float,
) -> None:
    setting = replace(PAPER, delta=delta)
    grid = np.arange(500, 2500)
    best = grid[np.argmin([printed_bound(setting, float(window)) for window in grid])]
    assert 1.10 < best / theorem_window(setting) < 1.16


def test_the_explicit_window_is_about_twice_the_printed_one() -> None:
    for horizon in (10**6, 10**8):
        setting = replace(PAPER, horizon=horizon)
        assert 2.0 < best_window(setting) / theorem_window(setting) < 2.5


def test_windows_of_the_experiments() -> None:
    found = experiments_window(PAPER)
    assert found.printed == 1243
    assert found.formula == pytest.approx(1320.8, abs=0.05)
    assert found.without_log == pytest.approx(440.3, abs=0.05)
    assert found.theorem == theorem_window(PAPER)
    assert found.best == best_window(PAPER) == switching_bound(PAPER).window
    assert math.cbrt(8000**2 * 30) == pytest.approx(found.printed, abs=0.5)
    assert theorem_window(replace(PAPER, delta=1.0)) == pytest.approx(960, abs=1)
    assert theorem_window(replace(PAPER, delta=0.01)) == pytest.approx(1085, abs=1)


@given(small)
def test_a_law_that_never_changes_wants_no_window(setting: Setting) -> None:
    still = replace(setting, switches=0)
    assert theorem_window(still) == still.horizon
    assert gap_window(still, 0.5) == still.horizon
    assert best_window(still) == still.horizon
    assert best_gap_window(still, 0.5, 0.1) == still.horizon


@given(small)
def test_no_window_is_longer_than_the_horizon(setting: Setting) -> None:
    assert 1 <= best_window(setting) <= setting.horizon
    assert 0.0 < theorem_window(setting) <= setting.horizon
    assert 0.0 < gap_window(setting, 0.01) <= setting.horizon


def test_bad_input_to_the_windows_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"^the formula of the experiments needs a switch"):
        experiments_window(replace(PAPER, switches=0))
    with pytest.raises(InvalidInput, match=r"^window must be a positive number, got 0"):
        printed_bound(PAPER, 0.0)
    with pytest.raises(InvalidInput, match=r"^smallest_gap must lie in"):
        gap_window(PAPER, 0.0)
