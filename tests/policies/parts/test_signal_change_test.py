"""The change test on signals: its formula, false alarms over long streams, and its power."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from scipy import special
from scipy.stats import beta

import foretell as ft
from foretell.policies.parts.prefix_grid import PrefixGrid, grid_add, new_prefix_grid
from foretell.policies.parts.signal_change_test import (
    MOST_KEPT,
    LogGammas,
    change_statistic,
    log_gamma,
    log_gammas,
    stirling,
)
from foretell.policies.registry import start
from foretell.policies.verbs import observe, play
from foretell.types import Floats, Ints, Problem
from tests.reference.baselines import splits

ROUNDS, RUNS = 50_000, 200


def upper_end(failures: int, runs: int) -> float:
    """Return the upper end of the 95 % Clopper–Pearson interval."""
    return float(beta.ppf(0.975, failures + 1, runs - failures))


def raises_alarm(
    grid: PrefixGrid, gammas: LogGammas, stream: Ints, threshold: float, total: int
) -> bool:
    for t in range(total):
        grid_add(grid, 0, stream[t], 1)
        if change_statistic(grid, 0, gammas) >= threshold:
            return True
    return False


def alarm_rounds(state: Any, actions: Ints, signals: Ints, found: Ints) -> int:
    """Feed a trajectory; write the rounds of the alarms and return their number."""
    alarms = 0
    for t in range(actions.size):
        action = actions[t]
        before = state.alarms[action]
        play(state, t, action)
        observe(state, t, action, signals[t])
        if state.alarms[action] > before:
            found[alarms] = t
            alarms += 1
    return alarms


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    import numba

    from foretell.sim import compiled

    compiled._learn_kernels()
    options: dict[str, Any] = {"nogil": True, "_nrt": False}  # as the simulator compiles
    made: Callable[..., Any] = numba.njit(**options)(function)
    return made


@pytest.mark.compiled
@pytest.mark.slow
@pytest.mark.parametrize("signals", [2, 3, 20])
def test_false_alarms_are_rare_over_fifty_thousand_rounds(signals: int) -> None:
    test = compiled(raises_alarm)
    threshold = math.log(2.0 / 0.05)
    gammas = log_gammas(signals, ROUNDS)

    def one(run: int) -> bool:
        rng = np.random.default_rng([signals, run])
        law = rng.dirichlet(np.full(signals, (0.3, 1.0, 3.0)[run % 3]))
        stream = rng.choice(signals, ROUNDS, p=law)
        grid = new_prefix_grid(1, signals, ROUNDS)
        return bool(test(grid, gammas, stream, threshold, ROUNDS))

    with ThreadPoolExecutor(2) as pool:
        failures = sum(pool.map(one, range(RUNS)))
    assert upper_end(failures, RUNS) <= 0.05


@pytest.mark.compiled
@pytest.mark.slow
def test_the_changes_of_the_paper_are_found_soon() -> None:
    horizon, runs = 8000, 40
    spec = ft.NsdKlGlr()
    batch = ft.simulate(
        ft.scenario("paper", delay=100), spec, horizon, runs, seed=3, trajectories=True
    )
    traced = batch.trajectories
    assert traced is not None
    replay = compiled(alarm_rounds)
    delays = []
    for actions, signals in zip(traced.actions, traced.signals, strict=True):
        state = start(spec, Problem(4, 3, horizon=horizon))
        found = np.zeros(horizon, np.int64)
        alarms = found[: replay(state, actions, signals, found)]
        for change in (2000, 4000, 6000):
            inside = alarms[(alarms >= change) & (alarms < change + 2000)]
            if inside.size:
                caught = inside[0]
                delays.append(int((actions[change : caught + 1] == actions[caught]).sum()))
    assert len(delays) >= 0.9 * 3 * runs
    assert np.median(delays) <= 40


def slow_log_kt(counts: Floats) -> float:
    half = len(counts) / 2
    prior = special.gammaln(half) - len(counts) * special.gammaln(0.5)
    return float(prior + special.gammaln(counts + 0.5).sum() - special.gammaln(counts.sum() + half))


@pytest.mark.parametrize("signals", [2, 3, 6])
@pytest.mark.parametrize("length", [2, 37, 300])
def test_the_signal_statistic_is_the_brute_force_one(signals: int, length: int) -> None:
    rng = np.random.default_rng(length)
    seen = rng.integers(signals, size=length)
    grid = new_prefix_grid(1, signals, length)
    for signal in seen:
        grid_add(grid, 0, int(signal), 1)
    counts = np.bincount(seen, minlength=signals).astype(float)
    likelihood = float(special.xlogy(counts, counts / length).sum())
    slow = -math.inf
    for moment, _ in splits(length):
        before = np.bincount(seen[:moment], minlength=signals).astype(float)
        mixture = slow_log_kt(before) + slow_log_kt(counts - before)
        slow = max(slow, mixture - likelihood - math.log(moment * (moment + 1)))
    found = change_statistic(grid, 0, log_gammas(signals, length))
    assert found == pytest.approx(slow, abs=1e-8)


def test_gammas_beyond_the_table_are_stirlings() -> None:
    assert stirling(150.5) == pytest.approx(special.gammaln(150.5), rel=1e-13)
    table = log_gammas(3, None).half
    assert len(table) == MOST_KEPT
    for index in (MOST_KEPT - 1, MOST_KEPT, 10 * MOST_KEPT):
        assert log_gamma(table, index, 0.5) == pytest.approx(special.gammaln(index + 0.5))
