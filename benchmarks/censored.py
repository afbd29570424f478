"""What correcting for silence gains where only conversions are reported: prints a table.

`python -m benchmarks censored` holds the oracle that is given the changes against its targets;
`python -m benchmarks.censored [--laws 20] [--runs 5]` prints all. Every world is drawn with `laws`
pairs of laws, each played `runs` times, by that oracle and by the default. Regret is divided by
that of the same policy with every outcome at once.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import foretell as ft
from benchmarks.measure import BenchmarkResult
from foretell.policies.parts.delay_fit import fit_delays, theta_estimate
from foretell.policies.registry import policy, start
from foretell.policies.verbs import (
    CLOSED,
    OPEN,
    SILENT,
    credit,
    elapse,
    observe,
    play,
    unwait,
    wait,
)
from foretell.types import Floats
from foretell.worlds.censored import CENSORED_WORLDS, HORIZON, CensoredWorld

LOOK = 5000
"""The round at which theta is looked at."""
DECLARED = {"declared right": 1.0, "declared half": 0.5}
NEAR = {"censored": (0.9, 1.1), "censored-slow": (0.9, 1.1)}
"""Where theta of the slow signal must be within 10 % of the truth; elsewhere within FARTHEST."""
FARTHEST = (0.7, 1.4)
MOST_REGRET = {"censored-gamma": 2.2}
"""Regret over that of outcomes at once where the delays are of another shape; elsewhere 1.6."""


class Row(NamedTuple):
    """One world, one policy, one declared delay."""

    world: str
    declared: str
    policy: str
    theta: Floats
    """(signals,): the mean of the estimate of theta at the look, divided by theta."""
    at_once: float
    """Regret with every outcome at once."""
    corrected: float
    waiting: float
    """Regret of waiting for the window."""

    def __str__(self) -> str:
        """Print as a line of a table."""
        ratios = " ".join(f"{ratio:5.2f}" for ratio in self.theta)
        return (
            f"| {self.world:18} | {self.declared:14} | {self.policy:12} | {ratios} "
            f"| {self.at_once:7.1f} | {self.corrected / self.at_once:5.2f} "
            f"| {self.waiting / self.at_once:5.2f} |"
        )


HEAD = (
    "| world | typical delay | policy | theta at round 5,000 by signal | regret at once "
    "| corrected | waiting |\n|---|---|---|---|---|---|---|"
)


def corrected_spec(name: str, world: CensoredWorld, factor: float) -> str:
    """Return a policy that corrects for silence, with the mean delays times a factor declared."""
    typical = tuple(round(factor * mean, 1) for mean in world.mean_delays)
    return f"{name}(censored=True, typical_delay={typical})"


def theta_ratios(
    world: CensoredWorld, spec: str, seed: int, look: int = LOOK, player: str | None = None
) -> Floats:
    """Return what a policy believes of theta at a round, divided by theta.

    It plays by itself, or looks on while `player` does.
    """
    scenario = world.scenario(seed)
    scenario = dataclasses.replace(scenario, law=scenario.segments[0][1], segments=())
    batch = ft.simulate(
        scenario,
        player or spec,
        horizon=look,
        runs=1,
        seed=seed,
        trajectories=True,
        compiled=player is None,
    )
    state = replayed(spec, scenario, batch.trajectories)
    inner = state
    while not hasattr(inner, "theta"):
        inner = inner[0]
    fit_delays(inner.open, inner.theta)
    found = [theta_estimate(inner.theta, inner.open, s) for s in range(scenario.signals)]
    return np.array(found) / scenario.theta


def replayed(spec: str, scenario: ft.Scenario, seen: Any) -> Any:
    """Return the state of a policy after the rounds of a trajectory, chosen by somebody else."""
    window = scenario.reward_window or 0
    actions, signals = seen.actions[0].tolist(), seen.signals[0].tolist()
    rewards, delays = seen.rewards[0].tolist(), seen.delays[0].tolist()
    state = start(policy(spec), scenario.problem(len(actions)))
    due: dict[int, list[int]] = {}
    for t, (action, signal) in enumerate(zip(actions, signals, strict=True)):
        play(state, t, action)
        observe(state, t, action, signal)
        elapse(state, t)
        wait(state, t, signal, SILENT, 0.0, OPEN)
        if rewards[t] > 0 and 0 <= delays[t] < window:
            due.setdefault(t + delays[t], []).append(t)
        for made in due.pop(t, []):
            unwait(state, made, signals[made], SILENT, 0.0, OPEN)
            wait(state, made, signals[made], delays[made], rewards[made], OPEN)
        made = t - window
        if made >= 0:
            came = rewards[made] > 0 and 0 <= delays[made] < window
            delay, reward = (delays[made], rewards[made]) if came else (SILENT, 0.0)
            unwait(state, made, signals[made], delay, reward, OPEN)
            if came:
                wait(state, made, signals[made], delay, reward, CLOSED)
            credit(state, made, actions[made], signals[made], reward)
    return state


def rows(laws: int, runs: int, policies: tuple[str, ...]) -> Iterator[Row]:
    """Measure every world."""
    for name, world in CENSORED_WORLDS.items():
        for plain in policies:
            at_once = _regret(world, plain, laws, runs, at_once=True)
            waiting = _regret(world, plain, laws, runs)
            for declared, factor in DECLARED.items():
                spec = corrected_spec(plain, world, factor)
                ratios = np.mean([theta_ratios(world, spec, seed) for seed in range(laws)], axis=0)
                corrected = _regret(world, spec, laws, runs)
                yield Row(name, declared, plain, ratios, at_once, corrected, waiting)


def _regret(
    world: CensoredWorld, spec: str, laws: int, runs: int, *, at_once: bool = False
) -> float:
    finals = [
        ft.simulate(
            world.scenario(seed, at_once=at_once),
            spec,
            HORIZON,
            runs=runs,
            seed=seed,
            progress=False,
        ).final.mean()
        for seed in range(laws)
    ]
    return float(np.mean(finals))


def censored(laws: int = 20, runs: int = 5) -> BenchmarkResult:
    """Hold what is learned from conversions alone against what it must reach."""
    result = BenchmarkResult("Only conversions are reported, to every outcome at once")
    for row in rows(laws, runs, ("oracle-psrl", "nsd-adaptive")):
        what = f"{row.world}, {row.declared}, {row.policy}"
        slow, regret = float(row.theta[-1]), row.corrected / row.at_once
        if row.declared != "declared right" or row.policy != "oracle-psrl":
            result.add(what, f"theta {slow:.2f}, regret {regret:.2f}x")
            continue
        low, high = NEAR.get(row.world, FARTHEST)
        result.must(f"{what}: theta", f"{slow:.2f}", f"{low} to {high}", met=low <= slow <= high)
        result.at_most(f"{what}: regret", regret, MOST_REGRET.get(row.world, 1.6))
    return result


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--laws", type=int, default=20)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--policies", nargs="+", default=["oracle-psrl", "nsd-adaptive"])
    asked = parser.parse_args()
    print(HEAD)
    for row in rows(asked.laws, asked.runs, tuple(asked.policies)):
        print(row, flush=True)
