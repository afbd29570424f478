"""What a simulation gives back: regret and pulls of every run, with where they come from."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from foretell.errors import InvalidInput, UnknownName
from foretell.html_table import html_table
from foretell.policies import Spec, policy
from foretell.sim.draw_worlds import draw_worlds
from foretell.sim.streams import stream_words
from foretell.stats.intervals import mean_interval
from foretell.types import is_whole
from foretell.worlds.scenario import Scenario

if TYPE_CHECKING:
    import numpy.typing as npt

    from foretell.sim.comparison import PolicyComparison
    from foretell.sim.result_tables import Library
    from foretell.types import Bools, Floats, Ints
    from foretell.worlds.world import World


class Trajectories(NamedTuple):
    """Every round of every run, as (runs, horizon), and what was true in it."""

    actions: npt.NDArray[np.int32]
    signals: npt.NDArray[np.int32]
    rewards: Floats
    delays: Ints
    """In rounds; −1 never arrives."""
    gaps: Floats
    """By how much the mean reward of the action played is below that of the best one."""
    best_actions: npt.NDArray[np.int32]
    """The best action; the first one, where several are."""
    changes: Bools
    """Whether the law or theta jumps: this round is the first under the new one."""
    alarms: npt.NDArray[np.int32] | None
    """How many alarms the policy raised in the round; None where it does not detect changes."""


@dataclass(frozen=True, eq=False)
class Batch:
    """The runs of one policy in one scenario."""

    spec: Spec
    scenario: Scenario
    horizon: int
    seed: int
    rounds: Ints
    """(c,): the rounds, from 0, after which the regret was written."""
    regret: Floats
    """(runs, c): the cumulative dynamic regret after each of them."""
    actions: Ints
    """(runs, actions): how often each action was played."""
    provenance: dict[str, str]
    """Versions and the digest of the source that made it."""
    trajectories: Trajectories | None = None
    first_run: int = 0
    """The number of the first run among those of the seed."""

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return len(self.regret)

    @property
    def final(self) -> Floats:
        """(runs,): the regret after the last checkpoint: the end, unless you chose others."""
        return self.regret[:, -1]

    def mean(self) -> Floats:
        """(c,): the mean regret over runs."""
        mean: Floats = self.regret.mean(axis=0)
        return mean

    def interval(self, level: float = 0.95) -> Floats:
        """(2, c): the Student interval of the mean regret."""
        return mean_interval(self.regret, level)

    def world(self, run: int) -> World:
        """Draw the world of a run again: that of row `run`, the same for every policy."""
        if not is_whole(run) or not 0 <= run < self.runs:
            raise InvalidInput(f"there is no run {run!r}: choose one from 0 to {self.runs - 1}")
        words = stream_words(self.seed, np.array([self.first_run + run]))
        return draw_worlds(self.scenario, self.horizon, words).alone(0)

    @cached_property
    def changes(self) -> tuple[Ints, ...]:
        """For each run, the rounds at which its law or its theta jumps."""
        if self.trajectories is not None:
            return tuple(map(np.flatnonzero, self.trajectories.changes))
        return tuple(np.array(self.world(run).jumps_of(0), np.int64) for run in range(self.runs))

    @property
    def alarms(self) -> tuple[Ints, ...]:
        """For each run, the rounds in which the policy raised an alarm.

        They are known for policies that detect changes, and with `trajectories=True`.
        """
        if self.traced.alarms is None:
            raise InvalidInput(
                f"{self.spec} raises no alarms: choose a policy that detects changes, "
                f"for instance 'nsd-adaptive' or 'nsd-kl-glr'"
            )
        return tuple(map(np.flatnonzero, self.traced.alarms))

    @property
    def traced(self) -> Trajectories:
        """The trajectories, refused where they were not asked for."""
        if self.trajectories is None:
            raise InvalidInput(
                f"the batch of {self.spec} does not hold every round: "
                f"simulate it with trajectories=True"
            )
        return self.trajectories

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the batch to one file; `foretell.load` reads it."""
        from foretell.sim.saved import save

        save(self, path)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the regret as a table with the columns policy, run, round, regret."""
        _alone(self).to_csv(path)

    def to_frame(self, *, trajectories: bool = False, library: Library | None = None) -> Any:
        """Return the same as a data frame of pandas or polars; see `Batches.to_frame`."""
        return _alone(self).to_frame(trajectories=trajectories, library=library)

    def to_parquet(self, path: str | os.PathLike[str], *, trajectories: bool = False) -> None:
        """Write the same table as a Parquet file, whole or not at all."""
        _alone(self).to_parquet(path, trajectories=trajectories)

    def plot(self, axes: Any = None, *, level: float = 0.95) -> Any:
        """Draw the mean regret with its interval; return the axes of matplotlib."""
        return _alone(self).plot(axes, level=level)

    def __repr__(self) -> str:
        """Show what it is and how it ended."""
        return (
            f"Batch({self.spec}, horizon={self.horizon}, runs={self.runs}, "
            f"final={self.final.mean():.1f})"
        )

    def _repr_html_(self) -> str:
        return _alone(self)._repr_html_()


class Batches(dict[str, Batch]):
    """Batches by the printed spec, in the order asked for; a spec or any way to write it works."""

    def __getitem__(self, key: str | Spec) -> Batch:
        """Return the batch of the spec that `key` means."""
        if isinstance(key, str) and key in self:
            return super().__getitem__(key)
        printed = str(policy(key))
        if printed in self:
            return super().__getitem__(printed)
        for batch in self.values():
            if batch.spec == policy(key):
                return batch
        raise UnknownName.of("batch of", printed, self)

    def compare(self, baseline: str | Spec, level: float = 0.95) -> PolicyComparison:
        """Compare the final regret of every policy with that of `baseline`, run by run.

        See `foretell.sim.comparison.PolicyComparison` for what is said of each.
        """
        from foretell.sim.comparison import compare

        return compare(self, baseline, level)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all batches to one file, whole or not at all; `foretell.load` reads it."""
        from foretell.sim.saved import save

        save(self, path)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the regret as a table with the columns policy, run, round, regret."""
        from foretell.sim.result_tables import write_csv

        write_csv(self, path)

    def to_frame(self, *, trajectories: bool = False, library: Library | None = None) -> Any:
        """Return a row for every checkpoint of every run: policy, run, round, regret.

        With `trajectories` a row for every round: policy, run, round, action, signal, reward,
        delay, gap, best_action, change, alarms (0 for a policy that does not detect changes). It
        is a data frame of pandas or else of polars, whichever is installed; `library` names one.
        """
        from foretell.sim.result_tables import as_frame, columns_of

        return as_frame(columns_of(self, trajectories=trajectories), library)

    def to_parquet(self, path: str | os.PathLike[str], *, trajectories: bool = False) -> None:
        """Write the table of `to_frame` as a Parquet file, whole or not at all."""
        from foretell.sim.result_tables import columns_of, write_parquet

        write_parquet(columns_of(self, trajectories=trajectories), path)

    def plot(self, axes: Any = None, *, level: float = 0.95) -> Any:
        """Draw the mean regret of every policy with its interval, in the style of the paper.

        Dotted lines are the changes, where all runs share them. Returns the axes of matplotlib:
        those that are given, or those of a new figure.
        """
        from foretell.sim.plot import plot_regret

        return plot_regret(self, axes, level)

    def _repr_html_(self) -> str:
        rows = []
        for name, batch in self.items():
            low, high = batch.interval()[:, -1].tolist()
            row = [name, batch.runs, batch.horizon, batch.seed]
            rows.append([*row, float(batch.final.mean()), low, high])
        columns = ["policy", "runs", "horizon", "seed", "final regret", "95 % from", "to"]
        return html_table("Regret, mean over runs", columns, rows)


def _alone(batch: Batch) -> Batches:
    return Batches({str(batch.spec): batch})
