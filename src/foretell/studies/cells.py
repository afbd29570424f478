"""Cells: one policy in one scenario, and the files in which finished ones are kept.

The file of a cell is named by all that its numbers depend on: spec, scenario, horizon, runs, seed,
checkpoints and the source, that of a user's own policy too. It is written whole or not at all, as
soon as the cell is finished: an interrupted or killed call loses only what was not finished.
"""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from foretell.errors import ForetellError
from foretell.sim import Batch, load
from foretell.sim.provenance import cache_folder, source_digest

if TYPE_CHECKING:
    from foretell.policies import Spec
    from foretell.worlds import Scenario

_SECONDS = "seconds"


@dataclass(frozen=True)
class Cell:
    """One policy in one scenario, as it is to be run."""

    spec: Spec
    scenario: Scenario
    horizon: int
    runs: int
    seed: int
    checkpoints: tuple[int, ...] | None = None
    """The rounds after which the regret is written; None is up to 1,000, evenly spaced."""


@dataclass(frozen=True, eq=False)
class FinishedCell:
    """The runs of a cell, and how long they took."""

    batch: Batch
    seconds: float


@dataclass(frozen=True)
class CellStore:
    """The files of finished cells."""

    folder: Path | None = None
    """None is the user's cache."""

    def path(self, cell: Cell) -> Path:
        """Return the file of a cell."""
        inputs = [str(cell.spec), cell.scenario.to_dict(), cell.horizon, cell.runs, cell.seed]
        key = json.dumps([*inputs, cell.checkpoints], sort_keys=True)
        name = hashlib.sha256(key.encode()).hexdigest()[:32]
        own = _own_source(cell.spec)
        if self.folder is None:
            return cache_folder("cells", own) / f"{name}.npz"
        return self.folder / source_digest(own) / f"{name}.npz"

    def read(self, cell: Cell) -> FinishedCell | None:
        """Read a cell; None where there is no file, or a damaged one."""
        path = self.path(cell)
        if not path.is_file():
            return None
        try:
            batch = load(path)[str(cell.spec)]
            return FinishedCell(batch, float(batch.provenance[_SECONDS]))
        except (ForetellError, LookupError, ValueError):
            return None

    def write(self, cell: Cell, finished: FinishedCell) -> None:
        """Write a finished cell, whole or not at all."""
        path = self.path(cell)
        path.parent.mkdir(parents=True, exist_ok=True)
        made_by = finished.batch.provenance | {_SECONDS: repr(finished.seconds)}
        dataclasses.replace(finished.batch, provenance=made_by).save(path)


def _own_source(spec: Spec) -> tuple[Path, ...]:
    """Return the file of a policy that does not come with foretell."""
    if type(spec).__module__.startswith("foretell."):
        return ()
    source = inspect.getsourcefile(type(spec))
    return (Path(source),) if source is not None and Path(source).is_file() else ()
