"""The streams that came by copy: sealed, with the slots and chains that they had elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from foretell.service.log.errors import Damaged
from foretell.service.log.stream_row import StreamRow

_STORED = "stream, slot, head, first, last, records, link, claims"


def read_copied_streams(connection: apsw.Connection) -> list[StreamRow]:
    """Return the streams that came by copy, or raise `Damaged`; a log that was made here has none.

    A database that only an older foretell has written lacks the table.
    """
    try:
        rows = list(
            connection.execute(f"SELECT {_STORED}, checksum FROM copied_streams ORDER BY stream")
        )
    except apsw.SQLError as error:
        if "no such table" in str(error):
            return []
        raise
    streams = [StreamRow._make((*row[:-1], True)) for row in rows]
    for expected, (stream, row) in enumerate(zip(streams, rows, strict=True), 1):
        if stream.stream != expected or stream.checksum() != row[-1]:
            raise Damaged("the end of the log, stored as", stream.head)
    return streams


def write_copied_streams(
    connection: apsw.Connection, streams: Sequence[tuple[StreamRow, str]]
) -> None:
    """Store streams, each with the host that wrote it, as the only ones that came by copy."""
    connection.execute("DELETE FROM copied_streams")
    connection.executemany(
        f"INSERT INTO copied_streams ({_STORED}, host, checksum) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [(*stream[:-1], host, stream.checksum()) for stream, host in streams],
    )


def read_hosts(connection: apsw.Connection) -> list[str]:
    """Return the hosts that wrote the streams, in the order of their numbers."""
    rows = connection.execute("SELECT host FROM copied_streams ORDER BY stream")
    return [host for (host,) in rows]
