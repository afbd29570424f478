"""The reader of the log: records by key, by decision, by unit, in order; each is checked.

The work of a read does not grow with records that it does not return, but for those in order of
one campaign.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import apsw
import msgspec

from foretell.service.log.archives import ArchivedRange
from foretell.service.log.chain import LINK_EVERY, verified
from foretell.service.log.errors import Damaged, LogClosed
from foretell.service.log.protocol import LogCheck, UnitAction
from foretell.service.log.record import claim_digest, record_of, records_of
from foretell.service.log.sqlite.appender import RANK_EVERY
from foretell.service.log.sqlite.check import check_database
from foretell.service.log.sqlite.copied_records import read_copied_in_order
from foretell.service.log.sqlite.copied_streams import read_copied_streams
from foretell.service.log.sqlite.driver_errors import DAMAGE, DamagedPages
from foretell.service.log.sqlite.rows import COLUMNS, PREFIXED, as_json, row_of
from foretell.service.log.sqlite.stream import Stream, link_before, read_stream
from foretell.service.model.events import AnyEvent, Decided, DecisionRecords, Record

_new = tuple.__new__  # of many records, without a call for each
LAST_SEQ = (1 << 63) - 1
ROWS_PER_STEP = 64
"""Records that are read in order before others get their turn."""
ROWS_PER_COUNT = 50_000
"""Records that are counted before others get their turn."""
_RANK = (
    "(SELECT rank + since FROM (SELECT campaign, seq, rank, "
    "(SELECT count(*) FROM events AS before INDEXED BY decisions "
    "WHERE before.campaign = ranks.campaign AND before.decision IS NULL "
    "AND before.seq >= ranks.seq AND before.seq < events.seq) AS since "
    "FROM ranks WHERE ranks.campaign = events.campaign AND ranks.seq <= events.seq "
    f"ORDER BY ranks.seq DESC LIMIT 1) AS kept WHERE since < {RANK_EVERY} AND seq = "
    "(SELECT twin.seq FROM ranks AS twin INDEXED BY rank_of "
    "WHERE twin.campaign = kept.campaign AND twin.rank = kept.rank))"
)
"""How many decisions of its campaign come before one, counted from the last rank that was kept.

A rank that is kept is in the table and in its index: where the two differ, or one that should be
there was passed over, the rank is not known.
"""


class Source(Protocol):
    """Where a reader gets its connection: another one each time that the database is reopened."""

    @property
    def reader(self) -> apsw.Connection:
        """The connection that only reads."""

    def fail(self, error: Exception) -> None:
        """Note that the disk fails to read."""


class RecordReader:
    """The records of one database, on a connection that only reads."""

    def __init__(self, path: str, source: Source) -> None:
        """Read the database of that name, on the connection of a source."""
        self.path = path
        self._source = source
        self._gap: tuple[apsw.Connection | None, int, int] = None, 0, 0
        """Seqs between which there is no decision that was asked for, on this connection."""

    @contextmanager
    def _errors_wrapped(self) -> Iterator[None]:
        """Raise an error of the driver as one of ours."""
        try:
            yield
        except DAMAGE as error:
            raise DamagedPages(error) from None
        except apsw.ConnectionClosedError:
            raise LogClosed("the log is closed: try again soon") from None
        except apsw.Error as error:
            self._source.fail(error)
            raise LogClosed(f"the log cannot be read ({error}): try again soon") from None

    def _rows(self, sql: str, bindings: tuple[Any, ...] = ()) -> list[Any]:
        with self._errors_wrapped():
            return self._source.reader.execute(sql, bindings).fetchall()

    def _one(self, sql: str, bindings: tuple[Any, ...] = ()) -> Any:
        """Return the first row, or None."""
        with self._errors_wrapped():
            return self._source.reader.execute(sql, bindings).fetchone()

    async def decisions(self, campaign: int, numbers: Sequence[int]) -> list[DecisionRecords]:
        """Return the decisions with these numbers, each with all its records; others are absent."""
        found = self._rows(
            f"SELECT {PREFIXED}, {_RANK} FROM json_each(?) CROSS JOIN events "
            "ON events.seq = json_each.value WHERE decision IS NULL AND campaign = ?",
            (as_json(list(dict.fromkeys(numbers))), campaign),
        )
        self._check_absent(set(numbers) - {row[0] for row in found})
        records = list(records_of([row[:-1] for row in found]))
        numbers, events = [one.seq for one in records], [one.event for one in records]
        return self._with_feedback(campaign, numbers, events, [row[-1] for row in found])

    async def decided(self, campaign: int, numbers: Sequence[int]) -> dict[int, Decided]:
        """Return the decisions with these numbers, without what came after; others are absent."""
        rows = self._rows(
            f"SELECT {PREFIXED} FROM json_each(?) CROSS JOIN events "
            "ON events.seq = json_each.value WHERE decision IS NULL AND campaign = ?",
            (as_json(numbers), campaign),
        )
        events = {record.seq: record.event for record in records_of(rows)}
        self._check_absent(set(numbers) - events.keys())
        return {number: one for number, one in events.items() if isinstance(one, Decided)}

    def _check_absent(self, numbers: set[int]) -> None:
        """Make sure that decisions are not in the log: a damaged record may have lost its number.

        Where the chain is whole, nothing is missing. Many are absent together when a backup was
        restored, between the same two records: that gap is read once.
        """
        for number in sorted(numbers):
            connection, first, last = self._gap
            if connection is not self._source.reader or not first <= number <= last:
                connection = self._source.reader
                following = self._read_in_order(number - 1, 1)
                self._gap = connection, number, following[0].seq if following else number

    async def number_at(self, campaign: int, rank: int) -> int:
        """Return the number of the decision of a round, 0 where there is none."""
        kept = self._one(
            "SELECT seq FROM ranks INDEXED BY rank_of WHERE campaign = ? AND rank = ?",
            (campaign, rank - rank % RANK_EVERY),
        )
        if kept is None:
            return 0
        row = self._one(
            f"SELECT seq, {_RANK} FROM events INDEXED BY decisions WHERE campaign = ? "
            "AND decision IS NULL AND seq >= ? ORDER BY seq LIMIT 1 OFFSET ?",
            (campaign, kept[0], rank % RANK_EVERY),
        )
        if row is not None and row[1] != rank:
            raise Damaged("the rank of decision", row[0])
        return 0 if row is None else row[0]

    async def decisions_after(self, campaign: int, after: int, count: int) -> list[DecisionRecords]:
        """Return the next decisions of a campaign after a number, in order."""
        numbers, events = [], []
        with self._errors_wrapped():  # row by row: many objects at a time are work for the gc
            for number, _, _, event in records_of(
                self._source.reader.execute(
                    f"SELECT {COLUMNS} FROM events INDEXED BY decisions "
                    "WHERE campaign = ? AND decision IS NULL AND seq > ? ORDER BY seq LIMIT ?",
                    (campaign, after, count),
                )
            ):
                numbers.append(number)
                events.append(event)
        if not numbers:
            return []
        first = self._one(f"SELECT {_RANK} FROM events WHERE seq = ?", (numbers[0],))[0]
        if first is None:
            raise Damaged("the rank of decision", numbers[0])
        self._check_ranks(campaign, first, numbers)
        ranks = range(first, first + len(numbers))
        return self._with_feedback(campaign, numbers, events, ranks)

    def _check_ranks(self, campaign: int, first: int, numbers: list[int]) -> None:
        """Make sure that no decision is missing among some that follow one another."""
        kept = self._rows(
            "SELECT seq, rank FROM ranks WHERE campaign = ? AND seq BETWEEN ? AND ?",
            (campaign, numbers[0], numbers[-1]),
        )
        for seq, rank in kept:
            if not first <= rank < first + len(numbers) or numbers[rank - first] != seq:
                raise Damaged("a decision up to", seq)

    def _with_feedback(
        self,
        campaign: int,
        numbers: Sequence[int],
        events: Sequence[AnyEvent],
        ranks: Sequence[int | None],
    ) -> list[DecisionRecords]:
        """Return decisions with all their records."""
        about = self._feedback(campaign, numbers)
        found = []
        for number, event, rank in zip(numbers, events, ranks, strict=True):
            if rank is None or type(event) is not Decided:
                raise Damaged("the rank of decision", number)
            found.append(_new(DecisionRecords, (number, rank, event, about.get(number) or [])))
        return found

    def _feedback(self, campaign: int, numbers: Sequence[int]) -> dict[int, list[Record]]:
        """Return the feedback about decisions, by their number; those without any are absent."""
        about: dict[int, list[Record]] = {}
        with self._errors_wrapped():
            for record in records_of(
                self._source.reader.execute(
                    f"SELECT {PREFIXED} FROM json_each(?) CROSS JOIN events INDEXED BY feedback "
                    "ON decision = json_each.value WHERE decision > 0",
                    (as_json(numbers),),
                )
            ):
                _, of, number, _ = record
                if of == campaign:
                    if number in about:
                        about[number].append(record)
                    else:
                        about[number] = [record]
        return about

    async def records(
        self, after: int, before: int, count: int, campaign: int | None = None
    ) -> list[Record]:
        """Return the next records between two seqs, both excluded, of one campaign or of all.

        Every record on the way is checked, and the chain: a damaged record may have lost the
        number of its campaign.
        """
        found: list[Record] = []
        while len(found) < count:
            some = self._read_in_order(after, min(ROWS_PER_STEP, max(count, LINK_EVERY)))
            for record in some:
                if record.seq >= before or len(found) == count:
                    return found
                if campaign in (None, record.campaign):
                    found.append(record)
            if not some:
                break
            after = some[-1].seq
            await asyncio.sleep(0)
        return found

    def _read_in_order(self, after: int, count: int) -> list[Record]:
        """Return records after one, from one link that was kept to another, in one snapshot."""
        limit = (-(-count // LINK_EVERY) + 1) * LINK_EVERY
        connection = self._source.reader
        with self._errors_wrapped(), connection:
            copied = read_copied_streams(connection)
            if any(after < one.last for one in copied):
                return read_copied_in_order(connection, copied, after, limit)
            stream = read_stream(connection) or Stream()
            start = link_before(connection, after, stream.number)
            rows = [
                row_of(row)
                for row in connection.execute(
                    f"SELECT {COLUMNS} FROM events WHERE seq > ? ORDER BY seq LIMIT ?",
                    (max(start.seq, stream.first - 1), limit),
                )
            ]
            kept = dict(
                connection.execute(
                    "SELECT seq, link FROM links WHERE stream = ? AND seq > ? AND seq <= ?",
                    (stream.number, start.seq, rows[-1].seq if rows else start.seq),
                )
            )
        end = stream.link if len(rows) < limit else None
        return [one for one in verified(rows, start, kept, end) if one.seq > after]

    async def configurations(self, campaign: int, after: int = 0) -> list[Record]:
        """Return the records of a campaign after a seq that are about no decision, in order."""
        rows = self._rows(
            f"SELECT {COLUMNS} FROM events INDEXED BY configuration "
            "WHERE campaign = ? AND decision = 0 AND seq > ? ORDER BY seq",
            (campaign, after),
        )
        return list(records_of(rows))

    async def archives(self) -> list[ArchivedRange]:
        """Return nothing: only what is in PostgreSQL is archived."""
        return []

    async def campaigns(self) -> list[int]:
        """Return the numbers of all campaigns, in order."""
        rows = self._rows(
            "SELECT DISTINCT campaign FROM events INDEXED BY configuration "
            "WHERE decision = 0 AND campaign > 0 ORDER BY campaign"
        )
        return [row[0] for row in rows]

    async def by_key(self, campaign: int, keys: Sequence[bytes]) -> dict[bytes, Record]:
        """Return the records that have claimed these keys."""
        digests = {claim_digest(key): key for key in keys}
        wanted = msgspec.json.encode([digest.hex() for digest in digests]).decode()
        found = {}
        for key, seq, *row in self._rows(
            f"SELECT keys.key, keys.seq, {PREFIXED} FROM json_each(?) "
            "CROSS JOIN keys ON keys.campaign = ? AND keys.key = unhex(json_each.value) "
            "LEFT JOIN events ON events.seq = keys.seq",
            (wanted, campaign),
        ):
            if row[0] is None:
                raise Damaged("record", seq)
            if key not in digests:  # the page of the key has changed under SQLite
                raise Damaged("the key of record", seq)
            found[digests[key]] = record_of(row)
        return found

    async def unit_actions(self, campaign: int, unit: bytes) -> list[UnitAction]:
        """Return the actions that a sticky unit was given, in the order of n."""
        rows = self._rows(
            f"SELECT n, action, units.seq, {PREFIXED} FROM units "
            "LEFT JOIN events ON events.seq = units.seq "
            "WHERE units.campaign = ? AND unit = ? ORDER BY n",
            (campaign, unit),
        )
        return [_unit_action(campaign, UnitAction(*row[:3]), row[3:]) for row in rows]

    async def count_feedback(self, campaign: int, before: int) -> int:
        """Return how many records of feedback a campaign has below a seq."""
        total, last = 0, 0
        while last is not None:
            found, last = self._one(
                "SELECT count(*) FILTER (WHERE campaign = ? AND decision > 0), max(seq) FROM "
                "(SELECT seq, campaign, decision FROM events WHERE seq > ? AND seq < ? "
                "ORDER BY seq LIMIT ?)",
                (campaign, last, before, ROWS_PER_COUNT),
            )
            total += found
            await asyncio.sleep(0)
        return total

    async def count_about(self, decision: int, before: int, most: int) -> int:
        """Return how many records of feedback are about a decision below a seq, at most `most`."""
        (found,) = self._one(
            "SELECT count(*) FROM (SELECT 1 FROM events INDEXED BY feedback "
            "WHERE decision = ? AND decision > 0 AND seq < ? LIMIT ?)",
            (decision, before, most),
        )
        return found

    async def count_records(self) -> int:
        """Return how many records there are."""
        with self._errors_wrapped():
            copied = read_copied_streams(self._source.reader)
            last = link_before(self._source.reader, LAST_SEQ, len(copied) + 1)
        counted = max(last.seq, max((one.head - 1 for one in copied), default=0))
        (after,) = self._one("SELECT count(*) FROM events WHERE seq > ?", (counted,))
        return sum(one.records for one in copied) + last.number * LINK_EVERY + after

    def head(self) -> int:
        """Return the first seq that may still be used, as of the last transaction."""
        with self._errors_wrapped():
            return (read_stream(self._source.reader) or Stream()).head

    def check(self, pause: Callable[[int], None] = lambda _: None) -> LogCheck:
        """Check everything that is stored, on a connection of its own."""
        return check_database(self.path, pause)


def _unit_action(campaign: int, given: UnitAction, decision: Sequence[Any]) -> UnitAction:
    """Return an action that a unit was given, as the record of that decision says."""
    record = None if decision[0] is None else record_of(decision)
    event = None if record is None or record.campaign != campaign else record.event
    if not isinstance(event, Decided) or event.action != given.action:
        raise Damaged("the action that a unit was given by decision", given.decision)
    return given
