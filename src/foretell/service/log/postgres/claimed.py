"""What was claimed before: read when a statement has found that some claim of it was."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from foretell.service.log.archives import ArchivedRange
from foretell.service.log.errors import Damaged
from foretell.service.log.postgres.archived_ranges import is_archived, read_archives
from foretell.service.log.postgres.group import UnitKey, Wanted
from foretell.service.log.postgres.rows import ONE_BY_ONE, PREFIXED, row_of
from foretell.service.log.protocol import (
    Claim,
    ClaimedInArchive,
    Draft,
    Duplicate,
    Taken,
    UnitAction,
    Written,
)
from foretell.service.log.record import record_of
from foretell.service.model.events import Decided, Record


class EarlierClaims:
    """The claims of some drafts that were made before, and by which records."""

    def __init__(
        self,
        keys: dict[Claim, Record | Damaged | ClaimedInArchive],
        units: dict[UnitKey, UnitAction],
    ) -> None:
        """Answer from what was read."""
        self._keys = keys
        self._units = units

    @classmethod
    async def find(cls, connection: Any, wanted: Wanted) -> EarlierClaims:
        """Look up all that some drafts claim."""
        keys: dict[Claim, Record | Damaged | ClaimedInArchive] = {}
        archives: list[ArchivedRange] | None = None
        for row in await connection.fetch(
            f"SELECT keys.campaign AS number, keys.key, keys.seq AS winner, {PREFIXED} "
            "FROM unnest($1::bigint[], $2::bytea[]) AS wanted (campaign, key) CROSS JOIN LATERAL ("
            "SELECT * FROM foretell.keys WHERE keys.campaign = wanted.campaign "
            f"AND keys.key = wanted.key {ONE_BY_ONE}) AS keys LEFT JOIN LATERAL ("
            f"SELECT * FROM foretell.events WHERE events.seq = keys.seq {ONE_BY_ONE}) AS events "
            "ON true",
            [campaign for campaign, _ in wanted.claims],
            [key for _, key in wanted.claims],
        ):
            winner, columns = row["winner"], tuple(row)[3:]
            if columns[0] is None and archives is None:
                archives = await read_archives(connection)
            if columns[0] is None and is_archived(winner, archives or []):
                keys[row["number"], row["key"]] = ClaimedInArchive(winner)
            else:
                keys[row["number"], row["key"]] = _winner(winner, columns)
        given: dict[UnitKey, UnitAction] = {}
        for row in await connection.fetch(
            "SELECT units.* FROM unnest($1::bigint[], $2::bytea[], $3::integer[]) "
            "AS wanted (campaign, unit, n) JOIN foretell.units "
            "USING (campaign, unit, n)",
            [campaign for campaign, _, _ in wanted.unit_keys],
            [unit for _, unit, _ in wanted.unit_keys],
            [n for _, _, n in wanted.unit_keys],
        ):
            campaign, unit, n, action, seq = row
            given[campaign, unit, n] = UnitAction(n, action, seq)
        return cls(keys, given)

    def add(self, draft: Draft, written: Record) -> None:
        """Take note of a draft that was written."""
        wanted, event = Wanted([draft]), written.event
        for claim in wanted.claims:
            self._keys[claim] = written
        for unit_key in wanted.unit_keys:
            if isinstance(event, Decided):
                self._units[unit_key] = UnitAction(unit_key[2], event.action, written.seq)

    def answer(self, draft: Draft) -> Written | Damaged | None:
        """Return what a draft is answered, if something that it claims was claimed before."""
        wanted = Wanted([draft])
        for claim in wanted.claims:
            earlier = self._keys.get(claim)
            if isinstance(earlier, (Damaged, ClaimedInArchive)):
                return earlier
            if earlier is not None:
                return Duplicate(earlier)
        for unit_key in wanted.unit_keys:
            if unit_key in self._units:
                return Taken(self._units[unit_key])
        return None


def _winner(seq: int, columns: Sequence[Any]) -> Record | Damaged:
    if columns[0] is None:
        return Damaged("record", seq)
    try:
        return record_of(row_of(columns))
    except Damaged as error:
        return error
