"""The worlds of many runs, drawn at once, each from its own stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from foretell.kernel import kernel, reseed
from foretell.sim.streams import WORLD_STREAM, Words, new_generator
from foretell.types import Ints
from foretell.worlds.knots import FULL, Knots, draw_knots, empty_knots
from foretell.worlds.theta_changes import ConstantTheta, ThetaKnots, joined

if TYPE_CHECKING:
    from collections.abc import Callable

    from foretell.worlds.scenario import Scenario
    from foretell.worlds.world import World


@kernel
def draw_from(
    rule: Any,
    horizon: int,
    rng: np.random.Generator,
    words: Words,
    knots: Knots,
    first: Ints,
    end: Ints,
    run: int,
) -> int:
    """Draw the worlds from `run` on; return the first for which there is no room, or their number.

    Run i gets the knots from first[i] to end[i].
    """
    index = end[run - 1] if run > 0 else 0
    while run < words.shape[0]:
        reseed(rng, words[run, WORLD_STREAM])
        first[run] = index
        index = draw_knots(rule, horizon, rng, knots, index)
        if index == FULL:
            return run
        end[run] = index
        run += 1
    return run


def draw_worlds(
    scenario: Scenario,
    horizon: int,
    words: Words,
    drawer: Callable[..., int] = draw_from,
) -> World:
    """Return the worlds of the runs with these words: run i is that of row i.

    `drawer` is `draw_from`, plain or compiled.
    """
    runs = len(words)
    first, end = np.zeros(runs, np.int64), np.zeros(runs, np.int64)
    rng = new_generator()
    theta = _draw_thetas(scenario, horizon, words, rng)
    rule = scenario.rule(horizon)
    if isinstance(rule, Knots):
        end[:] = rule.rounds.size
        return scenario.world(rule, theta, first, end)
    room = runs * scenario.changes.room(horizon)
    knots = empty_knots(room, scenario.actions, scenario.signals)
    run = drawer(rule, horizon, rng, words, knots, first, end, 0)
    while run < runs:
        room *= 2
        larger = empty_knots(room, scenario.actions, scenario.signals)
        for new, old in zip(larger, knots, strict=True):
            new[: len(old)] = old
        knots = larger
        run = drawer(rule, horizon, rng, words, knots, first, end, run)
    return scenario.world(knots, theta, first, end)


def _draw_thetas(
    scenario: Scenario, horizon: int, words: Words, rng: np.random.Generator
) -> ThetaKnots:
    """Return the thetas of the runs; where they do not move, all runs share one knot."""
    if isinstance(scenario.theta_changes, ConstantTheta):
        return scenario.draw_theta(horizon, rng).of_runs(np.zeros(len(words), np.int64))
    drawn = []
    for own in words[:, WORLD_STREAM]:
        reseed(rng, own)
        drawn.append(scenario.draw_theta(horizon, rng))
    return joined(drawn)
