"""What a round costs: flat in W, D and T, linear in K·S."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

import foretell as ft
from benchmarks.measure import BenchmarkResult, cpu_seconds

if TYPE_CHECKING:
    from foretell.worlds.scenario import Scenario

WINDOWS = (10, 100, 1_000, 10_000)
DELAYS = (10, 100, 1_000, 10_000)
HORIZONS = (10_000, 100_000, 1_000_000)
ACTIONS = (4, 16, 64, 250, 1_000)
SIGNALS = (2, 5, 15, 50)
TURNS = 7
MOST_WORK = 4_000_000
"""Rounds, times K·S, of one turn."""
FLAT = 1.5
"""A round may cost this many times a round at a smaller value: caches and noise."""
LINEAR = 1.15
"""From one K, or S, to the next, the cost may grow by its factor to this power: 1 is linear."""


def scaling() -> BenchmarkResult:
    """Measure NSD-UCRL2 with one of W, D, T changing at a time, then over K and S."""
    result = BenchmarkResult("Cost of a round of NSD-UCRL2, in ns of CPU time")
    paper = ft.scenario("paper-stationary", delay=500)
    rows = {
        "W": [(paper, window, 100_000) for window in WINDOWS],
        "D": [(ft.scenario("paper-stationary", delay=delay), 800, 100_000) for delay in DELAYS],
        "T": [(paper, 800, horizon) for horizon in HORIZONS],
    }
    values = {"W": WINDOWS, "D": DELAYS, "T": HORIZONS}
    for name, cells in rows.items():
        costs = _costs(cells)
        for value, cost in zip(values[name], costs, strict=True):
            result.add(f"{name} = {value:,}", f"{cost:.0f} ns", cost)
        growth = max(later / min(costs[:index]) for index, later in enumerate(costs) if index)
        result.at_most(f"largest growth over {name}", growth, FLAT)
        spread = max(costs) / min(costs)
        result.add(f"dearest / cheapest over {name}", f"{spread:.3g}x", spread)
    _over_actions_and_signals(result)
    return result


def _over_actions_and_signals(result: BenchmarkResult) -> None:
    sizes = [(actions, signals) for actions in ACTIONS for signals in SIGNALS]
    costs = []
    for actions, signals in sizes:
        horizon = max(20_000, 10 * actions)
        cost = _costs([(_random(actions, signals), 5 * actions, horizon)], turns=3)[0]
        costs.append(cost)
        result.add(
            f"K = {actions:,}, S = {signals}",
            f"{cost:,.0f} ns, {cost / (actions * signals):.2f} per K·S",
            cost,
        )
    result.at_most(
        "largest exponent of the cost, from a K or S to the next",
        _largest_exponent(dict(zip(sizes, costs, strict=True))),
        LINEAR,
        "",
    )


def _largest_exponent(costs: dict[tuple[int, int], float]) -> float:
    """Return the largest x for which some step of K or of S by a factor costs factor ** x."""
    exponents = []
    for less, more in itertools.pairwise(ACTIONS):
        exponents += [
            math.log(costs[more, s] / costs[less, s]) / math.log(more / less) for s in SIGNALS
        ]
    for less, more in itertools.pairwise(SIGNALS):
        exponents += [
            math.log(costs[k, more] / costs[k, less]) / math.log(more / less) for k in ACTIONS
        ]
    return max(exponents)


def _costs(cells: list[tuple[Scenario, int, int]], turns: int = TURNS) -> list[float]:
    """Return the ns per round of each cell: the least over turns that the cells take in order."""
    costs = [math.inf] * len(cells)
    for turn in range(turns + 1):
        for index, (scenario, window, horizon) in enumerate(cells):
            work = scenario.actions * scenario.signals
            runs = max(1, min(100_000, MOST_WORK // work) // horizon)
            seconds = cpu_seconds(lambda: _simulate(scenario, window, horizon, runs))  # noqa: B023  called at once
            if turn > 0:
                costs[index] = min(costs[index], 1e9 * seconds / (runs * horizon))
    return costs


def _simulate(scenario: Scenario, window: int, horizon: int, runs: int) -> None:
    ft.simulate(
        scenario,
        ft.NsdUcrl2(window=window),
        horizon,
        runs,
        threads=1,
        checkpoints=1,
        progress=False,
    )


def _random(actions: int, signals: int) -> Scenario:
    rng = np.random.default_rng(0)
    law = rng.dirichlet(np.ones(signals), actions)
    return ft.Scenario(law=law.tolist(), theta=rng.random(signals).tolist(), delay=500)
