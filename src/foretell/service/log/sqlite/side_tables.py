"""The tables besides the records: contexts, units, states, counters, uses of keys and settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foretell.service.log.errors import Damaged
from foretell.service.log.protocol import SavedState
from foretell.service.log.record import (
    personal_is_sound,
    row_checksum,
    state_digest,
    state_is_sound,
)
from foretell.service.log.sqlite.appender import Appender, unit_claim
from foretell.service.log.sqlite.reader import RecordReader
from foretell.service.log.sqlite.rows import read_settings


class SqliteReader(RecordReader):
    """The records of one database, and the tables besides them."""

    async def context(self, decision: int) -> bytes:
        """Return the context of a decision, empty where there is none or it was erased."""
        row = self._one(
            "SELECT seq, campaign, unit, context, checksum FROM personal WHERE seq = ?", (decision,)
        )
        if row is None:
            return b""
        if not personal_is_sound(*row):
            raise Damaged("the context of record", decision)
        return row[3]

    async def load_state(self, campaign: int) -> SavedState | None:
        """Return the newest state that was saved, None without one; raise `Damaged`."""
        row = self._one(
            "SELECT position, version, body, digest FROM states WHERE campaign = ? "
            "ORDER BY position DESC LIMIT 1",
            (campaign,),
        )
        if row is None:
            return None
        if not state_is_sound(campaign, *row):
            raise Damaged(f"campaign {campaign}: the state as of", row[0])
        return SavedState(*row[:3])

    async def counts(self, campaign: int) -> dict[str, int]:
        """Return what was counted with `add_counts`."""
        found: dict[str, int] = {}
        for name, count, checksum in self._rows(
            "SELECT name, count, checksum FROM counters WHERE campaign = ?", (campaign,)
        ):
            if row_checksum(campaign, name, count) != checksum:
                raise Damaged(f"campaign {campaign}: the count of {name!r}")
            found[name] = count
        return found

    async def uses(self) -> dict[str, int]:
        """Return what was kept with `save_uses`; what is damaged is left out."""
        rows = self._rows("SELECT id, last_used, checksum FROM key_uses")
        return {key: used for key, used, checksum in rows if row_checksum(key, used) == checksum}

    def setting(self, name: str) -> Any:
        """Return a setting that is stored next to the log, or None."""
        with self._errors_wrapped():
            return read_settings(self._source.reader).get(name)


def save_state(campaign: int, state: SavedState, appender: Appender) -> None:
    """Keep a state, in place of the last one of its version."""
    appender.connection.execute(
        "INSERT OR REPLACE INTO states (campaign, position, version, body, digest) "
        "VALUES (?, ?, ?, ?, ?)",
        (campaign, *state, state_digest(campaign, *state)),
    )


def erase(campaign: int, unit: bytes, appender: Appender) -> int:
    """Delete what belongs to a unit; return of how many decisions."""
    execute, of_unit = appender.connection.execute, (campaign, unit)
    for n, action, seq in execute(
        "DELETE FROM units WHERE campaign = ? AND unit = ? RETURNING n, action, seq", of_unit
    ):
        appender.subtract_claim(campaign, unit_claim(unit, n, action), seq)
    execute("DELETE FROM personal WHERE campaign = ? AND unit = ?", of_unit)
    return appender.connection.changes()


def add_counts(campaign: int, name: str, by: int, appender: Appender) -> None:
    """Count what leaves no record; a count that is damaged begins again."""
    execute = appender.connection.execute
    known = execute(
        "SELECT count, checksum FROM counters WHERE campaign = ? AND name = ? "
        "AND typeof(count) = 'integer' AND typeof(checksum) = 'integer'",
        (campaign, name),
    ).fetchone()
    if known is not None and row_checksum(campaign, name, known[0]) == known[1]:
        by += known[0]
    execute(
        "INSERT OR REPLACE INTO counters VALUES (?, ?, ?, ?)",
        (campaign, name, by, row_checksum(campaign, name, by)),
    )


def save_uses(uses: Mapping[str, int], appender: Appender) -> None:
    """Keep for some keys the moment at which each was last used."""
    appender.connection.executemany(
        "INSERT OR REPLACE INTO key_uses VALUES (?, ?, ?)",
        [(key, used, row_checksum(key, used)) for key, used in uses.items()],
    )


def keep_head(_: Appender) -> None:
    """Do nothing: every transaction stores the head."""
