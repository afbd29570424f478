"""A log moves to another database: row by row, compared by digests, and then its source is sealed.

A copy can be stopped at any moment, and goes on where it was. While servers write the source, it
takes what there is; once nobody writes it, the rest. The source is sealed before the target may be
served, so that at no moment both can be.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

import msgspec

from foretell.errors import DamagedFile, ForetellError, InvalidInput
from foretell.protocol.fields import (
    COPY_BEGINNING,
    COPY_KINDS,
    POSTGRES_COPY,
    SQLITE_COPY,
    CopyKind,
)
from foretell.service.log.protocol import LogCheck
from foretell.service.log.stream_row import StreamRow

Row: TypeAlias = tuple[Any, ...]
ROWS_PER_PAGE = 2000
MOVED_TO, COPY_OF, COPY_IDENTITY = "moved_to", "copy_of", "copy_identity"
"""Settings: where a sealed log went; of what an unfinished copy is one."""


class MovedTable(NamedTuple):
    """A table that moves; the first columns are its key."""

    name: str
    key: tuple[str, ...]
    rest: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns, the key first."""
        return self.key + self.rest

    def key_of(self, row: Row) -> Row:
        """Return the key of a row."""
        return row[: len(self.key)]


EVENTS = MovedTable("events", ("seq",), ("campaign", "decision", "body", "checksum"))
MOVED_TABLES = (
    EVENTS,
    MovedTable("links", ("stream", "seq"), ("number", "link")),
    MovedTable("keys", ("campaign", "key"), ("seq",)),
    MovedTable("units", ("campaign", "unit", "n"), ("action", "seq")),
    MovedTable("personal", ("seq",), ("campaign", "unit", "context", "checksum")),
    MovedTable("states", ("campaign", "version"), ("position", "body", "digest")),
    MovedTable("counters", ("campaign", "name"), ("count",)),
    MovedTable("key_uses", ("id",), ("last_used",)),
)
"""What moves besides the streams; ranks are counted again."""


class MovingSide(Protocol):
    """One of the two databases."""

    place: str
    """Its location, as it may be shown."""

    def settings(self) -> dict[str, Any]:
        """Return its settings."""

    def page(self, table: MovedTable, after: Row | None, upto: Row | None) -> list[Row]:
        """Return rows by their keys, in order: after one and up to one, or the next of a page."""

    def streams(self) -> list[tuple[StreamRow, str]]:
        """Return all streams as sealed ones, each with the host that wrote it."""

    def check(self) -> LogCheck:
        """Check all that is stored."""


class LogSource(MovingSide, Protocol):
    """Where the log is."""

    def freeze(self) -> str | None:
        """Let nobody write until this ends; return why that cannot be, if somebody writes now."""

    def seal(self, target: str) -> None:
        """Let nobody write ever again, and keep where the log went."""


class LogTarget(MovingSide, Protocol):
    """Where the log goes."""

    def begin(self, settings: dict[str, Any]) -> None:
        """Keep settings, in a database without a log: from now on it holds an unfinished copy."""

    def copied(self) -> tuple[int, int]:
        """Return how many records were copied, and the seq of the last one, 0 before the first."""

    def change(self, table: MovedTable, add: list[Row], remove: list[Row]) -> None:
        """Remove rows and add others, all or nothing; durable when it returns."""

    def complete(self, streams: list[tuple[StreamRow, str]]) -> None:
        """Store the streams, and what follows from the records."""

    def open_up(self) -> None:
        """Let it be served."""


class Moved(NamedTuple):
    """What has moved."""

    records: int
    digests: dict[str, str]
    """A digest of each table, equal in both databases."""


def move_log(source: LogSource, target: LogTarget, advance: Callable[[int], None]) -> Moved:
    """Copy a log, seal its source, and open the target; raise `InvalidInput` where that must wait.

    `advance` is called with a number of records that are done, three times for each record: when
    it is copied, and when its digest is taken on either side.
    """
    sealed_for = source.settings().get(MOVED_TO)
    _begin(source, target, sealed_for)
    written_by = None if sealed_for else source.freeze()
    _copy_records(source, target, advance)
    for table in MOVED_TABLES[1:]:
        _copy_rows(source, target, table)
    if written_by is not None:
        raise InvalidInput(
            f"what was written so far is copied to {target.place}, but {written_by}: stop what "
            f"writes the source, and run the same command again, which takes the rest and seals it"
        )
    target.complete(source.streams())
    records = _refuse_damage(source)
    digests = _compare(source, target, advance)
    _refuse_damage(target)
    if not sealed_for:
        source.seal(target.place)
    target.open_up()
    return Moved(records, digests)


def kind_of_copy(copy: str) -> CopyKind | None:
    """Return of which kind a copy is; None where its beginning does not say so."""
    try:
        with Path(copy).open("rb") as file:
            begins = file.read(COPY_BEGINNING)
    except (OSError, ValueError):  # whoever reads it says why it cannot be read
        return None
    return next((kind for kind in COPY_KINDS if kind.begins(begins)), None)


def refuse_other_kind(copy: str, wanted: CopyKind) -> None:
    """Refuse to restore a copy of a log that was kept elsewhere."""
    found = kind_of_copy(copy)
    if found not in (None, wanted):
        raise InvalidInput(
            f"{copy!r} is a copy of a log in {found.place}, and this log is in {wanted.place}: "
            f"{_WHERE[found]}, and then move that one with foretell copy"
        )


_WHERE = {
    SQLITE_COPY: "restore it to a new file",
    POSTGRES_COPY: "restore it to an empty database of PostgreSQL",
}


def refuse_moved(settings: dict[str, Any], place: str) -> None:
    """Refuse to write a log that is elsewhere now, or not all here yet."""
    if MOVED_TO in settings:
        raise InvalidInput(
            f"the log in {place} has moved to {settings[MOVED_TO]}, and this one is sealed: "
            f"use that one"
        )
    refuse_unfinished(settings, place)


def refuse_unfinished(settings: dict[str, Any], place: str) -> None:
    """Refuse to read a log that is not all here yet."""
    if COPY_OF in settings:
        raise InvalidInput(
            f"{place} holds an unfinished copy of {settings[COPY_OF]}: run foretell copy again, "
            f"which goes on where it was"
        )


def _begin(source: LogSource, target: LogTarget, sealed_for: str | None) -> None:
    """Refuse a target that cannot take this log; note in one that can what it is a copy of."""
    first = source.page(EVENTS, None, None)[:1]
    if not first:
        raise InvalidInput(f"there is nothing to copy: the log in {source.place} is empty")
    identity = _digest_of([first[0]])
    known = target.settings()
    unfinished = known.get(COPY_IDENTITY) == identity
    if sealed_for not in (None, target.place) or (sealed_for and not unfinished):
        refuse_moved(source.settings(), source.place)
    if unfinished:
        return
    refuse_moved(known, target.place)
    if target.copied() != (0, 0):
        raise InvalidInput(
            f"there is another log in {target.place}: a copy needs a database without one"
        )
    copied = source.settings()
    kept = {name: copied[name] for name in ("time_scale", "time_origin") if name in copied}
    target.begin(kept | {COPY_OF: source.place, COPY_IDENTITY: identity})


def _copy_records(source: LogSource, target: LogTarget, advance: Callable[[int], None]) -> None:
    """Copy the records after the last one that was copied: none is ever changed."""
    before, after = target.copied()
    advance(before)
    while rows := source.page(EVENTS, (after,), None):
        target.change(EVENTS, rows, [])
        after = rows[-1][0]
        advance(len(rows))


def _copy_rows(source: LogSource, target: LogTarget, table: MovedTable) -> None:
    """Make the rows of a table equal, page by page: some may have been erased or changed since."""
    after: Row | None = None
    while True:
        wanted = source.page(table, after, None)
        is_last = len(wanted) < ROWS_PER_PAGE
        upto = None if is_last else table.key_of(wanted[-1])
        there = _all_rows(target, table, after) if is_last else target.page(table, after, upto)
        if wanted != there:
            add, remove = set(wanted), set(there)
            target.change(
                table,
                [row for row in wanted if row not in remove],
                [row for row in there if row not in add],
            )
        if is_last:
            return
        after = upto


def _all_rows(side: MovingSide, table: MovedTable, after: Row | None) -> list[Row]:
    return [row for page in _pages(side, table, after) for row in page]


def _pages(side: MovingSide, table: MovedTable, after: Row | None = None) -> Iterator[list[Row]]:
    while rows := side.page(table, after, None):
        yield rows
        after = table.key_of(rows[-1])


def _compare(
    source: LogSource, target: LogTarget, advance: Callable[[int], None]
) -> dict[str, str]:
    """Return the digests of all tables; raise `ForetellError` where two differ."""
    digests = {"streams": _digest_of(source.streams())}
    pairs = [("streams", digests["streams"], _digest_of(target.streams()))]
    for table in MOVED_TABLES:
        step = advance if table is EVENTS else _ignore
        digests[table.name] = _digest_of(_counted(_pages(source, table), step))
        pairs.append(
            (table.name, digests[table.name], _digest_of(_counted(_pages(target, table), step)))
        )
    for name, here, there in pairs:
        if here != there:
            raise ForetellError(
                f"the {name} of {source.place} and {target.place} differ ({here} and {there}), so "
                f"the source is not sealed: empty the target, and copy again"
            )
    return digests


def _counted(pages: Iterable[list[Row]], advance: Callable[[int], None]) -> Iterator[Row]:
    for page in pages:
        advance(len(page))
        yield from page


def _ignore(_: int) -> None:
    """Count nothing."""


def _digest_of(rows: Iterable[Row]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for row in rows:
        digest.update(msgspec.msgpack.encode(row))
    return digest.hexdigest()


def _refuse_damage(side: MovingSide) -> int:
    """Refuse to move what is damaged; return how many records there are."""
    found = side.check()
    if found.damage:
        raise DamagedFile(
            f"the log in {side.place} is damaged, so the source is not sealed: {found.damage[0]}"
        )
    return found.records
