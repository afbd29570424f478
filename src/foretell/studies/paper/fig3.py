"""Figures 3 and 7: every policy of the paper, with growing delay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foretell.policies import policy
from foretell.sim.legend import short_labels
from foretell.stats.estimate import Estimate
from foretell.studies.batch_statistics import mean_ratio, slope
from foretell.studies.charts import Chart, regret_axes
from foretell.studies.checks import BETTER, Curve, all_better, uniform_slope
from foretell.studies.claim import LEVEL, Claim, Finding
from foretell.studies.growth import LINEAR, all_grow_linearly
from foretell.studies.limits import all_above, all_below, all_of
from foretell.studies.paper.fig3_growth import (
    AGNOSTIC,
    DELAYS,
    GROWTH_PANELS,
    UNDELAYED,
    growth_chart,
    growth_of,
    panel_name,
    world_of,
)
from foretell.studies.plan import Panel, StudyPlan
from foretell.worlds.paper import CHANGES, HORIZON

if TYPE_CHECKING:
    from foretell.studies.claim import Results

NSD = ("nsd-ucrl2(window=800)", "nsd-psrl(window=800)")
ORACLES = ("oracle-ucb", "oracle-nsd", "oracle-ucb-nd", "oracle-nsd-nd")
SPECS = tuple(policy(text) for text in (*NSD, *AGNOSTIC, "uniform", *ORACLES))


def _curve(results: Results, text: str, delay: int) -> Curve:
    batch = results[panel_name(delay)][text]
    return Curve(f"{policy(text).name} at D={delay}", batch, CHANGES)


def _pairs(
    results: Results, better: tuple[str, ...], worse: tuple[str, ...], delays: tuple[int, ...]
) -> list[tuple[Curve, Curve]]:
    return [
        (_curve(results, one, delay), _curve(results, other, delay))
        for delay in delays
        for one in better
        for other in worse
    ]


def _twins(results: Results) -> list[tuple[Curve, Curve]]:
    """Pair each oracle without delay with the same oracle under it."""
    return [
        pair
        for kind in ("nsd", "ucb")
        for pair in _pairs(results, (f"oracle-{kind}-nd",), (f"oracle-{kind}",), DELAYS)
    ]


def _charts(results: Results) -> list[Chart]:
    axes = tuple(
        regret_axes(name, results[name], CHANGES, short_labels(results[name]))
        for name in map(panel_name, DELAYS)
    )
    caption = (
        "Mean regret with 95 % bands; policies with a window have W = 800. Oracles know the "
        "change points (dotted lines), those marked nd also get rewards without delay."
    )
    return [
        Chart("fig3", "Figure 3: all policies, log scale", caption, axes, log_y=True),
        Chart("fig7", "Figure 7: all policies, linear scale", caption, axes),
        growth_chart(results),
    ]


def _ratios(pairs: list[tuple[Curve, Curve]]) -> tuple[list[Estimate], str]:
    """Return the ratios of mean regret, and put them into words."""
    ratios = [mean_ratio(one.batch.final, other.batch.final) for one, other in pairs]
    words = [
        f"{one.name} / {other.name}: {ratio}"
        for (one, other), ratio in zip(pairs, ratios, strict=True)
    ]
    return ratios, "; ".join(words)


def _small_gap(pairs: list[tuple[Curve, Curve]]) -> Finding:
    ratios, words = _ratios(pairs)
    return Finding(all_below((ratio, 3.0) for ratio in ratios), words)


def _similar(pairs: list[tuple[Curve, Curve]]) -> Finding:
    ratios, words = _ratios(pairs)
    within = (
        all_above((ratio, 0.8) for ratio in ratios),
        all_below((ratio, 1.25) for ratio in ratios),
    )
    return Finding(all_of(within), words)


def _lucky_last_phase(curves: list[Curve]) -> Finding:
    gaps = [
        (
            curve,
            Estimate.of(
                slope(curve.batch, CHANGES[2], HORIZON)
                - slope(curve.batch, CHANGES[1], CHANGES[2]),
                LEVEL,
            ),
        )
        for curve in curves
    ]
    return Finding(
        all_below((gap, -0.1 * uniform_slope(curve.batch.scenario)) for curve, gap in gaps),
        "; ".join(f"{curve.name}: {gap} per round" for curve, gap in gaps),
    )


CLAIMS = (
    Claim(
        "nsd-beats-non-oracles",
        "NSD-UCRL2 and NSD-PSRL beat every policy that is no oracle.",
        "Sec. 5, comparison; Fig. 3",
        f"each of the two is better than ucb and sw-ucb at every delay; {BETTER}",
        all_better,
        lambda r: _pairs(r, NSD, AGNOSTIC, DELAYS),
        lambda r: _pairs(r, AGNOSTIC, NSD, DELAYS),
        group="main result",
        reading="as we read the paper",
    ),
    Claim(
        "agnostic-linear",
        "UCB and SW-UCB, which ignore the signals, have linear regret.",
        "Sec. 5, comparison; Figs. 3 and 7",
        f"both are linear at every delay; {LINEAR}",
        all_grow_linearly,
        lambda r: [growth_of(r, text, delay) for delay in DELAYS for text in AGNOSTIC],
        lambda r: [growth_of(r, UNDELAYED, delay) for delay in DELAYS],
        group="main result",
    ),
    Claim(
        "oracle-ucb-linear-long-delay",
        "Even Oracle-UCB, which is told the changes, is linear when the delay is large.",
        "Sec. 5, comparison; Figs. 3 and 7",
        f"oracle-ucb is linear at D = 1000; {LINEAR}",
        all_grow_linearly,
        lambda r: [growth_of(r, "oracle-ucb", 1000)],
        lambda r: [growth_of(r, UNDELAYED, 1000)],
    ),
    Claim(
        "undelayed-oracles-beat-their-twins",
        "Oracles without delay have a much smaller regret.",
        "Sec. 5, comparison; Fig. 3",
        f"each nd oracle is better than its delayed twin; {BETTER}",
        all_better,
        _twins,
        lambda r: [(late, early) for early, late in _twins(r)],
        reading="than the same oracles with delay",
    ),
    Claim(
        "undelayed-oracles-beat-nsd",
        "Oracles without delay have a much smaller regret.",
        "Sec. 5, comparison; Fig. 3",
        f"each nd oracle is better than both NSD policies; {BETTER}",
        all_better,
        lambda r: _pairs(r, ("oracle-nsd-nd", "oracle-ucb-nd"), NSD, DELAYS),
        lambda r: _pairs(r, ("oracle-ucb",), NSD, DELAYS),
        reading="than the NSD policies",
    ),
    Claim(
        "reasonable-gap-at-small-delay",
        "With a small delay the NSD policies stay within a reasonable gap of the nd oracles.",
        "Sec. 5, comparison; Fig. 3",
        "at D = 100 their mean regret is at most 3 times that of oracle-nsd-nd, at the upper end",
        _small_gap,
        lambda r: _pairs(r, NSD, ("oracle-nsd-nd",), (100,)),
        lambda r: _pairs(r, AGNOSTIC, ("oracle-nsd-nd",), (100,)),
    ),
    Claim(
        "oracles-beat-everyone",
        "The oracles, which restart at the true changes, outperform every other policy.",
        "Sec. 5, baselines",
        f"each is better than both NSD policies, ucb and sw-ucb at every delay; {BETTER}",
        all_better,
        lambda r: _pairs(r, ORACLES, (*NSD, *AGNOSTIC), DELAYS),
        lambda r: _pairs(r, AGNOSTIC, NSD, DELAYS),
        expected=True,
    ),
    Claim(
        "psrl-similar",
        "NSD-PSRL performs about like NSD-UCRL2.",
        "Sec. 5, baselines",
        "the ratio of their mean regrets lies within [0.8, 1.25] at every delay, at both ends",
        _similar,
        lambda r: _pairs(r, NSD[1:], NSD[:1], DELAYS),
        lambda r: _pairs(r, ("ucb",), NSD[:1], DELAYS),
        expected=True,
    ),
    Claim(
        "lucky-last-phase",
        "After a few changes UCB can do well by accident, typically in the last phase.",
        "Sec. 5, experimental setup",
        "at D = 100 ucb pays less per round in the fourth phase than in the third, by more than a "
        "tenth of what uniform play pays, at the upper end of the paired interval",
        _lucky_last_phase,
        lambda r: [_curve(r, "ucb", 100)],
        lambda r: [_curve(r, "uniform", 100)],
        expected=True,
    ),
)

STUDY = StudyPlan(
    "fig3",
    "Figures 3 and 7: all policies under growing delay",
    "The paper's scenario (Table 1, T = 8000, changes at rounds 2000, 4000 and 6000) with delays "
    "of 100, 500 and 1000 rounds, and every policy of the paper.",
    (
        *(Panel(panel_name(delay), world_of(delay), SPECS, HORIZON) for delay in DELAYS),
        *GROWTH_PANELS,
    ),
    _charts,
    CLAIMS,
)
