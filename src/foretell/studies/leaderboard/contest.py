"""One scenario of the leaderboard: who takes part, which cells are run, and how they scored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foretell.policies import entry as entry_of
from foretell.studies.cells import Cell
from foretell.studies.leaderboard.entrants import entrants, window_family
from foretell.studies.leaderboard.score import Scored, scored

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foretell.policies import Spec
    from foretell.studies.cells import FinishedCell
    from foretell.worlds import SuiteEntry


class Contest:
    """The policies that meet in one scenario; `score` takes their finished cells."""

    def __init__(
        self,
        entry: SuiteEntry,
        runs: int,
        seed: int,
        guests: dict[str, Spec],
        only: Sequence[str] | None,
    ) -> None:
        self.entry = entry
        kept = [*(only or ()), "oracle-psrl", "oracle-nsd"]
        own = {n: spec for n, spec in entrants(entry).items() if only is None or n in kept}
        self.entrants = own | guests
        self.family = window_family(entry)
        specs = dict.fromkeys([*self.entrants.values(), *self.family.values()])
        first, last = entry.first_rewards - 1, entry.horizon - 1
        checkpoints = (first, last) if 0 <= first < last else (last,)
        self.cells = [
            Cell(spec, entry.scenario, entry.horizon, runs, seed, checkpoints) for spec in specs
        ]
        self.seed = seed
        self.scored = Scored({}, {}, {})
        self._finished: dict[Spec, FinishedCell] = {}

    def score(self, finished: list[FinishedCell]) -> None:
        """Score the finished cells, which come in the order of `cells`."""
        self._finished = {cell.spec: one for cell, one in zip(self.cells, finished, strict=True)}
        ranked = [n for n, spec in self.entrants.items() if not entry_of(spec).lab_only]
        self.scored = scored(
            {name: self._finished[spec].batch for name, spec in self.entrants.items()},
            {name: self._finished[spec].batch for name, spec in self.family.items()},
            ranked,
            self.seed,
            self.entry.name,
        )

    def description(self) -> dict[str, Any]:
        """Return what the scenario is and what its yardstick reached."""
        entry = self.entry
        return {
            "name": entry.name,
            "tests": entry.tests,
            "horizon": entry.horizon,
            "actions": entry.scenario.actions,
            "signals": entry.scenario.signals,
            "changes": entry.changes_count(),
            "first_rewards": entry.first_rewards,
            "right_model": entry.right_model,
            "tuned_on": entry.tuned_on,
            "yardstick": self.scored.yardsticks,
        }

    def microseconds(self) -> dict[str, float]:
        """Return the time per round of every policy, over all threads."""
        return {
            name: round(1e6 * one.seconds / (one.batch.runs * one.batch.horizon), 3)
            for name, one in ((n, self._finished[spec]) for n, spec in self.entrants.items())
        }

    def seconds(self) -> float:
        """Return how long all cells took when they were run."""
        return sum(one.seconds for one in self._finished.values())
