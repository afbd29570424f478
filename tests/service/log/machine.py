"""A machine whose clocks a test sets: the wall clock, and the time since it was started."""

from __future__ import annotations

import pytest

from foretell.service.log import clock

SECOND = clock.SECOND
START = 1_800_000_000 * SECOND


class Machine:
    """The clocks of a machine; while nobody turns them, they stand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.wall = START
        self.boot = 500 * SECOND
        self.boot_id = "first"
        monkeypatch.setattr(clock, "_wall_clock", lambda: self.wall)
        monkeypatch.setattr(clock, "_boot_clock", lambda: self.boot)
        monkeypatch.setattr(clock, "_boot_id", lambda: self.boot_id)

    def pass_time(self, seconds: float) -> None:
        """Let time pass on both clocks."""
        self.wall += round(seconds * SECOND)
        self.boot += round(seconds * SECOND)

    def reboot(self, seconds: float) -> None:
        """Start the machine again, after a while."""
        self.wall += round(seconds * SECOND)
        self.boot = SECOND
        self.boot_id += "'"
