"""Laws change as their pattern says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import foretell as ft
from foretell.types import Floats
from foretell.worlds.drift import project
from foretell.worlds.world import World, before_round_zero, move_to
from tests.reference.worlds import law_at

LAW = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.1, 0.4, 0.5]])
MU = [0.9, 0.1, 0.2, 0.3]
THETA = [0.8, 0.4, 0.2]


def world(horizon: int, seed: int = 0, **fields: object) -> World:
    recipe = ft.Scenario(law=LAW, theta=THETA, alpha=0.2, mu=MU, **fields)  # type: ignore[arg-type]
    return recipe.draw(horizon, np.random.default_rng(seed))


def laws_in_force(drawn: World, horizon: int) -> Floats:
    """Return the law of every round, from the cumulative one, whose last step ends at 1."""
    now = before_round_zero(drawn)
    laws = []
    for t in range(horizon):
        move_to(drawn, now, t)
        laws.append(np.diff(np.minimum(now.reached, 1.0), prepend=0.0))
    return np.array(laws)


def test_shifts_are_cyclic_cumulative_and_take_mu_along() -> None:
    steps = set()
    for seed in range(40):
        drawn = world(40, seed, changes=ft.shifts(at=[10, 20, 30]))
        assert drawn.rounds.tolist() == [0, 10, 20, 30]
        assert drawn.changes == (10, 20, 30)
        for knot in range(1, 4):
            before, after = drawn.laws[knot - 1], drawn.laws[knot]
            fits = [r for r in range(4) if np.array_equal(np.roll(before, r, axis=0), after)]
            assert len(fits) == 1
            assert fits[0] in (1, 2, 3)
            np.testing.assert_array_equal(np.roll(drawn.mus[knot - 1], fits[0]), drawn.mus[knot])
            steps.add(fits[0])
    assert steps == {1, 2, 3}


def test_every_shift_moves_the_best_action() -> None:
    for seed in range(20):
        drawn = world(40, seed, changes=ft.shifts(at=[10, 20, 30]))
        best = np.argmax(drawn.laws @ drawn.theta.values[0], axis=1)
        assert (np.diff(best) != 0).all()


def test_listed_actions_shift_among_themselves() -> None:
    drawn = world(400, changes=ft.shifts(every=10, actions=[0, 2]))
    for before, after in zip(drawn.laws, drawn.laws[1:], strict=False):
        np.testing.assert_array_equal(after, before[[2, 1, 0, 3]])


def test_the_round_of_a_change_is_the_first_of_the_new_law() -> None:
    laws = laws_in_force(world(12, changes=ft.shifts(at=[5])), 12)
    np.testing.assert_allclose(laws[:5], [LAW] * 5, atol=1e-12)
    assert (laws[5:] == laws[5]).all()
    assert np.abs(laws[5] - LAW).max() > 0.1


def test_changes_every_so_many_rounds() -> None:
    assert world(100, changes=ft.shifts(every=30)).changes == (30, 60, 90)
    assert world(90, changes=ft.shifts(every=30)).changes == (30, 60)


def test_a_hazard_has_the_right_number_of_changes() -> None:
    """Changes are independent with probability 0.02 in each round from 1 on."""
    counts = [len(world(2001, seed, changes=ft.shifts(hazard=0.02)).changes) for seed in range(60)]
    assert np.mean(counts) == pytest.approx(40, abs=4)
    assert np.var(counts) == pytest.approx(40, rel=0.7)
    assert world(500, changes=ft.shifts(hazard=0.0)).changes == ()
    assert world(6, changes=ft.shifts(hazard=1.0)).changes == (1, 2, 3, 4, 5)


def test_redraws_give_new_laws_to_some_actions() -> None:
    drawn = world(100, changes=ft.redraws(at=[20, 40, 60], count=2))
    for before, after in zip(drawn.laws, drawn.laws[1:], strict=False):
        assert (before != after).any(axis=1).sum() == 2
    listed = world(100, changes=ft.redraws(every=20, actions=[3]))
    assert (listed.laws[:, :3] == LAW[:3]).all()
    assert len(np.unique(listed.laws[:, 3], axis=0)) == 5
    np.testing.assert_allclose(listed.laws.sum(axis=2), 1.0)


def test_redrawn_laws_follow_the_symmetric_dirichlet() -> None:
    drawn = world(4000, changes=ft.redraws(every=2, concentration=3.0))
    rows = drawn.laws[1:].reshape(-1, 3)
    np.testing.assert_allclose(rows.mean(axis=0), 1 / 3, atol=0.02)
    np.testing.assert_allclose(rows.var(axis=0), (1 / 3) * (2 / 3) / 10, rtol=0.1)


def test_interpolation_moves_in_straight_lines_and_then_rests() -> None:
    middle, end = LAW[::-1], LAW[[1, 0, 2, 3]]
    towards = [(40, middle.tolist()), (60, end.tolist())]
    drawn = world(100, changes=ft.interpolation(towards))
    laws = laws_in_force(drawn, 100)
    for t in range(100):
        if t < 40:
            expected = LAW + (middle - LAW) * t / 40
        elif t < 60:
            expected = middle + (end - middle) * (t - 40) / 20
        else:
            expected = end
        np.testing.assert_allclose(laws[t], expected, atol=1e-12)
    assert drawn.changes == ()


def test_a_random_walk_stays_on_the_simplex() -> None:
    drawn = world(3000, changes=ft.random_walk(0.4))
    laws = laws_in_force(drawn, 3000)
    assert laws.min() >= 0.0
    np.testing.assert_allclose(laws.sum(axis=2), 1.0, atol=1e-12)
    assert drawn.rounds[-1] >= 3000
    assert drawn.changes == ()
    steps = np.abs(np.diff(laws, axis=0))
    assert steps.max() < 0.05
    assert (steps.sum(axis=(1, 2)) > 0).all()


def test_a_random_walk_spreads_as_it_says() -> None:
    """Far from the border, 1,000 rounds move a share by spread · sqrt(1 − 1/S)."""
    recipe = ft.Scenario(
        law=[[1 / 3] * 3] * 2, theta=THETA, changes=ft.random_walk(0.06, actions=[0])
    )
    ends = []
    for seed in range(150):
        drawn = recipe.draw(1000, np.random.default_rng(seed))
        assert (drawn.laws[:, 1] == drawn.laws[0, 1]).all()
        ends.append(drawn.laws[np.searchsorted(drawn.rounds, 1000), 0])
    np.testing.assert_allclose(np.mean(ends, axis=0), 1 / 3, atol=0.015)
    np.testing.assert_allclose(np.std(ends, axis=0), 0.06 * np.sqrt(2 / 3), rtol=0.2)


def test_a_long_random_walk_keeps_few_knots() -> None:
    drawn = world(1_000_000, changes=ft.random_walk(0.01))
    assert len(drawn.rounds) <= 2001
    assert drawn.laws.nbytes < 1_000_000


@given(st.lists(st.floats(-3, 3), min_size=2, max_size=8))
def test_projection_gives_the_nearest_point_of_the_simplex(values: list[float]) -> None:
    row = np.array(values)
    projected = row.copy()
    project(projected)
    assert projected.min() >= 0.0
    assert projected.sum() == pytest.approx(1.0)
    distance = np.linalg.norm(projected - row)
    rng = np.random.default_rng(0)
    for other in rng.dirichlet(np.ones(row.size), 50):
        assert distance <= np.linalg.norm(other - row) + 1e-9


@pytest.mark.parametrize(
    "changes",
    [
        ft.shifts(at=[3, 4, 30]),
        ft.redraws(hazard=0.1),
        ft.interpolation([(7, LAW[::-1].tolist()), (31, LAW.tolist())]),
        ft.random_walk(0.5, every=7),
    ],
)
def test_the_law_in_force_is_that_of_the_knots(changes: ft.shifts) -> None:  # type: ignore[valid-type]
    drawn = world(50, changes=changes)
    for t, law in enumerate(laws_in_force(drawn, 50)):
        np.testing.assert_allclose(law, law_at(drawn, t), atol=1e-12)


def test_segments_are_the_laws_they_say() -> None:
    recipe = ft.Scenario(segments=[(0, LAW), (5, LAW[::-1]), (6, LAW)], theta=THETA)
    laws = laws_in_force(recipe.draw(9, np.random.default_rng(0)), 9)
    for t in range(9):
        np.testing.assert_allclose(laws[t], LAW[::-1] if t == 5 else LAW, atol=1e-12)
    assert recipe.draw(9, np.random.default_rng(0)).changes == (5, 6)
