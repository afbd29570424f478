"""Intervals by resampling runs: the same runs for every policy of a scenario, so that they pair.

A run is one world with its luck, and every policy meets the same. Drawing runs again with
replacement gives what another hundred worlds might have given: means, ratios of means and ranks
move together, and their spread over the draws is their interval.
"""

from __future__ import annotations

import math
import zlib
from typing import TYPE_CHECKING

import numpy as np

from foretell.stats.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from foretell.types import Floats

RESAMPLES = 1000
LEVEL = 0.95


def resampled(regrets: Mapping[str, Floats], seed: int, scenario: str) -> dict[str, Floats]:
    """Return the mean of each (runs,) array over RESAMPLES draws of the runs.

    Which runs are drawn depends on the seed, the scenario and the number of runs alone.
    """
    runs = len(next(iter(regrets.values())))
    rng = np.random.default_rng([seed, zlib.crc32(scenario.encode())])
    weights = rng.multinomial(runs, np.full(runs, 1.0 / runs), RESAMPLES) / runs
    return {name: weights @ regret for name, regret in regrets.items()}


def ratio(one: float, other: float) -> float:
    """Return one / other, +inf where the other vanishes."""
    return one / other if other > 0.0 else math.inf


def ratios(one: Floats, other: Floats) -> Floats:
    """Return one / other of each draw, +inf where the other vanishes."""
    return np.divide(one, other, out=np.full(one.size, math.inf), where=other > 0.0)


def spread(value: float, draws: Floats) -> Estimate:
    """Return a value with the interval of its draws; what is not finite has none."""
    if not math.isfinite(value) or not np.isfinite(draws).all():
        return Estimate(value, math.inf, math.inf)
    low, high = np.quantile(draws, [0.5 - LEVEL / 2, 0.5 + LEVEL / 2])
    return Estimate(value, min(value, float(low)), max(value, float(high)))


def ranks(means: Mapping[str, Floats], names: Sequence[str]) -> dict[str, Floats]:
    """Return the rank of each name in every draw: 1 is the least mean."""
    table = np.stack([means[name] for name in names])
    order = table.argsort(axis=0, kind="stable").argsort(axis=0, kind="stable") + 1.0
    return dict(zip(names, order, strict=True))


def geometric(values: Iterable[Floats]) -> Floats | None:
    """Return the geometric mean of each draw over scenarios, left out those without a number."""
    there = [np.log(one) for one in values if np.isfinite(one).all() and (one > 0.0).all()]
    return np.exp(np.mean(there, axis=0)) if there else None
