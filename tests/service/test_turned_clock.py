"""A real server under a clock that is turned: every window closes in its time."""

from __future__ import annotations

import re
import time
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.service.turned_clock import (
    CLAMPED_CLOCK,
    IMPATIENT_CLOCK,
    TurnedClock,
    TurnedServer,
)

pytestmark = pytest.mark.slow

CAMPAIGN = {
    "name": "hero",
    "actions": ["a", "b"],
    "signals": ["none", "click"],
    "policy": "ucb",
    "signal_window": 1,
    "reward_window": 1,
}
DAY = 86_400
FAR_FUTURE = "+70000d"  # the year 2218, beyond the end of log time
WRONG = [
    ("+30d", 29.9 * DAY, 30.1 * DAY),
    ("-30d", -30.1 * DAY, -29.9 * DAY),
    (FAR_FUTURE, 69_000 * DAY, 71_000 * DAY),
    ("2026-01-01 12:00:00", -10_000 * DAY, -1.0),  # there it stands
]
"""What the clock is turned to, and how far it is ahead then, in seconds."""


def decide(server: TurnedServer, times: int = 3) -> None:
    for _ in range(times):
        assert server.ask("POST", "/v1/campaigns/hero/decisions")[0] == 201


def open_windows(server: TurnedServer) -> int:
    status, report = server.ask("GET", "/v1/campaigns/hero/report")
    assert status == 200
    return int(report["counts"]["open_signals"] + report["counts"]["open_rewards"])


def windows_close(server: TurnedServer, seconds: float) -> bool:
    """Wait until every window is closed, and return whether that was in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if open_windows(server) == 0:
            return True
        time.sleep(0.1)
    return False


def ahead(server: TurnedServer) -> float:
    """Return how far the clock is said to be ahead, by the probe and by the metric."""
    status, health = server.ask("GET", "/readyz")
    assert status == 200
    return float(health["clock_ahead_seconds"])


def metric(server: TurnedServer) -> float:
    with urlopen(f"{server.url}/metrics") as answer:  # noqa: S310  (it is our own server)
        said = answer.read().decode()
    found = re.search(r"^foretell_clock_ahead_seconds (\S+)$", said, re.MULTILINE)
    assert found is not None
    return float(found[1])


def until_ahead(server: TurnedServer, low: float, high: float) -> None:
    """Wait until the server has seen where its clock is."""
    for _ in range(300):
        if low <= ahead(server) <= high:
            assert low <= metric(server) <= high
            return
        time.sleep(0.05)
    raise AssertionError((low, high, ahead(server), server.logged()))


def test_every_window_closes_whatever_the_clock_says(tmp_path: Path) -> None:
    """The clock is wrong in every way, also over a restart in the same boot, and comes back."""
    clock = TurnedClock(tmp_path)
    with TurnedServer(tmp_path, clock) as server:
        server.ask("POST", "/v1/campaigns", CAMPAIGN)
        decide(server)
        for turned, low, high in WRONG:
            clock.turn(turned)
            decide(server)
            until_ahead(server, low, high)
            decide(server)
            clock.turn("+0")
            decide(server)
            until_ahead(server, -0.5, 0.5)
            assert windows_close(server, 30), turned
        decide(server)
        clock.turn("+30d")
        decide(server)
    assert "s ahead: if it stays there" in server.logged()
    assert "behind log time, which goes on without it" in server.logged()
    with TurnedServer(tmp_path, clock) as again:
        until_ahead(again, 29.9 * DAY, 30.1 * DAY)
        decide(again)
        assert windows_close(again, 30)
        clock.turn("+0")
        decide(again)
        until_ahead(again, -0.5, 0.5)
        assert windows_close(again, 30)
    assert "Traceback" not in again.logged()


def test_the_clock_of_old_stands_still_after_a_jump(tmp_path: Path) -> None:
    """The control: what the test above looks at does tell the two apart."""
    clock = TurnedClock(tmp_path)
    with TurnedServer(tmp_path, clock, CLAMPED_CLOCK) as server:
        server.ask("POST", "/v1/campaigns", CAMPAIGN)
        clock.turn("+30d")
        decide(server)
        clock.turn("+0")
        decide(server)
        assert not windows_close(server, 4)


def test_a_jump_that_holds_is_followed_unless_it_leads_beyond_the_end(tmp_path: Path) -> None:
    clock = TurnedClock(tmp_path)
    with TurnedServer(tmp_path, clock, IMPATIENT_CLOCK) as server:
        server.ask("POST", "/v1/campaigns", CAMPAIGN)
        clock.turn(FAR_FUTURE)
        decide(server)
        time.sleep(1.5)
        until_ahead(server, 69_000 * DAY, 71_000 * DAY)
        decide(server)
        assert windows_close(server, 30)
        decide(server)
        clock.turn("+30d")
        for _ in range(300):
            if "log time follows the clock" in server.logged():
                break
            time.sleep(0.1)
        until_ahead(server, -0.5, 0.5)
        assert open_windows(server) == 0
        clock.turn("+0")  # log time is ahead now, and goes on by itself
        until_ahead(server, -30.1 * DAY, -29.9 * DAY)
        decide(server)
        assert windows_close(server, 30)
