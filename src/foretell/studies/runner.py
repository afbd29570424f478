"""Running cells: those that are kept are read, the others are run and kept."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from foretell.sim import simulate
from foretell.studies.cells import Cell, CellStore, FinishedCell
from foretell.worlds.paper import paper_stationary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from foretell.policies import Spec

WARM_ROUNDS = 50


def run_cells(
    cells: Iterable[Cell],
    store: CellStore,
    *,
    threads: int | None = None,
    fresh: bool = False,
    warm: bool = False,
    advance: Callable[[int], None] = lambda _: None,
) -> list[FinishedCell]:
    """Return the cells finished, in order; each is kept as soon as it is.

    `fresh` runs even what is kept. `warm` compiles each policy first, so that its seconds are
    those of its rounds. `advance` is called with the work of each cell when it is finished.
    """
    finished = []
    for cell in cells:
        kept = None if fresh else store.read(cell)
        if kept is None:
            if warm:
                _compile(cell.spec)
            kept = _run_cell(cell, threads)
            store.write(cell, kept)
        finished.append(kept)
        advance(cell.work)
    return finished


def sweep_cells(
    cells: Iterable[Cell],
    store: CellStore,
    cluster: str,
    *,
    fresh: bool = False,
    progress: bool | None = None,
) -> None:
    """Run on a cluster what is not kept yet, and keep it; `run_cells` then finds all of it.

    `cluster` is the address of a Dask scheduler, or "local:N" for N processes on this machine.
    """
    missing = [cell for cell in dict.fromkeys(cells) if fresh or not store.has(cell)]
    if missing:
        from foretell.studies.cluster import sweep

        sweep(missing, store, cluster, progress=progress)


def _compile(spec: Spec) -> None:
    simulate(paper_stationary(), spec, WARM_ROUNDS, 1, progress=False)


def _run_cell(cell: Cell, threads: int | None) -> FinishedCell:
    begun = time.perf_counter()
    batch = simulate(
        cell.scenario,
        cell.spec,
        cell.horizon,
        cell.runs,
        cell.seed,
        threads=threads,
        checkpoints=cell.checkpoints,
        progress=False,
    )
    return FinishedCell(batch, time.perf_counter() - begun)
