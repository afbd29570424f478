"""How regret grows when a whole problem is stretched: horizon, segments and delay alike.

*Linear* regret means that it is proportional to the horizon. A single horizon cannot show it, and
a curve within one segment cannot either: a delay that is paid at every change looks like learning
from the end of the wait on. So the same problem is played 1, 2, 4 and 8 times as long, with its
change points and its delay as many times as far away, and the exponent of the mean regret in the
horizon is fitted. Policies stay as they are, windows too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from foretell.sim.legend import style
from foretell.studies.batch_statistics import BOOTSTRAPS, bootstrap
from foretell.studies.charts import Axes, Series, sweep_series
from foretell.studies.claim import LEVEL, Finding, Results
from foretell.studies.limits import all_above
from foretell.studies.plan import Panel

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from foretell.policies import Spec
    from foretell.stats.estimate import Estimate
    from foretell.types import Floats
    from foretell.worlds import Scenario

FACTORS = (1, 2, 4, 8)
LEAST_EXPONENT = 0.9
LINEAR = (
    "linear: the exponent of the mean regret in the horizon, over 1, 2, 4 and 8 times the horizon "
    "with change points and delay stretched alike, is above 0.9 at the lower end of its bootstrap "
    "interval"
)


class Growth(NamedTuple):
    """A policy in a problem that is stretched: its final regrets by horizon."""

    name: str
    horizons: tuple[int, ...]
    finals: tuple[Floats, ...]

    def exponent(self, level: float = LEVEL) -> Estimate:
        """Return the slope of the logarithm of the mean regret, by a bootstrap over runs."""
        x = np.log(np.array(self.horizons, float))
        x -= x.mean()
        runs = min(map(len, self.finals))
        draw = np.random.default_rng(0).integers(0, runs, (BOOTSTRAPS, runs))
        means = np.stack([final[draw].mean(axis=1) for final in self.finals], axis=1)
        middle = np.array([final.mean() for final in self.finals])
        return bootstrap(np.log(means) @ x / (x @ x), float(np.log(middle) @ x / (x @ x)), level)


def growth_panels(
    name: str, world: Callable[[int], Scenario], specs: tuple[Spec, ...], horizon: int
) -> tuple[Panel, ...]:
    """Return the panels of a problem, stretched by every factor; `world` stretches it."""
    return tuple(
        Panel(_panel_name(name, factor), world(factor), specs, factor * horizon)
        for factor in FACTORS
    )


def growth(results: Results, name: str, spec: Spec | str, label: str) -> Growth:
    """Return how the regret of a policy grows in the stretched problem of this name."""
    batches = [results[_panel_name(name, factor)][spec] for factor in FACTORS]
    return Growth(
        label,
        tuple(batch.horizon for batch in batches),
        tuple(batch.final for batch in batches),
    )


def all_grow_linearly(curves: Sequence[Growth]) -> Finding:
    """Check that every regret is linear in the horizon."""
    found = [(curve.name, curve.exponent()) for curve in curves]
    return Finding(
        all_above((exponent, LEAST_EXPONENT) for _, exponent in found),
        "; ".join(f"{name}: T^{exponent}" for name, exponent in found),
    )


def growth_axes(title: str, curves: Sequence[tuple[str, Growth]]) -> Axes:
    """Draw final regret against the horizon, by the policy whose style is taken."""
    series: list[Series] = [
        sweep_series(
            curve.name, style(policy), [float(t) for t in curve.horizons], list(curve.finals)
        )
        for policy, curve in curves
    ]
    return Axes(
        title, "horizon, with segments and delay stretched alike", "final regret", tuple(series)
    )


def _panel_name(name: str, factor: int) -> str:
    return f"{name}, {factor} × as long"
