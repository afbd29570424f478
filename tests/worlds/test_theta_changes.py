"""Theta moves as its pattern says, apart from the laws, and rewards follow their decision."""

from __future__ import annotations

import numpy as np
import pytest

import foretell as ft
from foretell.errors import ForetellError
from foretell.traffic.rescale import rescaled
from foretell.worlds.world import World
from tests.reference.worlds import theta_at

LAW = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.1, 0.4, 0.5]]
THETA = [0.8, 0.4, 0.2]


def drawn(horizon: int = 1000, seed: int = 0, **fields: object) -> World:
    recipe = ft.Scenario(law=LAW, theta=THETA, **fields)  # type: ignore[arg-type]
    return recipe.draw(horizon, np.random.default_rng(seed))


def test_steps_hold_until_the_next_one() -> None:
    world = drawn(theta_changes=ft.theta_steps([(300, [0.1, 0.2, 0.3]), (700, [0.5, 0.6, 0.7])]))
    assert world.theta.changes_of(0) == (300, 700)
    assert world.changes == ()
    for t, expected in ((0, THETA), (299, THETA), (300, [0.1, 0.2, 0.3]), (999, [0.5, 0.6, 0.7])):
        np.testing.assert_array_equal(theta_at(world, t), expected)


def test_lines_pass_through_their_stops_and_never_jump() -> None:
    world = drawn(theta_changes=ft.theta_lines([(400, [0.4, 0.4, 0.6])]))
    np.testing.assert_allclose(theta_at(world, 200), [0.6, 0.4, 0.4])
    np.testing.assert_allclose(theta_at(world, 900), [0.4, 0.4, 0.6])
    assert world.theta.changes_of(0) == ()


def test_redraws_change_as_many_signals_as_they_say() -> None:
    world = drawn(20_000, theta_changes=ft.theta_redraws(every=100, count=2, low=0.2, high=0.6))
    values = world.theta.values
    assert ((values[1:] != values[:-1]).sum(axis=1) == 2).all()
    new = values[1:][values[1:] != values[:-1]]
    assert new.min() == pytest.approx(0.2, abs=0.02)
    assert new.max() == pytest.approx(0.6, abs=0.02)
    assert new.mean() == pytest.approx(0.4, abs=0.03)
    assert world.theta.changes_of(0) == tuple(range(100, 20_000, 100))


def test_a_walk_stays_in_the_range_and_spreads_as_it_says() -> None:
    ends = []
    for seed in range(300):
        world = drawn(1001, seed, theta_changes=ft.theta_walk(0.05, every=50))
        assert world.theta.values.min() >= 0.0
        assert world.theta.values.max() <= 1.0
        np.testing.assert_array_equal(world.theta.values[0], THETA)
        ends.append(theta_at(world, 1000)[1] - THETA[1])
    assert np.std(ends) == pytest.approx(0.05, rel=0.15)


def test_the_laws_do_not_notice_whether_theta_moves() -> None:
    plain = drawn(changes=ft.redraws(every=100))
    moving = drawn(changes=ft.redraws(every=100), theta_changes=ft.theta_walk(0.3))
    np.testing.assert_array_equal(plain.laws, moving.laws)


def test_a_reward_has_the_mean_of_the_round_of_its_decision() -> None:
    steps = ft.theta_steps([(3000, [0.1, 0.9, 0.5])])
    recipe = ft.Scenario(law=LAW, theta=THETA, theta_changes=steps, delay=500)
    batch = ft.simulate(recipe, "uniform", 6000, runs=2, compiled=False, trajectories=True)
    assert batch.trajectories is not None
    for part, theta in ((slice(0, 3000), THETA), (slice(3000, 6000), [0.1, 0.9, 0.5])):
        signals = batch.trajectories.signals[:, part].ravel()
        rewards = batch.trajectories.rewards[:, part].ravel()
        for signal in range(3):
            assert rewards[signals == signal].mean() == pytest.approx(theta[signal], abs=0.05)


@pytest.mark.compiled
def test_compiled_runs_with_a_moving_theta_are_plain_ones_to_the_byte() -> None:
    recipe = ft.Scenario(
        law=LAW,
        theta=THETA,
        theta_changes=ft.theta_walk(0.5, every=30),
        changes=ft.shifts(every=70),
        delay=20,
    )
    plain, fast = (ft.simulate(recipe, "uniform", 300, 3, compiled=c) for c in (False, True))
    assert plain.regret.tobytes() == fast.regret.tobytes()


def test_half_the_rounds_see_the_same_thetas() -> None:
    whole = ft.Scenario(law=LAW, theta=THETA, theta_changes=ft.theta_steps([(400, THETA[::-1])]))
    assert rescaled(whole, 0.5).theta_changes == ft.theta_steps([(200, THETA[::-1])])
    redrawn = ft.Scenario(law=LAW, theta=THETA, theta_changes=ft.theta_redraws(every=90))
    assert rescaled(redrawn, 0.5).theta_changes == ft.theta_redraws(every=45)
    walk = ft.Scenario(law=LAW, theta=THETA, theta_changes=ft.theta_walk(0.1, every=40))
    assert rescaled(walk, 0.25).theta_changes == ft.theta_walk(0.2, every=10)


@pytest.mark.parametrize(
    ("changes", "fragment"),
    [
        (lambda: ft.theta_steps([(300, [0.1, 0.2])]), "one mean for each of the 3 signals, got 2"),
        (lambda: ft.theta_steps([(300, [0.1, 0.2, 1.3])]), "theta at round 300 must lie in"),
        (lambda: ft.theta_steps([(0, THETA)]), "whole numbers from 1 on"),
        (lambda: ft.theta_lines([3, 4]), "pairs of a round and a theta"),  # type: ignore[list-item]
        (lambda: ft.theta_redraws(every=5, count=4), "lower count"),
        (lambda: ft.theta_redraws(every=5, low=0.7, high=0.2), "give low < high"),
        (lambda: ft.theta_redraws(at=[5], hazard=0.1), "one of the three"),
        (lambda: ft.theta_walk(0.0), "above 0"),
        (lambda: ft.shifts(every=3), "theta_changes must be one of"),
    ],
)
def test_what_cannot_be_is_refused(changes: object, fragment: str) -> None:
    with pytest.raises(ForetellError, match=fragment) as caught:
        drawn(theta_changes=changes())  # type: ignore[operator]
    assert "\n" not in str(caught.value)


def test_gaussian_means_are_redrawn_only_between_stated_ends() -> None:
    fields = {"law": LAW, "theta": THETA, "rewards": ft.rewards.Gaussian()}
    with pytest.raises(ForetellError, match="give low < high"):
        ft.Scenario(**fields, theta_changes=ft.theta_redraws(every=5))  # type: ignore[arg-type]
    ft.Scenario(**fields, theta_changes=ft.theta_redraws(every=5, low=-2, high=3))  # type: ignore[arg-type]
