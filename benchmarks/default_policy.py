"""How the default policy was tuned and confirmed, and what an order of signals is worth.

`python -m benchmarks default_policy` holds the default against its targets. For tables,
`python -m benchmarks.default_policy tune` compares looks and sharpness on the development worlds,
`confirm` runs the default on the others, `paper` on the paper's problem, `ordered` measures
declared orders, right and wrong, and `blind` what is earned before the first reward. Numbers are
in `docs/policies/nsd-adaptive.md` and `docs/explanation/ordered-signals.md`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

import numpy as np

import foretell as ft
from benchmarks.default_worlds import (
    CONFIRMATION,
    DEVELOPMENT,
    Trial,
    blind_problem,
    ordered_trials,
    reversed_trial,
    shop,
)
from benchmarks.measure import BenchmarkResult

WINDOWS = [200, 400, 800, 1600, 3200, None]
TUNED = [
    "nsd-psrl-cp(idle=0.08)",
    "nsd-psrl-cp",
    "nsd-psrl-cp(sharpness=1.0)",
    "nsd-psrl-cp(sharpness=3.0)",
    "nsd-psrl-cp(idle=0.2)",
    "nsd-psrl-cp(idle=0.3)",
    "nsd-psrl-cp(idle=0.3, sharpness=3.0)",
]
BLIND_ROUNDS = 1500
KIND_TARGETS = {"riser": 1.4, "late riser": 1.7, "stationary": 1.45}
"""At most so many times the regret of the best window in hindsight, by kind of world."""
BEFORE_LOOKS = {0: 40.0, 100: 60.0, 500: 156.0, 1000: 269.0}
"""Regret on the paper's problem, by delay, before resting actions were looked at more often."""


def mean_regret(trial: Trial, spec: str, runs: int, seed: int) -> float:
    """Return the mean regret of a policy in a world, on one thread."""
    batch = ft.simulate(trial.scenario, spec, trial.horizon, runs, seed, threads=1, progress=False)
    return float(batch.final.mean())


def best_window(trial: Trial, runs: int, seed: int) -> float:
    """Return the least mean regret of `nsd-psrl` over windows: the best in hindsight."""
    return min(mean_regret(trial, f"nsd-psrl(window={window})", runs, seed) for window in WINDOWS)


def geometric_mean(values: Iterable[float]) -> float:
    """Return the geometric mean."""
    return float(np.exp(np.mean(np.log(list(values)))))


def against_best_window(
    trials: list[Trial], specs: list[str], runs: int, seed: int
) -> dict[str, list[float]]:
    """Return, by policy, the ratio of its regret to that of the best window in every world."""
    best = [best_window(trial, runs, seed) for trial in trials]
    return {
        spec: [
            mean_regret(trial, spec, runs, seed) / one
            for trial, one in zip(trials, best, strict=True)
        ]
        for spec in specs
    }


def order_ratios(trials: list[Trial], runs: int, seed: int) -> list[float]:
    """Return the regret with the order declared over that without it, in every world."""
    return [
        mean_regret(trial, "nsd-adaptive(ordered=True)", runs, seed)
        / mean_regret(trial, "nsd-adaptive", runs, seed)
        for trial in trials
    ]


def blind_ratio(scenario: ft.Scenario, spec: str, runs: int, seed: int) -> float:
    """Return what a policy earns before the first reward over what uniform play does."""
    values = np.array(scenario.law) @ np.array(scenario.theta)
    batch = ft.simulate(scenario, spec, BLIND_ROUNDS, runs, seed, threads=1, progress=False)
    earned = values.max() - batch.final.mean() / BLIND_ROUNDS
    return float(earned / values.mean())


def print_ratios(trials: list[Trial], ratios: dict[str, list[float]]) -> None:
    """Print a table of ratios by world, then their geometric means by kind and over all."""
    print("| world | " + " | ".join(ratios) + " |")
    print("|---|" + "---|" * len(ratios))
    for number, trial in enumerate(trials):
        cells = " | ".join(f"{values[number]:.2f}" for values in ratios.values())
        print(f"| {trial.name} | {cells} |")
    for kind in [*dict.fromkeys(trial.kind for trial in trials), "all"]:
        means = (
            geometric_mean(
                value
                for trial, value in zip(trials, values, strict=True)
                if kind in {trial.kind, "all"}
            )
            for values in ratios.values()
        )
        print(f"| **{kind}** | " + " | ".join(f"{mean:.2f}" for mean in means) + " |")


def tune(runs: int) -> None:
    """Compare looks and sharpness on the development worlds."""
    print_ratios(DEVELOPMENT, against_best_window(DEVELOPMENT, TUNED, runs, seed=11))


def confirm(runs: int) -> None:
    """Run the default on worlds that nothing was tuned on."""
    specs = ["nsd-adaptive"]
    print_ratios(CONFIRMATION, against_best_window(CONFIRMATION, specs, runs, seed=23))


def paper(runs: int) -> None:
    """Run the default on the paper's problem, against the oracle that is given the changes."""
    for delay in BEFORE_LOOKS:
        own, oracle = paper_regret(delay, runs)
        print(f"| {delay} | {own:.1f} | {oracle:.1f} | {own / oracle:.2f} |", flush=True)


def paper_regret(delay: int, runs: int) -> tuple[float, float]:
    """Return the mean regret of the default and of `oracle-psrl` on the paper's problem."""
    trial = Trial("paper", f"paper, D = {delay}", ft.scenario("paper", delay=delay), 8000)
    return mean_regret(trial, "nsd-adaptive", runs, 0), mean_regret(trial, "oracle-psrl", runs, 0)


def order_parts(runs: int) -> dict[str, list[float]]:
    """Return the ratios of declared orders, right and wrong, in the ten ordered worlds."""
    usual, longest = ordered_trials(31), ordered_trials(31, longest_delay=True)
    parts = {
        "right order": usual,
        "right order, D = T / 6": longest,
        "wrong order": [reversed_trial(trial) for trial in usual],
        "wrong order, D = T / 6": [reversed_trial(trial) for trial in longest],
    }
    return {name: order_ratios(trials, runs, seed=37) for name, trials in parts.items()}


def ordered(runs: int) -> None:
    """Measure what the order of signals is worth, and what a wrong one costs."""
    for name, ratios in order_parts(runs).items():
        each = ", ".join(f"{ratio:.2f}" for ratio in ratios)
        print(f"| {name} | {geometric_mean(ratios):.2f} | {each} |", flush=True)


def blind_parts(spec: str, runs: int) -> tuple[list[float], float]:
    """Return what is earned before the first reward over uniform play: 40 problems, the shop."""
    ratios = [blind_ratio(blind_problem(number, 41), spec, runs, 43) for number in range(40)]
    return ratios, blind_ratio(shop(), spec, 5 * runs, 43)


def blind(runs: int) -> None:
    """Measure what is earned before the first reward, against uniform play."""
    for spec in ("nsd-adaptive", "nsd-adaptive(ordered=True)"):
        ratios, here = blind_parts(spec, runs)
        worse = sum(ratio < 1.0 for ratio in ratios)
        print(f"| `{spec}` | {np.mean(ratios):.2f} | {worse} of 40 | {here:.2f} |", flush=True)


def default_policy(runs: int = 40) -> BenchmarkResult:
    """Hold the default against what it must reach, on worlds that nothing was tuned on."""
    result = BenchmarkResult("The default, against the best window in hindsight")
    spec = "nsd-adaptive"
    ratios = against_best_window(CONFIRMATION, [spec], runs, seed=23)[spec]
    for kind, target in KIND_TARGETS.items():
        of_kind = [r for one, r in zip(CONFIRMATION, ratios, strict=True) if one.kind == kind]
        result.at_most(f"{kind}, mean of {len(of_kind)}", geometric_mean(of_kind), target)
        result.add(f"{kind}, largest", f"{max(of_kind):.2f}x", max(of_kind))
    result.at_most(f"all {len(ratios)} worlds", geometric_mean(ratios), 0.8)
    for delay, before in BEFORE_LOOKS.items():
        own, oracle = paper_regret(delay, runs)
        result.at_most(f"the paper's problem, D = {delay}, to before", own / before, 1.05)
        result.add(f"the paper's problem, D = {delay}, to oracle-psrl", f"{own / oracle:.2f}x")
    orders = {name: geometric_mean(part) for name, part in order_parts(runs).items()}
    for (name, found), target in zip(orders.items(), (0.65, 0.3, 2.0, 2.0), strict=True):
        result.at_most(name, found, target)
    problems, here = blind_parts(f"{spec}(ordered=True)", runs)
    result.at_least("before the first reward, over uniform play", float(np.mean(problems)), 1.0)
    result.at_least("before the first reward, over uniform play, in the shop", here, 1.1)
    return result


PARTS = {"tune": tune, "confirm": confirm, "paper": paper, "ordered": ordered, "blind": blind}

if __name__ == "__main__":
    for part in sys.argv[1:2] or PARTS:
        PARTS[part](int(sys.argv[2]) if len(sys.argv) > 2 else 30)
