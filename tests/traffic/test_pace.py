"""Rounds keep to the clock of the server, and windows are measured in rounds by it."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from foretell.errors import InvalidInput
from foretell.traffic.faults import Faults
from foretell.traffic.pace import GRID, Pace, Timing, choose_timing, measured_windows
from foretell.traffic.plan import make_plan
from foretell.traffic.probe import ServerSpeed


@pytest.mark.parametrize("window", [0, 1, 30])
def test_a_window_planned_for_d_rounds_is_a_delay_of_d_whatever_the_jitter(window: int) -> None:
    plan = make_plan("paper", "nsd-kl", 400, window, "default", Faults(), runs=2, seed=0)
    chosen = choose_timing(plan, ServerSpeed(1000.0, 0.01, 0.02))
    rng = np.random.default_rng(0)
    jitter = rng.uniform(-0.2, 0.2, 400) * chosen.round_length
    made = 1e9 + np.arange(400) * chosen.round_length + jitter
    closes = np.ceil((made + chosen.reward_window) / GRID) * GRID
    found = measured_windows(chosen, [list(closes)])
    assert found is not None
    assert found.shortest == found.median == found.longest == window


def test_decisions_before_the_last_signal_was_in_are_counted() -> None:
    times = Timing(1000.0, 10.0, 8.0, 25.0)
    found = measured_windows(times, [[25.0 + at for at in (0.0, 10.0, 17.0, 27.0, 37.0, 47.0)]])
    assert found is not None
    assert found.signals_behind == pytest.approx(1 / 5)


def test_no_window_is_measured_where_none_has_closed() -> None:
    assert measured_windows(Timing(1.0, 1.0, 0.5, 1e9), [[1e9, 1e9 + 1]]) is None


def test_a_clock_too_slow_for_windows_is_refused() -> None:
    plan = make_plan("paper", "nsd-kl", 400, None, "default", Faults(), runs=2, seed=0)
    with pytest.raises(InvalidInput, match="start the server with --time-scale"):
        choose_timing(plan, ServerSpeed(1.0, 0.01, 0.02))


class Clock:
    """Time that goes on only while something sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_a_round_that_was_late_is_made_up_for_and_no_round_begins_in_the_window_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, made, speed = Clock(), [], 1000.0
    monkeypatch.setattr("foretell.traffic.pace.time", clock)
    monkeypatch.setattr("foretell.traffic.pace.asyncio", clock)

    async def rounds() -> None:
        pace = Pace(Timing(speed, 20.0, 10.0, 100.0))
        for t in range(20):
            await pace.wait(after_window=True)
            clock.now += 0.05 if t == 5 else 0.001
            made.append(clock.now * speed)
            pace.decided(made[-1])

    asyncio.run(rounds())
    steps = np.diff(made)
    assert steps[4] > 60.0
    assert steps.min() > 10.0
    assert made[-1] - made[0] == pytest.approx(19 * 20.0, abs=10.0)


def test_without_a_pace_a_round_begins_at_once_unless_a_window_is_to_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, begun = Clock(), []
    monkeypatch.setattr("foretell.traffic.pace.time", clock)
    monkeypatch.setattr("foretell.traffic.pace.asyncio", clock)

    async def rounds() -> None:
        pace = Pace(Timing(1000.0, 0.0, 100.0, 1000.0))
        for t in range(6):
            await pace.wait(after_window=t == 3)
            begun.append(clock.now)
            clock.now += 0.001
            pace.decided(1000.0 * clock.now)

    asyncio.run(rounds())
    assert np.diff(begun) == pytest.approx([0.001, 0.001, 0.10101, 0.001, 0.001])
