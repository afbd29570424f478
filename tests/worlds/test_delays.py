"""Every delay family has the distribution that it names."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

import foretell as ft
from foretell.types import Floats, Ints
from foretell.worlds.delay_arrays import delay_arrays, draw_delay
from foretell.worlds.delays import NEVER, Delay, as_delay

DRAWS = 20_000
FAR = 0.02
"""Over five standard errors of a share, and over the 1e-6 quantile of the greatest one."""


def drawn(delay: Delay, signals: int = 1, signal: int = 0) -> Ints:
    arrays = delay_arrays([delay] * signals)
    rng = np.random.default_rng(0)
    return np.array(
        [draw_delay(arrays, signal, rng.random(), rng.standard_normal()) for _ in range(DRAWS)]
    )


def shares_up_to(delays: Ints, points: Floats) -> Floats:
    return np.array([(delays <= point).mean() for point in points])


def geometric(average: float) -> scipy.stats.rv_frozen:
    return scipy.stats.geom(1 / (1 + average), loc=-1)


@pytest.mark.parametrize(
    ("delay", "below"),
    [
        (ft.delays.UniformDelay(3, 12), lambda d: scipy.stats.randint(3, 13).cdf(d)),
        (ft.delays.UniformDelay(5, 5), lambda d: 1.0 * (d >= 5)),
        (ft.delays.GeometricDelay(0.2), lambda d: geometric(0.2).cdf(d)),
        (ft.delays.GeometricDelay(30.0), lambda d: geometric(30.0).cdf(d)),
        (
            ft.delays.LogNormalDelay(20.0, 0.7),
            lambda d: scipy.stats.lognorm(0.7, scale=20.0).cdf(d + 1),
        ),
        (
            ft.delays.ParetoDelay(1.5, 40.0),
            lambda d: scipy.stats.lomax(1.5, scale=40.0).cdf(d + 1),
        ),
        (
            ft.delays.ParetoDelay(0.5, 10.0),
            lambda d: scipy.stats.lomax(0.5, scale=10.0).cdf(d + 1),
        ),
        (
            ft.delays.TableDelay((0, 7, 100), (1.0, 3.0, 4.0)),
            lambda d: 0.125 + 0.375 * (d >= 7) + 0.5 * (d >= 100),
        ),
        (
            ft.delays.TableDelay((9, 2)),
            lambda d: 0.5 * (d >= 2) + 0.5 * (d >= 9),
        ),
    ],
)
def test_the_distribution_is_the_named_one(delay: Delay, below: object) -> None:
    assert callable(below)
    delays = drawn(delay)
    assert delays.min() >= 0
    points = np.unique(np.quantile(delays, np.linspace(0, 0.99, 40))).astype(np.float64)
    np.testing.assert_allclose(shares_up_to(delays, points), below(points), atol=FAR)


@pytest.mark.parametrize(
    ("delay", "cut"),
    [
        (ft.delays.ConstantDelay(17), 0.0),
        (ft.delays.UniformDelay(3, 12), 0.0),
        (ft.delays.GeometricDelay(30.0), 0.0),
        (ft.delays.TableDelay((0, 7, 100), (1.0, 3.0, 4.0)), 0.0),
        (ft.delays.LogNormalDelay(20.0, 0.7), 0.5),
        (ft.delays.ParetoDelay(4.0, 400.0), 0.5),
    ],
    ids=str,
)
def test_the_mean_is_the_stated_one(delay: Delay, cut: float) -> None:
    """Real-valued families state the mean before they are cut to whole rounds."""
    assert drawn(delay).mean() == pytest.approx(delay.mean() - cut, rel=0.05)


def test_means_that_do_not_exist_are_infinite() -> None:
    assert ft.delays.ParetoDelay(1.0, 5.0).mean() == math.inf
    assert ft.delays.NeverDelay().mean() == math.inf


@pytest.mark.parametrize("lost", [0.1, 0.6])
@pytest.mark.parametrize(
    "delay",
    [
        lambda lost: ft.delays.ConstantDelay(9, lost=lost),
        lambda lost: ft.delays.UniformDelay(0, 20, lost=lost),
        lambda lost: ft.delays.GeometricDelay(9.0, lost=lost),
        lambda lost: ft.delays.LogNormalDelay(9.0, 1.0, lost=lost),
        lambda lost: ft.delays.ParetoDelay(2.0, 9.0, lost=lost),
        lambda lost: ft.delays.TableDelay((1, 9), lost=lost),
    ],
)
def test_a_share_is_lost_and_the_rest_keeps_its_distribution(lost: float, delay: object) -> None:
    assert callable(delay)
    some, none = drawn(delay(lost)), drawn(delay(0.0))
    assert (some == NEVER).mean() == pytest.approx(lost, abs=FAR)
    assert (none != NEVER).all()
    points = np.arange(0.0, 40.0, 3.0)
    np.testing.assert_allclose(
        shares_up_to(some[some != NEVER], points), shares_up_to(none, points), atol=2 * FAR
    )


def test_never_never_arrives() -> None:
    assert (drawn(ft.delays.NeverDelay()) == NEVER).all()


def test_each_signal_has_a_delay_of_its_own() -> None:
    delays: list[Delay] = [
        ft.delays.ConstantDelay(4),
        ft.delays.TableDelay((10, 20)),
        ft.delays.NeverDelay(),
        ft.delays.TableDelay((1, 2, 3)),
        ft.delays.UniformDelay(100, 101, lost=0.5),
    ]
    arrays = delay_arrays(delays)
    rng = np.random.default_rng(1)
    seen = [
        {draw_delay(arrays, signal, rng.random(), rng.standard_normal()) for _ in range(200)}
        for signal in range(len(delays))
    ]
    assert seen == [{4}, {10, 20}, {NEVER}, {1, 2, 3}, {100, 101, NEVER}]


def test_delays_per_signal_hold_in_a_run() -> None:
    recipe = ft.Scenario(
        law=[[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]],
        theta=[0.1, 0.5, 0.9],
        delay=[3, ft.delays.NeverDelay(), ft.delays.UniformDelay(5, 6)],
    )
    batch = ft.simulate(recipe, "uniform", 400, runs=1, compiled=False, trajectories=True)
    assert batch.trajectories is not None
    signals, delays = batch.trajectories.signals[0], batch.trajectories.delays[0]
    assert set(delays[signals == 0]) == {3}
    assert set(delays[signals == 1]) == {NEVER}
    assert set(delays[signals == 2]) == {5, 6}


def test_a_number_is_a_constant_delay() -> None:
    assert as_delay(7) == ft.delays.ConstantDelay(7)
    assert as_delay(ft.delays.NeverDelay()) == ft.delays.NeverDelay()
    assert ft.Scenario(
        law=[[1, 0], [0, 1]], theta=[0, 1], delay=7
    ).delay == ft.delays.ConstantDelay(7)


@pytest.mark.parametrize(
    "delay",
    [
        ft.delays.LogNormalDelay(10.0, 500.0),
        ft.delays.ParetoDelay(0.005, 10.0),
        ft.delays.GeometricDelay(1e17),
    ],
    ids=str,
)
def test_a_delay_beyond_all_rounds_never_ends(delay: Delay) -> None:
    """Heavy tails overflow a float; such a reward does not arrive, and nothing breaks."""
    delays = drawn(delay)
    assert ((delays == NEVER) | (delays >= 0)).all()


def test_good_news_and_bad_news_take_their_own_time() -> None:
    news = ft.delays.ByRewardDelay(
        high=ft.delays.ConstantDelay(3), low=ft.delays.UniformDelay(20, 30, lost=0.25)
    )
    scenario = ft.Scenario(
        law=[[0.5, 0.5], [0.5, 0.5]], theta=[0.4, 0.6], delay=[news, ft.delays.ConstantDelay(7)]
    )
    run = ft.simulate(scenario, "uniform", 4000, 1, trajectories=True, compiled=False)
    assert run.trajectories is not None
    signals, rewards, late = (
        run.trajectories.signals[0],
        run.trajectories.rewards[0],
        run.trajectories.delays[0],
    )
    good = rewards == 1.0
    assert set(late[(signals == 0) & good]) == {3}
    bad = late[(signals == 0) & ~good]
    assert set(bad) <= {NEVER, *range(20, 31)}
    assert (bad == NEVER).mean() == pytest.approx(0.25, abs=0.06)
    assert set(late[signals == 1]) == {7}
    assert news.mean() == 25.0
    assert ft.Scenario.from_dict(scenario.to_dict()) == scenario


def test_delays_by_reward_that_are_alike_are_those_that_do_not_look() -> None:
    plain = ft.delays.GeometricDelay(40.0)
    runs = [
        ft.simulate(ft.scenario("paper-stationary", delay=one), "ucb", 300, 2, 4, compiled=False)
        for one in (plain, ft.delays.ByRewardDelay(high=plain, low=plain))
    ]
    assert runs[0].regret.tobytes() == runs[1].regret.tobytes()
