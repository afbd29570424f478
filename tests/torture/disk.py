"""A disk that can lose power, run full or fail: a layer under the database.

Every file is written for real, so that whoever reads sees everything, as from the page cache of a
machine that runs. Next to it the disk keeps what would be there after the power has gone: the
content at the last sync, and in `pending` what was written since, in order. A sync that fails
says so once and forgets what it could not write, as Linux does: it stays in the cache, and no
later sync writes it.
"""

# ruff: noqa: N802  (SQLite has named what is overridden here)
from __future__ import annotations

import itertools
import os
import random
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import apsw

SECTOR = 512
Loss = Literal["all", "sectors", "tail", "none"]
"""What of the unsynced writes is lost: all, any sectors, all after one that is torn, nothing."""
LOSSES: tuple[Loss, ...] = ("all", "sectors", "tail", "none")

_numbers = itertools.count()


@dataclass
class Kept:
    """A file as the platter has it."""

    durable: bytearray = field(default_factory=bytearray)
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)
    """Writes at an offset, and truncations to one (None)."""
    fresh: bool = True
    """Whether its first sync also syncs its folder, as SQLite does for new journals."""

    def sync(self) -> None:
        for offset, data in self.pending:
            _apply(self.durable, offset, data)
        self.pending.clear()

    def after(self, loss: Loss, rng: random.Random) -> bytes:
        content = bytearray(self.durable)
        last = len(self.pending) if loss == "none" else rng.randint(0, len(self.pending))
        for index, (offset, data) in enumerate(self.pending):
            if loss == "none" or (loss == "tail" and index < last):
                _apply(content, offset, data)
            elif loss == "tail" and index == last and data:
                _apply(content, offset, data[: rng.randint(0, len(data))])
            elif loss == "sectors" and data is None:
                if rng.random() < 0.5:
                    _apply(content, offset, None)
            elif loss == "sectors" and data is not None:
                for start in range(0, len(data), SECTOR):
                    if rng.random() < 0.5:
                        _apply(content, offset + start, data[start : start + SECTOR])
        return bytes(content)


def _apply(content: bytearray, offset: int, data: bytes | None) -> None:
    if data is None:
        del content[offset:]
        return
    if len(content) < offset:
        content.extend(bytes(offset - len(content)))
    content[offset : offset + len(data)] = data


def _path(name: Any) -> str:
    """Return the name of a file; one for a moment has none."""
    return name.filename() if isinstance(name, apsw.URIFilename) else name or ".db-temporary"


def _file_of(path: str) -> int | None:
    return Path(path).stat().st_ino if Path(path).exists() else None


Fault = Callable[[str, str, int], Exception | None]
"""Of an operation, a file's ending and the number of the operation: the error to raise."""


class Disk(apsw.VFS):
    """A disk under one database; `name` is what to open it with."""

    def __init__(self, database: Path, *, default: bool = False) -> None:
        """Begin with what is there; as the default, it is under every database meanwhile."""
        self.name = f"torture-{os.getpid()}-{next(_numbers)}"
        self.files: dict[str, Kept] = {}
        self.entries: dict[str, Kept] = {}
        """The folder as the platter has it."""
        self.known: dict[str, int | None] = {}
        """Which file bore each name when it was last opened."""
        self.operations = 0
        self.fault: Fault = lambda *_: None
        self.cut_at: int | None = None
        self.room: int | None = None
        """Bytes that all files may have together; None is a disk without end."""
        self.dead = False
        self.reads_fail = False
        self.on_cut: Callable[[], None] = lambda: None
        super().__init__(self.name, "unix", makedefault=default)
        for ending in ("", "-wal", "-journal"):
            path = Path(f"{database}{ending}")
            if path.exists():
                self.files[str(path)] = Kept(bytearray(path.read_bytes()), fresh=False)
                self.known[str(path)] = _file_of(str(path))
        self.sync_folder()

    def xOpen(self, name: Any, flags: list[int]) -> DiskFile:
        path = _path(name)
        self.step("open", path)
        file = _file_of(path)
        if file is None:
            self.files[path] = Kept()
        elif file != self.known.get(path):  # a rename has put another file in its place
            self.files[path] = Kept(bytearray(Path(path).read_bytes()), fresh=False)
            self.sync_folder()
        opened = DiskFile(self, path, name, flags)
        self.known[path] = _file_of(path)
        return opened

    def xDelete(self, filename: str, syncdir: bool) -> None:
        self.step("delete", filename)
        super().xDelete(filename, syncdir)
        self.files.pop(filename, None)
        if syncdir:
            self.sync_folder()

    def excepthook(self, etype: Any, evalue: Any, etraceback: Any) -> bool:
        """Say nothing of errors that SQLite cannot pass on."""
        return True

    def sync_folder(self) -> None:
        self.entries = dict(self.files)

    def step(self, operation: str, path: str) -> None:
        """Count an operation, and let it fail if it must."""
        self.operations += 1
        if self.cut_at is not None and self.operations >= self.cut_at:
            self.cut()
        if self.dead:
            raise apsw.IOError("the power is gone")
        error = self.fault(operation, path.rpartition(".db")[2], self.operations)
        if error is not None:
            raise error

    def look(self, operation: str, path: str) -> None:
        """Let an operation that changes nothing fail if it must."""
        if self.reads_fail and operation == "read":
            raise apsw.IOError("a read failed")

    def make_room(self, more: int) -> None:
        """Refuse a file to grow where there is no room."""
        if self.room is None or more <= 0:
            return
        used = sum(Path(path).stat().st_size for path in self.files if Path(path).exists())
        if used + more > self.room:
            raise apsw.FullError("database or disk is full")

    def cut(self) -> None:
        """Take the power away, once."""
        if not self.dead:
            self.dead = True
            self.on_cut()

    def image(self, folder: Path, loss: Loss, rng: random.Random) -> Path:
        """Write into a folder what is there when the power comes back; give the database."""
        folder.mkdir(parents=True)
        for path in self.files.keys() | self.entries.keys():
            before, now = self.entries.get(path), self.files.get(path)
            kept = now if loss == "none" or (loss != "all" and rng.random() < 0.5) else before
            if kept is not None:
                (folder / Path(path).name).write_bytes(kept.after(loss, rng))
        return folder / "live.db"


class DiskFile(apsw.VFSFile):
    """One open file."""

    def __init__(self, disk: Disk, path: str, name: Any, flags: list[int]) -> None:
        self.disk = disk
        self.path = path
        self.kept = disk.files[path]
        super().__init__("unix", name, flags)

    def excepthook(self, etype: Any, evalue: Any, etraceback: Any) -> bool:
        """Say nothing of errors that SQLite cannot pass on."""
        return True

    def xRead(self, amount: int, offset: int) -> bytes:
        self.disk.look("read", self.path)
        return super().xRead(amount, offset)

    def xFileSize(self) -> int:
        self.disk.look("size", self.path)
        return super().xFileSize()

    def xLock(self, level: int) -> None:
        self.disk.look("lock", self.path)
        super().xLock(level)

    def xWrite(self, data: Any, offset: int) -> None:
        self.disk.step("write", self.path)
        self.disk.make_room(offset + len(data) - super().xFileSize())
        super().xWrite(data, offset)
        self.kept.pending.append((offset, bytes(data)))

    def xTruncate(self, newsize: int) -> None:
        self.disk.step("truncate", self.path)
        super().xTruncate(newsize)
        self.kept.pending.append((newsize, None))

    def xSync(self, flags: int) -> None:
        try:
            self.disk.step("sync", self.path)
        except apsw.Error:
            if not self.disk.dead:
                self.kept.pending.clear()
            raise
        self.kept.sync()
        if self.kept.fresh and not self.path.endswith(".db"):
            self.kept.fresh = False
            self.disk.sync_folder()


class DeadlyDisk(apsw.VFS):
    """A disk whose user dies by SIGKILL at one operation, before it, after it or halfway."""

    def __init__(self, at: int, ending: str | None, how: str) -> None:
        self.name = f"deadly-{os.getpid()}-{next(_numbers)}"
        self.left = at
        self.ending = ending
        self.how = how
        super().__init__(self.name, "unix")

    def xOpen(self, name: Any, flags: list[int]) -> DeadlyFile:
        path = _path(name)
        return DeadlyFile(self, path.rpartition(".db")[2], name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        dies = self.counts(filename.rpartition(".db")[2])
        super().xDelete(filename, syncdir)
        if dies:
            die()

    def counts(self, ending: str) -> bool:
        """Count an operation, and return whether it is the one."""
        if self.ending is not None and ending != self.ending:
            return False
        self.left -= 1
        if self.left == 0 and self.how == "before":
            die()
        return self.left == 0


class DeadlyFile(apsw.VFSFile):
    """One open file."""

    def __init__(self, disk: DeadlyDisk, ending: str, name: Any, flags: list[int]) -> None:
        self.disk = disk
        self.ending = ending
        super().__init__("unix", name, flags)

    def xWrite(self, data: Any, offset: int) -> None:
        dies = self.disk.counts(self.ending)
        if dies and self.disk.how == "half":
            super().xWrite(bytes(data)[: len(data) // 2], offset)
            die()
        super().xWrite(data, offset)
        if dies:
            die()

    def xTruncate(self, newsize: int) -> None:
        dies = self.disk.counts(self.ending)
        super().xTruncate(newsize)
        if dies:
            die()

    def xSync(self, flags: int) -> None:
        dies = self.disk.counts(self.ending)
        super().xSync(flags)
        if dies:
            die()


def die() -> None:
    """End this process as a crash would."""
    os.kill(os.getpid(), signal.SIGKILL)
