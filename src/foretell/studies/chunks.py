"""Cutting a sweep into chunks of about half a second of CPU, the longest cells first.

A chunk is a list of pieces, a piece a range of the runs of one cell: a long cell becomes many
chunks, and many short cells one. How long a run takes is not known beforehand, so that of each
policy one run is played first; every chunk that comes back corrects the estimate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foretell.studies.cells import Cell

CHUNK_SECONDS = 0.5
MOST_PIECES = 1000
"""Pieces in one chunk, however short they are."""
RECENT = 0.5
"""The weight of the newest chunk in the estimate."""


class Piece(NamedTuple):
    """The runs of a cell from `first` up to, not including, `end`."""

    cell: int
    first: int
    end: int


class PolicySpeed:
    """How long policies take: seconds for each unit of work, as learned from finished pieces."""

    def __init__(self) -> None:
        self._rates: dict[tuple[str, int, int], float] = {}
        self._by_policy: dict[str, float] = {}

    def knows(self, cell: Cell) -> bool:
        """Whether the policy of a cell has been timed."""
        return cell.spec.name in self._by_policy

    def seconds_per_run(self, cell: Cell) -> float:
        """Estimate how long one run takes: a whole chunk where the policy is unknown."""
        rate = self._rates.get(_kind(cell), self._by_policy.get(cell.spec.name))
        return CHUNK_SECONDS if rate is None else rate * cell.work / cell.runs

    def learn(self, cell: Cell, runs: int, seconds: float) -> bool:
        """Take a finished piece into account; return whether its policy was unknown."""
        was_new = not self.knows(cell)
        rate = seconds * cell.runs / (runs * cell.work)
        before = self._rates.get(_kind(cell), rate)
        now = RECENT * rate + (1.0 - RECENT) * before
        self._rates[_kind(cell)] = self._by_policy[cell.spec.name] = now
        return was_new


def _kind(cell: Cell) -> tuple[str, int, int]:
    return cell.spec.name, cell.scenario.actions, cell.scenario.signals


class ChunkQueue:
    """What is left to do of some cells."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        self._cells = cells
        self._speed = PolicySpeed()
        self._next_run = [0] * len(cells)
        self._again: list[list[Piece]] = []
        self._waiting: list[int] = []
        self._probes = self._probe_cells()
        self._sort()

    def __bool__(self) -> bool:
        """Whether anything is left."""
        return bool(self._again or self._probes or self._waiting)

    def take(self) -> list[Piece]:
        """Return the next chunk; empty where nothing is left."""
        if self._again:
            return self._again.pop()
        if self._probes:
            return [self._cut(self._probes.pop(0), 1)]
        chunk: list[Piece] = []
        left = CHUNK_SECONDS
        while self._waiting and left > 0.0 and len(chunk) < MOST_PIECES:
            number = self._waiting[-1]
            cell = self._cells[number]
            if self._next_run[number] == cell.runs:
                self._waiting.pop()
                continue
            seconds = self._speed.seconds_per_run(cell)
            runs = _runs_within(left, seconds)
            if chunk and runs == 0:
                break
            piece = self._cut(number, max(1, runs))
            chunk.append(piece)
            left -= (piece.end - piece.first) * seconds
        return chunk

    def put_back(self, chunk: list[Piece]) -> None:
        """Take back a chunk that nobody finished."""
        self._again.append(chunk)

    def learn(self, piece: Piece, seconds: float) -> None:
        """Take the time of a finished piece into account."""
        if self._speed.learn(self._cells[piece.cell], piece.end - piece.first, seconds):
            self._sort()

    def _probe_cells(self) -> list[int]:
        """Return the longest cell of each policy."""
        longest: dict[str, int] = {}
        for number, cell in enumerate(self._cells):
            name = cell.spec.name
            if name not in longest or cell.work > self._cells[longest[name]].work:
                longest[name] = number
        return list(longest.values())

    def _sort(self) -> None:
        """Put the longest cell last, where it is taken from."""
        left = [n for n, cell in enumerate(self._cells) if self._next_run[n] < cell.runs]
        self._waiting = sorted(left, key=self._order)

    def _order(self, number: int) -> tuple[bool, float, int]:
        """Return what cells are sorted by: those of unknown policies wait for their probe."""
        cell = self._cells[number]
        known = self._speed.knows(cell)
        return known, self._speed.seconds_per_run(cell) * cell.runs, cell.work

    def _cut(self, number: int, runs: int) -> Piece:
        first = self._next_run[number]
        end = min(self._cells[number].runs, first + runs)
        self._next_run[number] = end
        return Piece(number, first, end)


def _runs_within(left: float, seconds: float) -> int:
    """Return how many runs fit into the time that is left, with a tenth over."""
    return int(1.1 * left / max(seconds, 1e-9))
