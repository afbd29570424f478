"""What can go wrong with a log, whatever database keeps it.

ForetellError
├── LogClosed      it cannot be written or read now: nothing was taken in
└── DamagedFile
    └── Damaged    what is stored does not match its checksum or its chain

None of them knows how it is answered over HTTP.
"""

from __future__ import annotations

from foretell.errors import DamagedFile, ForetellError


class LogClosed(ForetellError):
    """The log cannot be used now, so nothing is taken in."""


class Damaged(DamagedFile):
    """A stored record, or something beside the log, cannot be trusted; `seq` is that record."""

    def __init__(self, what: str, seq: int | None = None) -> None:
        """Name what is damaged, and the record that it is or belongs to, if there is one."""
        named = what if seq is None else f"{what} {seq}"
        super().__init__(
            f"{named} does not match its checksum: run foretell verify, "
            f"and restore the log from a backup"
        )
        self.seq = seq or 0
