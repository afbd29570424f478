"""One scenario of the suite: what policies are compared on, and what for."""

from __future__ import annotations

from dataclasses import dataclass

from foretell.worlds.changes import Stationary
from foretell.worlds.drift import Interpolation, RandomWalk
from foretell.worlds.knots import Schedule
from foretell.worlds.scenario import Scenario
from foretell.worlds.theta_changes import ConstantTheta, ThetaRedraws, ThetaSteps


@dataclass(frozen=True)
class SuiteEntry:
    """One scenario of the suite."""

    name: str
    scenario: Scenario
    horizon: int
    tests: str
    """What it tests, in a line."""
    right_model: bool
    """Rewards depend on the signal alone, always in the same way, as the paper assumes."""
    first_rewards: int
    """The regret is also reported from this round on, when the first rewards are in."""
    tuned_on: bool = False
    """Whether the default policy was tuned while its results here were looked at."""

    def changes_count(self) -> int:
        """Return the expected number of jumps of the law and of theta.

        A drift counts as one in 1,000 rounds.
        """
        return self._law_changes() + self._theta_changes()

    def _law_changes(self) -> int:
        if self.scenario.segments:
            return sum(0 < first < self.horizon for first, _ in self.scenario.segments)
        changes = self.scenario.changes
        if isinstance(changes, Stationary):
            return 0
        if isinstance(changes, RandomWalk | Interpolation):
            return self.horizon // 1000
        return self._jumps(changes.when)

    def _theta_changes(self) -> int:
        changes = self.scenario.theta_changes
        if isinstance(changes, ConstantTheta):
            return 0
        if isinstance(changes, ThetaSteps):
            return sum(stop < self.horizon for stop, _ in changes.towards)
        if isinstance(changes, ThetaRedraws):
            return self._jumps(changes.when)
        return self.horizon // 1000

    def _jumps(self, when: Schedule) -> int:
        if when.at is not None:
            return sum(change < self.horizon for change in when.at)
        if when.every is not None:
            return (self.horizon - 1) // when.every
        return round(self.horizon * (when.hazard or 0.0))
