"""What a log in memory holds, and how it is read."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from msgspec import Struct

from foretell.service.log.archives import ArchivedRange
from foretell.service.log.chain import START, KeptLink, find_damage, verified
from foretell.service.log.errors import Damaged
from foretell.service.log.protocol import LogCheck, SavedState, UnitAction
from foretell.service.log.record import (
    StoredRow,
    personal_is_sound,
    record_of,
    state_is_sound,
)
from foretell.service.model.events import Decided, DecisionRecords, Record

Personal: TypeAlias = tuple[int, bytes | None, bytes, int]
"""The campaign, unit and context of a decision, and their checksum."""


class Content(Struct):
    """All that a log in memory holds, in the form in which it is stored."""

    rows: list[StoredRow] = []
    links: list[KeptLink] = []
    end: bytes = START.link
    """The link of the last record."""
    head: int = 0
    keys: dict[tuple[int, bytes], int] = {}
    units: dict[tuple[int, bytes], list[UnitAction]] = {}
    personal: dict[int, Personal] = {}
    states: dict[tuple[int, str], tuple[SavedState, bytes]] = {}
    counts: dict[int, dict[str, int]] = {}
    uses: dict[str, int] = {}

    def copied(self, head: int) -> Content:
        """Return a copy with this head, which stays as it is while this goes on."""
        return Content(
            list(self.rows),
            list(self.links),
            self.end,
            head,
            dict(self.keys),
            {unit: list(given) for unit, given in list(self.units.items())},
            dict(self.personal),
            dict(self.states),
            {campaign: dict(counts) for campaign, counts in list(self.counts.items())},
            dict(self.uses),
        )


class MemoryReader:
    """The records of a log in memory.

    A test that damages the log edits `content`.
    """

    def __init__(self, content: Content) -> None:
        """Read what a log holds."""
        self.content = content
        self._index()

    def _index(self) -> None:
        """Sort out which records are about what."""
        self._decisions: dict[int, list[int]] = {}
        self._feedback: dict[int, list[int]] = {}
        self._configurations: dict[int, list[int]] = {}
        for row in self.content.rows:
            self._index_row(row)

    def _index_row(self, row: StoredRow) -> None:
        if row.decision == row.seq:
            self._decisions.setdefault(row.campaign, []).append(row.seq)
        elif row.decision:
            self._feedback.setdefault(row.decision, []).append(row.seq)
        else:
            self._configurations.setdefault(row.campaign, []).append(row.seq)

    async def decisions(self, campaign: int, numbers: Sequence[int]) -> list[DecisionRecords]:
        """Return the decisions with these numbers, each with all its records; others are absent."""
        known = self._decisions.get(campaign, [])
        found = []
        for number in dict.fromkeys(numbers):
            rank = bisect_left(known, number)
            if rank < len(known) and known[rank] == number:
                found.append(self._decision(campaign, number, rank))
        return found

    async def decided(self, campaign: int, numbers: Sequence[int]) -> dict[int, Decided]:
        """Return the decisions with these numbers, without what came after; others are absent."""
        known = self._decisions.get(campaign, [])
        found = {}
        for number in numbers:
            rank = bisect_left(known, number)
            if rank < len(known) and known[rank] == number:
                found[number] = self._record(number).event
        return {number: one for number, one in found.items() if isinstance(one, Decided)}

    async def decisions_after(self, campaign: int, after: int, count: int) -> list[DecisionRecords]:
        """Return the next decisions of a campaign after a number, in order."""
        known = self._decisions.get(campaign, [])
        first = bisect_right(known, after)
        return [
            self._decision(campaign, number, rank)
            for rank, number in enumerate(known[first : first + count], first)
        ]

    def _decision(self, campaign: int, number: int, rank: int) -> DecisionRecords:
        decided = self._record(number).event
        assert isinstance(decided, Decided)  # noqa: S101  (checked where it is read)
        about = [self._record(seq) for seq in self._feedback.get(number, [])]
        return DecisionRecords(
            number, rank, decided, [one for one in about if one.campaign == campaign]
        )

    def _record(self, seq: int) -> Record:
        rows = self.content.rows
        index = bisect_left(rows, seq, key=lambda row: row.seq)
        if index == len(rows) or rows[index].seq != seq:
            raise Damaged("record", seq)
        return record_of(rows[index])

    async def number_at(self, campaign: int, rank: int) -> int:
        """Return the number of the decision of a round, 0 where there is none."""
        known = self._decisions.get(campaign, [])
        return known[rank] if rank < len(known) else 0

    async def records(
        self, after: int, before: int, count: int, campaign: int | None = None
    ) -> list[Record]:
        """Return the next records between two seqs, both excluded, of one campaign or of all."""
        found: list[Record] = []
        for record in self._verified(after):
            if record.seq >= before or len(found) == count:
                break
            if record.seq > after and campaign in (None, record.campaign):
                found.append(record)
        return found

    def _verified(self, after: int) -> Iterator[Record]:
        """Read in order from the last link before a record on."""
        content = self.content
        index = bisect_right(content.links, after, key=lambda link: link.seq)
        start = content.links[index - 1] if index else START
        first = bisect_right(content.rows, start.seq, key=lambda row: row.seq)
        rows = (content.rows[index] for index in range(first, len(content.rows)))
        kept = {link.seq: link.link for link in content.links[index:]}
        return verified(rows, start, kept, content.end)

    async def configurations(self, campaign: int, after: int = 0) -> list[Record]:
        """Return the records of a campaign after a seq that are about no decision, in order."""
        seqs = self._configurations.get(campaign, [])
        return [self._record(seq) for seq in seqs[bisect_right(seqs, after) :]]

    async def archives(self) -> list[ArchivedRange]:
        """Return nothing: only what is in PostgreSQL is archived."""
        return []

    async def campaigns(self) -> list[int]:
        """Return the numbers of all campaigns, in order."""
        return sorted(number for number in self._configurations if number)

    async def by_key(self, campaign: int, keys: Sequence[bytes]) -> dict[bytes, Record]:
        """Return the records that have claimed these keys."""
        known = self.content.keys
        return {key: self._record(known[campaign, key]) for key in keys if (campaign, key) in known}

    async def unit_actions(self, campaign: int, unit: bytes) -> list[UnitAction]:
        """Return the actions that a sticky unit was given, in the order of n."""
        return sorted(self.content.units.get((campaign, unit), []))

    async def context(self, decision: int) -> bytes:
        """Return the context of a decision, empty where there is none or it was erased."""
        found = self.content.personal.get(decision)
        if found is None:
            return b""
        if not personal_is_sound(decision, *found):
            raise Damaged("the context of record", decision)
        return found[2]

    async def count_feedback(self, campaign: int, before: int) -> int:
        """Return how many records of feedback a campaign has below a seq."""
        return sum(
            row.campaign == campaign and row.decision not in (0, row.seq)
            for row in self.content.rows
            if row.seq < before
        )

    async def count_about(self, decision: int, before: int, most: int) -> int:
        """Return how many records of feedback are about a decision below a seq, at most `most`."""
        return min(most, bisect_left(self._feedback.get(decision, []), before))

    async def load_state(self, campaign: int) -> SavedState | None:
        """Return the newest state that was saved, None without one; raise `Damaged`."""
        saved = [one for (number, _), one in self.content.states.items() if number == campaign]
        if not saved:
            return None
        state, digest = max(saved, key=lambda one: one[0].position)
        if not state_is_sound(campaign, *state, digest):
            raise Damaged(f"campaign {campaign}: the state as of", state.position)
        return state

    async def count_records(self) -> int:
        """Return how many records there are."""
        return len(self.content.rows)

    async def counts(self, campaign: int) -> dict[str, int]:
        """Return what was counted with `add_counts`."""
        return dict(self.content.counts.get(campaign, {}))

    async def uses(self) -> dict[str, int]:
        """Return what was kept with `save_uses`."""
        return dict(self.content.uses)

    def head(self) -> int:
        """Return the first seq that may still be used: all records below it are durable."""
        return self.content.head

    def check(self, pause: Callable[[int], None] = lambda _: None) -> LogCheck:
        """Check everything that is stored."""
        content = self.content
        pause(len(content.rows))
        damage = [one for one in find_damage(content.rows, content.links, content.end) if one]
        damage += [
            f"the context of record {seq} does not match its checksum"
            for seq, personal in content.personal.items()
            if not personal_is_sound(seq, *personal)
        ]
        damage += [
            f"the state of campaign {campaign} as of {state.position} does not match its checksum"
            for (campaign, _), (state, digest) in content.states.items()
            if not state_is_sound(campaign, *state, digest)
        ]
        return LogCheck(len(content.rows), len(content.states), damage)
