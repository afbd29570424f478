"""The tables besides the records: contexts, snapshots, counters and settings, checked when read."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Any

import apsw
import msgspec

from foretell.service.log.record import personal_is_sound, snapshot_is_sound
from foretell.service.log.sqlite.connection import DamagedPages
from foretell.service.model.errors import Damaged, LogClosed


class SideTables:
    """Reads the other tables of a database, on a connection that only reads."""

    def __init__(self, reader: apsw.Connection) -> None:
        """Read on a connection."""
        self.reader = reader
        self.on_fail: Callable[[Exception], None] = lambda _: None
        """Called when the disk fails to read: a replay may have stopped halfway."""
        self.head: int = self._one("SELECT ifnull(max(seq), 0) FROM events", ())[0]
        """The number of the newest record."""

    def _rows(self, sql: str, bindings: tuple[Any, ...] = ()) -> Iterator[Any]:
        """Read rows; an error of the driver is raised as one of ours."""
        try:
            yield from self.reader.execute(sql, bindings)
        except (apsw.CorruptError, apsw.NotADBError, apsw.ConstraintError) as error:
            raise DamagedPages(error) from None
        except apsw.Error as error:
            self.on_fail(error)
            raise LogClosed(f"the log cannot be read ({error}): try again soon") from None
        except UnicodeDecodeError as error:
            raise DamagedPages(error) from None

    def _one(self, sql: str, bindings: tuple[Any, ...]) -> Any:
        """Return the first row, or None."""
        return next(self._rows(sql, bindings), None)

    def context(self, seq: int) -> bytes:
        """Return the context of a decision, empty where there is none."""
        row = self._one(
            "SELECT seq, campaign, unit, context, checksum FROM personal WHERE seq = ?", (seq,)
        )
        if row is None:
            return b""
        if not personal_is_sound(*row):
            raise Damaged("the context of record", seq)
        return row[3]

    def snapshot(self, campaign: int) -> tuple[int, bytes] | None:
        """Return the newest snapshot of a campaign and its record, or raise `Damaged`."""
        row = self._one(
            "SELECT seq, body, digest FROM snapshots WHERE campaign = ? ORDER BY seq DESC LIMIT 1",
            (campaign,),
        )
        if row is None:
            return None
        seq, body, stored = row
        if not snapshot_is_sound(campaign, seq, body, stored):
            raise Damaged("the snapshot at record", seq)
        return seq, body

    def snapshot_at(self, campaign: int, seq: int) -> bytes:
        """Return the newest snapshot, which must be that of a record, or raise `Damaged`."""
        found = self.snapshot(campaign)
        if found is None or found[0] != seq:
            raise Damaged("the snapshot at record", seq)
        return found[1]

    def snapshot_list(self) -> tuple[int, dict[int, int]]:
        """Return the record up to which snapshots are kept, and the newest of each campaign."""
        packed = self.meta("snapshots")
        if packed is None:
            return 0, {}
        if not isinstance(packed, bytes) or packed[:4] != zlib.crc32(packed[4:]).to_bytes(4):
            raise Damaged("the list of snapshots of the records up to", self.head)
        return msgspec.msgpack.decode(packed[4:], type=tuple[int, dict[int, int]])

    def counts(self, campaign: int) -> dict[str, int]:
        """Return what was counted with `SqliteLog.add_counts`."""
        return dict(self._rows("SELECT name, count FROM counters WHERE campaign = ?", (campaign,)))

    def meta(self, name: str) -> Any:
        """Return a value that is stored next to the log, or None."""
        row = self._one("SELECT value FROM meta WHERE name = ?", (name,))
        return None if row is None else row[0]
