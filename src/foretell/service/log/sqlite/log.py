"""The log in SQLite: one thread writes, and the event loop reads."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw

from foretell.protocol.fields import SQLITE_COPY, CopyKind
from foretell.service.log.clock import Clock
from foretell.service.log.errors import LogClosed
from foretell.service.log.moving import refuse_unfinished
from foretell.service.log.protocol import (
    Draft,
    LogCondition,
    LogGauges,
    LogReader,
    SavedState,
    Tail,
    Written,
)
from foretell.service.log.sqlite import side_tables
from foretell.service.log.sqlite.connection import connect
from foretell.service.log.sqlite.database import Database
from foretell.service.log.sqlite.restore import (
    back_up,
    check_copy,
    make_scratch_folder,
    refuse_other_speed,
    remove_staged,
    replace_database,
    stage_copy,
)
from foretell.service.log.sqlite.rows import read_settings
from foretell.service.log.sqlite.side_tables import SqliteReader
from foretell.service.log.sqlite.tail import Follower
from foretell.service.model.events import moment

logger = logging.getLogger("foretell.service")


class SqliteLog(SqliteReader):
    """The log of one database, which this process alone writes; made in a running event loop."""

    def __init__(
        self,
        path: str,
        *,
        relaxed: bool = False,
        time_scale: float | None = None,
        vfs: str | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Open a database, making it where there is none; `relaxed` decisions wait for no disk.

        A new one may be told the time by a `clock`, where its past is played.
        """
        self._database = Database(
            path, relaxed=relaxed, time_scale=time_scale, vfs=vfs, clock=clock
        )
        self._stamps = self._database.stamps
        self._restoring = asyncio.Lock()
        super().__init__(path, self._database)

    @property
    def closed(self) -> str | None:
        """Why the log cannot be written now; None while it can."""
        return self._database.closed

    @property
    def restores(self) -> int:
        """How often a copy was put in place of the log, which must then be read again."""
        return self._database.restores

    @property
    def outdated(self) -> str | None:
        """Nobody else writes the log."""
        return None

    @property
    def busy(self) -> bool:
        """Whether records are being written now."""
        return bool(self._database.jobs)

    @property
    def time_scale(self) -> float:
        """How many times as fast as the machine's clock log time runs."""
        return self._stamps.clock.scale

    @property
    def sharing(self) -> None:
        """How the fold is shared with others that write the log: nobody else can."""

    async def append(self, drafts: Sequence[Draft]) -> list[Written]:
        """Write records, durable and in order; raise `LogClosed` if none of them was taken in."""
        written: list[Written] = await self._database.submit(drafts)
        return written

    async def tail(self, after: int) -> AsyncIterator[Tail]:
        """Follow the log after a seq: an item for every commit, and while nothing comes, often."""
        follower = Follower(after, self._stamps, self.records)
        self._database.followers.add(follower)
        try:
            while True:
                yield await follower.next()
        finally:
            self._database.followers.discard(follower)

    def now(self) -> int:
        """Return a seq for this moment, which no later record will be below."""
        now = self._stamps.now()
        for follower in self._database.followers:
            follower.wake()
        return now

    def time(self) -> int:
        """Return the moment that it is by the clock of the log, also while it is closed."""
        return moment(self._stamps.now())

    def head(self) -> int:
        """Return the first seq that may still be used: all records below it are durable."""
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
        """Open a reader for another thread, which sees what is durable by then."""
        with open_sqlite_reader(self.path) as reader:
            yield reader

    async def save_state(self, campaign: int, state: SavedState) -> None:
        """Keep a state; its position is not above the head, which is made durable with it."""
        self._stamps.advance(state.position)
        await self._database.submit(work=partial(side_tables.save_state, campaign, state))

    async def erase(self, campaign: int, unit: bytes) -> int:
        """Forget which decisions belong to a unit, and their contexts; return their number."""
        work = partial(side_tables.erase, campaign, unit)
        erased: int = await self._database.submit(work=work, truncate=True)
        return erased

    async def add_counts(self, campaign: int, name: str, by: int) -> None:
        """Count what leaves no record, such as duplicates."""
        await self._database.submit(work=partial(side_tables.add_counts, campaign, name, by))

    def scratch_folder(self) -> TemporaryDirectory[str]:
        """Make a private folder next to the database, for copies that are soon removed."""
        return make_scratch_folder(self.path)

    async def save_uses(self, uses: Mapping[str, int]) -> None:
        """Keep for some keys the moment at which each was last used."""
        await self._database.submit(work=partial(side_tables.save_uses, uses))

    @property
    def copy_kind(self) -> CopyKind:
        """What a copy is that `backup` writes."""
        return SQLITE_COPY

    async def backup(self, target: str) -> None:
        """Write a consistent copy of the log to a file, while it is used."""
        with _copy_errors_wrapped():
            await asyncio.to_thread(back_up, self.path, target)

    async def restore(self, copy: str) -> None:
        """Replace all that the log holds by a copy, once that is checked and written."""
        async with self._restoring:
            with _copy_errors_wrapped():
                await self._put_in_place(copy)
        self._database.refuse_if_closed()

    async def _put_in_place(self, copy: str) -> None:
        database = self._database
        await asyncio.to_thread(check_copy, copy)
        database.refuse_if_closed()
        refuse_other_speed(copy, self.setting("time_scale"))
        staged = await asyncio.to_thread(stage_copy, copy, self.path)
        try:
            database.refuse_if_closed()
            await database.replace(partial(replace_database, staged, self.path))
        finally:
            remove_staged(self.path)

    def gauges(self) -> LogGauges:
        """Return the numbers that operators watch."""
        return LogGauges(*self._database.gauges, self._stamps.clock.ahead_seconds)

    async def stored_bytes(self) -> int:
        """Return how large the database and its journal are."""
        return await asyncio.to_thread(_size_of_files, self.path)

    def condition(self) -> LogCondition:
        """Return who writes the log: this process alone."""
        return LogCondition()

    async def close(self, state_head: int = 0) -> None:
        """Write what is queued, and stop; the head is at least `state_head` then."""
        await self._database.close(state_head)


def _size_of_files(path: str) -> int:
    size = Path(path).stat().st_size
    with suppress(FileNotFoundError):  # a journal is removed when the last connection closes
        size += Path(f"{path}-wal").stat().st_size
    return size


@contextmanager
def _copy_errors_wrapped() -> Iterator[None]:
    """Raise an error of the driver as one that says that a copy must be tried again."""
    try:
        yield
    except apsw.Error as error:
        raise LogClosed(f"the copy cannot be read or written now ({error}): try again") from error


class _Connected:
    """A connection of a reader's own."""

    def __init__(self, path: str) -> None:
        self.reader: apsw.Connection = connect(path, write=False)

    def fail(self, error: Exception) -> None:
        """Leave it to whoever reads."""


@contextmanager
def open_sqlite_reader(path: str) -> Iterator[SqliteReader]:
    """Open a reader of a database, which a server may be writing meanwhile."""
    connected = _Connected(path)
    try:
        refuse_unfinished(read_settings(connected.reader), repr(path))
        yield SqliteReader(path, connected)
    finally:
        connected.reader.close()
