"""Cells: one policy in one scenario, and the files in which finished ones are kept.

The file of a cell is named by all that its numbers depend on: spec, scenario, horizon, runs, seed,
checkpoints and the source, that of a user's own policy too. It is written whole or not at all, as
soon as the cell is finished: an interrupted or killed call loses only what was not finished. Cells
of a policy whose source cannot be read (it was typed into a notebook) are not kept.

A file is a checksum and the arrays as they are: there may be many thousands of them, and a cache
need not outlive a power cut, but it must notice one.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from foretell.files import write_whole
from foretell.sim import Batch
from foretell.sim.own_sources import own_digests
from foretell.sim.provenance import cache_folder, source_digest

if TYPE_CHECKING:
    from pathlib import Path

    from foretell.policies import Spec
    from foretell.worlds import Scenario


class _Content(msgspec.Struct, array_like=True):
    """What the file of a cell holds after its checksum."""

    seconds: float
    provenance: dict[str, str]
    rounds: bytes
    regret: bytes
    actions: bytes


_CHECKSUM_BYTES = 4
_read_content = msgspec.msgpack.Decoder(_Content).decode


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

    @property
    def work(self) -> int:
        """About how much there is to do: rounds, times actions, times signals."""
        return self.runs * self.horizon * self.scenario.actions * self.scenario.signals


@dataclass(frozen=True, eq=False)
class FinishedCell:
    """The runs of a cell, and how long they took."""

    batch: Batch
    seconds: float


class CellStore:
    """The files of finished cells, in a folder or, by default, in the user's cache."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = cache_folder("cells") if folder is None else folder / source_digest()
        self._folder.mkdir(parents=True, exist_ok=True)

    def path(self, cell: Cell) -> Path:
        """Return the file of a cell."""
        own = own_digests(cell.spec, cell.scenario, cell.horizon) or {}
        inputs = [str(cell.spec), cell.horizon, cell.runs, cell.seed, cell.checkpoints, own]
        key = json.dumps(inputs, sort_keys=True) + _scenario_text(cell.scenario)
        return self._folder / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.cell"

    def keeps(self, cell: Cell) -> bool:
        """Whether a cell can be kept: its source can be read."""
        return own_digests(cell.spec, cell.scenario, cell.horizon) is not None

    def has(self, cell: Cell) -> bool:
        """Whether there is a file for a cell, whole or damaged."""
        return self.keeps(cell) and self.path(cell).is_file()

    def read(self, cell: Cell) -> FinishedCell | None:
        """Read a cell; None where there is no file, or a damaged one."""
        if not self.has(cell):
            return None
        kept = self.path(cell).read_bytes()
        checksum, packed = kept[:_CHECKSUM_BYTES], kept[_CHECKSUM_BYTES:]
        if checksum != _checksum(packed):
            return None
        content = _read_content(packed)
        rounds = np.frombuffer(content.rounds, "<i8").copy()
        batch = Batch(
            spec=cell.spec,
            scenario=cell.scenario,
            horizon=cell.horizon,
            seed=cell.seed,
            rounds=rounds,
            regret=np.frombuffer(content.regret, "<f8").reshape(cell.runs, -1).copy(),
            actions=np.frombuffer(content.actions, "<i8").reshape(cell.runs, -1).copy(),
            provenance=content.provenance,
        )
        return FinishedCell(batch, content.seconds)

    def write(self, cell: Cell, finished: FinishedCell) -> None:
        """Write a finished cell, whole or not at all."""
        if not self.keeps(cell):
            return
        batch = finished.batch
        content = _Content(
            finished.seconds,
            batch.provenance,
            batch.rounds.astype("<i8").tobytes(),
            batch.regret.astype("<f8").tobytes(),
            batch.actions.astype("<i8").tobytes(),
        )
        packed = msgspec.msgpack.encode(content)
        whole = _checksum(packed) + packed
        write_whole(self.path(cell), lambda file: file.write(whole), durable=False)


def _checksum(packed: bytes) -> bytes:
    return zlib.crc32(packed).to_bytes(_CHECKSUM_BYTES, "little")


@lru_cache(maxsize=1000)
def _scenario_text(scenario: Scenario) -> str:
    return json.dumps(scenario.to_dict(), sort_keys=True)
