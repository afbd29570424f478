"""Worlds in which the default policy is tuned and confirmed; no other study uses them.

Those of DEVELOPMENT were looked at while `idle` and `sharpness` of `nsd-psrl-cp` were chosen,
those of CONFIRMATION have other laws, sizes and seeds, and were run once, afterwards.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import foretell as ft
from foretell.types import Floats
from foretell.worlds.changes import Changes

LEAST_SPREAD = 0.4
"""Theta differs by so much at least, or there is little to learn."""


class Trial(NamedTuple):
    """One world, what kind it is of, and how long it is played."""

    kind: str
    name: str
    scenario: ft.Scenario
    horizon: int


def trials(seed: int, sizes: dict[str, list[tuple[int, int, int, int]]]) -> list[Trial]:
    """Draw the worlds of `sizes`: by kind, the actions, signals, horizon and delay of each."""
    found: list[Trial] = []
    for kind, rows in sizes.items():
        for number, (actions, signals, horizon, delay) in enumerate(rows):
            rng = np.random.default_rng([seed, len(found), number])
            scenario = _scenario(kind, actions, signals, horizon, delay, rng)
            found.append(Trial(kind, f"{kind}, K = {actions}, D = {delay}", scenario, horizon))
    return found


def ordered_trials(seed: int, *, longest_delay: bool = False) -> list[Trial]:
    """Draw ten worlds whose theta rises; with `longest_delay` all rewards wait T / 6 rounds."""
    found = []
    kinds = ["stationary", "shifts", "redraws", "one redrawn", "stationary"]
    for number in range(10):
        rng = np.random.default_rng([seed, number])
        actions, signals = int(rng.integers(3, 13)), int(rng.integers(3, 7))
        horizon = 6000
        delay = horizon // 6 if longest_delay else int(rng.choice([100, 300, 500]))
        kind = kinds[number % len(kinds)]
        scenario = _scenario(kind, actions, signals, horizon, delay, rng)
        theta = tuple(sorted(scenario.theta))
        found.append(Trial(kind, f"ordered-{number}", _with_theta(scenario, theta), horizon))
    return found


def reversed_trial(trial: Trial) -> Trial:
    """Return the same world with its signals listed strongest first: a wrong order."""
    scenario = trial.scenario
    law = np.array(scenario.law)[:, ::-1]
    changed = ft.Scenario(
        law=law, theta=scenario.theta[::-1], changes=scenario.changes, delay=scenario.delay
    )
    return trial._replace(scenario=changed)


def shop(delay: int = 1500) -> ft.Scenario:
    """Six books; downloads pay, clicks hardly, and rewards take a week."""
    download = np.array([0.05, 0.12, 0.20, 0.26, 0.33, 0.40])
    click = np.minimum(2 * download, 1 - download)
    law = np.column_stack([1 - click - download, click, download])
    return ft.Scenario(law=law, theta=(0.0, 0.02, 0.6), delay=delay)


def blind_problem(number: int, seed: int) -> ft.Scenario:
    """Draw a problem with rising theta whose rewards never come."""
    rng = np.random.default_rng([seed, number])
    actions, signals = int(rng.integers(3, 13)), int(rng.integers(2, 7))
    law = rng.dirichlet(np.ones(signals), actions)
    return ft.Scenario(law=law, theta=np.sort(rng.random(signals)), delay=ft.delays.NeverDelay())


def _with_theta(scenario: ft.Scenario, theta: tuple[float, ...]) -> ft.Scenario:
    return ft.Scenario(
        law=scenario.law, theta=theta, changes=scenario.changes, delay=scenario.delay
    )


def _scenario(
    kind: str, actions: int, signals: int, horizon: int, delay: int, rng: np.random.Generator
) -> ft.Scenario:
    theta = rng.random(signals)
    while np.ptp(theta) < LEAST_SPREAD:
        theta = rng.random(signals)
    if kind in {"riser", "late riser"}:
        share = 0.4 if kind == "riser" else 0.7
        return _riser(theta, actions, round(share * horizon), delay, rng)
    law = rng.dirichlet(np.ones(signals), actions)
    return ft.Scenario(law=law, theta=theta, changes=_changes(kind, horizon), delay=delay)


def _changes(kind: str, horizon: int) -> Changes:
    if kind == "shifts":
        return ft.shifts(every=horizon // 4)
    if kind == "fast shifts":
        return ft.shifts(every=horizon // 20)
    if kind == "redraws":
        return ft.redraws(every=horizon // 4)
    if kind == "one redrawn":
        return ft.redraws(every=horizon // 9, count=1)
    if kind == "drift":
        return ft.random_walk(0.15, every=100)
    return ft.shifts(hazard=0.0)


def _riser(
    theta: Floats, actions: int, at: int, delay: int, rng: np.random.Generator
) -> ft.Scenario:
    """Draw laws of which the worst becomes the best by 0.06 to 0.48 in round `at`."""
    signals = theta.size
    while True:
        law = rng.dirichlet(np.ones(signals), actions)
        values = law @ theta
        room = theta.max() - values.max()
        if room >= 0.1 and np.ptp(values) > 0.15:
            break
    gap = min(0.3, max(0.1, 0.8 * room))
    while True:
        risen = rng.dirichlet(np.ones(signals))
        if 0.6 * gap <= risen @ theta - values.max() <= 1.6 * gap:
            break
    after = law.copy()
    after[values.argmin()] = risen
    return ft.Scenario(segments=[(0, law), (at, after)], theta=theta, delay=delay)


DEVELOPMENT = trials(
    100,
    {
        "riser": [(3, 3, 8000, 200), (5, 4, 8000, 500), (8, 3, 12_000, 100), (20, 5, 12_000, 200)],
        "late riser": [(4, 3, 8000, 200), (15, 4, 12_000, 300)],
        "stationary": [(3, 3, 10_000, 100), (10, 5, 10_000, 500), (50, 5, 10_000, 200)],
        "redraws": [(6, 4, 10_000, 200)],
        "one redrawn": [(15, 6, 12_000, 500)],
        "shifts": [(5, 3, 8000, 0)],
        "fast shifts": [(4, 3, 8000, 300)],
        "drift": [(5, 4, 10_000, 200)],
    },
)
CONFIRMATION = trials(
    2000,
    {
        "riser": [
            (3, 4, 10_000, 100),
            (4, 3, 8000, 300),
            (6, 5, 10_000, 0),
            (10, 4, 12_000, 200),
            (14, 3, 10_000, 500),
            (20, 4, 12_000, 300),
        ],
        "late riser": [(3, 3, 8000, 100), (7, 4, 10_000, 200), (12, 5, 12_000, 300)],
        "stationary": [
            (4, 4, 10_000, 200),
            (6, 3, 8000, 0),
            (12, 5, 10_000, 300),
            (25, 4, 12_000, 500),
            (50, 3, 10_000, 100),
        ],
        "redraws": [(4, 3, 8000, 100), (9, 5, 12_000, 500)],
        "one redrawn": [(5, 3, 10_000, 200), (12, 4, 12_000, 300)],
        "shifts": [(4, 4, 8000, 500), (8, 5, 10_000, 100)],
        "fast shifts": [(5, 4, 8000, 200), (3, 3, 8000, 0)],
        "drift": [(4, 3, 10_000, 300), (8, 5, 10_000, 100)],
    },
)
