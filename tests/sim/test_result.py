"""What results hold is true: gaps, best actions, changes and alarms, whoever wrote them down."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import foretell as ft
from foretell.errors import InvalidInput
from foretell.policies.registry import start
from foretell.policies.verbs import alarms, choose, credit, has, observe, play
from foretell.sim.streams import random_stream
from foretell.types import Bools, Floats, Ints
from foretell.worlds.world import World

LAW = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.1, 0.4, 0.5]]
THETA = [0.8, 0.4, 0.2]
RECIPES = {
    "shifts": ft.scenario("paper", delay=5, changes=ft.shifts(hazard=0.05)),
    "walks": ft.Scenario(
        law=LAW,
        theta=[80, 40, 20],
        rewards=ft.rewards.Beta(0, 100),
        changes=ft.random_walk(0.9),
        theta_changes=ft.theta_redraws(at=[30, 60]),
        alpha=0.3,
        mu=[10, 20, 30, 90],
    ),
    "equal actions": ft.Scenario(law=[LAW[1], LAW[0], LAW[0]], theta=THETA),
}


def values_at(world: World, t: int) -> list[float]:
    """Return the mean reward of every action in a round, in unit rewards, from the knots alone."""

    def at(knots: Ints, values: Floats, drifts: Bools) -> Floats:
        knot = int(np.searchsorted(knots, t, side="right")) - 1
        value: Floats = values[knot]
        if drifts[knot]:
            way = (t - knots[knot]) / (knots[knot + 1] - knots[knot])
            value = value + way * (values[knot + 1] - value)
        return value

    law = at(world.rounds, world.laws, world.drifts)
    theta = at(world.theta.rounds, world.theta.values, world.theta.drifts)
    still = np.zeros(len(world.rounds), np.bool_)
    means = (1.0 - world.alpha) * law @ theta + world.alpha * at(world.rounds, world.mus, still)
    return [float(mean) for mean in means]


@pytest.mark.parametrize("name", RECIPES)
def test_gaps_and_best_actions_are_those_of_the_world_drawn_again(name: str) -> None:
    batch = ft.simulate(RECIPES[name], "uniform", 100, 3, seed=9, trajectories=True, compiled=False)
    traced = batch.traced
    np.testing.assert_allclose(traced.gaps.cumsum(axis=1), batch.regret)
    for run in range(3):
        world = batch.world(run)
        for t in range(0, 100, 7):
            values = values_at(world, t)
            best = int(traced.best_actions[run, t])
            assert values[best] == pytest.approx(max(values))
            gap = (max(values) - values[int(traced.actions[run, t])]) * world.width
            assert traced.gaps[run, t] == pytest.approx(gap, abs=1e-9)


def test_the_first_of_equal_actions_is_called_the_best() -> None:
    recipe = RECIPES["equal actions"]
    batch = ft.simulate(recipe, "uniform", 20, 2, trajectories=True, compiled=False)
    assert (batch.traced.best_actions == 1).all()
    assert (batch.traced.gaps[batch.traced.actions == 2] == 0.0).all()


def test_changes_are_the_same_with_and_without_trajectories() -> None:
    specs = ["ucb", "uniform"]
    for recipe in RECIPES.values():
        held, drawn = (
            ft.simulate(recipe, specs, 100, 4, seed=2, trajectories=kept, compiled=False)
            for kept in (True, False)
        )
        for name in specs:
            for one, other in zip(held[name].changes, drawn["ucb"].changes, strict=True):
                np.testing.assert_array_equal(one, other)
    walks = ft.simulate(RECIPES["walks"], "ucb", 100, 2, compiled=False)
    assert [changes.tolist() for changes in walks.changes] == [[30, 60]] * 2


def test_worlds_are_numbered_from_the_first_run() -> None:
    recipe = RECIPES["shifts"]
    whole = ft.simulate(recipe, "ucb", 200, 5, seed=2, compiled=False)
    part = ft.simulate(recipe, "ucb", 200, 2, seed=2, compiled=False, first_run=3)
    for run in range(2):
        assert part.world(run).laws.tobytes() == whole.world(3 + run).laws.tobytes()
    assert len({whole.world(run).jumps_of(0) for run in range(5)}) > 1
    for wrong in (5, -1, 0.5):
        with pytest.raises(InvalidInput, match="choose one from 0 to 4"):
            whole.world(wrong)  # type: ignore[arg-type]


def test_an_alarm_is_written_in_the_round_in_which_it_is_raised() -> None:
    """The same run, played here verb by verb, with the alarms counted after every round."""
    law = [[0.9, 0.1], [0.1, 0.9]]
    recipe = ft.Scenario(segments=[(0, law), (150, law[::-1])], theta=[0.2, 0.9])
    spec = ft.policy("nsd-kl-glr")
    batch = ft.simulate(recipe, spec, 300, 1, seed=4, trajectories=True, compiled=False)
    traced = batch.traced
    state, rng = start(spec, recipe.problem(300)), random_stream(4, 0, 2)
    raised = []
    for t in range(300):
        before = alarms(state)
        action = choose(state, t, np.ones(2, np.bool_), rng)
        assert action == traced.actions[0, t]
        play(state, t, action)
        signal = int(traced.signals[0, t])
        observe(state, t, action, signal)
        credit(state, t, action, signal, float(traced.rewards[0, t]))
        raised.append(alarms(state) - before)
    assert traced.alarms is not None
    assert traced.alarms[0].tolist() == raised
    assert batch.alarms[0].tolist() == np.flatnonzero(raised).tolist() != []


def test_a_local_alarm_is_counted_for_its_action_alone() -> None:
    spec = ft.policy("nsd-kl-glr(local=True)")
    state = start(spec, ft.scenario("paper").problem(100))
    state.alarms[:] = [2, 0, 1, 0]
    assert alarms(state) == 3
    assert alarms(start(ft.policy("ucb"), ft.scenario("paper").problem(100))) == 0


@pytest.mark.parametrize("single", [True, False])
def test_what_is_loaded_has_the_type_of_what_was_saved(single: bool, tmp_path: Path) -> None:
    specs = "nsd-kl-glr" if single else ["nsd-kl-glr", "ucb"]
    kept = ft.simulate(RECIPES["shifts"], specs, 80, 2, trajectories=True, compiled=False)
    kept.save(tmp_path / "kept")
    read = ft.load(tmp_path / "kept")
    assert type(read) is type(kept)
    for one, other in zip(each(kept), each(read), strict=True):
        assert one.spec == other.spec
        assert one.traced._fields == other.traced._fields
        for left, right in zip(one.traced, other.traced, strict=True):
            np.testing.assert_array_equal(left, right)


def each(kept: ft.Batch | ft.Batches) -> list[ft.Batch]:
    return [kept] if isinstance(kept, ft.Batch) else list(kept.values())


def test_batches_are_tables_in_a_notebook() -> None:
    batches = ft.simulate(RECIPES["shifts"], ["ucb", "uniform"], 50, 3, compiled=False)
    shown = batches._repr_html_()
    assert shown.count("<tr>") == 3
    assert "final regret" in shown
    assert batches["ucb"]._repr_html_().count("<tr>") == 2
    one = ft.simulate(RECIPES["shifts"], "ucb", 50, 1, compiled=False)
    assert "–" in one._repr_html_()  # one run has no interval


@pytest.mark.compiled
def test_compiled_runs_raise_the_same_alarms() -> None:
    law = [[0.9, 0.1], [0.1, 0.9]]
    recipe = ft.Scenario(segments=[(0, law), (150, law[::-1])], theta=[0.2, 0.9], delay=20)
    fast, plain = (
        ft.simulate(recipe, "nsd-kl-glr", 300, 3, trajectories=True, compiled=compiled)
        for compiled in (True, False)
    )
    for one, other in zip(fast.traced, plain.traced, strict=True):
        assert one is not None
        assert other is not None
        assert one.tobytes() == other.tobytes()
    assert all(alarms.size for alarms in fast.alarms)


def test_the_page_lists_the_policies_that_raise_alarms() -> None:
    problem = ft.scenario("paper").problem(100)
    known = {
        name for name in ft.registered_policies() if has(alarms, start(ft.policy(name), problem))
    }
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "results.md").read_text("utf-8")
    sentence = page[page.index("Alarms are raised by") :].partition(";")[0]
    assert set(re.findall(r"`([a-z0-9-]+)`", sentence)) == known
