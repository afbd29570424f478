"""The suite: every entry can be drawn, is what it says, and is found by its name."""

from __future__ import annotations

import numpy as np
import pytest

import foretell as ft
from foretell.errors import UnknownName
from foretell.worlds import SuiteEntry, random_entries, suite, suite_entry
from foretell.worlds.theta_changes import ConstantTheta

ENTRIES = (*suite(), *random_entries(40, seed=3))


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_an_entry_can_be_drawn_and_is_what_it_says(entry: SuiteEntry) -> None:
    world = entry.scenario.draw(entry.horizon, np.random.default_rng(0))
    np.testing.assert_allclose(world.laws.sum(axis=2), 1.0)
    assert 0 <= entry.first_rewards < entry.horizon
    assert entry.right_model == (
        entry.scenario.alpha == 0.0 and entry.scenario.theta_changes == ConstantTheta()
    )
    assert entry.tests
    drifting = ("RandomWalk", "Interpolation", "ThetaWalk", "ThetaLines")
    kinds = (entry.scenario.changes, entry.scenario.theta_changes)
    if not any(kind.__class__.__name__ in drifting for kind in kinds):
        assert sum(map(len, world.all_changes_of(0))) == entry.changes_count()
    assert ft.Scenario.from_dict(entry.scenario.to_dict()) == entry.scenario


def test_names_are_unique_and_known_to_the_catalogue() -> None:
    names = [entry.name for entry in suite()]
    assert len(names) >= 16
    assert len(set(names)) == len(names)
    for entry in suite():
        assert ft.scenario(entry.name) == entry.scenario
        assert ft.scenarios()[entry.name] == entry.tests
        assert suite_entry(entry.name) is entry
    with pytest.raises(UnknownName, match="did you mean 'one-changes'"):
        suite_entry("one-change")
    with pytest.raises(UnknownName, match="'delay'"):
        ft.scenario("one-changes", delays=3)


def test_a_scenario_of_the_suite_takes_settings() -> None:
    changed = ft.scenario("one-changes", delay=7)
    assert changed.delay == ft.delays.ConstantDelay(7)
    assert changed.law == suite_entry("one-changes").scenario.law


def test_random_problems_depend_on_their_seed_and_number_alone() -> None:
    assert random_entries(5, seed=1) == random_entries(9, seed=1)[:5]
    assert random_entries(5, seed=1) != random_entries(5, seed=2)
    sizes = {(e.scenario.actions, e.scenario.signals) for e in random_entries(60, seed=0)}
    assert {actions for actions, _ in sizes} <= set(range(2, 21))
    assert {signals for _, signals in sizes} <= set(range(2, 11))


def test_the_best_action_of_a_misleading_mixture_is_another() -> None:
    def best(name: str) -> int:
        scenario = ft.scenario(name)
        means = (1 - scenario.alpha) * scenario.first_law @ np.array(scenario.theta)
        return int(np.argmax(means + scenario.alpha * np.array(scenario.mu)))

    assert [best(f"favourable-{share}") for share in (10, 30, 50)] == [0, 0, 0]
    assert [best(f"bad-{share}") for share in (10, 30, 50)] == [0, 1, 1]
