"""What "learns", "stalls" and "better" mean here, fixed before anything is run.

- *learns*: the regret per round over the last half of each segment is below half of what uniform
  play pays, at the upper end of its interval;
- *stalls*: it is above that half, at the lower end;
- *better*: the paired difference of final regret is below 0, at the upper end of its interval.

*Linear* is about growing horizons: see `studies.growth`. Intervals are those of `studies.claim`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from foretell.stats.estimate import Estimate
from foretell.studies.batch_statistics import difference, late_slope
from foretell.studies.claim import LEVEL, Finding
from foretell.studies.limits import all_above, all_below

if TYPE_CHECKING:
    from foretell.sim import Batch
    from foretell.worlds import Scenario

LEARNS = (
    "learns: regret per round over the last half of each segment, at the upper end of its "
    "interval, is below half of what uniform play pays"
)
STALLS = (
    "stalls: regret per round over the last half of each segment, at the lower end of its "
    "interval, is above half of what uniform play pays"
)
FEW = 4

BETTER = "better: the paired difference of final regret is below 0 at the upper end of its interval"


@dataclass(frozen=True)
class Curve:
    """A batch with the segments of its worlds."""

    name: str
    batch: Batch
    changes: tuple[int, ...] = ()

    def late_slope(self) -> Estimate:
        """Return the regret per round late in a segment."""
        return Estimate.of(late_slope(self.batch, (0, *self.changes, self.batch.horizon)), LEVEL)

    def half_uniform(self) -> float:
        """Return half of what uniform play pays per round."""
        return 0.5 * uniform_slope(self.batch.scenario)


def uniform_slope(scenario: Scenario) -> float:
    """Return the regret per round of uniform play, the same in every segment of a shifting law."""
    means = scenario.first_law @ np.array(scenario.theta)
    if scenario.alpha > 0.0:
        means = (1.0 - scenario.alpha) * means + scenario.alpha * np.array(scenario.mu)
    return float(means.max() - means.mean())


def all_learn(curves: list[Curve]) -> Finding:
    """Check that every curve learns."""
    found = ((curve.late_slope(), curve.half_uniform()) for curve in curves)
    return Finding(all_below(found), _describe_slopes(curves))


def all_stall(curves: list[Curve]) -> Finding:
    """Check that every curve stalls."""
    found = ((curve.late_slope(), curve.half_uniform()) for curve in curves)
    return Finding(all_above(found), _describe_slopes(curves))


def _describe_slopes(curves: list[Curve]) -> str:
    return "; ".join(
        f"{curve.name}: {curve.late_slope()} per round against {curve.half_uniform():.3f}"
        for curve in curves
    )


def all_better(pairs: list[tuple[Curve, Curve]]) -> Finding:
    """Check that the first of every pair is better than the second."""
    found = [
        (f"{one.name} − {other.name}", difference(one.batch, other.batch)) for one, other in pairs
    ]
    return Finding(all_below((gap, 0.0) for _, gap in found), describe_differences(found))


def describe_differences(found: list[tuple[str, Estimate]]) -> str:
    """List differences that should be below 0: all of a few, of many those nearest to failing."""
    if len(found) <= FEW:
        return "; ".join(f"{name}: {gap}" for name, gap in found)
    nearest = sorted(found, key=lambda one: -one[1].high)[:FEW]
    hold = sum(gap.high < 0.0 for _, gap in found)
    return f"{hold} of {len(found)} hold, those nearest to failing or failing are; " + "; ".join(
        f"{name}: {gap}" for name, gap in nearest
    )


def none_worse(pairs: list[tuple[Curve, Curve]]) -> Finding:
    """Check that the first of every pair is on par with the second or better.

    On par or better: the paired difference of final regret is at most a tenth of the second's
    mean regret, at the upper end of its interval.
    """
    found = [(one, other, difference(one.batch, other.batch)) for one, other in pairs]
    return Finding(
        all_below((gap, 0.1 * other.batch.final.mean()) for _, other, gap in found),
        "; ".join(
            f"{one.name} − {other.name}: {gap} (of {other.batch.final.mean():.0f})"
            for one, other, gap in found
        ),
    )
