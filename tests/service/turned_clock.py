"""A real server whose wall clock a test turns by libfaketime; the time since boot stays true."""

from __future__ import annotations

import glob
from pathlib import Path

from tests.service.server_process import Server

LIBRARIES = (
    "/usr/lib/*/faketime/libfaketimeMT.so.1",
    "/usr/lib64/faketime/libfaketimeMT.so.1",
    "/usr/local/lib/faketime/libfaketimeMT.so.1",
)
RUN = "from foretell.cli import main\nmain()"
CLAMPED_CLOCK = f"""
from foretell.service.log import clock

def now(self):
    self._real = max(self._real, clock._wall_clock())
    return self._log_time(self._real)

clock.Clock.now = now
{RUN}
"""
"""A server with the clock of old: the latest time that was ever read."""
IMPATIENT_CLOCK = f"""
from foretell.service.log import clock

clock.HOLD = clock.SECOND
{RUN}
"""
"""A server that follows a step of the clock after a second."""


def library() -> str:
    """Return where libfaketime is."""
    found = [name for pattern in LIBRARIES for name in glob.glob(pattern)]  # noqa: PTH207
    if not found:
        raise AssertionError("there is no libfaketime: make faketime installs it")
    return found[0]


class TurnedClock:
    """The wall clock of the servers in a folder, as libfaketime reads it."""

    def __init__(self, folder: Path) -> None:
        """Begin with the true time."""
        self._file = folder / "clock"
        self.turn("+0")
        self.variables = {
            "LD_PRELOAD": library(),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_NO_CACHE": "1",
            "NO_FAKE_STAT": "1",
        }

    def turn(self, to: str) -> None:
        """Turn the clock: "+30d" from the true time, or a moment at which it stands."""
        part = self._file.with_suffix(".part")
        part.write_text(to, "utf-8")
        part.replace(self._file)


class TurnedServer(Server):
    """`foretell serve` under a clock that is turned, with another program if one is given."""

    def __init__(self, folder: Path, clock: TurnedClock, program: str = "") -> None:
        """Start it."""
        if program:
            self.program = ("-c", program)
        super().__init__(folder, **clock.variables)
