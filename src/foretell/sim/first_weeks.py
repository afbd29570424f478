"""The first weeks of a campaign that does not exist yet: a policy in imagined worlds like it.

What actions are worth is made up: laws in which silence is common, and signals that are worth more
the later they stand in the list. So the pace can be trusted, not the height. It runs without a
compiler, in a few seconds, so the decisions are few: with more traffic a policy learns sooner.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from foretell.policies.spec import Spec
from foretell.sim.simulate import simulate
from foretell.worlds.scenario import Scenario

WORLDS = 6
MOST_DECISIONS, FEW_DECISIONS = 1200, 300
"""Decisions that are simulated at most, of a small problem and of a large one."""
SMALL = 24
"""Actions times signals up to which a problem is small."""
PARTS = 8
"""Parts of the time for which a number is told."""


class FirstWeeks(NamedTuple):
    """What is earned against an even split: 0.2 is a fifth more."""

    until: list[float]
    """For each part of the time, its end as a share of the whole."""
    low: list[float]
    middle: list[float]
    high: list[float]
    """Over the imagined worlds: the second lowest, the middle, the second highest."""
    decisions: int
    """How many decisions were simulated in each world."""


def first_weeks(
    spec: Spec, actions: int, signals: int, decisions: int, window: float, seed: int = 0
) -> FirstWeeks:
    """Simulate the first decisions; `window` is the reward window as a share of their time."""
    most = MOST_DECISIONS if actions * signals <= SMALL else FEW_DECISIONS
    rounds = max(PARTS, min(decisions, most))
    ends = np.linspace(0, rounds, PARTS + 1).astype(int)[1:]
    rng = np.random.default_rng(seed)
    gains = []
    for world in range(WORLDS):
        scenario = _imagined(actions, signals, max(1, round(window * rounds)), rng)
        values = np.array(scenario.law) @ np.array(scenario.theta)
        played = simulate(
            scenario,
            spec,
            horizon=rounds,
            runs=1,
            seed=seed + world,
            threads=1,
            checkpoints=[int(end) - 1 for end in ends],
            progress=False,
            compiled=False,
        )
        regret = np.diff(played.regret[0], prepend=0.0)
        length = np.diff(ends, prepend=0)
        gains.append((values.max() * length - regret) / (values.mean() * length) - 1.0)
    ranked = np.sort(np.array(gains), axis=0)
    return FirstWeeks(
        (ends / rounds).tolist(),
        ranked[1].tolist(),
        np.median(ranked, axis=0).tolist(),
        ranked[-2].tolist(),
        rounds,
    )


def _imagined(actions: int, signals: int, delay: int, rng: np.random.Generator) -> Scenario:
    """Return a world: silence is the commonest signal, and later signals are worth more."""
    common = np.concatenate([[6.0], np.full(signals - 1, 2.0)])
    law = rng.dirichlet(common, actions)
    theta = np.concatenate([[0.01], np.sort(rng.uniform(0.05, 0.8, signals - 1))])
    return Scenario(law=law, theta=theta, delay=delay)
