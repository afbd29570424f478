"""Records of the log, read back and checked, in the ways in which they are asked for.

Records that are appended and not yet committed are kept here as well, so that whoever reads sees
everything that was appended.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import apsw
import msgspec

from foretell.service.log.record import COLUMNS, LINK, ROOT, event_of, link_after
from foretell.service.log.sqlite.side_tables import SideTables
from foretell.service.model.errors import Damaged
from foretell.service.model.events import AnyEvent, Decided, Rewarded, Signalled
from foretell.service.model.outcome import DecisionRecords, FeedbackRecord

ROUNDS = 64
"""Rounds that are read at a time."""
SCANNED = 2000
"""Records that a page looks at before others get their turn."""
VISITS = 100
"""Decisions of a unit that are looked through, from the first on."""


class Record(NamedTuple):
    """A record as it is read back."""

    seq: int
    campaign: int
    event: AnyEvent


class LogReader(SideTables):
    """The records of one database, up to the newest."""

    def __init__(self, reader: apsw.Connection) -> None:
        """Read on a connection."""
        super().__init__(reader)
        self._about: dict[tuple[int, int], list[Record]] = {}
        self._keys: dict[tuple[int, str | bytes], Record] = {}
        self._fresh: list[tuple[Record, tuple[int, int], list[tuple[int, str | bytes]]]] = []
        self._foreseen: dict[tuple[int, int], list[Record]] = {}
        self._foreseen_keys: dict[tuple[int, str], Record | None] = {}

    def keep(self, record: Record, about: int, key: str | None, unit: bytes | None) -> None:
        """Keep a record that is not committed yet."""
        index = (record.campaign, about)
        self._about.setdefault(index, []).append(record)
        names = [(record.campaign, name) for name in (key, unit) if name is not None]
        for name in names:
            self._keys.setdefault(name, record)
        self._fresh.append((record, index, names))

    def settled(self, committed: int) -> None:
        """Let go of records that can be read from the database."""
        done = 0
        for record, index, names in self._fresh:
            if record.seq > committed:
                break
            done += 1
            if index in self._about and self._about[index][-1].seq <= committed:
                del self._about[index]
            for name in names:
                self._keys.pop(name, None)
        del self._fresh[:done]

    @contextmanager
    def foreseen(self, campaign: int, rounds: Sequence[int], keys: Sequence[str]) -> Iterator[None]:
        """Look up what will be asked for, all at once; nothing is committed meanwhile."""
        found: dict[tuple[int, int], list[Record]] = {(campaign, about): [] for about in rounds}
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
        self._foreseen |= found
        self._foreseen_keys |= known
        try:
            yield
        finally:
            self._foreseen, self._foreseen_keys = {}, {}

    def link_at(self, seq: int) -> bytes:
        """Return the link of a record, or what the first record is linked to."""
        row = self._one("SELECT link FROM events WHERE seq = ?", (seq,))
        if row is None:
            return ROOT
        if not isinstance(row[0], bytes) or len(row[0]) != LINK:
            raise Damaged("record", seq)
        return row[0]

    def by_key(self, campaign: int, key: str) -> Record | None:
        """Find the record with a key."""
        fresh = self._keys.get((campaign, key))
        if fresh is not None:
            return fresh
        if (campaign, key) in self._foreseen_keys:
            return self._foreseen_keys[campaign, key]
        found = self._read("campaign = ? AND key = ?", (campaign, key), None)
        return found[0] if found else None

    def about(self, campaign: int, about: int, before: int | None = None) -> list[Record]:
        """Return the records about a round, or about the campaign itself, in log order."""
        records = self._foreseen.get((campaign, about))
        if records is None:
            records = self._read(
                "campaign = ? AND round = ? ORDER BY seq", (campaign, about), before
            )
        return records + self._fresher((campaign, about), records, before)

    def decision_records(
        self, campaign: int, about: int, before: int | None = None
    ) -> DecisionRecords | None:
        """Return all about one decision, or None where there is no such decision."""
        return _decision_records(self.about(campaign, about, before))

    def decisions(self, campaign: int, rounds: Sequence[int]) -> dict[int, Decided]:
        """Return the decisions of those rounds that have one on disk."""
        records = self._read(
            "campaign = ? AND round IN (SELECT value FROM json_each(?))",
            (campaign, msgspec.json.encode(rounds).decode()),
            None,
        )
        return {one.event.round: one.event for one in records if isinstance(one.event, Decided)}

    def rounds(
        self, campaign: int, first: int, before: int | None = None, count: int = ROUNDS
    ) -> list[DecisionRecords]:
        """Return the decisions of the next rounds, each with its records."""
        some = self._read(
            "campaign = ? AND round >= ? AND round < ? ORDER BY round, seq",
            (campaign, first, first + count),
            before,
        )
        grouped: dict[int, list[Record]] = {}
        for record in some:
            grouped.setdefault(record.event.round, []).append(record)  # type: ignore[union-attr]
        if self._about:
            for about in range(first, first + count):
                known = grouped.get(about, [])
                fresher = self._fresher((campaign, about), known, before)
                if fresher:
                    grouped[about] = known + fresher
        found = [_decision_records(grouped[about]) for about in sorted(grouped)]
        decisions = [records for records in found if records is not None]
        for index, records in enumerate(decisions, first):
            if records.decided.round != index:
                raise self._unfound(campaign, index) or Damaged("a record up to", self.head)
        if not decisions and (damaged := self._beyond(campaign, first, before)):
            raise damaged
        return decisions

    def _beyond(self, campaign: int, first: int, before: int | None) -> Damaged | None:
        """Where no decision is left, make sure that it is so."""
        last = self._one("SELECT max(round) FROM events WHERE campaign = ?", (campaign,))[0]
        if before is not None or last is None or last < first:
            return None
        return self._unfound(campaign, first)

    def _unfound(self, campaign: int, about: int) -> Damaged | None:
        """Find out which record is damaged, where a decision is not found."""
        for row in self._rows(f"SELECT {COLUMNS} FROM events ORDER BY seq"):
            try:
                event = event_of(row)
            except Damaged as error:
                return error
            mine = row[1] == campaign and isinstance(event, Decided)
            if mine and event.round == about:  # type: ignore[union-attr]
                return Damaged("the index of record", row[0])
        return None

    def _fresher(
        self, index: tuple[int, int], known: list[Record], before: int | None
    ) -> list[Record]:
        fresh = self._about.get(index)
        if not fresh:
            return []
        last = known[-1].seq if known else 0
        return [one for one in fresh if one.seq > last and (before is None or one.seq < before)]

    def _read(self, where: str, bindings: tuple[Any, ...], before: int | None) -> list[Record]:
        rows = self._rows(f"SELECT {COLUMNS} FROM events WHERE {where}", bindings)
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
            f"SELECT {COLUMNS} FROM events WHERE seq > ? AND seq <= ? ORDER BY seq",
            (after, self.head if upto is None else upto),
        ):
            event = event_of(row)
            link = link_after(link, row[5], row[4])
            if row[0] != expected or link != row[6]:
                raise Damaged("record", expected)
            expected += 1
            yield Record(row[0], row[1], event)
        committed = self._fresh[0][0].seq - 1 if self._fresh else self.head
        if expected <= (committed if upto is None else upto):
            raise Damaged("record", expected)
        if upto is None:
            yield from [record for record, _, _ in self._fresh if record.seq >= expected]

    def page(self, campaign: int, after: int, limit: int) -> tuple[list[Record], int]:
        """Return records of a campaign after one, as far as they are on disk, and how far it read.

        Every record on the way is checked: one that is damaged may not tell whose it is. After so
        many records it stops, so that others get their turn.
        """
        found: list[Record] = []
        reached = max(0, after)
        for row in self._rows(
            f"SELECT {COLUMNS} FROM events WHERE seq > ? ORDER BY seq LIMIT ?", (reached, SCANNED)
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

    def of_unit(self, campaign: int, unit: bytes) -> Iterator[Record]:
        """Return the first decisions of a unit, then its latest, as far as they are asked for."""
        mine = "FROM personal WHERE campaign = ? AND unit = ?"
        for which in (f"seq {mine} ORDER BY seq LIMIT {VISITS}", f"max(seq) {mine}"):
            seqs = [row[0] for row in self._rows(f"SELECT {which}", (campaign, unit))]
            for seq in seqs:
                yield from self._read("seq = ?", (seq,), None)
        yield from [one for one, _, names in self._fresh if (campaign, unit) in names]

    def count(self, campaign: int, upto: int) -> int:
        """Count the decisions, signals and rewards of a campaign up to a record."""
        committed = self._fresh[0][0].seq - 1 if self._fresh else upto
        (record,) = self._one(
            "SELECT count(*) FROM events WHERE campaign = ? AND round >= 0 AND seq <= ?",
            (campaign, min(upto, committed)),
        )
        return record + sum(
            index[0] == campaign and index[1] >= 0 and one.seq <= upto
            for one, index, _ in self._fresh
        )


def _decision_records(records: list[Record]) -> DecisionRecords | None:
    """Gather the records of one decision; those that mean another decision are left out."""
    decided = next((one.event for one in records if isinstance(one.event, Decided)), None)
    if decided is None:
        return None
    return DecisionRecords(
        decided,
        [
            FeedbackRecord(one.seq, one.event)
            for one in records
            if isinstance(one.event, (Signalled, Rewarded))
            and one.event.decided_at == decided.recorded_at
        ],
    )
