"""The row of a stream: what one process has written, and up to where.

The same in every engine, so that a stream keeps its slot and its chain when a log moves.
"""

from __future__ import annotations

import zlib
from typing import NamedTuple

import msgspec

from foretell.service.log.chain import ROOT


class StreamRow(NamedTuple):
    """What is known of a stream."""

    stream: int
    slot: int
    head: int
    """The first seq that may still be used."""
    first: int
    """The head with which it was opened."""
    last: int = 0
    """The seq of its last record."""
    records: int = 0
    link: bytes = ROOT
    """That of its last record."""
    claims: int = 0
    """The sum of the numbers of its claims."""
    sealed: bool = False

    def checksum(self) -> int:
        """Return the checksum that is stored with it."""
        unsigned = zlib.crc32(msgspec.msgpack.encode(tuple(self)))
        return unsigned - ((unsigned & 0x80000000) << 1)
