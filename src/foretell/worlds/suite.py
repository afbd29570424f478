"""The scenarios on which policies are compared, each with its horizon and what it tests.

    >>> suite_entry("besson-1").horizon
    20000

No policy wins on all of them: idle actions that improve, single actions that change, all that
change together, drift, and a model that is wrong pull in different directions. What was looked at
while the default policy was tuned is marked; `held_out` has what was not.
"""

from __future__ import annotations

import dataclasses
from functools import cache

import numpy as np

from foretell.errors import InvalidInput, UnknownName
from foretell.worlds import delays
from foretell.worlds.changes import Changes, Stationary, redraws, shifts
from foretell.worlds.delays import Delay
from foretell.worlds.drift import RandomWalk, random_walk
from foretell.worlds.entries import SuiteEntry
from foretell.worlds.held_out import held_out
from foretell.worlds.paper import HORIZON, THETA, paper, paper_stationary
from foretell.worlds.scenario import Scenario
from foretell.worlds.theta_changes import ThetaChanges, theta_redraws, theta_walk

SHARES = (0.1, 0.3, 0.5)
FAVOURABLE = (0.9, 0.4, 0.2, 0.3)
"""What actions are worth where the signal means nothing: the same order as Table 1's means."""
BAD = (0.1, 0.9, 0.6, 0.6)
"""The best action of Table 1 is the worst here."""

BESSON = (
    ((0.9, 0.5, 0.3), (0.9, 0.2, 0.3), (0.1, 0.2, 0.3), (0.1, 0.7, 0.3), (0.1, 0.7, 0.5)),
    ((0.9, 0.5, 0.4), (0.7, 0.4, 0.5), (0.5, 0.3, 0.6), (0.3, 0.2, 0.7), (0.1, 0.1, 0.8)),
)
"""Means of the three actions in the five segments of both problems of [Besson2022]."""


@cache
def suite() -> tuple[SuiteEntry, ...]:
    """Return every entry of the suite: those that were tuned on first, then the others."""
    return (
        *(dataclasses.replace(entry, tuned_on=True) for entry in _tuned_on()),
        *held_out(),
        *_moving_theta(),
    )


def _tuned_on() -> tuple[SuiteEntry, ...]:
    """Return the scenarios that were looked at while the default was tuned."""
    return (
        *(_paper_entry(delay) for delay in (0, 100, 500, 1000)),
        SuiteEntry(
            "stationary-long",
            paper_stationary(),
            20_000,
            "Table 1 without changes, for long: the price of being ready for changes",
            right_model=True,
            first_rewards=500,
        ),
        _idle_action(),
        SuiteEntry(
            "one-changes",
            _random_law(10, 5, seed=1, changes=redraws(every=1000, count=1)),
            10_000,
            "one of 10 actions, at random, has a new law every 1,000 rounds",
            right_model=True,
            first_rewards=500,
        ),
        SuiteEntry(
            "all-change",
            _random_law(10, 5, seed=2, changes=redraws(every=2000)),
            10_000,
            "all 10 actions have a new law every 2,000 rounds",
            right_model=True,
            first_rewards=500,
        ),
        SuiteEntry(
            "many-signals",
            _random_law(5, 20, seed=3, changes=shifts(every=2500), concentration=0.15),
            10_000,
            "20 signals: the price of estimating a law instead of a mean",
            right_model=True,
            first_rewards=500,
        ),
        SuiteEntry(
            "fast-switching",
            paper(delay=500, changes=shifts(every=250)),
            HORIZON,
            "Table 1 shifted every 250 rounds, twice before the first reward of a law is in",
            right_model=True,
            first_rewards=500,
        ),
        SuiteEntry(
            "slow-drift",
            _random_law(5, 3, seed=4, changes=random_walk(spread=0.15, every=100)),
            10_000,
            "laws that walk at random without a single jump",
            right_model=True,
            first_rewards=500,
        ),
        SuiteEntry(
            "heavy-delays",
            paper(delay=delays.ParetoDelay(shape=1.1, scale=300.0, lost=0.05)),
            HORIZON,
            "Table 1 with heavy-tailed delays; one reward in twenty never comes",
            right_model=True,
            first_rewards=263,  # the median delay
        ),
        SuiteEntry(
            "many-actions",
            _random_law(100, 5, seed=5, changes=redraws(every=4000)),
            8_000,
            "100 actions, all with a new law after 4,000 rounds",
            right_model=True,
            first_rewards=500,
        ),
        *(_mixture(alpha, "favourable", FAVOURABLE) for alpha in SHARES),
        *(_mixture(alpha, "bad", BAD) for alpha in SHARES),
        *(_besson(number) for number in (1, 2)),
    )


def suite_entry(name: str) -> SuiteEntry:
    """Return one entry by its name."""
    entries = {entry.name: entry for entry in suite()}
    if name not in entries:
        raise UnknownName.of("entry of the suite", name, entries)
    return entries[name]


def random_entries(count: int, seed: int) -> tuple[SuiteEntry, ...]:
    """Draw problems: 2 to 20 actions, 2 to 10 signals, random laws, changes and delays.

    >>> [entry.name for entry in random_entries(2, seed=0)]
    ['random-0-0', 'random-0-1']
    """
    if count < 0:
        raise InvalidInput(f"the number of random problems must be at least 0, got {count}")
    return tuple(_random_entry(number, seed) for number in range(count))


def _paper_entry(delay: int) -> SuiteEntry:
    return SuiteEntry(
        f"paper-d{delay}",
        paper(delay=delay),
        HORIZON,
        f"the paper's problem: Table 1 with three shifts and a delay of {delay}",
        right_model=True,
        first_rewards=delay,
    )


def _idle_action() -> SuiteEntry:
    usual = ((0.6, 0.2, 0.2), (0.4, 0.3, 0.3), (0.3, 0.3, 0.4), (0.1, 0.1, 0.8))
    improved = (*usual[:3], (0.9, 0.05, 0.05))
    segments = ((0, usual), (4000, improved), (8000, usual))
    return SuiteEntry(
        "idle-improves",
        Scenario(segments=segments, theta=THETA, delay=300),
        12_000,
        "the worst action, long left alone, becomes the best, and later collapses",
        right_model=True,
        first_rewards=300,
    )


def _mixture(alpha: float, kind: str, mu: tuple[float, ...]) -> SuiteEntry:
    return SuiteEntry(
        f"{kind}-{round(100 * alpha)}",
        paper(delay=500, alpha=alpha, mu=mu),
        HORIZON,
        f"Table 1, but in {alpha:.0%} of rounds the signal means nothing, "
        + ("and the best action is still the best" if kind == "favourable" else "to mislead"),
        right_model=False,
        first_rewards=500,
    )


def _besson(number: int) -> SuiteEntry:
    horizon = 20_000
    length = horizon // 5
    segments = tuple(
        (index * length, tuple((mean, round(1.0 - mean, 10)) for mean in means))
        for index, means in enumerate(BESSON[number - 1])
    )
    kind = "one action at a time changes" if number == 1 else "all actions change together"
    return SuiteEntry(
        f"besson-{number}",
        Scenario(segments=segments, theta=(1.0, 0.0), delay=0),
        horizon,
        f"Problem {number} of Besson et al.: {kind}, and the signal is the reward",
        right_model=True,
        first_rewards=0,
    )


def _moving_theta() -> tuple[SuiteEntry, ...]:
    """Return scenarios in which the meaning of signals moves, while actions mean nothing more."""
    worlds: tuple[tuple[str, Changes, ThetaChanges, str], ...] = (
        (
            "theta-changes",
            Stationary(),
            theta_redraws(every=3000),
            "laws stay, and all 4 signals have a new mean every 3,000 rounds",
        ),
        (
            "theta-one-changes",
            redraws(every=4000),
            theta_redraws(every=3000, count=1),
            "new laws every 4,000 rounds, and one signal has a new mean every 3,000",
        ),
        (
            "theta-drifts",
            Stationary(),
            theta_walk(spread=0.15, every=100),
            "laws stay, and the mean of every signal walks at random",
        ),
    )
    return tuple(
        SuiteEntry(
            name,
            dataclasses.replace(
                _random_law(6, 4, seed=seed, changes=changes),
                theta_changes=theta_changes,
                delay=300,
            ),
            12_000,
            tests,
            right_model=False,
            first_rewards=300,
        )
        for seed, (name, changes, theta_changes, tests) in enumerate(worlds, start=6)
    )


def _random_law(
    actions: int, signals: int, seed: int, changes: Changes, concentration: float = 1.0
) -> Scenario:
    """Draw rows from a symmetric Dirichlet; theta falls evenly from 0.9 to 0.1."""
    rng = np.random.default_rng(seed)
    law = rng.dirichlet([concentration] * signals, actions)
    theta = np.linspace(0.9, 0.1, signals).round(4)
    return Scenario(law=law, theta=theta, changes=changes, delay=500)


def _random_entry(number: int, seed: int) -> SuiteEntry:
    rng = np.random.default_rng([seed, number])
    horizon = int(rng.choice([5000, 8000, 12_000]))
    actions, signals = int(rng.integers(2, 21)), int(rng.integers(2, 11))
    changes, pattern = _random_changes(horizon, rng)
    delay, first = _random_delay(rng)
    scenario = Scenario(
        law=rng.dirichlet([float(rng.choice([0.3, 1.0]))] * signals, actions),
        theta=rng.random(signals).round(4),
        changes=changes,
        delay=delay,
    )
    return SuiteEntry(
        f"random-{seed}-{number}",
        scenario,
        horizon,
        f"{actions} actions, {signals} signals, {pattern}, delay around {first}",
        right_model=True,
        first_rewards=first,
    )


def _random_changes(horizon: int, rng: np.random.Generator) -> tuple[Changes, str]:
    every = int(rng.choice([500, 1000, 2000, 4000]))
    kind = int(rng.integers(6))
    if kind == 0:
        return Stationary(), "no change"
    if kind == 1:
        return shifts(every=every), f"shifts every {every} rounds"
    if kind == 2:
        return redraws(every=every), f"new laws every {every} rounds"
    if kind == 3:
        return redraws(every=every, count=1), f"one new law every {every} rounds"
    if kind == 4:
        at = sorted({int(r) for r in rng.integers(1, horizon, int(rng.integers(1, 6)))})
        return redraws(at=at), f"new laws at {len(at)} random rounds"
    return RandomWalk(spread=float(rng.choice([0.05, 0.1, 0.2])), every=100), "drift"


def _random_delay(rng: np.random.Generator) -> tuple[Delay, int]:
    rounds = int(rng.choice([0, 50, 200, 500, 1000]))
    kind = int(rng.integers(4)) if rounds else 0
    if kind == 1:
        return delays.GeometricDelay(average=float(rounds)), rounds
    if kind == 2:
        return delays.LogNormalDelay(median=float(rounds), sigma=1.0), rounds
    if kind == 3:
        return delays.UniformDelay(low=0, high=2 * rounds), rounds
    return delays.ConstantDelay(rounds), rounds
