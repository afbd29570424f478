"""From cells to scores: ratios to the best window in hindsight and to the oracles, and ranks.

The yardstick of a scenario is the best of the paper's fixed-window policies. It is cross-fitted:
the window is chosen on one half of the runs and its regret is taken on the other half, both ways,
so that the yardstick is not flattered by its own luck. A ratio is that of two mean regrets in the
same worlds; its interval is over runs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from foretell.errors import InvalidInput
from foretell.policies import entry as entry_of
from foretell.stats.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from foretell.sim import Batch
    from foretell.studies.leaderboard.contest import Contest
    from foretell.types import Floats

LEAST_RUNS = 4
ORACLES = ("oracle-psrl", "oracle-nsd")


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


def ratio(one: Floats, other: Floats) -> Estimate:
    """Return mean(one) / mean(other) of paired runs, its interval by linearisation."""
    base = float(other.mean())
    if base <= 0.0:
        return Estimate(math.inf, math.inf, math.inf)
    value = float(one.mean()) / base
    spread = Estimate.of((one - value * other) / base)
    return Estimate(value, value + spread.low, value + spread.high)


def scored(
    batches: Mapping[str, Batch], family: Mapping[str, Batch], ranked: Iterable[str]
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Return the yardsticks of one scenario and the scores of every policy in it, as plain data."""
    order = sorted(ranked, key=lambda name: float(batches[name].final.mean()))
    yardsticks: dict[str, Any] = {}
    scores: dict[str, dict[str, Any]] = {
        name: {"spec": str(batch.spec)} for name, batch in batches.items()
    }
    for part, regret_of in (("regret", total_regret), ("late", late_regret)):
        regrets = {name: regret_of(batch) for name, batch in batches.items()}
        yardstick = cross_fitted({name: regret_of(batch) for name, batch in family.items()})
        yardsticks[part] = plain(Estimate.of(yardstick.regret))
        yardsticks[f"{part}_windows"] = list(yardstick.chosen)
        for name, regret in regrets.items():
            score = scores[name]
            score[part] = plain(Estimate.of(regret))
            score[f"{part}_to_window"] = plain(ratio(regret, yardstick.regret))
            for oracle in ORACLES:
                if oracle in regrets:
                    score[f"{part}_to_{oracle}"] = plain(ratio(regret, regrets[oracle]))
    for rank, name in enumerate(order, start=1):
        scores[name]["rank"] = rank
    return yardsticks, scores


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


def summary_rows(main: list[Contest], drawn: list[Contest]) -> list[dict[str, Any]]:
    """Return one row per policy, the best all-rounder first, oracles last."""
    rows = []
    for name, spec in (main or drawn)[0].entrants.items():
        by_scenario = {contest.entry.name: contest.scores[name] for contest in main}
        ratios = window_ratios(by_scenario)
        right = [contest.entry.name for contest in main if contest.entry.right_model]
        wrong = [contest.entry.name for contest in main if not contest.entry.right_model]
        ranks = [score["rank"] for score in by_scenario.values() if "rank" in score]
        at_random = [contest.scores[name]["regret_to_window"][0] for contest in drawn]
        known = entry_of(spec)
        worst = max(ratios, key=lambda n: ratios[n] or 0.0) if ratios else None
        rows.append(
            {
                "policy": name,
                "needs": list(known.needs),
                "lab_only": known.lab_only,
                "ratio": geometric_mean(ratios.values()),
                "ratio_right_model": geometric_mean(ratios[n] for n in right),
                "ratio_wrong_model": geometric_mean(ratios[n] for n in wrong),
                "late_ratio": geometric_mean(
                    score["late_to_window"][0] for score in by_scenario.values()
                ),
                "to_oracle-psrl": _mean_of(by_scenario, "regret_to_oracle-psrl"),
                "to_oracle-nsd": _mean_of(by_scenario, "regret_to_oracle-nsd"),
                "random": geometric_mean(at_random),
                "random_beats_window": _share_below_one(at_random),
                "worst": ratios[worst] if worst else None,
                "worst_scenario": worst,
                "mean_rank": round(sum(ranks) / len(ranks), 2) if ranks else None,
                "wins": sum(rank == 1 for rank in ranks),
            }
        )
    return sorted(rows, key=lambda row: (row["lab_only"], row["ratio"] or row["random"] or 0.0))


def _mean_of(scores: dict[str, dict[str, Any]], part: str) -> float | None:
    return geometric_mean(score[part][0] for score in scores.values() if part in score)


def _share_below_one(ratios: list[float | None]) -> float | None:
    there = [one for one in ratios if one is not None]
    return round(sum(one < 1.0 for one in there) / len(there), 3) if there else None
