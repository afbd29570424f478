"""Running the panels of a study, and keeping what is finished.

Every cell (one policy in one scenario) is a file of its own in the user's cache, named by all
that its numbers depend on: spec, scenario, horizon, runs, seed and the digest of the source. A
second call reads it; an interrupted one loses only the cells that were not finished.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from foretell.errors import DamagedFile
from foretell.sim import Batch, Batches, load, simulate
from foretell.sim.cache import cache_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from foretell.policies import Spec
    from foretell.studies.study import Panel, Results


def run_panels(
    panels: Iterable[Panel],
    runs: int,
    seed: int,
    *,
    fresh: bool = False,
    advance: Callable[[int], None] = lambda _: None,
) -> Results:
    """Run every policy of every panel that is not in the cache; `fresh` runs them all.

    `advance` is told how many cells are finished.
    """
    results: Results = {}
    for panel in panels:
        wanted = runs if panel.most_runs is None else min(runs, panel.most_runs)
        batches = Batches()
        for spec in panel.specs:
            batches[str(spec)] = _run_cell(panel, spec, wanted, seed, fresh=fresh)
            advance(1)
        results[panel.name] = batches
    return results


def _run_cell(panel: Panel, spec: Spec, runs: int, seed: int, *, fresh: bool) -> Batch:
    path = _cell_path(panel, spec, runs, seed)
    if path.is_file() and not fresh:
        try:
            return load(path)[str(spec)]
        except DamagedFile:
            path.unlink()
    batch = simulate(panel.scenario, spec, panel.horizon, runs, seed, progress=False)
    batch.save(path)
    return batch


def _cell_path(panel: Panel, spec: Spec, runs: int, seed: int) -> Path:
    key = json.dumps(
        [str(spec), panel.scenario.to_dict(), panel.horizon, runs, seed], sort_keys=True
    )
    name = hashlib.sha256(key.encode()).hexdigest()[:32]
    return cache_folder("cells") / f"{name}.npz"
