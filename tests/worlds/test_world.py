"""A world answers by its law, its theta and, where it mixes, by mu."""

from __future__ import annotations

import numpy as np
import pytest

import foretell as ft
from foretell.worlds.world import answer, before_round_zero, draw_signal, move_to
from tests.reference.worlds import law_at, means_at, regret_of

LAW = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.1, 0.4, 0.5]])
THETA = np.array([0.8, 0.4, 0.2])
MU = np.array([0.1, 0.9, 0.5, 0.3])


@pytest.mark.parametrize("rewards", [ft.rewards.Bernoulli(), ft.rewards.Beta()])
@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_the_mixture_has_the_stated_signals_and_means(
    alpha: float, rewards: ft.rewards.RewardFamily
) -> None:
    """Signal law alpha/S + (1 − alpha) p, reward mean alpha mu + (1 − alpha) p·theta."""
    mu = list(MU) if alpha else None
    recipe = ft.Scenario(law=LAW, theta=THETA, alpha=alpha, mu=mu, rewards=rewards)
    batch = ft.simulate(recipe, "uniform", 12_000, runs=1, compiled=False, trajectories=True)
    assert batch.trajectories is not None
    actions, signals, drawn, _ = (column[0] for column in batch.trajectories[:4])
    for action in range(4):
        here = actions == action
        seen = np.bincount(signals[here], minlength=3) / here.sum()
        np.testing.assert_allclose(seen, alpha / 3 + (1 - alpha) * LAW[action], atol=0.05)
        mean = alpha * MU[action] + (1 - alpha) * LAW[action] @ THETA
        assert drawn[here].mean() == pytest.approx(mean, abs=0.05)


def test_in_a_mixed_round_the_signal_says_nothing_about_the_reward() -> None:
    recipe = ft.Scenario(law=LAW, theta=THETA, alpha=1.0, mu=list(MU))
    batch = ft.simulate(recipe, "uniform", 12_000, runs=1, compiled=False, trajectories=True)
    assert batch.trajectories is not None
    actions, signals, drawn, _ = (column[0] for column in batch.trajectories[:4])
    for action in range(4):
        for signal in range(3):
            here = (actions == action) & (signals == signal)
            assert drawn[here].mean() == pytest.approx(MU[action], abs=0.09)


@pytest.mark.parametrize(
    "fields",
    [
        {"changes": ft.shifts(at=[60, 61, 150])},
        {"changes": ft.shifts(hazard=0.05), "alpha": 0.4, "mu": list(MU)},
        {"changes": ft.random_walk(0.8)},
        {"changes": ft.interpolation([(90, LAW[::-1].tolist())]), "alpha": 0.1, "mu": list(MU)},
        {"rewards": ft.rewards.Bernoulli(-5, 15), "changes": ft.redraws(every=40)},
        {"rewards": ft.rewards.Gaussian(2.0), "changes": ft.redraws(every=40, count=1)},
        {"theta_changes": ft.theta_redraws(hazard=0.03), "changes": ft.shifts(every=30)},
        {"theta_changes": ft.theta_walk(0.9, every=15), "changes": ft.random_walk(0.8)},
        {"theta_changes": ft.theta_lines([(70, [0.1, 0.9, 0.5])]), "alpha": 0.4, "mu": list(MU)},
    ],
    ids=[
        "shifts",
        "mixture",
        "walk",
        "drifting mixture",
        "range",
        "gaussian",
        "theta redrawn",
        "theta and law walk",
        "theta in lines",
    ],
)
def test_regret_is_the_sum_of_the_gaps(fields: dict[str, object]) -> None:
    from foretell.sim.streams import random_stream

    recipe = ft.Scenario(law=LAW, theta=THETA, **fields)  # type: ignore[arg-type]
    batch = ft.simulate(recipe, "uniform", 200, runs=3, seed=5, compiled=False, trajectories=True)
    assert batch.trajectories is not None
    for number in range(3):
        world = recipe.draw(200, random_stream(5, number, 0))
        expected = regret_of(world, batch.trajectories.actions[number].tolist())
        np.testing.assert_allclose(batch.regret[number], expected, atol=1e-9)
    assert batch.final.min() > 0


def test_the_best_action_has_no_regret() -> None:
    recipe = ft.Scenario(law=LAW, theta=THETA, alpha=0.5, mu=list(MU))
    world = recipe.draw(10, np.random.default_rng(0))
    now = before_round_zero(world)
    move_to(world, now, 0)
    means = means_at(world, 0)
    np.testing.assert_allclose(now.gaps, means.max() - means, atol=1e-15)
    assert now.gaps.min() == 0.0


def test_signals_follow_the_law_and_none_of_probability_zero_comes() -> None:
    law = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0], [0.1 + 0.2, 0.7, 0.0]])
    world = ft.Scenario(law=law, theta=THETA).draw(10, np.random.default_rng(0))
    now = before_round_zero(world)
    move_to(world, now, 0)
    rng = np.random.default_rng(0)
    for action in range(3):
        drawn = [draw_signal(now.reached, action, float(rng.random())) for _ in range(4000)]
        np.testing.assert_allclose(np.bincount(drawn, minlength=3) / 4000, law[action], atol=0.04)
        edges = [draw_signal(now.reached, action, u) for u in (0.0, 1.0 - 2**-53)]
        assert all(law[action, signal] > 0 for signal in edges)


@pytest.mark.parametrize(
    "rewards",
    [
        ft.rewards.Bernoulli(),
        ft.rewards.Beta(concentration=0.7),
        ft.rewards.Fixed(),
        ft.rewards.Gaussian(),
    ],
)
@pytest.mark.parametrize(
    "delay",
    [
        0,
        ft.delays.GeometricDelay(5.0, lost=0.2),
        [
            ft.delays.LogNormalDelay(3.0, 1.0),
            ft.delays.ConstantDelay(3),
            ft.delays.ParetoDelay(1.0, 2.0),
        ],
    ],
)
@pytest.mark.parametrize("alpha", [0.0, 0.4])
def test_the_luck_of_a_world_does_not_depend_on_what_is_played(
    rewards: ft.rewards.RewardFamily, delay: object, alpha: float
) -> None:
    """Whatever the action, the stream of the world advances by the same amount."""
    recipe = ft.Scenario(
        law=LAW,
        theta=THETA,
        rewards=rewards,
        delay=delay,  # type: ignore[arg-type]
        alpha=alpha,
        mu=list(MU),
    )
    world = recipe.draw(50, np.random.default_rng(0))
    now = before_round_zero(world)
    move_to(world, now, 0)
    after = set()
    for action in range(4):
        rng = np.random.Generator(np.random.SFC64(7))
        for _ in range(50):
            answer(world, now, action, rng)
        after.add(float(rng.random()))
    assert len(after) == 1


def test_a_drifting_world_answers_by_the_law_of_the_round() -> None:
    towards = [(9999, LAW[[1, 0, 2, 3]].tolist())]
    recipe = ft.Scenario(law=LAW, theta=THETA, changes=ft.interpolation(towards))
    batch = ft.simulate(recipe, "uniform", 10_000, runs=2, compiled=False, trajectories=True)
    assert batch.trajectories is not None
    world = recipe.draw(10_000, np.random.default_rng(0))
    for start in (0, 4500, 9000):
        part = slice(start, start + 1000)
        actions = batch.trajectories.actions[:, part].ravel()
        signals = batch.trajectories.signals[:, part].ravel()
        for action in (0, 1):
            seen = np.bincount(signals[actions == action], minlength=3) / (actions == action).sum()
            np.testing.assert_allclose(seen, law_at(world, start + 500)[action], atol=0.09)
