"""What was claimed before: read when a statement has found that some claim of it was."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from foretell.service.log.errors import Damaged
from foretell.service.log.postgres.group import UnitKey, Wanted
from foretell.service.log.postgres.rows import PREFIXED, row_of
from foretell.service.log.protocol import Claim, Duplicate, Taken, UnitAction, Written
from foretell.service.log.record import record_of
from foretell.service.model.events import Record


class EarlierClaims:
    """The claims of some drafts that were made before, and by which records."""

    def __init__(
        self, keys: dict[Claim, Record | Damaged], units: dict[UnitKey, UnitAction]
    ) -> None:
        """Answer from what was read."""
        self._keys = keys
        self._units = units

    @classmethod
    async def find(cls, connection: Any, drafts: Sequence[Wanted]) -> EarlierClaims:
        """Look up all that some drafts claim."""
        claims = [claim for one in drafts for claim in one.claims]
        units = [one.unit_key for one in drafts if one.unit_key is not None]
        keys: dict[Claim, Record | Damaged] = {}
        for row in await connection.fetch(
            f"SELECT keys.campaign AS number, keys.key, keys.seq AS winner, {PREFIXED} "
            "FROM unnest($1::bigint[], $2::bytea[]) AS wanted (campaign, key) "
            "JOIN foretell.keys ON keys.campaign = wanted.campaign AND keys.key = wanted.key "
            "LEFT JOIN foretell.events ON events.seq = keys.seq",
            [campaign for campaign, _ in claims],
            [key for _, key in claims],
        ):
            keys[row["number"], row["key"]] = _winner(row["winner"], tuple(row)[3:])
        given: dict[UnitKey, UnitAction] = {}
        for row in await connection.fetch(
            "SELECT units.* FROM unnest($1::bigint[], $2::bytea[], $3::integer[]) "
            "AS wanted (campaign, unit, n) JOIN foretell.units "
            "USING (campaign, unit, n)",
            [campaign for campaign, _, _ in units],
            [unit for _, unit, _ in units],
            [n for _, _, n in units],
        ):
            campaign, unit, n, action, seq = row
            given[campaign, unit, n] = UnitAction(n, action, seq)
        return cls(keys, given)

    def add(self, wanted: Wanted, written: Record, action: int | None) -> None:
        """Take note of a draft that was written."""
        for claim in wanted.claims:
            self._keys[claim] = written
        if wanted.unit_key is not None and action is not None:
            self._units[wanted.unit_key] = UnitAction(wanted.unit_key[2], action, written.seq)

    def answer(self, wanted: Wanted) -> Written | Damaged | None:
        """Return what a draft is answered, if something that it claims was claimed before."""
        for claim in wanted.claims:
            earlier = self._keys.get(claim)
            if earlier is not None:
                return earlier if isinstance(earlier, Damaged) else Duplicate(earlier)
        if wanted.unit_key is not None and wanted.unit_key in self._units:
            return Taken(self._units[wanted.unit_key])
        return None


def _winner(seq: int, columns: Sequence[Any]) -> Record | Damaged:
    if columns[0] is None:
        return Damaged("record", seq)
    try:
        return record_of(row_of(columns))
    except Damaged as error:
        return error
