"""The log in SQLite: lines are appended, made durable together, and read back checked.

Lines that are appended and not yet committed are kept here as well, so that whoever reads sees
everything that was appended.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from foretell.live.events import AnyEvent, Decided, Rewarded, Signalled
from foretell.live.ledger import Facts, Line
from foretell.live.problems import Damaged, LogClosed
from foretell.live.snapshot import digest
from foretell.live.store.committer import Committer
from foretell.live.store.record import (
    COLUMNS,
    NO_ROUND,
    ROOT,
    event_of,
    link_after,
    record,
)
from foretell.live.store.schema import connect

ROUNDS = 64
"""Rounds that are read at a time."""


class Stored(NamedTuple):
    """A line as it is read back."""

    seq: int
    campaign: int
    event: AnyEvent


class Log:
    """The lines of one database, with one connection that writes and one that reads."""

    def __init__(
        self, path: str, *, vfs: str | None = None, relaxed: bool = False, check: bool = True
    ) -> None:
        """Open the database, making it where there is none; `check` syncs what a crash left."""
        self.path = path
        self.vfs = vfs
        writer = connect(path, write=True, vfs=vfs)
        if check:
            writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self.reader = connect(path, write=False, vfs=vfs)
        self.committer = Committer(writer, relaxed=relaxed)
        self.committer.on_done = self._settled
        row = self.reader.execute("SELECT seq, link FROM events ORDER BY seq DESC LIMIT 1").get
        self.head: int = 0 if row is None else row[0]
        self.link: bytes = ROOT if row is None else row[1]
        self.committer.committed = self.head
        self._about: dict[tuple[int, int], list[Stored]] = {}
        self._keys: dict[tuple[int, str | bytes], Stored] = {}
        self._fresh: list[tuple[Stored, tuple[int, int], list[tuple[int, str | bytes]]]] = []
        self.last_at = 0 if self.head == 0 else self._last().event.at

    def append(
        self,
        campaign: int,
        event: AnyEvent,
        about: int = NO_ROUND,
        key: str | None = None,
        unit: bytes | None = None,
        context: bytes = b"",
    ) -> int:
        """Append a line and give its number; it is durable when `durable` is done.

        `unit` and `context` are kept beside the log, where they can be erased.
        """
        if self.committer.error is not None:
            raise LogClosed("the log cannot be written: nothing was taken in, try again")
        seq = self.head + 1
        row = record(seq, campaign, about, key, event, self.link)
        self.head, self.link = seq, row.link
        self.last_at = event.at
        stored = Stored(seq, campaign, event)
        place = (campaign, about)
        self._about.setdefault(place, []).append(stored)
        names = [(campaign, name) for name in (key, unit) if name is not None]
        for name in names:
            self._keys.setdefault(name, stored)
        self._fresh.append((stored, place, names))
        self.committer.add(row, strict=not isinstance(event, Decided))
        if unit is not None or context:
            check = zlib.crc32(context, zlib.crc32(unit or b"", seq))
            self.committer.also(
                "INSERT INTO personal VALUES (?, ?, ?, ?, ?)", (seq, campaign, unit, context, check)
            )
        return seq

    def durable(self) -> asyncio.Future[None]:
        """Give what is done when everything appended so far is on disk."""
        return self.committer.durable()

    def _settled(self, committed: int) -> None:
        """Let go of lines that can be read from the database."""
        done = 0
        for stored, place, names in self._fresh:
            if stored.seq > committed:
                break
            done += 1
            if place in self._about and self._about[place][-1].seq <= committed:
                del self._about[place]
            for name in names:
                self._keys.pop(name, None)
        del self._fresh[:done]

    def _last(self) -> Stored:
        return next(self.scan(self.head - 1))

    def by_key(self, campaign: int, key: str) -> Stored | None:
        """Find the line with a key."""
        fresh = self._keys.get((campaign, key))
        if fresh is not None:
            return fresh
        row = self.reader.execute(
            f"SELECT {COLUMNS} FROM events WHERE campaign = ? AND key = ?",
            (campaign, key),
        ).get
        return None if row is None else Stored(row[0], campaign, event_of(row))

    def about(self, campaign: int, about: int, before: int | None = None) -> list[Stored]:
        """Give the lines about a round, or about the campaign itself, in log order."""
        lines = self._read("campaign = ? AND round = ? ORDER BY seq", (campaign, about), before)
        return lines + self._fresher((campaign, about), lines, before)

    def facts(self, campaign: int, about: int, before: int | None = None) -> Facts | None:
        """Give all about one decision, or None where there is no such decision."""
        return _facts(self.about(campaign, about, before))

    def rounds(
        self, campaign: int, first: int, before: int | None = None, count: int = ROUNDS
    ) -> list[Facts]:
        """Give the decisions of the next rounds, each with its lines."""
        some = self._read(
            "campaign = ? AND round >= ? AND round < ? ORDER BY round, seq",
            (campaign, first, first + count),
            before,
        )
        grouped: dict[int, list[Stored]] = {}
        for line in some:
            grouped.setdefault(line.event.round, []).append(line)  # type: ignore[union-attr]
        if self._about:
            for about in range(first, first + count):
                known = grouped.get(about, [])
                fresher = self._fresher((campaign, about), known, before)
                if fresher:
                    grouped[about] = known + fresher
        found = [_facts(grouped[about]) for about in sorted(grouped)]
        return [facts for facts in found if facts is not None]

    def _fresher(
        self, place: tuple[int, int], known: list[Stored], before: int | None
    ) -> list[Stored]:
        fresh = self._about.get(place)
        if not fresh:
            return []
        last = known[-1].seq if known else 0
        return [one for one in fresh if one.seq > last and (before is None or one.seq < before)]

    def _read(self, where: str, bindings: tuple[Any, ...], before: int | None) -> list[Stored]:
        rows = self.reader.execute(f"SELECT {COLUMNS} FROM events WHERE {where}", bindings)
        return [
            Stored(row[0], row[1], event_of(row))
            for row in rows
            if before is None or row[0] < before
        ]

    def scan(self, after: int = 0, upto: int | None = None) -> Iterator[Stored]:
        """Read the lines after one in order, and check the chain between them.

        With `upto`, which must be committed, others may work between two lines.
        """
        link = self.reader.execute("SELECT link FROM events WHERE seq = ?", (after,)).get or ROOT
        expected = after + 1
        for row in self.reader.execute(
            f"SELECT {COLUMNS} FROM events WHERE seq > ? AND seq <= ? ORDER BY seq",
            (after, self.head if upto is None else upto),
        ):
            event = event_of(row)
            link = link_after(link, row[5], row[4])
            if row[0] != expected or link != row[6]:
                raise Damaged("line", expected)
            expected += 1
            yield Stored(row[0], row[1], event)
        if upto is None:
            yield from [stored for stored, _, _ in self._fresh if stored.seq >= expected]

    def page(self, campaign: int, after: int, limit: int) -> list[Stored]:
        """Give lines of a campaign after a line, in log order, as far as they are on disk."""
        return self._read(
            "+campaign = ? AND seq > ? ORDER BY seq LIMIT ?", (campaign, after, limit), None
        )

    def by_unit(self, campaign: int, unit: bytes) -> Stored | None:
        """Find the first decision of a unit."""
        row = self.reader.execute(
            f"SELECT {COLUMNS} FROM events WHERE seq = "
            "(SELECT min(seq) FROM personal WHERE campaign = ? AND unit = ?)",
            (campaign, unit),
        ).get
        if row is None:
            return self._keys.get((campaign, unit))
        return Stored(row[0], campaign, event_of(row))

    def erase(self, campaign: int, unit: bytes) -> int:
        """Forget which decisions were a unit's, and their contexts; give how many they were."""
        found = self.reader.execute(
            "SELECT count(*) FROM personal WHERE campaign = ? AND unit = ?", (campaign, unit)
        ).get
        self.committer.also(
            "DELETE FROM personal WHERE campaign = ? AND unit = ?", (campaign, unit)
        )
        return found

    def context(self, seq: int) -> bytes:
        """Give the context of a decision, empty where there is none."""
        row = self.reader.execute(
            "SELECT unit, context, checksum FROM personal WHERE seq = ?", (seq,)
        ).get
        if row is None:
            return b""
        unit, context, check = row
        if zlib.crc32(context, zlib.crc32(unit or b"", seq)) != check:
            raise Damaged("context of line", seq)
        return context

    def count(self, campaign: int, upto: int) -> int:
        """Count the decisions, signals and rewards of a campaign up to a line."""
        return self.reader.execute(
            "SELECT count(*) FROM events WHERE campaign = ? AND round >= 0 AND seq <= ?",
            (campaign, upto),
        ).get

    def snapshot(self, campaign: int) -> tuple[int, bytes] | None:
        """Give the newest snapshot of a campaign and its line, or raise `Damaged`."""
        row = self.reader.execute(
            "SELECT seq, body, digest FROM snapshots WHERE campaign = ? ORDER BY seq DESC LIMIT 1",
            (campaign,),
        ).get
        if row is None:
            return None
        seq, body, stored = row
        if digest(body) != stored:
            raise Damaged("snapshot at line", seq)
        return seq, body

    def add_snapshot(self, campaign: int, seq: int, body: bytes) -> None:
        """Keep a snapshot, and drop the one before the last."""
        self.committer.also(
            "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?)",
            (campaign, seq, body, digest(body)),
        )
        self.committer.also(
            "DELETE FROM snapshots WHERE campaign = ? AND seq NOT IN "
            "(SELECT seq FROM snapshots WHERE campaign = ? ORDER BY seq DESC LIMIT 2)",
            (campaign, campaign),
        )

    def add_counts(self, campaign: int, name: str, by: int) -> None:
        """Count what leaves no line: duplicates and rejections."""
        self.committer.also(
            "INSERT INTO counters VALUES (?, ?, ?) "
            "ON CONFLICT DO UPDATE SET count = count + excluded.count",
            (campaign, name, by),
        )

    def counts(self, campaign: int) -> dict[str, int]:
        """Give what was counted so."""
        rows = self.reader.execute(
            "SELECT name, count FROM counters WHERE campaign = ?", (campaign,)
        )
        return dict(rows)

    def meta(self, name: str) -> Any:
        """Give a value that is kept beside the log, or None."""
        return self.reader.execute("SELECT value FROM meta WHERE name = ?", (name,)).get

    def set_meta(self, name: str, value: Any) -> None:
        """Keep a value beside the log."""
        self.committer.also("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    async def close(self) -> None:
        """Commit what is queued and let go of the database."""
        await self.committer.close()
        self.reader.close()
        self.committer.connection.close()


def _facts(lines: list[Stored]) -> Facts | None:
    """Gather the lines of one decision; those that mean another decision are left out."""
    decided = next((one.event for one in lines if isinstance(one.event, Decided)), None)
    if decided is None:
        return None
    return Facts(
        decided,
        [
            Line(one.seq, one.event)
            for one in lines
            if isinstance(one.event, (Signalled, Rewarded)) and one.event.made == decided.at
        ],
    )
