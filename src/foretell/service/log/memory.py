"""A log in memory: as durable as the object that holds it.

It keeps the same bytes as the other engines, so that what a log promises can be tried on it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

import msgspec

from foretell.errors import DamagedFile, InvalidInput
from foretell.files import write_whole
from foretell.protocol.fields import CopyKind
from foretell.service.log.chain import LINK_EVERY, Chain
from foretell.service.log.clock import Clock
from foretell.service.log.errors import LogClosed
from foretell.service.log.memory_reader import Content, MemoryReader
from foretell.service.log.protocol import (
    Accepted,
    Draft,
    Duplicate,
    LogCondition,
    LogGauges,
    LogReader,
    SavedState,
    Tail,
    Taken,
    UnitAction,
    Written,
    refuse_unusable,
)
from foretell.service.log.record import (
    personal_checksum,
    record_of,
    state_digest,
    stored_row,
)
from foretell.service.log.stamps import Stamps
from foretell.service.model.events import Decided, moment

MEMORY_COPY = CopyKind("memory", "application/octet-stream", ".copy", 0, b"")
TICK_SECONDS = 0.05
"""Seconds after which the tail says how far time has come, while no record comes."""
RECORDS_PER_ITEM = 1000
"""Records that one item of the tail has at most."""


class MemoryLog(MemoryReader):
    """A log that ends with its object; after `close` it can be used again."""

    def __init__(self, clock: Clock | None = None) -> None:
        """Begin without records."""
        super().__init__(Content())
        self.closed: str | None = None
        """Why nothing can be written: a test may set it."""
        self._stamps = Stamps(clock or Clock(), 0)
        self._chain = Chain()
        self._wakes: set[asyncio.Event] = set()
        self.restores = 0
        """How often a copy was put in place of the log, which must then be read again."""
        self._commits = 0
        self._writing = Lock()
        """Held while records are written, and while they are copied for another thread."""

    @property
    def outdated(self) -> str | None:
        """Nobody else writes the log."""
        return None

    @property
    def busy(self) -> bool:
        """Whether records are being written now."""
        return False

    @property
    def time_scale(self) -> float:
        """How many times as fast as the machine's clock log time runs."""
        return self._stamps.clock.scale

    @property
    def sharing(self) -> None:
        """How the fold is shared with others that write the log: nobody else can."""

    async def append(self, drafts: Sequence[Draft]) -> list[Written]:
        """Write records, in order, after others had their turn."""
        self._refuse_if_closed()
        await asyncio.sleep(0)
        self._refuse_if_closed()
        new = sum(self._is_new(draft) for draft in drafts)
        seqs = iter(self._stamps.begin(new))
        with self._writing:
            written = [self._write(seqs, draft) for draft in drafts]
        self._stamps.settle()
        self._commits += 1
        self._wake()
        return written

    def _is_new(self, draft: Draft) -> bool:
        """Return whether nothing was claimed before: what is a duplicate takes no time."""
        given = self.content.units.get((draft.campaign, draft.unit or b""), ())
        taken = any(one.n == draft.unit_action for one in given)
        return not taken and not any(claim in self.content.keys for claim in draft.claims)

    def _write(self, seqs: Iterator[int], draft: Draft) -> Written:
        content, campaign = self.content, draft.campaign
        for claim in draft.claims:
            if claim in content.keys:
                return Duplicate(self._record(content.keys[claim]))
        taken = [] if draft.unit is None else content.units.setdefault((campaign, draft.unit), [])
        for earlier in taken:
            if earlier.n == draft.unit_action:
                return Taken(earlier)
        row = stored_row(next(seqs), campaign, draft.decision, draft.event)
        content.rows.append(row)
        self._index_row(row)
        kept = self._chain.add(row)
        if kept is not None:
            content.links.append(kept)
        content.end = self._chain.link
        content.keys.update(dict.fromkeys(draft.claims, row.seq))
        if draft.unit_action is not None and isinstance(draft.event, Decided):
            taken.append(UnitAction(draft.unit_action, draft.event.action, row.seq))
        if draft.unit is not None or draft.context:
            check = personal_checksum(row.seq, campaign, draft.unit, draft.context)
            content.personal[row.seq] = (campaign, draft.unit, draft.context, check)
        return Accepted(record_of(row))

    async def tail(self, after: int) -> AsyncIterator[Tail]:
        """Follow the log after a seq: an item for every commit, and while nothing comes, often."""
        wake, generation = asyncio.Event(), self.restores
        self._wakes.add(wake)
        try:
            while True:
                wake.clear()
                upto = self._stamps.complete()
                records = await self.records(after, upto, RECORDS_PER_ITEM)
                if len(records) == RECORDS_PER_ITEM:
                    upto = records[-1].seq + 1
                yield Tail(records, upto)
                if records:
                    after = records[-1].seq
                else:
                    with suppress(TimeoutError):
                        async with asyncio.timeout(TICK_SECONDS):
                            await wake.wait()
                if generation != self.restores:
                    raise LogClosed("the log was replaced by a copy: read it again")
        finally:
            self._wakes.discard(wake)

    def now(self) -> int:
        """Return a seq for this moment, which no later record will be below."""
        now = self._stamps.now()
        self._wake()
        return now

    def time(self) -> int:
        """Return the moment that it is by the clock of the log, also while it is closed."""
        return moment(self._stamps.now())

    def head(self) -> int:
        """Return the first seq that may still be used."""
        return self._stamps.head()

    def note_seen(self, position: int) -> None:
        """Do nothing: no other process writes this log."""

    async def propagation_seconds(self) -> float:
        """Return how long others may take to fold a record: there are none."""
        return 0.0

    async def seen_by_all(self, position: int) -> None:
        """Do nothing: no other process writes this log."""

    @contextmanager
    def reader(self) -> Iterator[LogReader]:
        """Open a reader for another thread, which sees what was written by then."""
        with self._writing:
            content = self.content.copied(self.head())
        yield MemoryReader(content)

    async def save_state(self, campaign: int, state: SavedState) -> None:
        """Keep a state; the head is at its position at least."""
        self._refuse_if_closed()
        self._stamps.advance(state.position)
        digest = state_digest(campaign, *state)
        self.content.states[campaign, state.version] = (state, digest)

    async def erase(self, campaign: int, unit: bytes) -> int:
        """Forget which decisions belong to a unit, and their contexts; return their number."""
        self._refuse_if_closed()
        personal = self.content.personal
        decisions = [seq for seq, one in personal.items() if one[:2] == (campaign, unit)]
        for seq in decisions:
            del personal[seq]
        self.content.units.pop((campaign, unit), None)
        return len(decisions)

    async def add_counts(self, campaign: int, name: str, by: int) -> None:
        """Count what leaves no record, such as duplicates."""
        self._refuse_if_closed()
        counts = self.content.counts.setdefault(campaign, {})
        counts[name] = counts.get(name, 0) + by

    def scratch_folder(self) -> TemporaryDirectory[str]:
        """Make a private folder for copies: this log has no place of its own."""
        return TemporaryDirectory(prefix="foretell-")

    async def save_uses(self, uses: Mapping[str, int]) -> None:
        """Keep for some keys the moment at which each was last used."""
        self._refuse_if_closed()
        self.content.uses.update(uses)

    @property
    def copy_kind(self) -> CopyKind:
        """What a copy is that `backup` writes."""
        return MEMORY_COPY

    async def backup(self, target: str) -> None:
        """Write a copy of the log to a file."""
        self.content.head = self.head()
        _write_copy(target, self.content)

    async def restore(self, copy: str) -> None:
        """Replace all that the log holds by a copy, once that is checked."""
        content = _read_copy(copy)
        checked = MemoryReader(content)
        refuse_unusable(checked.check(), await checked.configurations(0))
        self.content = content
        self._index()
        self._chain = Chain(*content.links[-1:])
        for row in content.rows[self._chain.last.number * LINK_EVERY :]:
            self._chain.add(row)
        self._stamps.advance(content.head)
        self.restores += 1
        self._wake()

    def gauges(self) -> LogGauges:
        """Return the numbers that operators watch."""
        return LogGauges(0, self._commits, 0.0, self._stamps.clock.ahead_seconds)

    async def stored_bytes(self) -> int:
        """Return how many bytes the bodies of the records have."""
        return sum(len(row.body) for row in self.content.rows)

    def condition(self) -> LogCondition:
        """Return who writes the log: this process alone."""
        return LogCondition()

    async def close(self, state_head: int = 0) -> None:
        """Leave everything as it is, for whoever uses the object next."""
        self._stamps.advance(state_head)

    def _refuse_if_closed(self) -> None:
        if self.closed is not None:
            raise LogClosed(f"the log cannot be written ({self.closed}): try again soon")

    def _wake(self) -> None:
        for wake in self._wakes:
            wake.set()


def _write_copy(target: str, content: Content) -> None:
    if Path(target).exists():
        raise InvalidInput(f"{target!r} exists already: choose another name for the copy")
    packed = msgspec.msgpack.encode(content)
    write_whole(target, lambda file: file.write(packed), private=True)


def _read_copy(copy: str) -> Content:
    try:
        return msgspec.msgpack.decode(Path(copy).read_bytes(), type=Content)
    except (OSError, msgspec.MsgspecError):
        raise DamagedFile(f"{copy!r} is no copy of a log, or is damaged") from None
