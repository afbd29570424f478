"""The records of one transaction: whose claim wins, which stamp each gets, and their rows.

One thread writes, and a claim is looked up and made in one transaction: so nobody can claim the
same in between.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import starmap
from typing import Any, TypeAlias

import apsw

from foretell.service.log.errors import Damaged
from foretell.service.log.protocol import (
    Accepted,
    Claim,
    Draft,
    Duplicate,
    Taken,
    UnitAction,
    Written,
)
from foretell.service.log.record import (
    checksum_of,
    claim_digest,
    claim_number,
    packed,
    personal_checksum,
    record_of,
)
from foretell.service.log.sqlite.rows import COLUMNS, as_json, find, insert, insert_values, row_of
from foretell.service.log.sqlite.stream import Stream, end_of_chain, write_stream
from foretell.service.log.stamps import Stamps
from foretell.service.model.events import Decided, Record, encode_event

RANK_EVERY = 256
"""Decisions of a campaign after which a rank is kept."""
CLAIMS_MODULUS = 1 << 62
EVENT_COLUMNS = len(COLUMNS.split(", "))
UnitKey: TypeAlias = tuple[int, bytes, int]
"""A campaign, a unit of it, and the n of one of its actions."""
Wanted: TypeAlias = tuple[Draft, Sequence[Claim], UnitKey | None]
"""A draft, and what it claims."""


def unit_claim(unit: bytes, n: int, action: int) -> bytes:
    """Return what a sticky unit's action is summed up as."""
    return b"%d %d " % (n, action) + unit


class Appender:
    """Turns drafts into rows, on the connection that writes."""

    def __init__(self, connection: apsw.Connection, stream: Stream, stamps: Stamps) -> None:
        """Go on at the end of the log."""
        self.connection = connection
        self.stream = stream
        self.stamps = stamps
        self._chain = end_of_chain(connection, stream)
        self._seqs: Iterator[int] = iter(())
        self._ranks: dict[int, int] = {}
        """How many decisions each campaign has, where that was needed."""
        self._records: list[Record] = []
        """The records to be inserted."""
        self._keys: list[tuple[int, bytes, int]] = []
        """The claims to be inserted."""
        self._beside: dict[str, list[tuple[Any, ...]]] = {}
        """Other rows to be inserted, by table."""
        self._claims_sum = stream.claims
        self._claimed: dict[Claim, Record] = {}
        self._damaged: dict[Claim, Damaged] = {}
        self._given: dict[UnitKey, UnitAction] = {}

    def append(self, calls: Sequence[Sequence[Draft]]) -> list[list[Written] | Damaged]:
        """Write the drafts of some calls; where one meets damage, nothing of its call."""
        wanted = [[_wanted(draft) for draft in call] for call in calls]
        self._read_claims([claim for call in wanted for _, claims, _ in call for claim in claims])
        self._read_units([unit_key for call in wanted for _, _, unit_key in call if unit_key])
        self._seqs = iter(self.stamps.begin(self._count_new(wanted)))
        written = [self._append_call(call) for call in wanted]
        self._insert_rows()
        return written

    def finish(self) -> None:
        """Store where the log ends now, in the same transaction."""
        self.stream = self.stream.at(self.stamps.mark())._replace(
            link=self._chain.link, claims=self._claims_sum % CLAIMS_MODULUS
        )
        write_stream(self.connection, self.stream)

    def subtract_claim(self, campaign: int, key: bytes, seq: int) -> None:
        """Forget a claim that is erased."""
        self._claims_sum -= claim_number(campaign, key, seq)

    def _count_new(self, calls: Sequence[Sequence[Wanted]]) -> int:
        """Count what claims nothing that was claimed before: a duplicate takes no time."""
        claimed, given = self._claimed, self._given
        if not claimed and not given:
            return sum(map(len, calls))
        return sum(
            unit_key not in given and not any(one in claimed for one in claims)
            for call in calls
            for _, claims, unit_key in call
        )

    def _insert_rows(self) -> None:
        """Insert what the drafts have become; claims in the order in which they are stored."""
        connection = self.connection
        insert_values(connection, "events", EVENT_COLUMNS, self._linked_columns())
        self._records = []
        if self._keys:
            self._claims_sum += sum(starmap(claim_number, self._keys))
            insert(connection, "keys", sorted(self._keys))
            self._keys = []
        if self._beside:
            for table, rows in self._beside.items():
                insert(connection, table, rows)
            self._beside = {}

    def _linked_columns(self) -> list[Any]:
        """Add the records to the chain, and return their columns, one record after the other."""
        columns: list[Any] = []
        add_packed = self._chain.add_packed
        for seq, campaign, about, event in self._records:
            body = encode_event(event)
            whole = packed(seq, campaign, about, body)
            columns += (seq, campaign, None if about == seq else about, body, checksum_of(whole))
            kept = add_packed(seq, whole)
            if kept is not None:
                self._add("links", (self.stream.number, kept.seq, kept.number, kept.link))
        return columns

    def _append_call(self, call: Sequence[Wanted]) -> list[Written] | Damaged:
        if self._damaged:
            for claim in (claim for _, claims, _ in call for claim in claims):
                if claim in self._damaged:
                    return self._damaged[claim]
        return [self._write(*wanted) for wanted in call]

    def _write(self, draft: Draft, claims: Sequence[Claim], unit_key: UnitKey | None) -> Written:
        claimed = self._claimed
        for claim in claims:
            if claim in claimed:
                return Duplicate(claimed[claim])
        if unit_key is not None and unit_key in self._given:
            return Taken(self._given[unit_key])
        seq, about, event = next(self._seqs), draft.decision, draft.event
        if isinstance(event, Decided):
            self._write_decision(draft, event, seq)
            about = seq
        record = Record(seq, draft.campaign, about, event)
        self._records.append(record)
        for claim in claims:
            claimed[claim] = record
            self._keys.append((*claim, seq))
        return Accepted(record)

    def _write_decision(self, draft: Draft, decided: Decided, seq: int) -> None:
        """Add what is stored next to a decision: its rank, its unit and its context."""
        campaign, unit = draft.campaign, draft.unit
        rank = self._next_rank(campaign)
        if rank % RANK_EVERY == 0:
            self._add("ranks", (campaign, seq, rank))
        if unit is not None and draft.unit_action is not None:
            action = UnitAction(draft.unit_action, decided.action, seq)
            self._given[campaign, unit, action.n] = action
            self._add("units", (campaign, unit, *action))
            self._claims_sum += claim_number(campaign, unit_claim(unit, *action[:2]), seq)
        if unit is not None or draft.context:
            checksum = personal_checksum(seq, campaign, unit, draft.context)
            self._add("personal", (seq, campaign, unit, draft.context, checksum))

    def _next_rank(self, campaign: int) -> int:
        if campaign not in self._ranks:
            self._ranks[campaign] = self.connection.execute(
                "SELECT ifnull(max(rank), 0) + (SELECT count(*) FROM events INDEXED BY decisions "
                "WHERE campaign = ?1 AND decision IS NULL AND seq >= ifnull(max(ranks.seq), 0)) "
                "FROM ranks WHERE campaign = ?1",
                (campaign,),
            ).get
        self._ranks[campaign] += 1
        return self._ranks[campaign] - 1

    def _read_claims(self, claims: Sequence[Claim]) -> None:
        """Find who has claimed the same before."""
        found = list(find(self.connection, "keys", ("campaign", "key"), claims)) if claims else []
        self._claimed, self._damaged = {}, {}
        if not found:
            return
        seqs = as_json([seq for _, _, seq in found])
        rows = {
            columns[0]: row_of(columns)
            for columns in self.connection.execute(
                f"SELECT {COLUMNS} FROM events WHERE seq IN (SELECT value FROM json_each(?))",
                (seqs,),
            )
        }
        for campaign, key, seq in found:
            try:
                self._claimed[campaign, key] = record_of(rows[seq])
            except KeyError:
                self._damaged[campaign, key] = Damaged("record", seq)
            except Damaged as error:
                self._damaged[campaign, key] = error

    def _read_units(self, keys: Sequence[UnitKey]) -> None:
        """Find which of these actions the units were given before."""
        found = find(self.connection, "units", ("campaign", "unit", "n"), keys) if keys else ()
        self._given = {
            (campaign, unit, n): UnitAction(n, action, seq)
            for campaign, unit, n, action, seq in found
        }

    def _add(self, table: str, row: tuple[Any, ...]) -> None:
        self._beside.setdefault(table, []).append(row)


def _wanted(draft: Draft) -> Wanted:
    claims = (
        [(campaign, claim_digest(key)) for campaign, key in draft.claims] if draft.claims else ()
    )
    if draft.unit is None or draft.unit_action is None:
        return draft, claims, None
    return draft, claims, (draft.campaign, draft.unit, draft.unit_action)
