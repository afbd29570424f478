"""The check of a whole log: every record, the chain of every stream, and what is next to them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

from foretell.service.log.chain import START, KeptLink, find_damage
from foretell.service.log.errors import Damaged
from foretell.service.log.owners import Owners
from foretell.service.log.postgres.archived_ranges import read_archives
from foretell.service.log.postgres.connection import (
    check_schema,
    close_connection,
    connect,
    driver_errors_wrapped,
)
from foretell.service.log.postgres.group import CLAIMS_MODULUS, unit_claim
from foretell.service.log.postgres.in_order import ORPHANED
from foretell.service.log.postgres.rows import COLUMNS, row_of
from foretell.service.log.postgres.settings import read_settings
from foretell.service.log.postgres.streams import read_streams
from foretell.service.log.protocol import LogCheck
from foretell.service.log.record import StoredRow, claim_number, personal_is_sound, state_is_sound
from foretell.service.log.stream_row import StreamRow
from foretell.service.model.events import SLOTS

LAST_SEQ = (1 << 63) - 1
ROWS_PER_STEP = 256
"""Rows that are read at a time, before a pause."""
Pause = Callable[[int], None]


def check_database(dsn: str, pause: Pause = lambda _: None) -> LogCheck:
    """Check everything in a log, in one snapshot; `pause` is called now and then, to go slowly.

    It runs in a thread of its own, as an event loop may be running in this one. Raises `LogClosed`
    if the log cannot be read now, which is no damage.
    """
    found: list[LogCheck] = []
    failed: list[BaseException] = []

    def check() -> None:
        try:
            with asyncio.Runner() as runner, driver_errors_wrapped(dsn):
                found.append(_check_snapshot(runner, dsn, pause))
        except BaseException as error:  # noqa: BLE001  (raised again below)
            failed.append(error)

    thread = threading.Thread(target=check, name="log check")
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return found[0]


def _check_snapshot(runner: asyncio.Runner, dsn: str, pause: Pause) -> LogCheck:
    connection = runner.run(connect(dsn))
    try:
        runner.run(check_schema(connection, dsn))
        runner.run(connection.transaction(isolation="repeatable_read", readonly=True).start())
        return Checking(runner, connection, pause).run()
    finally:
        runner.run(close_connection(connection))


class Checking:
    """One check, in the transaction of one connection."""

    def __init__(
        self, runner: asyncio.Runner, connection: Any, pause: Pause = lambda _: None
    ) -> None:
        """Await what the driver does in the loop of a runner."""
        self._runner = runner
        self._connection = connection
        self._pause = pause
        self._archives = runner.run(read_archives(connection))

    def run(self) -> LogCheck:
        """Check all parts."""
        damage: list[str] = []
        for part in (self._records, self._claims, self._ranks, self._contexts, self._states):
            try:
                damage += part()
            except Damaged as error:
                damage.append(str(error))
        try:
            self._runner.run(read_settings(self._connection))
        except Damaged as error:
            damage.append(str(error))
        return LogCheck(self._count("events"), self._count("states"), damage)

    def _count(self, table: str) -> int:
        return self._runner.run(self._connection.fetchval(f"SELECT count(*) FROM foretell.{table}"))

    def _rows(self, sql: str, *values: Any) -> Iterator[Any]:
        """Read many rows, a few at a time."""
        cursor = self._runner.run(self._open_cursor(sql, values))
        while some := self._runner.run(cursor.fetch(ROWS_PER_STEP)):
            yield from some

    async def _open_cursor(self, sql: str, values: tuple[Any, ...]) -> Any:
        return await self._connection.cursor(sql, *values)

    def _records(self) -> Iterator[str]:
        """Check every stream, and that none is missing."""
        streams = self._runner.run(read_streams(self._connection))
        for expected, stream in enumerate(streams, 1):
            if stream.stream != expected:
                yield f"stream {expected} is missing"
                break
        orphans = self._orphans(streams)
        for stream in streams:
            yield from self._stream(stream, orphans.get(stream.stream, []))
        if not streams and self._count("events"):
            yield "the log does not end as it did: its streams are missing"

    def _orphans(self, streams: list[StreamRow]) -> dict[int, list[int]]:
        """Return the records that no stream has written, by the stream whose chain each breaks."""
        found: dict[int, list[int]] = {}
        owners = Owners(streams)
        for row in self._rows(
            f"SELECT seq, (SELECT max(seq) FROM foretell.events AS before "
            f"WHERE before.seq < events.seq) AS previous FROM foretell.events WHERE {ORPHANED} "
            "ORDER BY seq"
        ):
            owners.owner(row["previous"] or 0)
            owner = owners.owner(row["seq"])
            if owner is not None:
                found.setdefault(owner, []).append(row["seq"])
        return found

    def _stream(self, stream: StreamRow, orphans: list[int]) -> Iterator[str]:
        """Check a stream, part by part where something between them is archived."""
        begin, start = stream.first, START
        for archive in self._archives:
            if archive.end <= stream.first or archive.first > stream.last:
                continue
            yield from self._part(stream, orphans, start, (begin, archive.first - 1), None)
            if stream.last < archive.end:
                return
            start = self._link_before(stream.stream, archive.end)
            begin = max(stream.first, start.seq + 1)
        yield from self._part(stream, orphans, start, (begin, stream.last), stream.link)

    def _link_before(self, stream: int, seq: int) -> KeptLink:
        row = self._runner.run(
            self._connection.fetchrow(
                "SELECT number, seq, link FROM foretell.links WHERE stream = $1 AND seq < $2 "
                "ORDER BY seq DESC LIMIT 1",
                stream,
                seq,
            )
        )
        return START if row is None else KeptLink(*row)

    def _part(
        self,
        stream: StreamRow,
        orphans: list[int],
        start: KeptLink,
        seqs: tuple[int, int],
        end: bytes | None,
    ) -> Iterator[str]:
        last = seqs[1] if end is None else LAST_SEQ
        rows = self._rows(
            f"SELECT {COLUMNS} FROM foretell.events WHERE "
            f"(seq BETWEEN $1 AND $2 AND (seq & {SLOTS - 1}) = $3) OR seq = ANY($4::bigint[]) "
            "ORDER BY seq",
            *seqs,
            stream.slot,
            [seq for seq in orphans if start.seq < seq <= last],
        )
        links = self._rows(
            "SELECT number, seq, link FROM foretell.links WHERE stream = $1 "
            "AND seq BETWEEN $2 AND $3 ORDER BY seq",
            stream.stream,
            seqs[0],
            last,
        )
        counted = _Counted(rows, self._pause)
        kept = (KeptLink(*row) for row in links)
        for sentence in find_damage(counted, kept, end, start):
            if sentence is not None:
                yield sentence

    def _claims(self) -> Iterator[str]:
        """Check that what was claimed is what was claimed before."""
        total = 0
        for row in self._rows("SELECT campaign, key, seq FROM foretell.keys"):
            total += claim_number(*row)
        for campaign, unit, n, action, seq in self._rows("SELECT * FROM foretell.units"):
            total += claim_number(campaign, unit_claim(unit, n, action), seq)
        streams = self._runner.run(read_streams(self._connection))
        if (total - sum(one.claims for one in streams)) % CLAIMS_MODULUS:
            yield (
                "the keys that were claimed do not match their checksum: one was changed or removed"
            )

    def _ranks(self) -> Iterator[str]:
        """Check that every rank that is kept is that of its decision."""
        for row in self._rows(
            "SELECT ranks.campaign, ranks.seq FROM foretell.ranks LEFT JOIN ("
            "SELECT campaign, seq, row_number() OVER (PARTITION BY campaign ORDER BY seq) - 1 "
            "AS rank FROM foretell.events WHERE decision IS NULL) AS counted "
            "USING (campaign, seq) WHERE counted.rank IS DISTINCT FROM ranks.rank "
            "AND campaign <> ALL($1::bigint[])",
            [number for one in self._archives for number in one.campaigns],
        ):
            yield f"the rank of decision {row['seq']} of campaign {row['campaign']} is wrong"

    def _contexts(self) -> Iterator[str]:
        for row in self._rows(
            "SELECT seq, campaign, unit, context, checksum FROM foretell.personal"
        ):
            if not personal_is_sound(*row):
                yield f"the context of record {row['seq']} does not match its checksum"

    def _states(self) -> Iterator[str]:
        for campaign, position, version, body, digest in self._rows(
            "SELECT campaign, position, version, body, digest FROM foretell.states"
        ):
            if not state_is_sound(campaign, position, version, body, digest):
                yield (
                    f"the state of campaign {campaign} as of {position} does not match its checksum"
                )


class _Counted:
    """The records of a stream, with a pause after some."""

    def __init__(self, rows: Iterator[Any], pause: Pause) -> None:
        """Read rows as records."""
        self._rows = rows
        self._pause = pause

    def __iter__(self) -> Iterator[StoredRow]:
        """Return them in order."""
        number = 0
        for number, row in enumerate(self._rows, 1):
            if number % ROWS_PER_STEP == 0:
                self._pause(ROWS_PER_STEP)
            yield row_of(row)
        self._pause(number % ROWS_PER_STEP)
