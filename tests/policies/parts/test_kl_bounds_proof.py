"""The steps of `docs/s-free-bound.md`, each checked by numbers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.special import betaln

import foretell as ft
from foretell.policies.parts.bernoulli_kl import bernoulli_kl
from foretell.policies.parts.klmax import klmax
from foretell.theory import Setting, s_free_bound
from foretell.types import Floats

CASES = range(60)


def draw(case: int) -> tuple[np.random.Generator, int, Floats, Floats]:
    rng = np.random.default_rng(case)
    signals = int(rng.integers(2, 8))
    return rng, signals, rng.dirichlet(np.ones(signals)), rng.random(signals)


@pytest.mark.parametrize("case", CASES)
def test_step_1_a_bet_against_the_mean_is_fair(case: int) -> None:
    rng, _, law, theta = draw(case)
    value = law @ theta
    bet = rng.random() / (theta.max() - value)
    factors = 1.0 - bet * (theta - value)
    assert (factors >= -1e-12).all()
    assert law @ factors == pytest.approx(1.0)


@pytest.mark.parametrize("case", CASES)
def test_step_2_the_mixture_of_bets_loses_little(case: int) -> None:
    rng, signals, law, theta = draw(case)
    plays = int(rng.integers(1, 200))
    counts = rng.multinomial(plays, rng.dirichlet(np.ones(signals)))
    value = law @ theta
    most = 1.0 / (theta.max() - value)

    def wealth(share: float) -> float:
        with np.errstate(divide="ignore"):
            factors = np.log(np.maximum(1.0 - share * most * (theta - value), 0.0))
        return float(counts[counts > 0] @ factors[counts > 0])

    best = max(wealth(share) for share in np.linspace(0.0, 1.0, 2001))

    def integrand(angle: float) -> float:  # share = sin², which takes away the prior's poles
        return float(2.0 / np.pi * np.exp(wealth(np.sin(angle) ** 2) - best))

    mixture = best + np.log(quad(integrand, 0.0, np.pi / 2, limit=200)[0])
    assert mixture >= best - 0.5 * np.log(plays + 1.0) - np.log(2.0) - 1e-6


def test_step_2_worst_case_of_two_assets() -> None:
    for plays in (1, 2, 5, 20, 100, 10_000):
        wins = np.arange(plays + 1)
        mixture = betaln(wins + 0.5, plays - wins + 0.5) - betaln(0.5, 0.5)
        with np.errstate(divide="ignore", invalid="ignore"):
            best = np.nan_to_num(wins * np.log(wins / plays)) + np.nan_to_num(
                (plays - wins) * np.log(1 - wins / plays)
            )
        assert (best - mixture <= 0.5 * np.log(plays + 1.0) + np.log(2.0)).all()


@pytest.mark.parametrize("case", CASES)
def test_step_3_the_best_bet_is_the_distance_to_laws_as_good(case: int) -> None:
    rng, signals, _, theta = draw(case)
    counts = rng.multinomial(50, rng.dirichlet(np.ones(signals)))
    shares = counts / 50
    mean = float(shares @ theta)
    value = mean + rng.random() * (theta.max() - mean) * 0.9
    most = 1.0 / (theta.max() - value)

    def loss(bet: float) -> float:
        factors = np.maximum(1.0 - bet * (theta - value), 1e-300)
        return -float(shares[shares > 0] @ np.log(factors[shares > 0]))

    best = -minimize_scalar(loss, bounds=(0.0, most), method="bounded").fun
    reached = klmax(counts[None, :], 0, 50, theta, best)
    assert reached == pytest.approx(value, abs=1e-4)


@pytest.mark.parametrize("case", CASES)
def test_step_5_divergence_bounds_sums_of_nonnegative_numbers(case: int) -> None:
    rng, signals, p, x = draw(case)
    q = 0.5 * p + 0.5 * rng.dirichlet(np.ones(signals))
    divergence = float(p @ np.log(p / q))
    assert bernoulli_kl(float(p @ x), float(q @ x)) <= divergence + 1e-12
    assert q @ x <= 2.0 * p @ x + 2.0 * divergence + 1e-12
    assert abs((q - p) @ x) <= np.sqrt(0.5 * divergence) + 1e-12


@pytest.mark.parametrize("case", CASES)
def test_step_6_the_sums_of_plays_and_rounds_may_be_swapped(case: int) -> None:
    rng = np.random.default_rng(case)
    horizon, actions, signals = 300, int(rng.integers(2, 5)), int(rng.integers(2, 6))
    delay, memories = int(rng.integers(0, 60)), int(rng.integers(1, 4))
    laws = rng.dirichlet(np.ones(signals), (memories, actions))
    shares = rng.dirichlet(np.ones(actions))
    level = 1.0 + 4.0 * rng.random()
    rounds: list[tuple[int, int]] = []
    counts = np.zeros((actions, signals))
    received = np.zeros(signals)
    paid = charged = 0.0
    for t in range(horizon):
        if t > delay:
            received[rounds[t - delay - 1][1]] += 1
        memory = t * memories // horizon
        if t and memory != (t - 1) * memories // horizon:
            counts[:] = 0.0
        width = np.minimum(1.0, level / np.sqrt(np.maximum(received, 1e-9)))
        action = int(rng.choice(actions, p=shares))
        if counts[action].sum():
            paid += counts[action] @ width / counts[action].sum()
        signal = int(rng.choice(signals, p=laws[memory, action]))
        charged += width[signal]
        counts[action, signal] += 1.0
        rounds.append((action, signal))
    assert paid <= (1.0 + np.log(horizon)) * charged
    assert charged <= signals * (delay + 1) + 2.0 * level * np.sqrt(signals * horizon)


def test_step_6_the_bound_is_the_sum_of_its_parts() -> None:
    setting = Setting(horizon=5000, actions=3, signals=4, switches=2, delay=10, delta=0.05)
    half = 0.5 * np.log(5001.0) + np.log(2.0)
    c, d = np.log(2 * 3 * 3 * 4 / 0.05) + half, np.log(2 * 4 / 0.05) + half
    law = np.sqrt(2 * c) + np.sqrt(2 * np.log(3 * 5000 / 0.05))
    theta = np.sqrt(2 * d) + np.sqrt(2 * np.log(4 * 5000 / 0.05))
    harmonic = 1.0 + np.log(5000.0)
    expected = law * np.sqrt(3 * 3 * 5000) + 9 * (1.0 + 2.0 * c * harmonic)
    expected += 2.0 * harmonic * (4 * 11 + theta * np.sqrt(4 * 5000))
    assert s_free_bound(setting).total == pytest.approx(expected)
    assert s_free_bound(setting).probability == pytest.approx(0.85)


def test_no_term_of_the_bound_has_actions_and_signals() -> None:
    few = s_free_bound(Setting(horizon=10**6, actions=2, signals=2, switches=5))
    many_signals = s_free_bound(Setting(horizon=10**6, actions=2, signals=40, switches=5))
    many_actions = s_free_bound(Setting(horizon=10**6, actions=40, signals=2, switches=5))
    assert many_signals.law == few.law
    assert many_actions.theta + many_actions.delay == few.theta + few.delay


@pytest.mark.slow
def test_runs_stay_below_the_bound() -> None:
    batch = ft.simulate(
        ft.scenario("paper-stationary", delay=20), "nsd-kl", 400, 4, seed=1, compiled=False
    )
    bound = s_free_bound(Setting(horizon=400, actions=4, signals=3, delay=20))
    assert batch.final.max() <= bound.total
