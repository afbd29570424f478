"""Worlds in which only conversions are ever reported, and the signal that pays most is slow.

Six actions, three signals, theta (0.05, 0.3, 0.7); the laws of all actions change halfway.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from foretell.worlds.delays import Delay, GammaDelay, GeometricDelay, LogNormalDelay
from foretell.worlds.scenario import Scenario

HORIZON = 20_000
ACTIONS = 6
THETA = (0.05, 0.3, 0.7)
PRIOR = (3.0, 1.0, 1.0)
"""The Dirichlet law that rows are drawn from: the signal that pays least is the most frequent."""


class CensoredWorld(NamedTuple):
    """How long conversions take, and when a decision without one is closed."""

    about: str
    delays: tuple[Delay, ...]
    """One for each signal."""
    window: int
    theta: tuple[float, ...] = THETA

    def scenario(self, seed: int = 0, *, at_once: bool = False) -> Scenario:
        """Return a scenario with laws drawn from a seed; `at_once` has neither delay nor window."""
        rng = np.random.default_rng(seed)
        laws = rng.dirichlet(PRIOR, (2, ACTIONS))
        segments = [(0, laws[0]), (HORIZON // 2, laws[1])]
        if at_once:
            return Scenario(segments=segments, theta=self.theta)
        return Scenario(
            segments=segments,
            theta=self.theta,
            delay=self.delays,
            censored=True,
            reward_window=self.window,
        )

    @property
    def mean_delays(self) -> tuple[float, ...]:
        """The mean delay of each signal, in rounds."""
        return tuple(delay.mean() for delay in self.delays)


_SLOW_TOP = tuple(GeometricDelay(mean) for mean in (300.0, 800.0, 3000.0))

CENSORED_WORLDS: dict[str, CensoredWorld] = {
    "censored": CensoredWorld(
        "only conversions are reported, after 800 rounds on average",
        (GeometricDelay(800.0),) * 3,
        4000,
    ),
    "censored-slow": CensoredWorld(
        "only conversions are reported, and the best signal converts ten times slower",
        _SLOW_TOP,
        8000,
    ),
    "censored-sparse": CensoredWorld(
        "the same with a tenth of the conversions",
        _SLOW_TOP,
        8000,
        tuple(round(0.1 * mean, 3) for mean in THETA),
    ),
    "censored-gamma": CensoredWorld(
        "only conversions are reported, and none comes at once: gamma delays",
        tuple(GammaDelay(mean, 2) for mean in (800.0, 800.0, 2400.0)),
        8000,
    ),
    "censored-lognormal": CensoredWorld(
        "only conversions are reported, and a few come very late: log-normal delays",
        tuple(LogNormalDelay(median, 1.0) for median in (500.0, 500.0, 1500.0)),
        8000,
    ),
}
"""Policies fit exponential delays: the last two worlds have others."""
