"""The worlds of many runs are those of each run, plain or compiled, in any share."""

from __future__ import annotations

import numpy as np
import pytest

import foretell as ft
from foretell.sim.draw_worlds import draw_worlds
from foretell.sim.streams import WORLD_STREAM, random_stream, stream_words
from foretell.worlds.changes import Changes
from foretell.worlds.world import World

LAW = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.1, 0.4, 0.5]]
HORIZON, RUNS, SEED = 300, 9, 4
PATTERNS: dict[str, Changes] = {
    "none": ft.shifts(hazard=0.0),
    "shifts": ft.shifts(at=[100, 101, 200]),
    "some shift": ft.shifts(every=40, actions=[0, 2, 3]),
    "shifts at random": ft.shifts(hazard=0.02),
    "always": ft.shifts(hazard=1.0),
    "redraws": ft.redraws(every=70, count=2),
    "redraws at random": ft.redraws(hazard=0.05, concentration=0.01),
    "drift": ft.interpolation([(250, LAW[::-1])]),
    "walk": ft.random_walk(0.5),
    "some walk": ft.random_walk(0.5, every=7, actions=[1, 3]),
}


def recipe(name: str) -> ft.Scenario:
    return ft.Scenario(
        law=LAW,
        theta=[0.8, 0.4, 0.2],
        alpha=0.1,
        mu=[0.1, 0.2, 0.3, 0.4],
        changes=PATTERNS[name],
        theta_changes=ft.theta_redraws(hazard=0.01),
    )


def knots_of(world: World, run: int) -> list[bytes]:
    part = slice(world.first[run], world.end[run])
    theta = world.theta
    own = slice(theta.first[run], theta.end[run])
    return [
        *(array[part].tobytes() for array in (world.rounds, world.laws, world.mus, world.drifts)),
        *(array[own].tobytes() for array in (theta.rounds, theta.values, theta.drifts)),
    ]


@pytest.mark.parametrize("name", PATTERNS)
def test_the_world_of_a_run_depends_on_its_stream_alone(name: str) -> None:
    scenario = recipe(name)
    together = draw_worlds(scenario, HORIZON, stream_words(SEED, np.arange(RUNS)))
    for run in range(RUNS):
        alone = scenario.draw(HORIZON, random_stream(SEED, run, WORLD_STREAM))
        assert knots_of(together, run) == knots_of(alone, 0)
        assert together.changes_of(run) == alone.changes


@pytest.mark.compiled
@pytest.mark.parametrize("name", PATTERNS)
def test_compiled_worlds_are_plain_ones_to_the_byte(name: str) -> None:
    from foretell.sim.compiled import compiled_drawer

    scenario = recipe(name)
    words = stream_words(SEED, np.arange(RUNS))
    plain = draw_worlds(scenario, HORIZON, words)
    drawer = compiled_drawer(scenario.rule(HORIZON))
    compiled = draw_worlds(scenario, HORIZON, words, drawer)
    for run in range(RUNS):
        assert knots_of(compiled, run) == knots_of(plain, run)


def test_more_changes_than_expected_find_room(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = recipe("shifts at random")
    words = stream_words(SEED, np.arange(RUNS))
    expected = draw_worlds(scenario, HORIZON, words)
    monkeypatch.setattr("foretell.worlds.knots.Schedule.expected", lambda *_: 0)
    found = draw_worlds(scenario, HORIZON, words)
    for run in range(RUNS):
        assert knots_of(found, run) == knots_of(expected, run)
    alone = scenario.draw(HORIZON, random_stream(SEED, 0, WORLD_STREAM))
    assert knots_of(alone, 0) == knots_of(expected, 0)
