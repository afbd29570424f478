"""Lines of the log, read back and checked, in the ways in which they are asked for.

Lines that are appended and not yet committed are kept here as well, so that whoever reads sees
everything that was appended.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import apsw
import msgspec

from foretell.service.log.record import COLUMNS, LINK, ROOT, event_of, link_after
from foretell.service.log.sqlite.side_tables import Beside
from foretell.service.model.errors import Damaged
from foretell.service.model.events import AnyEvent, Decided, Rewarded, Signalled
from foretell.service.model.outcome import Facts, Line

ROUNDS = 64
"""Rounds that are read at a time."""
SCANNED = 2000
"""Lines that a page looks at before others get their turn."""
VISITS = 100
"""Decisions of a unit that are looked through, from the first on."""


class Stored(NamedTuple):
    """A line as it is read back."""

    seq: int
    campaign: int
    event: AnyEvent


class Lines(Beside):
    """The lines of one database, up to the newest."""

    def __init__(self, reader: apsw.Connection) -> None:
        """Read on a connection."""
        super().__init__(reader)
        self._about: dict[tuple[int, int], list[Stored]] = {}
        self._keys: dict[tuple[int, str | bytes], Stored] = {}
        self._fresh: list[tuple[Stored, tuple[int, int], list[tuple[int, str | bytes]]]] = []
        self._foreseen: dict[tuple[int, int], list[Stored]] = {}
        self._foreseen_keys: dict[tuple[int, str], Stored | None] = {}

    def keep(self, stored: Stored, about: int, key: str | None, unit: bytes | None) -> None:
        """Keep a line that is not committed yet."""
        place = (stored.campaign, about)
        self._about.setdefault(place, []).append(stored)
        names = [(stored.campaign, name) for name in (key, unit) if name is not None]
        for name in names:
            self._keys.setdefault(name, stored)
        self._fresh.append((stored, place, names))

    def settled(self, committed: int) -> None:
        """Let go of lines that can be read from the database."""
        done = 0
        for stored, place, names in self._fresh:
            if stored.seq > committed:
                break
            done += 1
            if place in self._about and self._about[place][-1].seq <= committed:
                del self._about[place]
            for name in names:
                self._keys.pop(name, None)
        del self._fresh[:done]

    @contextmanager
    def foreseen(self, campaign: int, rounds: Sequence[int], keys: Sequence[str]) -> Iterator[None]:
        """Look up what will be asked for, all at once; nothing is committed meanwhile."""
        found: dict[tuple[int, int], list[Stored]] = {(campaign, about): [] for about in rounds}
        for line in self._read(
            "campaign = ? AND round IN (SELECT value FROM json_each(?)) ORDER BY seq",
            (campaign, msgspec.json.encode(rounds).decode()),
            None,
        ):
            found[campaign, line.event.round].append(line)  # type: ignore[union-attr]
        known: dict[tuple[int, str], Stored | None] = {(campaign, key): None for key in keys}
        for line in self._read(
            "campaign = ? AND key IN (SELECT value FROM json_each(?))",
            (campaign, msgspec.json.encode(keys).decode()),
            None,
        ):
            known[campaign, "e:" + line.event.event_id] = line  # type: ignore[union-attr]
        self._foreseen |= found
        self._foreseen_keys |= known
        try:
            yield
        finally:
            self._foreseen, self._foreseen_keys = {}, {}

    def link_at(self, seq: int) -> bytes:
        """Give the link of a line, or what the first line is linked to."""
        row = self._one("SELECT link FROM events WHERE seq = ?", (seq,))
        if row is None:
            return ROOT
        if not isinstance(row[0], bytes) or len(row[0]) != LINK:
            raise Damaged("line", seq)
        return row[0]

    def by_key(self, campaign: int, key: str) -> Stored | None:
        """Find the line with a key."""
        fresh = self._keys.get((campaign, key))
        if fresh is not None:
            return fresh
        if (campaign, key) in self._foreseen_keys:
            return self._foreseen_keys[campaign, key]
        found = self._read("campaign = ? AND key = ?", (campaign, key), None)
        return found[0] if found else None

    def about(self, campaign: int, about: int, before: int | None = None) -> list[Stored]:
        """Give the lines about a round, or about the campaign itself, in log order."""
        lines = self._foreseen.get((campaign, about))
        if lines is None:
            lines = self._read("campaign = ? AND round = ? ORDER BY seq", (campaign, about), before)
        return lines + self._fresher((campaign, about), lines, before)

    def facts(self, campaign: int, about: int, before: int | None = None) -> Facts | None:
        """Give all about one decision, or None where there is no such decision."""
        return _facts(self.about(campaign, about, before))

    def decisions(self, campaign: int, rounds: Sequence[int]) -> dict[int, Decided]:
        """Give the decisions of those rounds that have one on disk."""
        lines = self._read(
            "campaign = ? AND round IN (SELECT value FROM json_each(?))",
            (campaign, msgspec.json.encode(rounds).decode()),
            None,
        )
        return {one.event.round: one.event for one in lines if isinstance(one.event, Decided)}

    def rounds(
        self, campaign: int, first: int, before: int | None = None, count: int = ROUNDS
    ) -> list[Facts]:
        """Give the decisions of the next rounds, each with its lines."""
        some = self._read(
            "campaign = ? AND round >= ? AND round < ? ORDER BY round, seq",
            (campaign, first, first + count),
            before,
        )
        grouped: dict[int, list[Stored]] = {}
        for line in some:
            grouped.setdefault(line.event.round, []).append(line)  # type: ignore[union-attr]
        if self._about:
            for about in range(first, first + count):
                known = grouped.get(about, [])
                fresher = self._fresher((campaign, about), known, before)
                if fresher:
                    grouped[about] = known + fresher
        found = [_facts(grouped[about]) for about in sorted(grouped)]
        decisions = [facts for facts in found if facts is not None]
        for place, facts in enumerate(decisions, first):
            if facts.decided.round != place:
                raise self._unfound(campaign, place) or Damaged("a line up to", self.head)
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
        """Find out which line is damaged, where a decision is not found."""
        for row in self._rows(f"SELECT {COLUMNS} FROM events ORDER BY seq"):
            try:
                event = event_of(row)
            except Damaged as error:
                return error
            mine = row[1] == campaign and isinstance(event, Decided)
            if mine and event.round == about:  # type: ignore[union-attr]
                return Damaged("the index of line", row[0])
        return None

    def _fresher(
        self, place: tuple[int, int], known: list[Stored], before: int | None
    ) -> list[Stored]:
        fresh = self._about.get(place)
        if not fresh:
            return []
        last = known[-1].seq if known else 0
        return [one for one in fresh if one.seq > last and (before is None or one.seq < before)]

    def _read(self, where: str, bindings: tuple[Any, ...], before: int | None) -> list[Stored]:
        rows = self._rows(f"SELECT {COLUMNS} FROM events WHERE {where}", bindings)
        return [
            Stored(row[0], row[1], event_of(row))
            for row in rows
            if before is None or row[0] < before
        ]

    def scan(self, after: int = 0, upto: int | None = None) -> Iterator[Stored]:
        """Read the lines after one in order, and check the chain between them.

        With `upto`, which must be committed, others may work between two lines.
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
                raise Damaged("line", expected)
            expected += 1
            yield Stored(row[0], row[1], event)
        committed = self._fresh[0][0].seq - 1 if self._fresh else self.head
        if expected <= (committed if upto is None else upto):
            raise Damaged("line", expected)
        if upto is None:
            yield from [stored for stored, _, _ in self._fresh if stored.seq >= expected]

    def page(self, campaign: int, after: int, limit: int) -> tuple[list[Stored], int]:
        """Give lines of a campaign after a line, as far as they are on disk, and how far it read.

        Every line on the way is checked: one that is damaged may not tell whose it is. After so
        many lines it stops, so that others get their turn.
        """
        found: list[Stored] = []
        reached = max(0, after)
        for row in self._rows(
            f"SELECT {COLUMNS} FROM events WHERE seq > ? ORDER BY seq LIMIT ?", (reached, SCANNED)
        ):
            event = event_of(row)
            if row[0] != reached + 1:
                raise Damaged("line", reached + 1)
            reached += 1
            if row[1] == campaign:
                found.append(Stored(row[0], campaign, event))
                if len(found) >= limit:
                    break
        return found, reached

    def of_unit(self, campaign: int, unit: bytes) -> Iterator[Stored]:
        """Give the first decisions of a unit, then its latest, as far as they are asked for."""
        mine = "FROM personal WHERE campaign = ? AND unit = ?"
        for which in (f"seq {mine} ORDER BY seq LIMIT {VISITS}", f"max(seq) {mine}"):
            seqs = [row[0] for row in self._rows(f"SELECT {which}", (campaign, unit))]
            for seq in seqs:
                yield from self._read("seq = ?", (seq,), None)
        yield from [one for one, _, names in self._fresh if (campaign, unit) in names]

    def count(self, campaign: int, upto: int) -> int:
        """Count the decisions, signals and rewards of a campaign up to a line."""
        committed = self._fresh[0][0].seq - 1 if self._fresh else upto
        (stored,) = self._one(
            "SELECT count(*) FROM events WHERE campaign = ? AND round >= 0 AND seq <= ?",
            (campaign, min(upto, committed)),
        )
        return stored + sum(
            place[0] == campaign and place[1] >= 0 and one.seq <= upto
            for one, place, _ in self._fresh
        )


def _facts(lines: list[Stored]) -> Facts | None:
    """Gather the lines of one decision; those that mean another decision are left out."""
    decided = next((one.event for one in lines if isinstance(one.event, Decided)), None)
    if decided is None:
        return None
    return Facts(
        decided,
        [
            Line(one.seq, one.event)
            for one in lines
            if isinstance(one.event, (Signalled, Rewarded)) and one.event.made == decided.at
        ],
    )
