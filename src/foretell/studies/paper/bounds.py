"""The theorems, held against runs long enough for them to say something."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from foretell.policies import NsdUcrl2, Uniform
from foretell.sim.legend import style
from foretell.studies.charts import Axes, Chart, Series, regret_axes
from foretell.studies.claim import Claim, Finding
from foretell.studies.paper.bound_tables import (
    DELAY,
    HARD,
    LONG_STATIONARY,
    STATIONARY,
    SWITCHES,
    bound_setting,
    bound_tables,
    switching_world,
)
from foretell.studies.plan import Panel, StudyPlan
from foretell.theory import Bound, best_window, stationary_bound, switching_bound
from foretell.worlds import scenario

if TYPE_CHECKING:
    from foretell.studies.claim import Results

LONG_SWITCHING = 20_000_000
SWITCHING = "switching, T = 20,000,000"


def _charts(results: Results) -> list[Chart]:
    def axes(panel: str, spec: NsdUcrl2, changes: tuple[int, ...]) -> Axes:
        labels = {str(spec): "nsd-ucrl2", "uniform": "uniform"}
        drawn = regret_axes(panel, results[panel], changes, labels)
        x = drawn.series[0].x
        promised = np.full(x.size, _long_bound(panel).total)
        line = Series("bound of the theorem", style("oracle-ucb"), x, promised, promised, promised)
        return replace(drawn, series=(*drawn.series, line))

    length = LONG_SWITCHING // (SWITCHES + 1)
    changes = tuple(length * i for i in range(1, SWITCHES + 1))
    return [
        Chart(
            "bounds",
            "Regret over long horizons and the bounds",
            "Mean regret of NSD-UCRL2 and of uniform play; the bound holds at the horizon. Left "
            "Theorem 1, right Theorem 2 with the window that minimises its bound. The regret of "
            "NSD-UCRL2 on the left is flat: it has found the best action before the first "
            "point that is drawn, and a bound must hold for worse problems than this one.",
            (axes(STATIONARY, NsdUcrl2(), ()), axes(SWITCHING, _LONG_SPEC, changes)),
            log_y=True,
        )
    ]


def _within(case: tuple[Results, str, str, Bound]) -> Finding:
    results, panel, policy, bound = case
    worst = float(results[panel][policy].final.max())
    return Finding(
        not bound.vacuous(HARD.largest_gap) and worst <= bound.total,
        f"largest regret {worst:,.0f} of {results[panel][policy].runs} runs, bound "
        f"{bound.total:,.0f}, T times the largest gap {bound.horizon * HARD.largest_gap:,.0f}",
    )


def _long_bound(panel: str) -> Bound:
    if panel == STATIONARY:
        return stationary_bound(bound_setting(LONG_STATIONARY, 0))
    return switching_bound(bound_setting(LONG_SWITCHING, SWITCHES))


_LONG_SPEC = NsdUcrl2(window=best_window(bound_setting(LONG_SWITCHING, SWITCHES)))

STUDY = StudyPlan(
    "bounds",
    "Theorems 1 to 3: bounds and what is behind them",
    "The bounds with the constants of the corrected proofs. At T = 8000 every one exceeds T times "
    "the largest gap and says nothing (vacuous); here they are checked at horizons where they do.",
    (
        Panel(
            STATIONARY,
            scenario("paper-stationary", delay=DELAY),
            (NsdUcrl2(), Uniform()),
            LONG_STATIONARY,
            3,
        ),
        Panel(
            SWITCHING,
            switching_world(LONG_SWITCHING),
            (_LONG_SPEC, Uniform()),
            LONG_SWITCHING,
            2,
        ),
    ),
    _charts,
    (
        Claim(
            "theorem-1",
            "In a stationary world the regret stays below the bound of Theorem 1.",
            "Thm. 1",
            "the bound with explicit constants is not vacuous, and no run exceeds it",
            _within,
            lambda r: (r, STATIONARY, str(NsdUcrl2()), _long_bound(STATIONARY)),
            lambda r: (r, STATIONARY, "uniform", _long_bound(STATIONARY)),
        ),
        Claim(
            "theorem-2",
            "In a switching world the regret stays below the bound of Theorem 2.",
            "Thm. 2",
            "the bound with explicit constants is not vacuous, and no run exceeds it",
            _within,
            lambda r: (r, SWITCHING, str(_LONG_SPEC), _long_bound(SWITCHING)),
            lambda r: (r, SWITCHING, "uniform", _long_bound(SWITCHING)),
        ),
    ),
    bound_tables,
)
