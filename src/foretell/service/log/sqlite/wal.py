"""The write-ahead journal, checked before SQLite reads it.

SQLite ends a journal at its first damaged frame, and ignores what comes after it: so a transaction
that a crash cut off is dropped. A bit that flips in the journal would drop its transaction the
same way, together with every transaction after it. Where each transaction is synced before the
next one begins, a crash can damage the last one only: if a complete transaction follows the
damage, no crash has caused it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import apsw
import numpy as np
from numpy.typing import NDArray

HEADER_BYTES, FRAME_HEADER_BYTES = 32, 24
MAGIC = 0x377F0682  # its last bit is the byte order of the checksums
WORD = 0xFFFFFFFF
CHUNK = 1 << 16  # bytes that are written in one call
Sums = tuple[int, int]
Words = NDArray[np.uint32]


class Frame(NamedTuple):
    """A page of a transaction as the journal stores it, with its header."""

    head: bytes
    page: bytes

    @property
    def ends(self) -> bool:
        """Whether it is the last frame of its transaction."""
        return self.head[4:8] != bytes(4)

    @property
    def salts(self) -> bytes:
        """The salts that all frames of one journal have in common."""
        return self.head[8:16]

    @property
    def sums(self) -> Sums:
        """The stored checksum of the journal up to and with this frame."""
        return struct.unpack(">II", self.head[16:24])

    def computed_sums(self, before: Sums, order: str) -> Sums:
        """Compute the checksum of the journal up to and with this frame."""
        return checksum(self.head[:8] + self.page, before, order)


def rewrite_journal(path: str, vfs: str | None) -> None:
    """Overwrite a journal with its own content, and sync it.

    A failed sync leaves in memory what is not on disk, and no later sync writes it. Whoever opens
    a database cannot know whether one failed, and must not build on what was only in memory.
    """
    name = f"{path}-wal"
    exists = Path(path).exists() and Path(name).exists()  # without its database it is no journal
    if not exists or Path(name).stat().st_size == 0:
        return
    flags = [apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_READWRITE, 0]
    file = apsw.VFSFile(vfs or "", name, flags)
    try:
        size = file.xFileSize()
        for start in range(0, size, CHUNK):
            file.xWrite(file.xRead(min(CHUNK, size - start), start), start)
        file.xSync(apsw.SQLITE_SYNC_FULL)
    finally:
        file.xClose()


def count_lost_transactions(path: str) -> int:
    """Count the transactions that SQLite would drop though no crash has cut them off."""
    journal = Path(f"{path}-wal")
    if not journal.exists() or journal.stat().st_size <= HEADER_BYTES + FRAME_HEADER_BYTES:
        return 0
    content = journal.read_bytes()
    magic, _, size, _ = struct.unpack_from(">IIII", content)
    head = content[:HEADER_BYTES]
    order = ">" if magic & 1 else "<"
    stored: Sums = struct.unpack(">II", head[24:32])
    if magic & ~1 != MAGIC or checksum(head[:24], (0, 0), order) != stored:
        return _lost_without_header(path, content)
    return _lost_after_damage(list(_frames(content, size)), head[16:24], stored, order)


def _lost_after_damage(frames: list[Frame], salts: bytes, before: Sums, order: str) -> int:
    """Count the transactions that end at or after the first damaged frame, if there are several."""
    index = 0
    while index < len(frames) and _follows(frames[index], salts, before, order):
        before = frames[index].sums
        index += 1
    if index == len(frames):
        return 0
    damaged = frames[index]
    ends = 0
    for seed in (damaged.sums, damaged.computed_sums(before, order)):
        count, at = int(damaged.ends), seed
        for frame in frames[index + 1 :]:
            if not _follows(frame, salts, at, order):
                break
            count += frame.ends
            at = frame.sums
        ends = max(ends, count)
    return ends if ends > 1 else 0


def _follows(frame: Frame, salts: bytes, before: Sums, order: str) -> bool:
    return frame.salts == salts and frame.computed_sums(before, order) == frame.sums


def _lost_without_header(path: str, content: bytes) -> int:
    """Count the transactions of a journal with a damaged header that the database does not hold.

    SQLite restarts a journal only when the database holds all of it.
    """
    flags = [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0]
    database = apsw.VFSFile("", path, flags)  # through SQLite, which keeps its locks
    try:
        size = int.from_bytes(database.xRead(2, 16)) if database.xFileSize() > 100 else 0
        size = 65536 if size == 1 else size
        frames = list(_frames(content, size)) if size >= 512 else []
        frames = [frame for frame in frames if frame.salts == frames[0].salts]
        newest = {int.from_bytes(frame.head[:4]): frame.page for frame in frames}
        ends = sum(frame.ends for frame in frames)
        for number, page in newest.items():
            start = (number - 1) * size
            held = start + size <= database.xFileSize() and database.xRead(size, start) == page
            if ends and not held:
                return ends
        return 0
    finally:
        database.xClose()


def _frames(content: bytes, size: int) -> Iterator[Frame]:
    for start in range(
        HEADER_BYTES, len(content) - FRAME_HEADER_BYTES - size + 1, FRAME_HEADER_BYTES + size
    ):
        middle = start + FRAME_HEADER_BYTES
        yield Frame(content[start:middle], content[middle : middle + size])


def checksum(data: bytes, before: Sums, order: str) -> Sums:
    """Return SQLite's checksum of data, given the checksum of what is before it.

    For each pair of words (x, y): s0 += x + s1, s1 += y + s0. That is linear, so the checksum is a
    weighted sum.
    """
    words = np.frombuffer(data, f"{order}u4").astype(np.uint32)
    first, second = words[0::2], words[0::2] + words[1::2]
    weights, (a, b, d) = _weights(first.size)
    s0 = _sum(weights[0] * first) + _sum(weights[1] * second) + a * before[0] + b * before[1]
    s1 = _sum(weights[1] * first) + _sum(weights[2] * second) + b * before[0] + d * before[1]
    return s0 & WORD, s1 & WORD


def _sum(words: Words) -> int:
    return int(words.sum(dtype=np.uint32))


@cache
def _weights(pairs: int) -> tuple[Words, tuple[int, int, int]]:
    """Return the entries of the powers of ((1, 1), (1, 2)), for the last pair first."""
    a, b, d = 1, 0, 1
    entries = []
    for _ in range(pairs):
        entries.append((a, b, d))
        a, b, d = (a + b) & WORD, (b + d) & WORD, (b + 2 * d) & WORD
    return np.array(entries[::-1], np.uint32).T.copy(), (a, b, d)
