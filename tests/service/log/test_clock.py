"""Log time: one wrong reading of the clock neither stops time nor makes it jump."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from foretell.errors import InvalidInput
from foretell.service.log import clock as clocks
from foretell.service.log.clock import HOLD, YEAR_2110, Clock, Mark, ToldClock
from foretell.service.log.errors import LogClosed
from foretell.service.log.protocol import Draft
from foretell.service.log.sqlite.log import SqliteLog
from foretell.service.log.stamps import Stamps
from foretell.service.model.events import SLOTS, KeyRevoked, moment, stamp
from tests.service.log.machine import SECOND, START, Machine


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


def test_log_time_is_the_time(machine: Machine) -> None:
    clock = Clock()
    for _ in range(5):
        assert clock.now() == machine.wall
        machine.pass_time(3600)


def test_the_real_clocks_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Clock().now() > START - 10 * 365 * 86_400 * SECOND
    boot = clocks._boot_clock()
    monkeypatch.setattr(clocks, "_BOOT_CLOCK", None)
    assert clocks._boot_clock() > 0
    assert boot > 0


def test_a_machine_without_a_boot_id_has_an_empty_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clocks, "Path", lambda _: Path("/no/such/file"))
    clocks._boot_id.cache_clear()
    assert not clocks._boot_id()
    clocks._boot_id.cache_clear()


@pytest.mark.parametrize("back", [2, 86_400, 40 * 365 * 86_400])
def test_time_goes_on_when_the_clock_goes_back(
    machine: Machine, back: int, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    before = clock.now()
    machine.wall -= back * SECOND
    for passed in range(1, 5):
        machine.pass_time(1)
        assert clock.now() == before + passed * SECOND
        assert clock.ahead_seconds == -back
    assert caplog.messages == [f"the clock is {back}.0 s behind log time, which goes on without it"]
    machine.wall += back * SECOND
    clock.now()
    assert clock.ahead_seconds == 0


def test_time_goes_on_when_the_clock_stands_still(machine: Machine) -> None:
    clock = Clock()
    before = clock.now()
    machine.boot += 10 * SECOND
    assert clock.now() == before + 10 * SECOND


def test_a_forward_step_is_followed_when_it_has_held_for_a_minute(
    machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    before = clock.now()
    machine.wall += 86_400 * SECOND
    with caplog.at_level(logging.INFO, "foretell"):
        for passed in range(HOLD // SECOND):
            assert clock.now() == before + passed * SECOND
            assert clock.ahead_seconds == pytest.approx(86_400)
            machine.pass_time(1)
        assert clock.now() == machine.wall
    assert clock.ahead_seconds == 0
    assert [one for one in caplog.messages if "ahead" in one] == [
        "the clock went 86400.0 s ahead: if it stays there, log time follows in a minute",
        "log time follows the clock 86400.0 s ahead",
    ]


def test_a_step_that_does_not_hold_leaves_no_trace(machine: Machine) -> None:
    clock = Clock()
    before = clock.now()
    for passed in range(1, 200):
        machine.pass_time(1)
        machine.wall += 86_400 * SECOND * (passed % 30 == 0)
        now = clock.now()
        machine.wall -= 86_400 * SECOND * (passed % 30 == 0)
        assert now == before + passed * SECOND
    clock.now()
    assert clock.ahead_seconds == 0


def test_a_clock_that_jumps_about_is_never_followed(machine: Machine) -> None:
    """Each step must hold by itself."""
    clock = Clock()
    before = clock.now()
    for passed in range(1, 200):
        machine.pass_time(1)
        true = machine.wall
        machine.wall += (1 + passed // 20) * 3600 * SECOND
        assert clock.now() == before + passed * SECOND
        machine.wall = true


def test_a_clock_that_is_slewed_is_followed(machine: Machine) -> None:
    clock = Clock()
    for _ in range(1000):
        machine.pass_time(0.1)
        machine.wall += SECOND // 2000
        assert clock.now() == machine.wall


def test_the_sleep_of_a_laptop_is_no_step(machine: Machine) -> None:
    clock = Clock()
    clock.now()
    machine.pass_time(8 * 3600)
    assert clock.now() == machine.wall
    assert clock.ahead_seconds == 0


def restarted(clock: Clock) -> Clock:
    return Clock(clock.mark(clock.now()), clock.scale, clock.origin)


@pytest.mark.parametrize("step", [-86_400, 0, 86_400])
def test_a_restart_in_the_same_boot_changes_nothing(machine: Machine, step: int) -> None:
    """Time goes on from the head, and a step is followed as it would have been."""
    clock = Clock()
    before = clock.now()
    machine.wall += step * SECOND
    again = restarted(clock)
    machine.pass_time(10)
    assert restarted(again).now() == before + 10 * SECOND
    again.now()
    machine.pass_time(61)
    assert again.now() == before + 71 * SECOND + max(0, step) * SECOND


def test_after_another_boot_the_clock_is_followed_at_once_if_it_is_ahead(
    machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    mark = clock.mark(clock.now())
    machine.reboot(3600)
    with caplog.at_level(logging.INFO, "foretell"):
        again = Clock(mark)
    assert again.now() == machine.wall
    assert caplog.messages == ["log time goes on 3600 s later"]


def test_after_another_boot_time_goes_on_if_the_clock_is_behind(machine: Machine) -> None:
    clock = Clock()
    before = clock.now()
    mark = clock.mark(before)
    machine.reboot(-3600)
    again = Clock(mark)
    assert again.now() == before
    machine.pass_time(5)
    assert again.now() == before + 5 * SECOND


def test_a_machine_that_cannot_name_its_boot_follows_the_clock(machine: Machine) -> None:
    machine.boot_id = ""
    clock = Clock()
    mark = clock.mark(clock.now())
    machine.wall += 3600 * SECOND
    assert Clock(mark).now() == machine.wall


def test_a_test_database_runs_faster(machine: Machine) -> None:
    clock = Clock(scale=1000.0)
    begun = clock.now()
    machine.pass_time(1)
    assert clock.now() == begun + 1000 * SECOND
    again = restarted(clock)
    machine.pass_time(1)
    assert 0 <= again.now() - begun - 2000 * SECOND <= 1000
    machine.wall -= 3600 * SECOND
    machine.pass_time(1)
    assert 0 <= again.now() - begun - 3000 * SECOND <= 1000


def test_a_clock_beyond_the_end_of_time_is_never_followed(machine: Machine) -> None:
    clock = Clock()
    before = clock.now()
    machine.wall += YEAR_2110
    for passed in range(0, 3 * HOLD // SECOND, 10):
        assert clock.now() == before + passed * SECOND
        assert clock.ahead_seconds > 0
        machine.pass_time(10)
    mark = clock.mark(clock.now())
    machine.boot_id = "another"
    assert Clock(mark).now() == mark.time


def test_time_ends_before_it_does_not_fit_any_more(machine: Machine) -> None:
    assert stamp(YEAR_2110, SLOTS - 1) < 1 << 63
    machine.wall = YEAR_2110 - SECOND
    clock = Clock()
    clock.now()
    machine.pass_time(1)
    with pytest.raises(LogClosed, match="2110"):
        clock.now()
    with pytest.raises(LogClosed, match="2110"):
        Clock(Mark(YEAR_2110)).now()


def test_each_record_has_a_microsecond_of_its_own_while_time_stands(machine: Machine) -> None:
    stamps = Stamps(Clock(), 0)
    seqs = list(stamps.begin(5))
    assert [moment(seq) for seq in seqs] == list(range(START, START + 5))
    assert stamps.head() == stamps.complete() == seqs[0]
    assert stamps.now() == stamp(START + 5)
    assert list(stamps.begin(1)) == [stamp(START + 5)]
    stamps.settle()
    assert stamps.head() == stamps.complete() == stamp(START + 5)
    stamps.settle()
    assert stamps.head() == stamps.complete() == stamp(START + 6)
    stamps.advance(stamp(START + 9) + 1)
    assert stamps.now() == stamp(START + 10)


def test_a_told_clock_stands_and_is_never_ahead(machine: Machine) -> None:
    clock = ToldClock(100.0)
    clock.time -= 86_400 * SECOND
    for _ in range(3):
        assert clock.now() == START - 86_400 * SECOND
        machine.pass_time(10)
    clock.time = YEAR_2110
    assert clock.now() == clock.real_now() == START + 3000 * SECOND


def test_a_log_whose_past_was_told_goes_on_at_its_own_speed(
    machine: Machine, tmp_path: Path
) -> None:
    path = str(tmp_path / "told.db")

    async def write() -> None:
        clock = ToldClock(100.0)
        clock.time -= 86_400 * SECOND
        log = SqliteLog(path, clock=clock)
        await log.append([Draft(0, KeyRevoked("past"))])
        clock.time = YEAR_2110
        await log.append([Draft(0, KeyRevoked("now"))])
        await log.close()
        machine.pass_time(10)
        again = SqliteLog(path)
        past, _ = await again.configurations(0)
        assert moment(past.seq) == START - 86_400 * SECOND
        assert again.time_scale == 100.0
        assert abs(moment(again.now()) - START - 1000 * SECOND) < SECOND
        assert again.gauges().clock_ahead_seconds == 0.0
        await again.close()
        with pytest.raises(InvalidInput, match="has a past already"):
            SqliteLog(path, clock=ToldClock(100.0))

    asyncio.run(write())
