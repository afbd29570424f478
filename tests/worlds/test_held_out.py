"""The worlds on which nothing was tuned are what they are called."""

from __future__ import annotations

import numpy as np
import pytest

import foretell as ft
from foretell.worlds import suite, suite_entry
from foretell.worlds.held_out import MOST, held_out


def means(name: str, segment: int = 0) -> list[float]:
    scenario = ft.scenario(name)
    law = scenario.segments[segment][1] if scenario.segments else scenario.law
    return (np.array(law) @ np.array(scenario.theta)).tolist()


def test_what_was_tuned_on_and_what_was_not_are_apart() -> None:
    assert not any(entry.tuned_on for entry in held_out())
    assert {entry.name for entry in held_out()} <= {e.name for e in suite() if not e.tuned_on}
    assert sum(entry.tuned_on for entry in suite()) == 21
    assert suite_entry("paper-d500").tuned_on


@pytest.mark.parametrize("actions", [10, 20, 50])
def test_clicks_are_rare_and_conversions_rarer(actions: int) -> None:
    entry = suite_entry(f"sparse-{actions}")
    rates = np.array(entry.scenario.law)[:, 1]
    assert (rates.min(), rates.max()) == pytest.approx((0.01, 0.05))
    assert entry.scenario.actions == actions
    assert entry.scenario.theta == (0.0, 0.1)
    assert entry.first_rewards >= 2000


@pytest.mark.parametrize("name", ["riser-3", "riser-20", "late-riser-4", "late-riser-12"])
def test_the_worst_action_becomes_the_best(name: str) -> None:
    before, after = means(name), means(name, 1)
    assert int(np.argmin(before)) == int(np.argmax(after)) == 0
    assert after[0] - max(after[1:]) >= 0.75 - MOST - 1e-9
    assert before[1:] == after[1:]
    late = suite_entry(name).scenario.segments[1][0] > 6000
    assert late == name.startswith("late")


def test_seasons_come_back() -> None:
    sudden = ft.scenario("seasons-sudden").segments
    assert sudden[0][1] == sudden[3][1] == sudden[6][1]
    assert sudden[0][1] != sudden[1][1] != sudden[2][1]
    smooth = ft.scenario("seasons-smooth")
    world = smooth.draw(12_000, np.random.default_rng(0))
    assert world.changes == ()
    np.testing.assert_array_equal(world.laws[0], world.laws[2])
    assert len({int(np.argmax(law @ np.array(smooth.theta))) for law in world.laws}) > 1
