"""The rows of an imported history: packed in records of the log, and read in their order.

A part is stored column by column and compressed: a million rows take some megabytes. An import is
as old as its rows say: they are read in the order of time, and where a row has no time, with the
row before it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from foretell.service.model.events import ImportedHistory
from foretell.types import Floats, Ints

UNTIMED = -(2**63)
"""The time of a row that has none: before all others."""
_KINDS = ("<i4", "<i4", "<f8", "<f8", "<i8")


class ImportedRows(NamedTuple):
    """Decisions of an earlier log, column by column."""

    action: Ints
    signal: Ints
    reward: Floats
    """NaN where it is not known."""
    propensity: Floats
    """NaN where all actions were equally likely."""
    decided_at: Ints
    """In microseconds; `UNTIMED` where it is not known."""

    def chosen(self, which: slice | Ints) -> ImportedRows:
        """Return some of the rows."""
        columns: Any = (column[which] for column in self)
        return ImportedRows(*columns)


def pack_rows(rows: ImportedRows) -> bytes:
    """Return rows as they are stored."""
    columns = (column.astype(kind).tobytes() for column, kind in zip(rows, _KINDS, strict=True))
    return zlib.compress(b"".join(columns))


def unpack_rows(packed: bytes) -> ImportedRows:
    """Return the rows that were stored.

    >>> rows = ImportedRows(*(np.array([1]) for _ in range(5)))
    >>> unpack_rows(pack_rows(rows)).action.tolist()
    [1]
    """
    data = zlib.decompress(packed)
    sizes = [np.dtype(kind).itemsize for kind in _KINDS]
    count, begin, columns = len(data) // sum(sizes), 0, []
    for kind, size in zip(_KINDS, sizes, strict=True):
        columns.append(np.frombuffer(data, kind, count, begin))
        begin += count * size
    return ImportedRows(*columns)


def joined(parts: Sequence[ImportedRows]) -> ImportedRows:
    """Return the rows of some parts, one part after the other; at least one part."""
    return ImportedRows(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def in_order(histories: Iterable[tuple[ImportedHistory, ImportedRows]]) -> ImportedRows:
    """Return the rows of at least one history in the order in which a policy reads them."""
    rows = joined([_completed(history, one) for history, one in histories])
    order = np.argsort(rows.decided_at, kind="stable")
    return rows.chosen(order)


def _completed(history: ImportedHistory, rows: ImportedRows) -> ImportedRows:
    """Return rows with a time and a propensity in place of those that are not known."""
    unknown, even = np.isnan(rows.propensity), 1.0 / history.actions
    return rows._replace(
        decided_at=_carried(rows.decided_at),
        propensity=np.where(unknown, even, rows.propensity),
    )


def _carried(times: Ints) -> Ints:
    """Return times with that of the row before in place of one that is not known.

    >>> _carried(np.array([7, 5, UNTIMED, 3])).tolist()
    [7, 5, 5, 3]
    """
    known = np.where(times != UNTIMED, np.arange(times.size), 0)
    return times[np.maximum.accumulate(known)]
