"""One policy in one scenario: run, kept in a file of its own, and read again.

A cell's file is named by all that its numbers depend on: spec, scenario, horizon, runs, seed and
the digest of the source. It is written whole or not at all, as soon as the cell is finished.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from foretell.sim import simulate
from foretell.sim.cache import cache_folder
from foretell.sim.provenance import source_digest
from foretell.worlds.paper import paper_stationary

if TYPE_CHECKING:
    from foretell.policies import Spec
    from foretell.types import Floats
    from foretell.worlds import SuiteEntry

WARM_ROUNDS = 50


@dataclass(frozen=True, eq=False)
class Cell:
    """What a cell measured."""

    spec: str
    regret: Floats
    """(runs,): the regret at the end."""
    late: Floats
    """(runs,): the part of it from round `first_rewards` on."""
    seconds: float
    """How long it took."""
    rounds: int
    """How many rounds were played in that time, over all runs."""


@dataclass(frozen=True)
class Bench:
    """How cells are run: how often, from which seed, where they are kept."""

    runs: int
    seed: int
    folder: Path | None = None
    """None is the user's cache."""
    threads: int | None = None
    fresh: bool = False
    """Run even what is kept."""

    def cell(self, entry: SuiteEntry, spec: Spec) -> Cell:
        """Give the cell, from its file where there is one."""
        path = self.path(entry, spec)
        if path.is_file() and not self.fresh:
            kept = _read(path)
            if kept is not None:
                return kept
        measured = self._run(entry, spec)
        _write(path, measured)
        return measured

    def path(self, entry: SuiteEntry, spec: Spec) -> Path:
        """Give the file of a cell."""
        facts = [str(spec), entry.scenario.to_dict(), entry.horizon, entry.first_rewards]
        key = json.dumps([*facts, self.runs, self.seed], sort_keys=True)
        name = hashlib.sha256(key.encode()).hexdigest()[:32]
        own = _own_source(spec)
        if self.folder is None:
            return cache_folder("leaderboard", own) / f"{name}.json"
        return self.folder / source_digest(own) / f"{name}.json"

    def _run(self, entry: SuiteEntry, spec: Spec) -> Cell:
        _warm(spec)
        first, last = entry.first_rewards - 1, entry.horizon - 1
        begun = time.perf_counter()
        batch = simulate(
            entry.scenario,
            spec,
            entry.horizon,
            self.runs,
            self.seed,
            threads=self.threads,
            checkpoints=[first, last] if 0 <= first < last else [last],
            progress=False,
        )
        seconds = time.perf_counter() - begun
        early = batch.regret[:, 0] if len(batch.rounds) > 1 else np.zeros(self.runs)
        return Cell(str(spec), batch.final, batch.final - early, seconds, self.runs * entry.horizon)


def _warm(spec: Spec) -> None:
    """Compile the policy, so that its time is that of its rounds."""
    simulate(paper_stationary(), spec, WARM_ROUNDS, 1, progress=False)


def _own_source(spec: Spec) -> tuple[Path, ...]:
    """Give the file of a policy that does not come with foretell."""
    if type(spec).__module__.startswith("foretell."):
        return ()
    source = inspect.getsourcefile(type(spec))
    return (Path(source),) if source is not None and Path(source).is_file() else ()


def _read(path: Path) -> Cell | None:
    """Read a cell; None where the file is damaged."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        return Cell(
            kept["spec"],
            np.array(kept["regret"]),
            np.array(kept["late"]),
            kept["seconds"],
            kept["rounds"],
        )
    except (ValueError, KeyError, TypeError):
        return None


def _write(path: Path, cell: Cell) -> None:
    kept = {
        "spec": cell.spec,
        "regret": cell.regret.tolist(),
        "late": cell.late.tolist(),
        "seconds": cell.seconds,
        "rounds": cell.rounds,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, encoding="utf-8", delete=False) as file:
        try:
            json.dump(kept, file)
            file.flush()
            os.fsync(file.fileno())
        except BaseException:
            Path(file.name).unlink()
            raise
    Path(file.name).replace(path)
