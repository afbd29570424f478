"""A scenario is read back from plain data, and named ones are those of the paper."""

from __future__ import annotations

import json

import numpy as np
import pytest

import foretell as ft
from foretell.errors import ForetellError
from foretell.worlds.changes import Changes
from foretell.worlds.theta_changes import ThetaChanges

LAW = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.1, 0.4, 0.5]]
THETA = [0.8, 0.4, 0.2]

SCENARIOS = [
    ft.Scenario(law=LAW, theta=THETA),
    ft.Scenario(law=np.array(LAW), theta=np.array(THETA), delay=12),
    ft.Scenario(law=LAW, theta=THETA, changes=ft.shifts(at=[3, 5], actions=[0, 1])),
    ft.Scenario(law=LAW, theta=THETA, changes=ft.redraws(hazard=0.1, count=2), delay=[1, 2, 3]),
    ft.Scenario(law=LAW, theta=THETA, changes=ft.random_walk(0.2, every=5)),
    ft.Scenario(law=LAW, theta=THETA, changes=ft.interpolation([(5, LAW[::-1])])),
    ft.Scenario(segments=[(0, LAW), (4, LAW[::-1])], theta=THETA),
    ft.Scenario(law=LAW, theta=THETA, alpha=0.3, mu=[0.1, 0.2, 0.3, 0.4]),
    ft.Scenario(law=LAW, theta=[3.0, 2.0, -4.0], rewards=ft.rewards.Gaussian(2.0, 1.0)),
    ft.Scenario(law=LAW, theta=[3.0, 2.0, -4.0], rewards=ft.rewards.Beta(-4.0, 3.0)),
    ft.Scenario(law=LAW, theta=THETA, rewards=ft.rewards.Fixed(), delay=ft.delays.NeverDelay()),
    ft.Scenario(law=LAW, theta=THETA, theta_changes=ft.theta_steps([(3, [0.1, 0.2, 0.3])])),
    ft.Scenario(law=LAW, theta=THETA, theta_changes=ft.theta_lines([(5, [0.1, 0.2, 0.3])])),
    ft.Scenario(law=LAW, theta=THETA, theta_changes=ft.theta_redraws(hazard=0.3, count=2)),
    ft.Scenario(law=LAW, theta=THETA, theta_changes=ft.theta_walk(0.2, every=3)),
    ft.Scenario(
        law=LAW,
        theta=THETA,
        delay=[
            ft.delays.TableDelay((1, 2), (0.5, 0.5), lost=0.1),
            ft.delays.ParetoDelay(1.5, 10.0),
            ft.delays.LogNormalDelay(5.0, 1.0),
        ],
    ),
]


@pytest.mark.parametrize("recipe", SCENARIOS, ids=range(len(SCENARIOS)))
def test_a_scenario_survives_plain_data(recipe: ft.Scenario) -> None:
    again = ft.Scenario.from_dict(json.loads(json.dumps(recipe.to_dict())))
    assert again == recipe
    assert hash(again) == hash(recipe)
    one, other = (which.draw(10, np.random.default_rng(1)) for which in (recipe, again))
    for left, right in zip((*one.theta, *one[1:8]), (*other.theta, *other[1:8]), strict=True):
        np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize(
    "kind",
    [np.array, tuple, list],
)
def test_lists_tuples_and_arrays_make_the_same_scenario(kind: type) -> None:
    mu = [0.1, 0.2, 0.3, 0.4]
    made = ft.Scenario(law=kind(LAW), theta=kind(THETA), alpha=0.5, mu=kind(mu))
    assert made == ft.Scenario(law=LAW, theta=THETA, alpha=0.5, mu=mu)


@pytest.mark.parametrize(
    ("plain", "fragment"),
    [
        ({"law": LAW, "theta": THETA, "dealy": 3}, "did you mean 'delay'"),
        ({"law": LAW, "theta": THETA, "delay": {"family": "pareto"}}, "cannot read 'pareto'"),
        ({"law": LAW, "theta": THETA, "delay": {"family": "x"}}, "there is no family 'x'"),
        ({"law": LAW, "theta": THETA, "changes": {"pattern": "x"}}, "there is no pattern 'x'"),
        ({"law": LAW, "theta": THETA, "rewards": {"family": "x"}}, "there is no family 'x'"),
        ({"law": LAW, "theta": THETA, "theta_changes": {"pattern": "x"}}, "no pattern 'x'"),
        ({"law": LAW, "theta": THETA, "delay": -4}, "at least 0"),
    ],
)
def test_wrong_plain_data_is_refused(plain: dict[str, object], fragment: str) -> None:
    with pytest.raises(ForetellError, match=fragment) as caught:
        ft.Scenario.from_dict(plain)
    assert "\n" not in str(caught.value)


def test_the_paper_has_the_means_of_its_table() -> None:
    """Table 1 prints .7, .42, .28 and .34 (erratum E1 corrects a row)."""
    recipe = ft.scenario("paper", delay=100)
    np.testing.assert_allclose(recipe.first_law @ np.array(recipe.theta), [0.7, 0.42, 0.28, 0.34])
    assert recipe.draw(8000, np.random.default_rng(0)).changes == (2000, 4000, 6000)
    assert recipe.delay == ft.delays.ConstantDelay(100)


@pytest.mark.parametrize("name", list(ft.scenarios()))
def test_every_named_scenario_can_be_drawn(name: str) -> None:
    assert ft.scenarios()[name]
    world = ft.scenario(name).draw(40_000, np.random.default_rng(0))
    np.testing.assert_allclose(world.laws.sum(axis=2), 1.0)


def test_a_scenario_states_the_problem_of_a_policy() -> None:
    recipe = SCENARIOS[8]
    assert recipe.problem(50, (3,)) == ft.Problem(4, 3, "gaussian", 50, (3,))


LONGER, SHORTER = 120, 50
PASSING: list[Changes] = [
    ft.shifts(at=[20, 49, 50, 80]),
    ft.shifts(every=20),
    ft.shifts(hazard=0.05),
    ft.redraws(at=[20, 90], count=2),
    ft.interpolation([(20, LAW[::-1]), (90, LAW)]),
    ft.random_walk(0.4, every=15),
]
THETAS: list[ThetaChanges] = [
    ft.theta_steps([(30, [0.1, 0.2, 0.3]), (70, THETA)]),
    ft.theta_lines([(30, [0.1, 0.2, 0.3]), (70, THETA)]),
    ft.theta_redraws(at=[10, 60]),
    ft.theta_walk(0.3, every=7),
]
RECIPES = [
    *(ft.Scenario(law=LAW, theta=THETA, changes=one, delay=9) for one in PASSING),
    *(ft.Scenario(law=LAW, theta=THETA, theta_changes=one) for one in THETAS),
    ft.Scenario(segments=[(0, LAW), (20, LAW[::-1]), (50, LAW), (90, LAW[::-1])], theta=THETA),
]


@pytest.mark.parametrize("recipe", RECIPES, ids=range(len(RECIPES)))
def test_a_shorter_horizon_plays_the_beginning_of_the_longer_world(recipe: ft.Scenario) -> None:
    """Changes that it does not reach do not happen; a policy that knows no horizon plays alike."""
    longer, shorter = (
        ft.simulate(recipe, "uniform", horizon, 3, seed=5, trajectories=True, compiled=False)
        for horizon in (LONGER, SHORTER)
    )
    assert shorter.regret.tobytes() == longer.regret[:, :SHORTER].tobytes()
    for name in shorter.traced._fields[:7]:
        whole, begun = getattr(longer.traced, name), getattr(shorter.traced, name)
        np.testing.assert_array_equal(begun, whole[:, :SHORTER])
    for run in range(3):
        every = longer.world(run).jumps_of(0)
        assert shorter.world(run).jumps_of(0) == tuple(one for one in every if one < SHORTER)


def test_an_oracle_is_not_told_of_changes_after_the_horizon() -> None:
    recipe = ft.Scenario(segments=[(0, LAW), (20, LAW[::-1]), (90, LAW)], theta=THETA, delay=2)
    cut = ft.Scenario(segments=[(0, LAW), (20, LAW[::-1])], theta=THETA, delay=2)
    one, other = (ft.simulate(each, "oracle-nsd", 60, 3, compiled=False) for each in (recipe, cut))
    assert one.regret.tobytes() == other.regret.tobytes()


def test_a_scenario_is_a_table_in_a_notebook() -> None:
    shown = ft.Scenario(law=LAW, theta=THETA, changes=ft.shifts(at=[3]), delay=7)._repr_html_()
    for part in ("action 3", "signal 2", "theta", "0.8", "changes", "ConstantDelay"):
        assert part in shown
    assert "alpha" not in shown
    assert "laws change at rounds" in RECIPES[-1]._repr_html_()
