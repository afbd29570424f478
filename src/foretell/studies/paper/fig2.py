"""Figure 2: what the window does to NSD-UCRL2, without delay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foretell.policies import NsdUcrl2, OracleNsd
from foretell.studies.batch_statistics import spread_ratio
from foretell.studies.charts import Chart, regret_axes
from foretell.studies.checks import BETTER, Curve, all_better
from foretell.studies.claim import Claim, Finding
from foretell.studies.growth import LINEAR, all_grow_linearly, growth, growth_panels
from foretell.studies.limits import all_above
from foretell.studies.plan import Panel, StudyPlan
from foretell.theory import Setting, experiments_window
from foretell.worlds import Scenario, scenario, shifts
from foretell.worlds.paper import CHANGES, HORIZON

if TYPE_CHECKING:
    from foretell.sim import Batch
    from foretell.studies.claim import Results

PANEL = "no delay"
WINDOWS = (400, 800, 2000)
SMALL = NsdUcrl2(window=400)
SETTING = Setting(horizon=HORIZON, actions=4, signals=3, switches=len(CHANGES))


def _of(results: Results, window: int) -> Batch:
    return results[PANEL][NsdUcrl2(window=window)]


def _curve(results: Results, window: int) -> Curve:
    return Curve(f"W={window}", _of(results, window), CHANGES)


def _world(factor: int) -> Scenario:
    return scenario("paper", delay=0, changes=shifts(at=[factor * one for one in CHANGES]))


def _charts(results: Results) -> list[Chart]:
    labels = {str(NsdUcrl2(window=w)): f"nsd-ucrl2, W={w}" for w in WINDOWS}
    labels[str(OracleNsd())] = "oracle-nsd"
    return [
        Chart(
            "fig2",
            "Figure 2: the window",
            "Mean regret of NSD-UCRL2 for several windows, without delay, with 95 % bands. "
            "Dotted lines are the change points.",
            (regret_axes("D = 0", results[PANEL], CHANGES, labels),),
        )
    ]


def _much_larger_spread(pair: tuple[Batch, Batch]) -> Finding:
    ratio = spread_ratio(*pair)
    return Finding(all_above([(ratio, 1.5)]), f"ratio of spreads {ratio}")


def _window_of_theory(case: tuple[float, float]) -> Finding:
    stated, formula = case
    return Finding(
        abs(stated - formula) < 1.0, f"the formula gives {formula:.1f}, the text {stated:.0f}"
    )


CLAIMS = (
    Claim(
        "small-window-linear",
        "Too small a window (400) never exploits: the regret is linear.",
        "Sec. 5, choice of W; Fig. 2",
        LINEAR,
        all_grow_linearly,
        lambda r: [growth(r, PANEL, SMALL, "W=400")],
        lambda r: [growth(r, PANEL, OracleNsd(), "oracle-nsd")],
    ),
    Claim(
        "larger-window-smaller-regret",
        "The larger the window, the smaller the regret.",
        "Sec. 5, choice of W; Fig. 2",
        f"W=800 is better than W=400, and W=2000 than W=800; {BETTER}",
        all_better,
        lambda r: [(_curve(r, 800), _curve(r, 400)), (_curve(r, 2000), _curve(r, 800))],
        lambda r: [(_curve(r, 400), _curve(r, 800))],
    ),
    Claim(
        "large-window-variance",
        "For W > 1000 the variance of the regret gets much larger.",
        "Sec. 5, choice of W; Fig. 2",
        "the standard deviation of final regret at W=2000 is more than 1.5 times that at W=800, "
        "at the lower end of a bootstrap interval",
        _much_larger_spread,
        lambda r: (_of(r, 2000), _of(r, 800)),
        lambda r: (_of(r, 400), _of(r, 800)),
    ),
    Claim(
        "w-800-best",
        "W = 800 works best in this calibration.",
        "Sec. 5, choice of W; Fig. 2",
        f"W=800 is better than W=400 and W=2000; {BETTER}",
        all_better,
        lambda r: [(_curve(r, 800), _curve(r, other)) for other in (400, 2000)],
        lambda r: [(_curve(r, 400), _curve(r, other)) for other in (800, 2000)],
        reading="with the printed constants",
    ),
    Claim(
        "w-1243",
        "The theory suggests a window of T^(2/3) Γ^(1/3) (KS)^(1/3) = 1243.",
        "Sec. 5, choice of W",
        "the formula, evaluated at T=8000, Γ=3, K=4, S=3, gives the number in the text within 1",
        _window_of_theory,
        lambda _: (1243.0, experiments_window(SETTING).formula),
        lambda _: (1243.0, experiments_window(SETTING).without_log),
        group="misprint",
    ),
)

STUDY = StudyPlan(
    "fig2",
    "Figure 2: the choice of the window",
    "NSD-UCRL2 in the paper's scenario (Table 1, changes at rounds 2000, 4000 and 6000, no delay) "
    "with several windows, against Oracle-NSD, which restarts at the true changes.",
    (
        Panel(
            PANEL,
            scenario("paper", delay=0),
            (*(NsdUcrl2(window=w) for w in WINDOWS), OracleNsd()),
            HORIZON,
        ),
        *growth_panels(PANEL, _world, (SMALL, OracleNsd()), HORIZON),
    ),
    _charts,
    CLAIMS,
)
