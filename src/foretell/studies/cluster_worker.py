"""What a worker of a cluster does: it takes in the user's own files, and plays chunks of runs.

Everything comes and goes as bytes, so that the scheduler needs neither foretell nor those files.
"""

from __future__ import annotations

import hashlib
import importlib
import pickle
import platform
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from foretell.errors import InvalidInput
from foretell.imports import import_file
from foretell.sim import simulate
from foretell.sim.own_sources import own_files
from foretell.sim.prepare import Probe, compiled_program
from foretell.sim.provenance import provenance

if TYPE_CHECKING:
    from collections.abc import Iterable

    from foretell.studies.cells import Cell
    from foretell.types import Floats, Ints


class OwnCode(NamedTuple):
    """The user's own files, as they travel."""

    modules: tuple[tuple[str, str], ...]
    """What is imported: names with their files."""
    files: tuple[tuple[str, bytes], ...]
    """Relative paths with what they hold."""

    @property
    def digest(self) -> str:
        """What tells one state of the files from another."""
        return hashlib.sha256(repr(self).encode()).hexdigest()


class PlayedPiece(NamedTuple):
    """A range of runs of one cell, played."""

    rounds: Ints
    regret: Floats
    actions: Ints
    seconds: float
    """CPU time."""


def own_code(modules: Iterable[str]) -> OwnCode:
    """Return the files of the user's own modules, ready to travel."""
    names = tuple(dict.fromkeys(modules))
    files = own_files(names)
    if files is None or "__main__" in names:
        raise InvalidInput(
            "a cluster can be sent only policies that are defined in files: "
            "move yours into one and import it"
        )
    by_path = {path: relative for relative, path in files.items()}
    origins = [Path(str(sys.modules[name].__file__)).resolve() for name in names]
    return OwnCode(
        tuple((name, by_path[origin]) for name, origin in zip(names, origins, strict=True)),
        tuple((relative, path.read_bytes()) for relative, path in files.items()),
    )


_received: dict[str, Any] = {"digest": OwnCode((), ()).digest, "folder": None}


def describe_worker(payload: bytes) -> dict[str, str]:
    """Take in the user's own files; return the versions and the source of this worker."""
    own: OwnCode = pickle.loads(payload)  # noqa: S301  from the client that runs this
    if own.digest != _received["digest"]:
        _forget()
        folder = Path(tempfile.mkdtemp(prefix="foretell-own-")).resolve()
        _received.update(digest=own.digest, folder=folder)
        for relative, content in own.files:
            path = folder / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        sys.path.insert(0, str(folder))  # before files of the same names that this machine has
        for name, relative in own.modules:
            if "." in name or relative.endswith("__init__.py"):
                importlib.import_module(name)
            elif name not in sys.modules:
                import_file(folder / relative, name)
    return machine_provenance()


def machine_provenance() -> dict[str, str]:
    """Return all that two machines must share to compute the same bytes."""
    return provenance() | {"machine": platform.machine()}


def _forget() -> None:
    """Forget the files of an earlier sweep."""
    folder = _received["folder"]
    if folder is None:
        return
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").startswith(f"{folder}/"):
            del sys.modules[name]
    sys.path.remove(str(folder))


_warm: set[tuple[type, type]] = set()


def play_chunk(payload: bytes) -> bytes:
    """Play pieces of cells, each on this thread alone, and return what came of them."""
    digest, packed = pickle.loads(payload)  # noqa: S301  from the client that runs this
    if digest != _received["digest"]:
        raise InvalidInput(
            "another sweep has sent this cluster other files of its own in the meantime: "
            "wait until it has ended and call again"
        )
    pieces: list[tuple[Cell, int, int]] = pickle.loads(packed)  # noqa: S301  as above
    return pickle.dumps([_play(*piece) for piece in pieces], protocol=5)


class _Call(NamedTuple):
    """A call of `play_chunk` that is made where it is unpickled."""

    payload: bytes

    def __reduce__(self) -> tuple[Any, ...]:
        """Say what unpickling does."""
        return play_chunk, (self.payload,)


def pack_chunk(digest: str, pieces: list[tuple[Cell, int, int]]) -> bytes:
    """Return bytes that play the pieces where they are unpickled, and become the results.

    So a task is `pickle.loads` of bytes: a scheduler, which looks at both, needs nothing of ours.
    """
    payload = pickle.dumps((digest, pickle.dumps(pieces, protocol=5)), protocol=5)
    return pickle.dumps(_Call(payload), protocol=5)


def _play(cell: Cell, first: int, end: int) -> PlayedPiece:
    _warm_up(cell)
    begun = time.thread_time()  # what else the machine does is not the cell's
    batch = simulate(
        cell.scenario,
        cell.spec,
        cell.horizon,
        end - first,
        cell.seed,
        threads=1,
        checkpoints=cell.checkpoints,
        progress=False,
        first_run=first,
    )
    return PlayedPiece(batch.rounds, batch.regret, batch.actions, time.thread_time() - begun)


def _warm_up(cell: Cell) -> None:
    """Compile a policy before it is timed, once in this process."""
    kind = type(cell.spec), type(cell.scenario.changes)
    if kind not in _warm:
        program = compiled_program([cell.spec], cell.scenario, cell.horizon, shown=False)
        Probe(cell.scenario, cell.horizon, program.draw).call(cell.spec, program.play[0])
        _warm.add(kind)
