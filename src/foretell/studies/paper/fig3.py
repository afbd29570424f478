"""Figures 3 and 7: every policy of the paper, with growing delay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foretell.policies import policy
from foretell.stats.estimate import Estimate
from foretell.studies.batch_statistics import mean_ratio, slope
from foretell.studies.charts import Chart, regret_axes
from foretell.studies.checks import (
    BETTER,
    LINEAR,
    Curve,
    all_better,
    all_linear,
)
from foretell.studies.legend import short_labels
from foretell.studies.study import Claim, Finding, Panel, Study
from foretell.worlds import scenario
from foretell.worlds.paper import CHANGES, HORIZON

if TYPE_CHECKING:
    from foretell.studies.study import Results

DELAYS = (100, 500, 1000)
NSD = ("nsd-ucrl2(window=800)", "nsd-psrl(window=800)")
AGNOSTIC = ("ucb", "sw-ucb(window=800)")
ORACLES = ("oracle-ucb", "oracle-nsd", "oracle-ucb-nd", "oracle-nsd-nd")
SPECS = tuple(policy(text) for text in (*NSD, *AGNOSTIC, "uniform", *ORACLES))


def panel_name(delay: int) -> str:
    """Name the panel of a delay."""
    return f"D = {delay}"


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


def _charts(results: Results) -> list[Chart]:
    axes = tuple(
        regret_axes(name, batches, CHANGES, short_labels(batches))
        for name, batches in results.items()
    )
    caption = (
        "Mean regret with 95 % bands; policies with a window have W = 800. Oracles know the "
        "change points (dotted lines), those marked nd also get rewards without delay."
    )
    return [
        Chart("fig3", "Figure 3: all policies, log scale", caption, axes, log_y=True),
        Chart("fig7", "Figure 7: all policies, linear scale", caption, axes),
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
    return Finding(all(ratio.high <= 3.0 for ratio in ratios), words)


def _similar(pairs: list[tuple[Curve, Curve]]) -> Finding:
    ratios, words = _ratios(pairs)
    return Finding(all(ratio.low >= 0.8 and ratio.high <= 1.25 for ratio in ratios), words)


def _lucky_last_phase(curves: list[Curve]) -> Finding:
    gaps = [
        (
            curve,
            Estimate.of(
                slope(curve.batch, CHANGES[2], HORIZON) - slope(curve.batch, CHANGES[1], CHANGES[2])
            ),
        )
        for curve in curves
    ]
    return Finding(
        all(gap.high < 0 for _, gap in gaps),
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
        lambda r: _pairs(r, ("sw-ucb(window=800)",), ("ucb",), DELAYS),
    ),
    Claim(
        "agnostic-linear",
        "UCB and SW-UCB, which ignore the signals, have linear regret.",
        "Sec. 5, comparison; Figs. 3 and 7",
        f"both are linear at every delay; {LINEAR}",
        all_linear,
        lambda r: [_curve(r, text, delay) for delay in DELAYS for text in AGNOSTIC],
        lambda r: [_curve(r, NSD[0], delay) for delay in DELAYS],
    ),
    Claim(
        "agnostic-linear-long-delay",
        "UCB and SW-UCB are linear at the longest delay, D = 1000.",
        "Sec. 5, comparison; Figs. 3 and 7",
        LINEAR,
        all_linear,
        lambda r: [_curve(r, text, 1000) for text in AGNOSTIC],
        lambda r: [_curve(r, NSD[0], 1000)],
    ),
    Claim(
        "oracle-ucb-linear-long-delay",
        "Even Oracle-UCB is linear when the delay is large.",
        "Sec. 5, comparison; Figs. 3 and 7",
        f"oracle-ucb is linear at D = 1000; {LINEAR}",
        all_linear,
        lambda r: [_curve(r, "oracle-ucb", 1000)],
        lambda r: [_curve(r, "oracle-ucb", 100)],
    ),
    Claim(
        "undelayed-oracles-far-ahead",
        "Oracles without delay have a much smaller regret.",
        "Sec. 5, comparison; Fig. 3",
        f"each nd oracle is better than its delayed twin and than both NSD policies; {BETTER}",
        all_better,
        lambda r: [
            *_pairs(r, ("oracle-nsd-nd",), ("oracle-nsd", *NSD), DELAYS),
            *_pairs(r, ("oracle-ucb-nd",), ("oracle-ucb", *NSD), DELAYS),
        ],
        lambda r: _pairs(r, ("oracle-ucb",), NSD, DELAYS),
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
    ),
    Claim(
        "psrl-similar",
        "NSD-PSRL performs about like NSD-UCRL2.",
        "Sec. 5, baselines",
        "the ratio of their mean regrets lies within [0.8, 1.25] at every delay, at both ends",
        _similar,
        lambda r: _pairs(r, NSD[1:], NSD[:1], DELAYS),
        lambda r: _pairs(r, ("ucb",), NSD[:1], DELAYS),
    ),
    Claim(
        "lucky-last-phase",
        "After a few changes UCB can do well by accident, typically in the last phase.",
        "Sec. 5, experimental setup",
        "ucb pays less per round in the fourth phase than in the third, at the upper end of the "
        "paired interval, at D = 100",
        _lucky_last_phase,
        lambda r: [_curve(r, "ucb", 100)],
        lambda r: [_curve(r, "uniform", 100)],
    ),
)

STUDY = Study(
    "fig3",
    "Figures 3 and 7: all policies under growing delay",
    "The paper's scenario (Table 1, T = 8000, changes at rounds 2000, 4000 and 6000) with delays "
    "of 100, 500 and 1000 rounds, and every policy of the paper.",
    tuple(
        Panel(panel_name(delay), scenario("paper", delay=delay), SPECS, HORIZON) for delay in DELAYS
    ),
    _charts,
    CLAIMS,
)
