"""What can go wrong with a log, whatever database keeps it.

ForetellError
├── LogClosed      it cannot be written or read now: nothing was taken in
├── StatesDiffer   two processes have folded the same records to different states
├── NoRoom         a copy cannot be written next to it
├── DatabaseRefused, DatabaseFailed    what the server of a database says
└── DamagedFile
    └── Damaged    what is stored does not match its checksum or its chain

None of them knows how it is answered over HTTP.
"""

from __future__ import annotations

import errno
import os

from foretell.errors import DamagedFile, ForetellError, InvalidInput

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
READ_ONLY = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})
SHORT = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.EINTR})
"""The system, or this process, is short of something: soon the same may work."""


class LogClosed(ForetellError):
    """The log cannot be used now, so nothing is taken in."""

    action: str | None = None
    """What the policy would choose, where a decision could not be written."""

    def __init__(self, why: str, outside: str | None = None) -> None:
        """Take why, and what those outside are told, where that names a database or its driver."""
        super().__init__(why)
        self.outside = outside


class DatabaseRefused(InvalidInput):
    """The server of a database does not let this process in, or not do what it must."""

    outside = "the database server refuses this server"


class DatabaseFailed(ForetellError):
    """The server of a database fails at something, in a way that nobody foresaw."""

    outside = "the database server fails"


class StatesDiffer(ForetellError):
    """Two processes have folded the same records to different states: one of them is wrong."""


class NoRoom(ForetellError):
    """A copy cannot be written where copies go: its disk is full, or it is read-only."""


def said_outside(error: BaseException) -> str:
    """Return what those are told who ask over the network: no address, and no words of a driver."""
    return getattr(error, "outside", None) or str(error)


def storage_error(error: OSError) -> ForetellError | None:
    """Return why a copy could not be written next to the log; None where that is not known."""
    reason = error.strerror or os.strerror(error.errno or 0)
    if error.errno in FULL:
        return NoRoom(f"there is no room for the copy next to the database ({reason}): free some")
    if error.errno in READ_ONLY:
        return NoRoom(
            f"the copy cannot be written next to the database ({reason}): make its folder writable"
        )
    if error.errno in SHORT | {errno.EIO}:
        return LogClosed(f"the copy cannot be written now ({reason}): try again soon")
    return None


class Damaged(DamagedFile):
    """A stored record, or something beside the log, cannot be trusted; `seq` is that record."""

    def __init__(
        self, what: str, seq: int | None = None, wrong: str = "does not match its checksum"
    ) -> None:
        """Name what is damaged, and the record that it is or belongs to, if there is one."""
        named = what if seq is None else f"{what} {seq}"
        super().__init__(f"{named} {wrong}: run foretell verify, and restore the log from a backup")
        self.seq = seq or 0
