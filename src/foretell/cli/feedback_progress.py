"""How far a file of feedback is sent, kept next to it, and the rows that were rejected.

The position is written when a batch is answered. After a crash between the answer and the write the
batch is sent again, and counts once: its events have the same ids.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import msgspec

from foretell.cli.feedback_rows import REJECTED_BECAUSE, REJECTED_LINE
from foretell.cli.table_file import is_given
from foretell.errors import InvalidInput


class FilePosition(msgspec.Struct):
    """How far a file is sent."""

    source: str
    """Which file it is, to which service it is sent, and which column is which."""
    number: int = 0
    """Of the last row whose events were answered."""
    rejected_bytes: int = 0
    """How long the file of rejected rows is."""
    counts: dict[str, int] = {}
    """Rows and events by what became of them."""


class FeedbackProgress:
    """Keeps the position of a file, and writes what was rejected."""

    def __init__(self, path: str, source: Mapping[str, Any], rejected: str | None) -> None:
        """Read how far it is; a file that was changed since begins again."""
        self.path = Path(f"{path}.feedback-progress")
        self.rejected = Path(rejected or f"{path}.rejected.ndjson")
        if self.rejected.exists() and not _is_of_rejected_rows(self.rejected):
            raise InvalidInput(
                f"rejected rows would replace {str(self.rejected)!r}, which holds something else: "
                f"name another file with --rejected"
            )
        stat = Path(path).stat()
        same = {"size": stat.st_size, "modified": stat.st_mtime_ns, "rejected": str(self.rejected)}
        whole = {**source, **same}
        self.position = FilePosition(msgspec.json.encode(whole, order="sorted").decode())
        self.changed = False
        with suppress(OSError, msgspec.MsgspecError, UnicodeDecodeError):
            found = msgspec.json.decode(self.path.read_bytes(), type=FilePosition)
            self.changed = found.source != self.position.source
            if not self.changed:
                self.position = found
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._file is not None:
            self._file.close()

    def answered(
        self,
        number: int,
        statuses: Mapping[str, int],
        rejected: Iterable[tuple[int, str, dict[str, Any]]],
    ) -> None:
        """Keep that all rows up to this one are answered, and which of them were rejected."""
        for line, reason, fields in rejected:
            given = {name: value for name, value in fields.items() if is_given(value)}
            row = {**given, REJECTED_LINE: line, REJECTED_BECAUSE: reason}
            self._rejected_file().write(json.dumps(row).encode() + b"\n")
        position = self.position
        if self._file is not None:
            self._file.flush()
            position.rejected_bytes = self._file.tell()
        position.number = number
        for status, count in statuses.items():
            position.counts[status] = position.counts.get(status, 0) + count
        fresh = self.path.with_name(self.path.name + ".new")
        fresh.write_bytes(msgspec.json.encode(position))
        fresh.replace(self.path)

    def begin(self, *, restart: bool) -> None:
        """Go on, or begin with the first row: then there are no rejected rows yet."""
        if restart:
            self.position = FilePosition(self.position.source)
        if not self.rejected.exists():
            return
        if self.position.rejected_bytes == 0:
            self.rejected.unlink()
        elif self.position.rejected_bytes < self.rejected.stat().st_size:
            # what was written after the position was kept is written again
            os.truncate(self.rejected, self.position.rejected_bytes)

    def finished(self) -> None:
        """Forget the position: the whole file is sent."""
        self.path.unlink(missing_ok=True)

    def _rejected_file(self) -> IO[bytes]:
        if self._file is None:
            self._file = self.rejected.open("ab")
        return self._file


def _is_of_rejected_rows(path: Path) -> bool:
    """Return whether a file holds rejected rows, or nothing."""
    with path.open("rb") as file:
        first = file.readline()
    try:
        return not first or REJECTED_LINE in json.loads(first)
    except (ValueError, TypeError, RecursionError):
        return False
