"""Records that are appended and not committed yet: readers see them like all others."""

from __future__ import annotations

from foretell.service.log.record import Record

RoundKey = tuple[int, int]
"""The number of a campaign, and a round of it or NO_ROUND."""


class Uncommitted:
    """The newest records, in log order, until they can be read from the database."""

    def __init__(self) -> None:
        """Begin without records."""
        self._records: list[tuple[Record, RoundKey, list[tuple[int, str | bytes]]]] = []
        """Each with its round, and the key and unit by which it is found."""
        self._by_round: dict[RoundKey, list[Record]] = {}
        self._by_name: dict[tuple[int, str | bytes], Record] = {}

    def __bool__(self) -> bool:
        return bool(self._records)

    def add(self, record: Record, about: int, key: str | None, unit: bytes | None) -> None:
        """Hold a record until it is committed."""
        where = (record.campaign, about)
        self._by_round.setdefault(where, []).append(record)
        names = [(record.campaign, name) for name in (key, unit) if name is not None]
        for name in names:
            self._by_name.setdefault(name, record)
        self._records.append((record, where, names))

    def drop_committed(self, committed: int) -> None:
        """Drop the records that can be read from the database now."""
        done = 0
        for record, where, names in self._records:
            if record.seq > committed:
                break
            done += 1
            if where in self._by_round and self._by_round[where][-1].seq <= committed:
                del self._by_round[where]
            for name in names:
                self._by_name.pop(name, None)
        del self._records[:done]

    def last_committed(self, head: int) -> int:
        """Return the number of the record before the first that is held; `head` if none is."""
        return self._records[0][0].seq - 1 if self._records else head

    def by_key(self, campaign: int, key: str) -> Record | None:
        """Return the record with a key."""
        return self._by_name.get((campaign, key))

    def of_unit(self, campaign: int, unit: bytes) -> list[Record]:
        """Return the decisions of a unit."""
        return [record for record, _, names in self._records if (campaign, unit) in names]

    def about(self, where: RoundKey, known: list[Record], before: int | None) -> list[Record]:
        """Return the records about a round that are not among the known ones."""
        held = self._by_round.get(where)
        if not held:
            return []
        last = known[-1].seq if known else 0
        return [one for one in held if one.seq > last and (before is None or one.seq < before)]

    def starting_at(self, seq: int) -> list[Record]:
        """Return the records from a number on."""
        return [record for record, _, _ in self._records if record.seq >= seq]

    def count_about_decisions(self, campaign: int, upto: int) -> int:
        """Count the decisions, signals and rewards of a campaign up to a record."""
        return sum(
            where[0] == campaign and where[1] >= 0 and record.seq <= upto
            for record, where, _ in self._records
        )
