"""Where in a database file each column of each row is stored, read off its pages."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import apsw

INTERIOR = 5
INDEX = INDEX_INTERIOR, INDEX_LEAF = 2, 10
STORED_COLUMNS = {
    "events": ("seq", "campaign", "decision", "body", "checksum"),
    "personal": ("seq", "campaign", "unit", "context", "checksum"),
    "states": ("campaign", "version", "position", "body", "digest"),
    "streams": (
        *("stream", "slot", "head", "link", "claims"),
        *("boot_id", "boot_time", "sealed", "checksum"),
    ),
    "links": ("stream", "seq", "number", "link"),
    "ranks": ("campaign", "seq", "rank"),
    "keys": ("campaign", "key", "seq"),
    "units": ("campaign", "unit", "n", "action", "seq"),
    "counters": ("campaign", "name", "count", "checksum"),
    "meta": ("name", "value", "checksum"),
}


class Span(NamedTuple):
    """Bytes of the file that hold one column of a row, or the header of the row."""

    table: str
    row: int
    """The row's number; of a table without one, its place in the file."""
    column: str
    """A column; `rowid` and `header` are the row's number and the types of its columns."""
    offset: int
    length: int


def spans(path: str, table: str) -> Iterator[Span]:
    """Return where every row of a table is stored, in pieces where it overflows its page."""
    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    root = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).get
    connection.close()
    content = Path(path).read_bytes()
    size = struct.unpack_from(">H", content, 16)[0]
    yield from _page(content, size, root, table)


def owners_of_pages(path: str) -> dict[int, str]:
    """Return the table or index to which each page belongs."""
    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    owners = dict(connection.execute("SELECT pageno, name FROM dbstat"))
    connection.close()
    return owners


def _page(content: bytes, size: int, number: int, table: str) -> Iterator[Span]:
    start = (number - 1) * size
    head = start + (100 if number == 1 else 0)
    kind, cells = content[head], struct.unpack_from(">H", content, head + 3)[0]
    has_children = kind in {INTERIOR, INDEX_INTERIOR}
    pointers = head + (12 if has_children else 8)
    for place in range(cells):
        cell = start + struct.unpack_from(">H", content, pointers + 2 * place)[0]
        if has_children:
            yield from _page(content, size, struct.unpack_from(">I", content, cell)[0], table)
            cell += 4
        if kind != INTERIOR:
            yield from _row(content, size, cell, table, numbered=kind not in INDEX)
    if has_children:
        yield from _page(content, size, struct.unpack_from(">I", content, head + 8)[0], table)


def _row(content: bytes, size: int, cell: int, table: str, *, numbered: bool) -> Iterator[Span]:
    payload, begin = _varint(content, cell)
    row = cell
    if numbered:
        row, begin = _varint(content, begin)
        yield Span(table, row, "rowid", cell, begin - cell)
    header, place = _varint(content, begin)
    yield Span(table, row, "header", begin, header)
    types = []
    while place < begin + header:
        kind, place = _varint(content, place)
        types.append(kind)
    parts = list(_parts(content, size, begin, payload))
    first = header
    for column, kind in zip(STORED_COLUMNS[table], types, strict=True):
        for start, offset, length in parts:
            low, high = max(first, start), min(first + _length(kind), start + length)
            if low < high:
                yield Span(table, row, column, offset + low - start, high - low)
        first += _length(kind)


def _parts(content: bytes, size: int, begin: int, payload: int) -> Iterator[tuple[int, int, int]]:
    """Return the stretches of a row: where each starts in the row, and where in the file."""
    start = _local(payload, size)
    yield 0, begin, start
    pointer = begin + start
    while start < payload:
        page = (struct.unpack_from(">I", content, pointer)[0] - 1) * size
        length = min(payload - start, size - 4)
        yield start, page + 4, length
        start, pointer = start + length, page


def _varint(content: bytes, place: int) -> tuple[int, int]:
    value = 0
    for byte in content[place : place + 8]:
        value = value << 7 | byte & 127
        place += 1
        if byte < 128:
            return value, place
    return value << 8 | content[place], place + 1  # the ninth byte has no flag


def _length(kind: int) -> int:
    return (0, 1, 2, 3, 4, 6, 8, 8, 0, 0)[kind] if kind < 10 else (kind - 12) // 2


def _local(payload: int, size: int) -> int:
    """Return how much of a row is on its own page."""
    if payload <= size - 35:
        return payload
    least = (size - 12) * 32 // 255 - 23
    more = least + (payload - least) % (size - 4)
    return more if more <= size - 35 else least
