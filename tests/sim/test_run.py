"""Memory stays small: laws are knots, waiting rewards are few, and windows end at the horizon."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import foretell as ft
from foretell.policies.registry import start
from foretell.sim.pending import Pending, doubled, new_pending
from foretell.sim.run import new_trace, run_all
from foretell.sim.streams import stream_words

MEGABYTE = 2**20

LONG_RUN = """
import resource
import foretell as ft
law = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.1, 0.4, 0.5]]
recipe = ft.Scenario(law=law, theta=[0.8, 0.4, 0.2], delay={delay}, changes=ft.random_walk(0.05))
ft.simulate(recipe, "nsd-ucrl2(window=800)", 1000, runs=1, threads=1)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
batch = ft.simulate(recipe, "nsd-ucrl2(window=800)", 10**6, runs=1, threads=1)
assert batch.actions.sum() == 10**6
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.compiled
def test_a_million_rounds_with_a_delay_of_a_hundred_thousand_stay_small() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LONG_RUN.format(delay=10**5)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) < 40 * 1024  # a (T, K, S) law alone would take 96,000 kilobytes


def peak(make: object) -> int:
    assert callable(make)
    tracemalloc.start()
    try:
        make()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_window_beyond_the_horizon_takes_no_more_room_than_the_horizon() -> None:
    recipe = ft.scenario("paper-stationary", delay=5)
    for name in ("nsd-ucrl2", "nsd-psrl", "sw-ucb"):
        spec = ft.policy(f"{name}(window=3000000)")
        used = peak(lambda: ft.simulate(recipe, spec, 50, runs=1, compiled=False))  # noqa: B023
        assert used < 2 * MEGABYTE, name


def test_a_long_walk_is_drawn_in_little_room() -> None:
    recipe = ft.Scenario(
        law=[[0.5, 0.5]] * 2, theta=[0.1, 0.9], changes=ft.random_walk(0.1), delay=10**5
    )
    used = peak(lambda: recipe.draw(10**6, np.random.default_rng(0)))
    assert used < 4 * MEGABYTE


@pytest.mark.parametrize(
    ("delay", "room"),
    [
        (ft.delays.ConstantDelay(0), 1),
        (ft.delays.ConstantDelay(900), 1024),
        (ft.delays.ConstantDelay(1500), 2048),
        (ft.delays.ConstantDelay(10**6), 1),
        (ft.delays.NeverDelay(), 1024),
        (ft.delays.UniformDelay(1400, 1600), 2048),
        (ft.delays.GeometricDelay(1600.0), 2048),
    ],
    ids=str,
)
def test_there_is_room_in_proportion_to_what_waits(
    delay: ft.delays.Delay, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reward due after the horizon does not wait at all."""
    rooms = []

    def watched(make: Callable[[Any], Pending]) -> Callable[[Any], Pending]:
        def made(of: Any) -> Pending:
            pending = make(of)
            rooms.append(len(pending.due))
            return pending

        return made

    monkeypatch.setattr("foretell.sim.run.new_pending", watched(new_pending))
    monkeypatch.setattr("foretell.sim.run.doubled", watched(doubled))
    recipe = ft.scenario("paper-stationary", delay=delay)
    horizon = 6000
    world = recipe.draw(horizon, np.random.default_rng(0))
    trace = new_trace(np.array([horizon - 1]), 1, 4, 0)
    state = start(ft.Uniform(), recipe.problem(horizon))
    run_all(world, state, horizon, stream_words(0, np.arange(1)), trace)
    assert rooms[-1] == room
