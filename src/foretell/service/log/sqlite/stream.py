"""The row of the stream that is open: where the log ends, and its time there."""

from __future__ import annotations

import zlib
from typing import NamedTuple

import apsw
import msgspec

from foretell.service.log.chain import ROOT, START, Chain, KeptLink
from foretell.service.log.clock import Mark
from foretell.service.log.errors import Damaged
from foretell.service.log.record import record_of
from foretell.service.log.sqlite.copied_streams import read_copied_streams
from foretell.service.log.sqlite.rows import COLUMNS, row_of
from foretell.service.log.stamps import SLOT
from foretell.service.model.events import moment, stamp

_COLUMNS = "head, link, claims, boot_id, boot_time, sealed"
_WRITE = (
    f"INSERT OR REPLACE INTO streams (stream, slot, {_COLUMNS}, checksum) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


class Stream(NamedTuple):
    """What is known of the end of the log."""

    head: int = 0
    """The first seq that may still be used."""
    link: bytes = ROOT
    """That of the last record."""
    claims: int = 0
    """The sum of the numbers of all claims."""
    boot_id: str = ""
    boot_time: int = 0
    sealed: int = 0
    number: int = 1
    """It follows the numbers of the streams that came by copy."""
    first: int = 0
    """No record of it is below this seq: those are of streams that came by copy."""

    @property
    def mark(self) -> Mark:
        """The time of the head."""
        return Mark(moment(self.head), self.boot_id, self.boot_time)

    def at(self, mark: Mark) -> Stream:
        """Return the stream with a head at another time."""
        return self._replace(head=stamp(mark.time), boot_id=mark.boot_id, boot_time=mark.boot_time)

    def checksum(self) -> int:
        """Return the checksum that is stored with it."""
        return zlib.crc32(msgspec.msgpack.encode((self.number, SLOT, *self[:6])))


def read_stream(connection: apsw.Connection) -> Stream | None:
    """Read the stream, and raise `Damaged` if it was changed; None where there is none yet."""
    copied = read_copied_streams(connection)
    number = len(copied) + 1
    try:
        found = connection.execute(
            f"SELECT {_COLUMNS}, checksum FROM streams WHERE stream = ? AND slot = ?",
            (number, SLOT),
        ).fetchone()
    except UnicodeDecodeError:
        raise Damaged("the end of the log after record", 0) from None
    if found is None:
        if connection.execute("SELECT count(*) FROM (SELECT 1 FROM events LIMIT 1)").get:
            raise Damaged("the end of the log after record", 0)
        return None
    first = max((one.head for one in copied), default=0)
    stream = Stream._make((*found[:-1], number, first))
    if stream.checksum() != found[-1]:
        raise Damaged("the end of the log, stored as", stream.head)
    return stream


def write_stream(connection: apsw.Connection, stream: Stream) -> None:
    """Store where the log ends, in the transaction that made it end there."""
    connection.execute(
        _WRITE,
        (stream.number, SLOT, *stream[:6], stream.checksum()),
    )


def link_before(connection: apsw.Connection, seq: int, stream: int = 1) -> KeptLink:
    """Return the last link of a stream that was kept up to a record."""
    found = connection.execute(
        "SELECT number, seq, link FROM links WHERE stream = ? AND seq <= ? "
        "ORDER BY seq DESC LIMIT 1",
        (stream, seq),
    ).fetchone()
    if found is None:
        return START
    link = KeptLink(*found)
    if not link.is_whole:
        raise Damaged("the link of record", link.seq)
    return link


def end_of_chain(connection: apsw.Connection, stream: Stream) -> Chain:
    """Read the last records, and raise `Damaged` unless they lead to the end of the log."""
    chain = Chain(link_before(connection, stream.head, stream.number))
    for columns in connection.execute(
        f"SELECT {COLUMNS} FROM events WHERE seq > ? ORDER BY seq",
        (max(chain.seq, stream.first - 1),),
    ):
        row = row_of(columns)
        record_of(row)
        chain.add(row)
    if chain.link != stream.link or chain.seq >= max(stream.head, 1):
        raise Damaged("a record after", chain.last.seq)
    return chain
