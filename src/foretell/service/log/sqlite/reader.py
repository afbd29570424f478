"""The reader of the log: records by key, by decision, by round, in order; each is checked.

Records that are appended and not committed yet are read like all others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import apsw
import msgspec

from foretell.service.log.record import (
    LINK_BYTES,
    ROOT,
    STORED_COLUMNS,
    Record,
    event_of,
    link_after,
)
from foretell.service.log.sqlite.side_tables import SideTables
from foretell.service.log.sqlite.uncommitted import RoundKey, Uncommitted
from foretell.service.model.errors import Damaged
from foretell.service.model.events import Decided, Rewarded, Signalled
from foretell.service.model.outcome import DecisionRecords, FeedbackRecord

ROUNDS_PER_READ = 64
MAX_RECORDS_PER_PAGE = 2000
"""Records that a page reads before other requests get their turn."""
MAX_UNIT_DECISIONS = 100
"""Decisions of a unit that are read, from the first on."""


class LogReader(SideTables):
    """The records of one database, up to the newest."""

    def __init__(self, reader: apsw.Connection) -> None:
        """Read on a connection."""
        super().__init__(reader)
        self.uncommitted = Uncommitted()
        self._prefetched_by_round: dict[RoundKey, list[Record]] = {}
        self._prefetched_by_key: dict[tuple[int, str], Record | None] = {}

    @contextmanager
    def prefetched(
        self, campaign: int, rounds: Sequence[int], keys: Sequence[str]
    ) -> Iterator[None]:
        """Read in one go what will be asked for; nothing is committed meanwhile."""
        found: dict[RoundKey, list[Record]] = {(campaign, about): [] for about in rounds}
        for record in self._read(
            "campaign = ? AND round IN (SELECT value FROM json_each(?)) ORDER BY seq",
            (campaign, msgspec.json.encode(rounds).decode()),
            None,
        ):
            found[campaign, record.event.round].append(record)  # type: ignore[union-attr]
        known: dict[tuple[int, str], Record | None] = {(campaign, key): None for key in keys}
        for record in self._read(
            "campaign = ? AND key IN (SELECT value FROM json_each(?))",
            (campaign, msgspec.json.encode(keys).decode()),
            None,
        ):
            known[campaign, "e:" + record.event.event_id] = record  # type: ignore[union-attr]
        self._prefetched_by_round |= found
        self._prefetched_by_key |= known
        try:
            yield
        finally:
            self._prefetched_by_round, self._prefetched_by_key = {}, {}

    def link_at(self, seq: int) -> bytes:
        """Return the link of a record, or what the first record is linked to."""
        row = self._one("SELECT link FROM events WHERE seq = ?", (seq,))
        if row is None:
            return ROOT
        if not isinstance(row[0], bytes) or len(row[0]) != LINK_BYTES:
            raise Damaged("record", seq)
        return row[0]

    def by_key(self, campaign: int, key: str) -> Record | None:
        """Find the record with a key."""
        uncommitted = self.uncommitted.by_key(campaign, key)
        if uncommitted is not None:
            return uncommitted
        if (campaign, key) in self._prefetched_by_key:
            return self._prefetched_by_key[campaign, key]
        found = self._read("campaign = ? AND key = ?", (campaign, key), None)
        return found[0] if found else None

    def records_about(self, campaign: int, about: int, before: int | None = None) -> list[Record]:
        """Return the records about a round, or with NO_ROUND about the campaign, in log order."""
        records = self._prefetched_by_round.get((campaign, about))
        if records is None:
            records = self._read(
                "campaign = ? AND round = ? ORDER BY seq", (campaign, about), before
            )
        return records + self.uncommitted.about((campaign, about), records, before)

    def decision_records(
        self, campaign: int, about: int, before: int | None = None
    ) -> DecisionRecords | None:
        """Return all about one decision, or None where there is no such decision."""
        return _decision_records(self.records_about(campaign, about, before))

    def decided_in(self, campaign: int, rounds: Sequence[int]) -> dict[int, Decided]:
        """Return the decisions of some rounds, as far as they are on disk."""
        records = self._read(
            "campaign = ? AND round IN (SELECT value FROM json_each(?))",
            (campaign, msgspec.json.encode(rounds).decode()),
            None,
        )
        return {one.event.round: one.event for one in records if isinstance(one.event, Decided)}

    def decisions_from(
        self, campaign: int, first: int, before: int | None = None, count: int = ROUNDS_PER_READ
    ) -> list[DecisionRecords]:
        """Return the decisions from a round on, each with its records."""
        some = self._read(
            "campaign = ? AND round >= ? AND round < ? ORDER BY round, seq",
            (campaign, first, first + count),
            before,
        )
        grouped: dict[int, list[Record]] = {}
        for record in some:
            grouped.setdefault(record.event.round, []).append(record)  # type: ignore[union-attr]
        if self.uncommitted:
            for about in range(first, first + count):
                known = grouped.get(about, [])
                newer = self.uncommitted.about((campaign, about), known, before)
                if newer:
                    grouped[about] = known + newer
        found = [_decision_records(grouped[about]) for about in sorted(grouped)]
        decisions = [records for records in found if records is not None]
        for expected, records in enumerate(decisions, first):
            if records.decided.round != expected:
                raise self._damage_hiding(campaign, expected) or Damaged(
                    "a record up to", self.head
                )
        if not decisions and (damaged := self._damage_at_end(campaign, first, before)):
            raise damaged
        return decisions

    def _damage_at_end(self, campaign: int, first: int, before: int | None) -> Damaged | None:
        """Where no decision is found from a round on, make sure that none is hidden by damage."""
        last = self._one("SELECT max(round) FROM events WHERE campaign = ?", (campaign,))[0]
        if before is not None or last is None or last < first:
            return None
        return self._damage_hiding(campaign, first)

    def _damage_hiding(self, campaign: int, about: int) -> Damaged | None:
        """Return the damage because of which the decision of a round is not found."""
        for row in self._rows(f"SELECT {STORED_COLUMNS} FROM events ORDER BY seq"):
            try:
                event = event_of(row)
            except Damaged as error:
                return error
            same_campaign = row[1] == campaign and isinstance(event, Decided)
            if same_campaign and event.round == about:  # type: ignore[union-attr]
                return Damaged("the index of record", row[0])
        return None

    def _read(self, where: str, bindings: tuple[Any, ...], before: int | None) -> list[Record]:
        rows = self._rows(f"SELECT {STORED_COLUMNS} FROM events WHERE {where}", bindings)
        return [
            Record(row[0], row[1], event_of(row))
            for row in rows
            if before is None or row[0] < before
        ]

    def scan(self, after: int = 0, upto: int | None = None) -> Iterator[Record]:
        """Read the records after one in order, and check the chain between them.

        With `upto`, which must be committed, others may work between two records.
        """
        link = self.link_at(after)
        expected = after + 1
        for row in self._rows(
            f"SELECT {STORED_COLUMNS} FROM events WHERE seq > ? AND seq <= ? ORDER BY seq",
            (after, self.head if upto is None else upto),
        ):
            event = event_of(row)
            link = link_after(link, row[5], row[4])
            if row[0] != expected or link != row[6]:
                raise Damaged("record", expected)
            expected += 1
            yield Record(row[0], row[1], event)
        committed = self.uncommitted.last_committed(self.head)
        if expected <= (committed if upto is None else upto):
            raise Damaged("record", expected)
        if upto is None:
            yield from self.uncommitted.starting_at(expected)

    def page(self, campaign: int, after: int, limit: int) -> tuple[list[Record], int]:
        """Return records of a campaign after one, as far as they are on disk, and how far it read.

        Every record on the way is checked: a damaged one may have lost its campaign's number.
        After MAX_RECORDS_PER_PAGE it stops, so that other requests get their turn.
        """
        found: list[Record] = []
        reached = max(0, after)
        for row in self._rows(
            f"SELECT {STORED_COLUMNS} FROM events WHERE seq > ? ORDER BY seq LIMIT ?",
            (reached, MAX_RECORDS_PER_PAGE),
        ):
            event = event_of(row)
            if row[0] != reached + 1:
                raise Damaged("record", reached + 1)
            reached += 1
            if row[1] == campaign:
                found.append(Record(row[0], campaign, event))
                if len(found) >= limit:
                    break
        return found, reached

    def decisions_of_unit(self, campaign: int, unit: bytes) -> Iterator[Record]:
        """Return the first decisions of a unit, then its latest, read as they are needed."""
        of_unit = "FROM personal WHERE campaign = ? AND unit = ?"
        for which in (
            f"seq {of_unit} ORDER BY seq LIMIT {MAX_UNIT_DECISIONS}",
            f"max(seq) {of_unit}",
        ):
            seqs = [row[0] for row in self._rows(f"SELECT {which}", (campaign, unit))]
            for seq in seqs:
                yield from self._read("seq = ?", (seq,), None)
        yield from self.uncommitted.of_unit(campaign, unit)

    def count_decision_records(self, campaign: int, upto: int) -> int:
        """Count the decisions, signals and rewards of a campaign up to a record."""
        committed = self.uncommitted.last_committed(upto)
        (stored,) = self._one(
            "SELECT count(*) FROM events WHERE campaign = ? AND round >= 0 AND seq <= ?",
            (campaign, min(upto, committed)),
        )
        return stored + self.uncommitted.count_about_decisions(campaign, upto)


def _decision_records(records: list[Record]) -> DecisionRecords | None:
    """Gather the records of one decision; those about another of the same round are left out."""
    decided = next((one.event for one in records if isinstance(one.event, Decided)), None)
    if decided is None:
        return None
    return DecisionRecords(
        decided,
        [
            FeedbackRecord(one.seq, one.event)
            for one in records
            if isinstance(one.event, (Signalled, Rewarded))
            and one.event.decided_at == decided.decided_at
        ],
    )
