"""What a round costs in every kind of world: changes, delays, rewards, mixtures and oracles."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import foretell as ft
from benchmarks.measure import BenchmarkResult, cpu_seconds
from foretell.worlds.paper import LAW

HORIZON, RUNS, TURNS = 8000, 50, 5
POLICY = "nsd-ucrl2(window=800)"
HAZARD = 0.0005

WORLDS: dict[str, dict[str, Any]] = {
    "changes: none": {"changes": ft.shifts(hazard=0.0)},
    "changes: shifts at listed rounds": {},
    "changes: shifts with a hazard": {"changes": ft.shifts(hazard=HAZARD)},
    "changes: redraws with a hazard": {"changes": ft.redraws(hazard=HAZARD)},
    "changes: a drift in straight lines": {
        "changes": ft.interpolation([(HORIZON - 1, [list(row) for row in LAW[::-1]])])
    },
    "changes: a random walk": {"changes": ft.random_walk(0.1)},
    "delay: constant, by signal": {"delay": [500, 400, 300]},
    "delay: uniform": {"delay": ft.delays.UniformDelay(400, 600)},
    "delay: geometric": {"delay": ft.delays.GeometricDelay(500.0)},
    "delay: log-normal": {"delay": ft.delays.LogNormalDelay(400.0, 0.5)},
    "delay: Pareto": {"delay": ft.delays.ParetoDelay(2.0, 500.0)},
    "delay: a table": {"delay": ft.delays.TableDelay((100, 500, 900))},
    "delay: constant, some are lost": {"delay": ft.delays.ConstantDelay(500, lost=0.1)},
    "delay: never": {"delay": ft.delays.NeverDelay()},
    "rewards: Beta": {"rewards": ft.rewards.Beta()},
    "rewards: fixed": {"rewards": ft.rewards.Fixed()},
    "rewards: Gaussian": {"rewards": ft.rewards.Gaussian(0.5)},
    "rewards: a mixture": {"alpha": 0.2, "mu": [0.9, 0.1, 0.1, 0.1]},
}
ORACLES = ("oracle-ucb", "oracle-ucb-nd", "oracle-nsd", "oracle-nsd-nd", "oracle-psrl")


def worlds() -> BenchmarkResult:
    """Measure NSD-UCRL2, and the oracles, in worlds that differ in one thing from the paper's."""
    result = BenchmarkResult("Cost of a round by world, in ns of CPU time, the whole of simulate")
    for what, fields in WORLDS.items():
        _add(result, what, POLICY, fields)
    for oracle in ORACLES:
        _add(result, f"{oracle}, listed changes", oracle, {})
    _add(result, "oracle-nsd, a hazard", "oracle-nsd", {"changes": ft.shifts(hazard=HAZARD)})
    return result


def _add(result: BenchmarkResult, what: str, policy: str, fields: dict[str, Any]) -> None:
    """Add the least cost of a round over turns; the first, which compiles, is left out."""
    scenario = replace(ft.scenario("paper", delay=500), **fields)
    costs = []
    for _ in range(TURNS + 1):
        seconds = cpu_seconds(
            lambda: ft.simulate(scenario, policy, HORIZON, RUNS, threads=1, progress=False)
        )
        costs.append(1e9 * seconds / (RUNS * HORIZON))
    cost = min(costs[1:])
    result.add(what, f"{cost:.0f} ns", cost)
