"""The reader of the log: records by key, by decision, by unit, in order; each is checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count as count_from
from typing import Any

from foretell.service.log.archives import ArchivedRange
from foretell.service.log.chain import LINK_EVERY
from foretell.service.log.errors import Damaged
from foretell.service.log.postgres.archived_ranges import is_archived, read_archives
from foretell.service.log.postgres.check import check_database
from foretell.service.log.postgres.in_order import read_in_order
from foretell.service.log.postgres.pool import Pool
from foretell.service.log.postgres.rows import COLUMNS, ONE_BY_ONE, PREFIXED, row_of
from foretell.service.log.protocol import LogCheck, UnitAction
from foretell.service.log.record import claim_digest, record_of
from foretell.service.model.events import Decided, DecisionRecords, Record

ROWS_PER_STEP = 1024
"""Records that are read in order at a time."""
_DECISIONS = "before.campaign = events.campaign AND before.decision IS NULL"
_RANK = (
    "coalesce((SELECT kept.rank + (SELECT count(*) FROM foretell.events AS before WHERE "
    f"{_DECISIONS} AND before.seq >= kept.seq AND before.seq < events.seq) "
    "FROM foretell.ranks AS kept WHERE kept.campaign = events.campaign AND kept.seq <= events.seq "
    "ORDER BY kept.seq DESC LIMIT 1), (SELECT count(*) FROM foretell.events AS before WHERE "
    f"{_DECISIONS} AND before.seq < events.seq))"
)
"""How many decisions of its campaign come before one, counted from the last rank that was kept."""


class RecordQueries:
    """The records of one log."""

    def __init__(self, pool: Pool) -> None:
        """Read on the connections of a pool."""
        self._pool = pool
        self._fetch = pool.fetch
        self._fetchrow = pool.fetchrow

    async def decisions(self, campaign: int, numbers: Sequence[int]) -> list[DecisionRecords]:
        """Return the decisions with these numbers, each with all its records; others are absent."""
        rows = await self._fetch(
            f"SELECT {PREFIXED}, {_RANK} AS rank FROM unnest($1::bigint[]) WITH ORDINALITY "
            "AS wanted (number, place) CROSS JOIN LATERAL (SELECT * FROM foretell.events "
            f"WHERE events.seq = wanted.number {ONE_BY_ONE}) AS events "
            "WHERE decision IS NULL AND campaign = $2 ORDER BY place",
            list(dict.fromkeys(numbers)),
            campaign,
        )
        await self._check_absent(set(numbers) - {row["seq"] for row in rows})
        return await self._with_feedback(campaign, [(tuple(row)[:5], row["rank"]) for row in rows])

    async def decided(self, campaign: int, numbers: Sequence[int]) -> dict[int, Decided]:
        """Return the decisions with these numbers, without what came after; others are absent."""
        rows = await self._fetch(
            f"SELECT {COLUMNS} FROM foretell.events WHERE seq = ANY($1::bigint[]) "
            "AND decision IS NULL AND campaign = $2",
            list(numbers),
            campaign,
        )
        events = {row["seq"]: record_of(row_of(row)).event for row in rows}
        await self._check_absent(set(numbers) - events.keys())
        return {number: one for number, one in events.items() if isinstance(one, Decided)}

    async def _check_absent(self, numbers: set[int]) -> None:
        """Make sure that decisions are not in the log: a damaged record may have lost its number.

        Where the chain is whole, nothing is missing. Many are absent together when a backup was
        restored, between the same two records: that gap is read once.
        """
        checked = 0
        for number in sorted(numbers):
            if number > checked:
                following = await self._read_in_order(number - 1, 1)
                checked = following[0].seq if following else number

    async def decisions_after(self, campaign: int, after: int, count: int) -> list[DecisionRecords]:
        """Return the next decisions of a campaign after a number, in order."""
        rows = await self._fetch(
            f"SELECT {COLUMNS} FROM foretell.events WHERE campaign = $1 AND decision IS NULL "
            "AND seq > $2 ORDER BY seq LIMIT $3",
            campaign,
            after,
            count,
        )
        if not rows:
            return []
        first = (
            await self._fetchrow(
                f"SELECT {_RANK} AS rank FROM foretell.events WHERE seq = $1", rows[0]["seq"]
            )
        )["rank"]
        ranked = [(tuple(row), rank) for row, rank in zip(rows, count_from(first), strict=False)]
        return await self._with_feedback(campaign, ranked)

    async def number_at(self, campaign: int, rank: int) -> int:
        """Return the number of the decision of a round, 0 where there is none."""
        kept = await self._fetchrow(
            "SELECT seq, rank FROM foretell.ranks WHERE campaign = $1 AND rank <= $2 "
            "ORDER BY rank DESC LIMIT 1",
            campaign,
            rank,
        )
        first, before = (0, 0) if kept is None else (kept["seq"], kept["rank"])
        row = await self._fetchrow(
            "SELECT seq FROM foretell.events WHERE campaign = $1 AND decision IS NULL "
            "AND seq >= $2 ORDER BY seq LIMIT 1 OFFSET $3",
            campaign,
            first,
            rank - before,
        )
        return 0 if row is None else row["seq"]

    async def _with_feedback(
        self, campaign: int, ranked: Sequence[tuple[Sequence[Any], int]]
    ) -> list[DecisionRecords]:
        about: dict[int, list[Record]] = {row[0]: [] for row, _ in ranked}
        for row in await self._fetch(
            f"SELECT {PREFIXED} FROM unnest($1::bigint[]) AS wanted (number) CROSS JOIN LATERAL ("
            "SELECT * FROM foretell.events WHERE decision = wanted.number AND decision > 0 "
            f"AND seq > wanted.number {ONE_BY_ONE}) AS events ORDER BY events.seq",
            list(about),
        ):
            record = record_of(row_of(row))
            if record.campaign == campaign:
                about[record.decision].append(record)
        return [_decision(row, rank, about[row[0]]) for row, rank in ranked]

    async def records(
        self, after: int, before: int, count: int, campaign: int | None = None
    ) -> list[Record]:
        """Return the next records between two seqs, both excluded, of one campaign or of all.

        Every record on the way is checked, and the chains: a damaged record may have lost the
        number of its campaign.
        """
        found: list[Record] = []
        while len(found) < count:
            some = await self._read_in_order(after, min(ROWS_PER_STEP, max(count, LINK_EVERY)))
            for record in some:
                if record.seq >= before or len(found) == count:
                    return found
                if campaign in (None, record.campaign):
                    found.append(record)
            if not some:
                break
            after = some[-1].seq
        return found

    async def _read_in_order(self, after: int, count: int) -> list[Record]:
        async with self._pool.snapshot() as connection:
            return await read_in_order(connection, after, count)

    async def configurations(self, campaign: int, after: int = 0) -> list[Record]:
        """Return the records of a campaign after a seq that are about no decision, in order."""
        rows = await self._fetch(
            f"SELECT {COLUMNS} FROM foretell.events WHERE campaign = $1 AND decision = 0 "
            "AND seq > $2 ORDER BY seq",
            campaign,
            after,
        )
        return [record_of(row_of(row)) for row in rows]

    async def archives(self) -> list[ArchivedRange]:
        """Return what was archived, in order."""
        async with self._pool.connection() as connection:
            return await read_archives(connection)

    async def campaigns(self) -> list[int]:
        """Return the numbers of all campaigns, in order."""
        rows = await self._fetch(
            "SELECT DISTINCT campaign FROM foretell.events "
            "WHERE decision = 0 AND campaign > 0 ORDER BY campaign"
        )
        return [row["campaign"] for row in rows]

    async def by_key(self, campaign: int, keys: Sequence[bytes]) -> dict[bytes, Record]:
        """Return the records that have claimed these keys."""
        digests = {claim_digest(key): key for key in keys}
        found = {}
        for row in await self._fetch(
            f"SELECT keys.key, keys.seq AS winner, {PREFIXED} "
            "FROM unnest($2::bytea[]) AS wanted (key) CROSS JOIN LATERAL ("
            "SELECT key, seq FROM foretell.keys WHERE keys.campaign = $1 "
            f"AND keys.key = wanted.key {ONE_BY_ONE}) AS keys LEFT JOIN LATERAL ("
            f"SELECT * FROM foretell.events WHERE events.seq = keys.seq {ONE_BY_ONE}) AS events "
            "ON true",
            campaign,
            list(digests),
        ):
            if row["seq"] is None:
                if is_archived(row["winner"], await self.archives()):
                    continue
                raise Damaged("record", row["winner"])
            found[digests[row["key"]]] = record_of(row_of(tuple(row)[2:]))
        return found

    async def unit_actions(self, campaign: int, unit: bytes) -> list[UnitAction]:
        """Return the actions that a sticky unit was given, in the order of n."""
        rows = await self._fetch(
            f"SELECT n, action, units.seq AS given, {PREFIXED} FROM foretell.units "
            "LEFT JOIN foretell.events ON events.seq = units.seq "
            "WHERE units.campaign = $1 AND unit = $2 ORDER BY n",
            campaign,
            unit,
        )
        return [_unit_action(campaign, UnitAction(*tuple(row)[:3]), tuple(row)[3:]) for row in rows]

    async def count_feedback(self, campaign: int, before: int) -> int:
        """Return how many records of feedback a campaign has below a seq."""
        row = await self._fetchrow(
            "SELECT count(*) AS found FROM foretell.events WHERE campaign = $1 AND decision > 0 "
            "AND seq < $2",
            campaign,
            before,
        )
        return row["found"]

    async def count_about(self, decision: int, before: int, most: int) -> int:
        """Return how many records of feedback are about a decision below a seq, at most `most`."""
        row = await self._fetchrow(
            "SELECT count(*) AS found FROM (SELECT 1 FROM foretell.events WHERE decision = $1 "
            "AND decision > 0 AND seq < $2 LIMIT $3) AS counted",
            decision,
            before,
            most,
        )
        return row["found"]

    async def count_records(self) -> int:
        """Return how many records there are."""
        row = await self._fetchrow("SELECT sum(records)::bigint AS found FROM foretell.streams")
        return row["found"] or 0

    def check(self, pause: Callable[[int], None] = lambda _: None) -> LogCheck:
        """Check everything that is stored, on a connection and in a thread of its own."""
        return check_database(self._pool.dsn, pause)


def _decision(row: Sequence[Any], rank: int, feedback: list[Record]) -> DecisionRecords:
    record = record_of(row_of(row))
    if not isinstance(record.event, Decided):
        raise Damaged("record", record.seq)
    return DecisionRecords(record.seq, rank, record.event, feedback)


def _unit_action(campaign: int, given: UnitAction, decision: Sequence[Any]) -> UnitAction:
    """Return an action that a unit was given, as the record of that decision says."""
    record = None if decision[0] is None else record_of(row_of(decision))
    event = None if record is None or record.campaign != campaign else record.event
    if not isinstance(event, Decided) or event.action != given.action:
        raise Damaged("the action that a unit was given by decision", given.decision)
    return given
