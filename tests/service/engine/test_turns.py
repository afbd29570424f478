"""Long work in a thread waits while requests are answered, and yet comes to its end."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable
from time import perf_counter, sleep

import pytest

from foretell.service.engine.refit_reading import BUSY_STEP, LARGE_STEP, RefitReading
from foretell.service.engine.turns import (
    BUSY_SECONDS,
    MOST_WAIT,
    SWITCH_SECONDS,
    TurnsOfThread,
    in_thread,
)
from foretell.service.model.campaign import Campaign
from tests.service.model.test_refit_columns import config_of

TURN = 0.02


def waited(is_busy: Callable[[], bool]) -> float:
    """Return for how long work waits after a turn."""

    async def work() -> float:
        turns = TurnsOfThread(is_busy)
        sleep(TURN)  # noqa: ASYNC251  (that is the turn)
        ended = perf_counter()
        await turns.pause()
        return perf_counter() - ended

    return asyncio.run(work())


def test_a_thread_does_not_wait_where_nothing_is_answered() -> None:
    assert waited(lambda: False) < TURN


def test_a_thread_waits_until_all_is_answered() -> None:
    until = perf_counter() + 2 * TURN
    waited(lambda: perf_counter() < until)
    assert until <= perf_counter()


def test_a_load_without_a_pause_does_not_stop_a_thread_for_ever() -> None:
    assert MOST_WAIT * TURN <= waited(lambda: True) < 20 * MOST_WAIT * TURN


def test_steps_are_short_while_requests_are_answered() -> None:
    answering = False
    turns = TurnsOfThread(lambda: answering)
    reading = RefitReading(Campaign(config_of("nsd-adaptive", "default", "default")), 0, turns)
    assert reading.step == LARGE_STEP
    answering = True
    asyncio.run(turns.pause())
    answering = False
    assert reading.step == BUSY_STEP, "the next request may be about to come"
    sleep(BUSY_SECONDS)
    assert reading.step == LARGE_STEP


def test_threads_give_way_sooner_until_the_last_long_work_ends() -> None:
    usual, go_on, found = sys.getswitchinterval(), threading.Event(), []

    def fail() -> None:
        raise ValueError("in the thread")

    async def work() -> None:
        longest = asyncio.create_task(in_thread(go_on.wait, 10))
        await asyncio.sleep(0)
        found.append(sys.getswitchinterval())
        (failed,) = await asyncio.gather(in_thread(fail), return_exceptions=True)
        found.append(sys.getswitchinterval())
        assert isinstance(failed, ValueError)
        go_on.set()
        assert await longest

    asyncio.run(work())
    assert usual > SWITCH_SECONDS
    assert found == pytest.approx([SWITCH_SECONDS] * 2)
    assert sys.getswitchinterval() == usual
