"""The write-ahead journal, looked at before it is used.

SQLite ends a journal at its first damaged frame, and takes what comes after it as never written:
so a crash in the middle of a transaction is forgotten. A bit that flips in the journal would be
forgotten the same way, together with every transaction after it. Where each transaction is synced
before the next one begins, a crash can only leave the last one in pieces: if a whole transaction
follows behind the damage, the damage is none of a crash.
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

HEAD, FRAME_HEAD = 32, 24
MAGIC = 0x377F0682  # the last bit tells the order of the bytes that are summed
WORD = 0xFFFFFFFF
STEP = 1 << 16  # more than SQLite writes in one call is none at all
Sums = tuple[int, int]
Words = NDArray[np.uint32]

RELAXED = "SELECT value FROM meta WHERE name = 'durability'"
"""How the database was last written to: only relaxed, may a cut leave several transactions torn."""


class Frame(NamedTuple):
    """A page of a transaction, as it is written."""

    head: bytes
    page: bytes

    @property
    def ends(self) -> bool:
        """Return whether it is the last of its transaction."""
        return self.head[4:8] != bytes(4)

    @property
    def salts(self) -> bytes:
        """Return what all frames of one journal have in common."""
        return self.head[8:16]

    @property
    def sums(self) -> Sums:
        """Return the checksum of the journal up to here, as it is written."""
        return struct.unpack(">II", self.head[16:24])

    def summed(self, before: Sums, order: str) -> Sums:
        """Compute it."""
        return sums(self.head[:8] + self.page, before, order)


def write_again(path: str, vfs: str | None) -> None:
    """Write a journal over with what it holds, and sync it.

    A sync that failed leaves in memory what is not on disk, and no later sync writes it: whoever
    opens a database cannot know, and must not build on what was only in memory.
    """
    name = f"{path}-wal"
    there = Path(path).exists() and Path(name).exists()  # without its database it is none
    if not there or Path(name).stat().st_size == 0:
        return
    flags = [apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_READWRITE, 0]
    file = apsw.VFSFile(vfs or "", name, flags)
    try:
        size = file.xFileSize()
        for start in range(0, size, STEP):
            file.xWrite(file.xRead(min(STEP, size - start), start), start)
        file.xSync(apsw.SQLITE_SYNC_FULL)
    finally:
        file.xClose()


def forgotten(path: str) -> int:
    """Count the transactions that SQLite would forget, and that no crash has left in pieces."""
    journal = Path(f"{path}-wal")
    if not journal.exists() or journal.stat().st_size <= HEAD + FRAME_HEAD:
        return 0
    content = journal.read_bytes()
    magic, _, size, _ = struct.unpack_from(">IIII", content)
    head = content[:HEAD]
    order = ">" if magic & 1 else "<"
    record: Sums = struct.unpack(">II", head[24:32])
    if magic & ~1 != MAGIC or sums(head[:24], (0, 0), order) != record:
        return _not_in(path, content)
    return _behind(list(_frames(content, size)), head[16:24], record, order)


def _behind(frames: list[Frame], salts: bytes, before: Sums, order: str) -> int:
    """Count the transactions whose end is at or behind the first damaged frame, but for one."""
    index = 0
    while index < len(frames) and _follows(frames[index], salts, before, order):
        before = frames[index].sums
        index += 1
    if index == len(frames):
        return 0
    damaged = frames[index]
    ends = 0
    for seed in (damaged.sums, damaged.summed(before, order)):
        count, at = int(damaged.ends), seed
        for frame in frames[index + 1 :]:
            if not _follows(frame, salts, at, order):
                break
            count += frame.ends
            at = frame.sums
        ends = max(ends, count)
    return ends if ends > 1 else 0


def _follows(frame: Frame, salts: bytes, before: Sums, order: str) -> bool:
    return frame.salts == salts and frame.summed(before, order) == frame.sums


def _not_in(path: str, content: bytes) -> int:
    """Count the transactions of a journal without a head that the database does not hold.

    A journal is begun anew only when the database holds all of it.
    """
    flags = [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0]
    database = apsw.VFSFile("", path, flags)  # by SQLite's hands, which keep its locks
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
    for start in range(HEAD, len(content) - FRAME_HEAD - size + 1, FRAME_HEAD + size):
        middle = start + FRAME_HEAD
        yield Frame(content[start:middle], content[middle : middle + size])


def sums(data: bytes, before: Sums, order: str) -> Sums:
    """Return SQLite's checksum of data after that of what is before it.

    For each pair of words (x, y): s0 += x + s1, s1 += y + s0. That is linear in everything, so
    the whole is a weighted sum.
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
    """Return the entries of the powers of ((1, 1), (1, 2)), of the last pair to the first."""
    a, b, d = 1, 0, 1
    entries = []
    for _ in range(pairs):
        entries.append((a, b, d))
        a, b, d = (a + b) & WORD, (b + d) & WORD, (b + 2 * d) & WORD
    return np.array(entries[::-1], np.uint32).T.copy(), (a, b, d)
