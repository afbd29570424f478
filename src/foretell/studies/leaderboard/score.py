"""From cells to scores: ratios to the best window in hindsight and to the oracles, and ranks.

The yardstick of a scenario is the best of the paper's fixed-window policies. It is cross-fitted:
the window is chosen on one half of the runs and its regret is taken on the other half, both ways,
so that the yardstick is not flattered by its own luck. A ratio is that of two mean regrets in the
same worlds. Every interval is a paired bootstrap over runs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from foretell.errors import InvalidInput
from foretell.stats.estimate import Estimate
from foretell.studies.leaderboard.bootstrap import ranks, ratio, ratios, resampled, spread

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from foretell.sim import Batch
    from foretell.types import Floats

LEAST_RUNS = 4
ORACLES = ("oracle-psrl", "oracle-nsd")
WINDOW = "window"
"""What the yardstick is called among the policies."""


@dataclass(frozen=True, eq=False)
class Yardstick:
    """The best fixed window in hindsight: its regret in every run, and which one each half has."""

    regret: Floats
    chosen: tuple[str, str]


def cross_fitted(family: Mapping[str, Floats]) -> Yardstick:
    """Choose the best member on the even runs and take its regret on the odd ones; and back.

    >>> family = {"a": np.array([1.0, 2.0, 1.0, 2.0]), "b": np.array([2.0, 1.0, 2.0, 1.0])}
    >>> cross_fitted(family).regret.tolist()
    [2.0, 2.0, 2.0, 2.0]
    """
    runs = len(next(iter(family.values())))
    if runs < LEAST_RUNS:
        raise InvalidInput(
            f"a leaderboard needs at least {LEAST_RUNS} runs, got {runs}: half of them choose "
            f"the window, the others measure it"
        )
    even = np.arange(runs) % 2 == 0
    regret = np.empty(runs)
    chosen = []
    for half in (even, ~even):
        best = min(family, key=lambda name: float(family[name][~half].mean()))
        regret[half] = family[best][half]
        chosen.append(best)
    return Yardstick(regret, (chosen[0], chosen[1]))


@dataclass(frozen=True, eq=False)
class Scored:
    """What a scenario came to: plain data, and the draws that the summary is made of."""

    yardsticks: dict[str, Any]
    scores: dict[str, dict[str, Any]]
    draws: dict[str, dict[str, Floats]]
    """By kind of number, then by policy: its value in every resample."""


def scored(
    batches: Mapping[str, Batch],
    family: Mapping[str, Batch],
    ranked: Sequence[str],
    seed: int,
    scenario: str,
) -> Scored:
    """Score every policy in one scenario."""
    yardsticks: dict[str, Any] = {}
    draws: dict[str, dict[str, Floats]] = {}
    scores: dict[str, dict[str, Any]] = {
        name: {"spec": str(batch.spec)} for name, batch in batches.items()
    }
    for part, regret_of in (("regret", total_regret), ("late", late_regret)):
        regrets = {name: regret_of(batch) for name, batch in batches.items()}
        yardstick = cross_fitted({name: regret_of(batch) for name, batch in family.items()})
        regrets[WINDOW] = yardstick.regret
        means = resampled(regrets, seed, scenario)
        yardsticks[part] = plain(spread(float(yardstick.regret.mean()), means[WINDOW]))
        yardsticks[f"{part}_windows"] = list(yardstick.chosen)
        for name in batches:
            scores[name][part] = plain(spread(float(regrets[name].mean()), means[name]))
        for other in (WINDOW, *(one for one in ORACLES if one in batches)):
            kind = f"{part}_to_{other}"
            draws[kind] = {name: ratios(means[name], means[other]) for name in batches}
            for name in batches:
                value = ratio(float(regrets[name].mean()), float(regrets[other].mean()))
                scores[name][kind] = plain(spread(value, draws[kind][name]))
        if part == "regret":
            draws["rank"] = ranks(means, ranked)
            order = sorted(ranked, key=lambda name: float(regrets[name].mean()))
            for rank, name in enumerate(order, start=1):
                found = spread(float(rank), draws["rank"][name])
                scores[name]["rank"] = [rank, math.floor(found.low), math.ceil(found.high)]
    return Scored(yardsticks, scores, draws)


def total_regret(batch: Batch) -> Floats:
    """(runs,): the regret at the end."""
    return batch.final


def late_regret(batch: Batch) -> Floats:
    """(runs,): the part of it after the first checkpoint, all of it where there is only one."""
    return batch.final - batch.regret[:, 0] if len(batch.rounds) > 1 else batch.final


def plain(number: Estimate) -> list[float | None]:
    """Return mean, low and high with five digits, None where there is no number."""
    return [float(f"{value:.5g}") if math.isfinite(value) else None for value in number]


def geometric_mean(values: Iterable[float | None]) -> float | None:
    """Return the geometric mean of what is there, None where nothing is."""
    there = [value for value in values if value is not None and value > 0.0]
    if not there:
        return None
    return float(f"{math.exp(sum(map(math.log, there)) / len(there)):.5g}")


def window_ratios(scores: dict[str, dict[str, Any]]) -> dict[str, float | None]:
    """Return the ratio of each score to the best window in hindsight."""
    return {name: score["regret_to_window"][0] for name, score in scores.items()}
