"""The steps of `docs/s-free-bound.md`, each checked by numbers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.special import betaln

from foretell.policies.parts.bernoulli_kl import bernoulli_kl
from foretell.policies.parts.klmax import klmax
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
