"""Sweeps on a cluster: cells are cut into chunks, played by Dask workers, and kept here.

The client sends chunks a little before they are needed, takes the
results by value, and writes a cell as soon as all of its runs are there; so no file system is
shared, and an interrupted sweep goes on where it stopped. Dask gives the chunks of a worker that
dies to another one.
"""

from __future__ import annotations

import pickle
import queue
import time
import uuid
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from foretell.errors import ForetellError
from foretell.progress import progress_bar
from foretell.sim import Batch
from foretell.sim.own_sources import own_digests, own_modules
from foretell.sim.provenance import provenance
from foretell.studies.cells import FinishedCell
from foretell.studies.chunks import ChunkQueue, Piece
from foretell.studies.cluster_connection import connected
from foretell.studies.cluster_worker import own_code, pack_chunk
from foretell.studies.cluster_workers import ClusterWorkers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from distributed import Client

    from foretell.studies.cells import Cell, CellStore
    from foretell.studies.cluster_worker import PlayedPiece

CHUNKS_EACH = 3
"""Chunks that a thread of a worker is sent before it has finished the first of them."""
LOOK_SECONDS = 1.0


def sweep(
    cells: Sequence[Cell], store: CellStore, address: str, *, progress: bool | None = None
) -> None:
    """Run cells on the cluster at an address, or on `local:N` processes, and keep each of them."""
    own = own_code(
        module for cell in cells for module in own_modules(cell.spec, cell.scenario, cell.horizon)
    )
    total = sum(cell.work for cell in cells)
    with connected(address) as client:
        workers = ClusterWorkers(client, own)
        with progress_bar(f"{len(cells)} cells on {address}", total, shown=progress) as advance:
            _Sweep(client, workers, cells, store, own.digest).run(advance)


class _Flying(NamedTuple):
    """A chunk that was sent, and the workers that may play it."""

    future: Any
    chunk: list[Piece]
    workers: frozenset[str]


class _Sweep:
    """One sweep: what is left, what is sent, and what has come back."""

    def __init__(
        self,
        client: Client,
        workers: ClusterWorkers,
        cells: Sequence[Cell],
        store: CellStore,
        digest: str,
    ) -> None:
        self._client, self._workers = client, workers
        self._cells, self._store, self._digest = cells, store, digest
        self._queue = ChunkQueue(cells)
        self._flying: dict[str, _Flying] = {}
        self._landed: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._played: dict[int, dict[Piece, PlayedPiece]] = {}
        self._looked = -LOOK_SECONDS

    def run(self, advance: Callable[[int], None]) -> None:
        """Send chunks and take results until every cell is kept."""
        while self._queue or self._flying:
            if self._client.status != "running":
                raise self._lost()
            self._look()
            self._send()
            try:
                key = self._landed.get(timeout=LOOK_SECONDS)
            except queue.Empty:
                continue
            if key in self._flying:
                self._land(self._flying.pop(key), advance)

    def _look(self) -> None:
        """Look after the workers now and then; take back what only lost ones could play."""
        now = time.monotonic()
        if now - self._looked < LOOK_SECONDS:
            return
        self._looked = now
        try:
            self._workers.look()
        except OSError as error:
            raise self._lost() from error
        for key, flying in list(self._flying.items()):
            if not flying.workers.intersection(self._workers.threads):
                del self._flying[key]
                flying.future.cancel()
                self._queue.put_back(flying.chunk)

    def _lost(self) -> ForetellError:
        return ForetellError(
            "the scheduler of the cluster is lost: start it again and call again, "
            "what was finished is kept"
        )

    def _send(self) -> None:
        """Send chunks until every thread has a few."""
        workers = frozenset(self._workers.threads)
        room = CHUNKS_EACH * sum(self._workers.threads.values()) - len(self._flying)
        for _ in range(room):
            chunk = self._queue.take()
            if not chunk:
                return
            key = f"foretell-{uuid.uuid4().hex}"
            pieces = [(self._cells[one.cell], one.first, one.end) for one in chunk]
            future: Any = self._client.submit(
                pickle.loads,
                pack_chunk(self._digest, pieces),
                key=key,
                workers=sorted(workers),
                pure=False,
            )
            self._flying[key] = _Flying(future, chunk, workers)
            future.add_done_callback(lambda done: self._landed.put(done.key))

    def _land(self, flying: _Flying, advance: Callable[[int], None]) -> None:
        """Take the results of a chunk; one that got lost is sent again."""
        if flying.future.status in ("cancelled", "lost"):
            self._queue.put_back(flying.chunk)
            return
        played: list[PlayedPiece] = pickle.loads(flying.future.result())  # noqa: S301  our worker's
        flying.future.release()
        for piece, one in zip(flying.chunk, played, strict=True):
            self._queue.learn(piece, one.seconds)
            self._collect(piece, one)
            cell = self._cells[piece.cell]
            advance(cell.work // cell.runs * (piece.end - piece.first))

    def _collect(self, piece: Piece, played: PlayedPiece) -> None:
        """Put a piece to the others of its cell; keep the cell when it is whole."""
        pieces = self._played.setdefault(piece.cell, {})
        pieces[piece] = played
        cell = self._cells[piece.cell]
        if sum(one.end - one.first for one in pieces) == cell.runs:
            del self._played[piece.cell]
            self._store.write(cell, _whole_cell(cell, [pieces[one] for one in sorted(pieces)]))


def _whole_cell(cell: Cell, pieces: list[PlayedPiece]) -> FinishedCell:
    """Join the pieces of a cell, in the order of their runs."""
    batch = Batch(
        spec=cell.spec,
        scenario=cell.scenario,
        horizon=cell.horizon,
        seed=cell.seed,
        rounds=pieces[0].rounds,
        regret=np.concatenate([one.regret for one in pieces]),
        actions=np.concatenate([one.actions for one in pieces]),
        provenance=provenance() | (own_digests(cell.spec, cell.scenario, cell.horizon) or {}),
    )
    return FinishedCell(batch, sum(one.seconds for one in pieces))
