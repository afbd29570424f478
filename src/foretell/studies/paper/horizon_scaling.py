"""How regret grows with the horizon, against the rates of Theorems 1 and 2."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from foretell.policies import NsdUcrl2, Spec, Uniform
from foretell.sim.legend import style
from foretell.stats.estimate import Estimate
from foretell.studies.batch_statistics import line_fit
from foretell.studies.charts import Axes, Chart, sweep_series
from foretell.studies.claim import LEVEL, Claim, Finding
from foretell.studies.limits import all_below
from foretell.studies.plan import Panel, StudyPlan
from foretell.studies.tables import ReportTable, final_regret_table
from foretell.theory import Setting, theorem_window
from foretell.worlds import Scenario, scenario, shifts

if TYPE_CHECKING:
    from foretell.studies.claim import Results
    from foretell.types import Floats

HORIZONS = (8000, 32_000, 128_000, 512_000)
DELAY, SWITCHES, MOST_RUNS = 100, 3, 20
SWITCHING, STATIONARY = "switching", "stationary"


def _world(kind: str, horizon: int) -> Scenario:
    if kind == STATIONARY:
        return scenario("paper-stationary", delay=DELAY)
    length = horizon // (SWITCHES + 1)
    return scenario(
        "paper", delay=DELAY, changes=shifts(at=[length * i for i in range(1, SWITCHES + 1)])
    )


def _spec(kind: str, horizon: int) -> Spec:
    if kind == STATIONARY:
        return NsdUcrl2()
    setting = Setting(horizon=horizon, actions=4, signals=3, switches=SWITCHES, delay=DELAY)
    return NsdUcrl2(window=round(theorem_window(setting)))


def _panel_name(kind: str, horizon: int) -> str:
    return f"{kind}, T = {horizon}"


def _finals(results: Results, kind: str, *, uniform: bool = False) -> list[Floats]:
    return [
        results[_panel_name(kind, horizon)][Uniform() if uniform else _spec(kind, horizon)].final
        for horizon in HORIZONS
    ]


def exponent(finals: list[Floats], level: float = LEVEL) -> Estimate:
    """Return the exponent of the regret in the horizon: the slope of the logarithms, over runs."""
    return line_fit(np.log(np.array(HORIZONS, float)), np.log(np.stack(finals, axis=1)), level)


def _charts(results: Results) -> list[Chart]:
    horizons = [float(horizon) for horizon in HORIZONS]

    def lines(kind: str, rate: float) -> Axes:
        ours = sweep_series("nsd-ucrl2", style("nsd-ucrl2"), horizons, _finals(results, kind))
        blind = sweep_series(
            "uniform", style("uniform"), horizons, _finals(results, kind, uniform=True)
        )
        promised = ours.y[0] * (ours.x / ours.x[0]) ** rate
        guide = sweep_series(
            "rate of the theorem", style("oracle-ucb"), horizons, [np.full(2, p) for p in promised]
        )
        return Axes(f"{kind}: T^{rate:.2f}", "horizon", "final regret", (ours, blind, guide))

    return [
        Chart(
            "horizon-scaling",
            "Regret against the horizon",
            "Final regret with 95 % bands. Left with the window that Theorem 2 suggests for each "
            "horizon and 3 changes, right without changes and window; the rate of the theorem is "
            "drawn through the first point.",
            (lines(SWITCHING, 2 / 3), lines(STATIONARY, 1 / 2)),
            log_x=True,
            log_y=True,
            points=True,
        )
    ]


def _tables(results: Results) -> list[ReportTable]:
    rows = [
        (kind, str(exponent(_finals(results, kind), 0.95)), rate)
        for kind, rate in ((SWITCHING, "2/3"), (STATIONARY, "1/2"))
    ]
    return [
        ReportTable(
            "horizon-exponents",
            "Exponent of the regret in T, with its 95 % interval",
            ("world", "measured", "theorem"),
            tuple(rows),
        ),
        final_regret_table(results),
    ]


def _within_rate(case: tuple[list[Floats], float]) -> Finding:
    finals, rate = case
    found = exponent(finals)
    return Finding(all_below([(found, rate)]), f"exponent {found} against {rate:.3f}")


STUDY = StudyPlan(
    "horizon-scaling",
    "Growth with the horizon",
    "NSD-UCRL2 in the paper's world (D = 100) over growing horizons: with 3 changes and the "
    "window of Theorem 2, and without changes and window.",
    tuple(
        Panel(
            _panel_name(kind, horizon),
            _world(kind, horizon),
            (_spec(kind, horizon), Uniform()),
            horizon,
            MOST_RUNS,
        )
        for kind in (SWITCHING, STATIONARY)
        for horizon in HORIZONS
    ),
    _charts,
    (
        Claim(
            "switching-rate",
            "With the suggested window the regret grows no faster than T^(2/3).",
            "Thm. 2",
            "the fitted exponent over T = 8,000 to 512,000 is at most 2/3, at the upper end",
            _within_rate,
            lambda r: (_finals(r, SWITCHING), 2 / 3),
            lambda r: (_finals(r, SWITCHING, uniform=True), 2 / 3),
            group="main result",
        ),
        Claim(
            "stationary-rate",
            "Without changes and window the regret grows no faster than T^(1/2).",
            "Thm. 1",
            "the fitted exponent over T = 8,000 to 512,000 is at most 1/2, at the upper end",
            _within_rate,
            lambda r: (_finals(r, STATIONARY), 1 / 2),
            lambda r: (_finals(r, STATIONARY, uniform=True), 1 / 2),
        ),
    ),
    _tables,
)
