"""Scenarios on which nothing was tuned: they judge what the others shaped.

They are nearer to live traffic than those of the paper: hardly anybody clicks, an action improves
while nobody looks, laws come back with the season, and good news takes another time than bad news.
"""

from __future__ import annotations

import itertools

import numpy as np

from foretell.types import Floats
from foretell.worlds.censored import CENSORED_WORLDS
from foretell.worlds.censored import HORIZON as CENSORED_HORIZON
from foretell.worlds.changes import Changes, Stationary, shifts
from foretell.worlds.delays import ByRewardDelay, ConstantDelay, GeometricDelay, LogNormalDelay
from foretell.worlds.drift import interpolation
from foretell.worlds.entries import SuiteEntry
from foretell.worlds.paper import HORIZON, THETA, paper
from foretell.worlds.scenario import Scenario

RISEN = (0.9, 0.05, 0.05)
"""The law of an action that has become the best: its mean is 0.75."""
LEAST, MOST = 0.3, 0.6
"""Between these are the means of all others."""


def held_out() -> tuple[SuiteEntry, ...]:
    """Return every entry on which nothing was tuned."""
    return (
        _sparse(10, 20_000, Stationary(), "the same rates throughout"),
        _sparse(20, 15_000, shifts(at=[8000]), "rates that move on halfway"),
        _sparse(50, 10_000, shifts(at=[6000]), "rates that move on after 6,000 rounds"),
        _riser(3, at=4000, seed=11),
        _riser(20, at=4000, seed=12),
        _riser(4, at=9000, seed=13),
        _riser(12, at=9000, seed=14),
        _sudden_seasons(),
        _smooth_seasons(),
        *_news(),
        *(_censored(name) for name in ("censored-slow", "censored-lognormal")),
    )


def _sparse(actions: int, horizon: int, changes: Changes, what: str) -> SuiteEntry:
    """Return a world in which 1 to 5 % click, and one click in ten is worth something."""
    rates = np.linspace(0.01, 0.05, actions)
    delay = 3000 if actions > 20 else 2000
    return SuiteEntry(
        f"sparse-{actions}",
        Scenario(
            law=np.stack([1.0 - rates, rates], axis=1),
            theta=(0.0, 0.1),
            changes=changes,
            delay=delay,
        ),
        horizon,
        f"{actions} actions with 1 to 5% clicks, of which 10% convert, {what}",
        right_model=True,
        first_rewards=delay,
    )


def _censored(name: str) -> SuiteEntry:
    """Return a world in which only conversions are reported, and whoever waits, waits long."""
    world = CENSORED_WORLDS[name]
    return SuiteEntry(
        name, world.scenario(), CENSORED_HORIZON, world.about, right_model=True, first_rewards=300
    )


def _riser(actions: int, at: int, seed: int) -> SuiteEntry:
    """Return a world in which the worst action becomes the best while it is left alone."""
    usual = _modest_law(actions, np.random.default_rng(seed))
    usual[0] = (0.05, 0.05, 0.9)
    risen = usual.copy()
    risen[0] = RISEN
    late = at > 6000
    return SuiteEntry(
        f"{'late-' if late else ''}riser-{actions}",
        Scenario(segments=[(0, usual), (at, risen)], theta=THETA, delay=300),
        12_000,
        f"the worst of {actions} actions becomes the best {'late' if late else 'after a third'}",
        right_model=True,
        first_rewards=300,
    )


def _modest_law(actions: int, rng: np.random.Generator) -> Floats:
    """Draw rows whose means are neither small nor large."""
    rows: list[Floats] = []
    while len(rows) < actions:
        row = rng.dirichlet([1.0] * len(THETA)).round(4)
        row[-1] = 1.0 - row[:-1].sum()
        if LEAST <= row @ np.array(THETA) <= MOST:
            rows.append(row)
    return np.array(rows)


def _sudden_seasons() -> SuiteEntry:
    """Return a world with three laws that follow each other, again and again."""
    rng = np.random.default_rng(17)
    laws = [rng.dirichlet([1.0] * 4, 6) for _ in range(3)]
    turns = itertools.cycle(laws)
    segments = [(first, next(turns)) for first in range(0, 12_000, 1000)]
    return SuiteEntry(
        "seasons-sudden",
        Scenario(segments=segments, theta=(0.9, 0.6, 0.3, 0.1), delay=400),
        12_000,
        "three laws that come back in turn, each for 1,000 rounds",
        right_model=True,
        first_rewards=400,
    )


def _smooth_seasons() -> SuiteEntry:
    """Return a world that moves from one law to another, and back, and again."""
    rng = np.random.default_rng(19)
    summer, winter = (rng.dirichlet([0.7] * 3, 5) for _ in range(2))
    turns = itertools.cycle([winter, summer])
    stops = [(stop, next(turns).tolist()) for stop in range(2000, 12_000, 2000)]
    return SuiteEntry(
        "seasons-smooth",
        Scenario(law=summer, theta=THETA, changes=interpolation(stops), delay=400),
        12_000,
        "a law that moves to another within 2,000 rounds, and back, without a jump",
        right_model=True,
        first_rewards=400,
    )


def _news() -> tuple[SuiteEntry, SuiteEntry]:
    """Return worlds in which one kind of reward arrives long before the other."""
    soon, window = GeometricDelay(150.0), ConstantDelay(1000)
    slow, quick = LogNormalDelay(median=800.0, sigma=0.5), ConstantDelay(100)
    return (
        SuiteEntry(
            "good-news-first",
            paper(delay=ByRewardDelay(high=soon, low=window)),
            HORIZON,
            "Table 1, but successes are known soon, failures when a window of 1,000 rounds closes",
            right_model=True,
            first_rewards=1000,
        ),
        SuiteEntry(
            "bad-news-first",
            paper(delay=ByRewardDelay(high=slow, low=quick)),
            HORIZON,
            "Table 1, but failures are known after 100 rounds, successes after 800 or so",
            right_model=True,
            first_rewards=800,
        ),
    )
