"""Regret against the window, with the windows that the theory suggests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foretell.policies import NsdPsrl, NsdUcrl2, Spec
from foretell.sim.legend import style
from foretell.studies.batch_statistics import mean_ratio
from foretell.studies.charts import Axes, Chart, sweep_series
from foretell.studies.claim import Claim, Finding
from foretell.studies.limits import all_below
from foretell.studies.plan import Panel, StudyPlan
from foretell.theory import Setting, experiments_window
from foretell.worlds import scenario
from foretell.worlds.paper import CHANGES, HORIZON

if TYPE_CHECKING:
    from collections.abc import Callable

    from foretell.studies.claim import Results

WINDOWS = (100, 150, 200, 300, 400, 600, 800, 1027, 1243, 1500, 2000, 2667, 4000, 6000, 8000)
DELAYS = (0, 500)
SETTING = Setting(horizon=HORIZON, actions=4, signals=3, switches=len(CHANGES))


def _panel_name(delay: int) -> str:
    return f"D = {delay}"


def _charts(results: Results) -> list[Chart]:
    suggested = experiments_window(SETTING)
    marks = (
        (suggested.without_log, "Thm. 2, no log"),
        (suggested.theorem, "Thm. 2"),
        (suggested.formula, "formula in the text"),
        (float(suggested.best), "minimises the bound"),
    )
    kinds: dict[str, Callable[[int], Spec]] = {
        "nsd-ucrl2": lambda window: NsdUcrl2(window=window),
        "nsd-psrl": lambda window: NsdPsrl(window=window),
    }
    return [
        Chart(
            "window-sweep",
            "Regret against the window",
            "Mean final regret with 95 % bands in the paper's scenario. Marked are Theorem 2's "
            "window with and without its logarithm, what the formula in the text of the "
            "experiments gives, and the minimiser of the bound with explicit constants.",
            tuple(
                Axes(
                    _panel_name(delay),
                    "window",
                    "final regret",
                    tuple(
                        sweep_series(
                            name,
                            style(name),
                            [float(window) for window in WINDOWS],
                            [results[_panel_name(delay)][make(w)].final for w in WINDOWS],
                        )
                        for name, make in kinds.items()
                    ),
                    marks,
                )
                for delay in DELAYS
            ),
            log_x=True,
            points=True,
        )
    ]


def _near_best(case: tuple[Results, int]) -> Finding:
    results, window = case
    batches = results[_panel_name(0)]
    best = min(WINDOWS, key=lambda one: batches[NsdUcrl2(window=one)].final.mean())
    ratio = mean_ratio(batches[NsdUcrl2(window=window)].final, batches[NsdUcrl2(window=best)].final)
    return Finding(
        all_below([(ratio, 1.25)]),
        f"W={window} has {ratio} times the regret of the best window, W={best}",
    )


STUDY = StudyPlan(
    "window-sweep",
    "The window, from 100 to 8000",
    "Final regret of NSD-UCRL2 and NSD-PSRL in the paper's scenario for windows from 100 to 8000 "
    "rounds, without delay and with D = 500.",
    tuple(
        Panel(
            _panel_name(delay),
            scenario("paper", delay=delay),
            (
                *(NsdUcrl2(window=window) for window in WINDOWS),
                *(NsdPsrl(window=window) for window in WINDOWS),
            ),
            HORIZON,
        )
        for delay in DELAYS
    ),
    _charts,
    (
        Claim(
            "w-800-near-theory-and-best",
            "W = 800, close to what the theory suggests, is a good choice.",
            "Sec. 5, choice of W",
            "without delay the mean regret of NSD-UCRL2 at W=800 is at most 1.25 times that of "
            "the best window of the sweep, at the upper end",
            _near_best,
            lambda r: (r, 800),
            lambda r: (r, 200),
        ),
    ),
)
