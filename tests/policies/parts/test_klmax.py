"""The KL maximiser against its dual, minimised by SciPy in one dimension."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from foretell.policies.parts.klmax import klmax, klmax_bound
from foretell.types import Floats, Ints

TOLERANCE = 1e-9


def dual(law: Floats, upper: Floats, level: float) -> float:
    """Minimise v − exp(sum p ln(v − U) − level) over v > max U: strong duality holds."""
    support = law > 0
    top = upper.max()

    def objective(x: float) -> float:
        gaps = np.maximum(top - upper[support] + np.exp(x), 1e-300)
        return float(top + np.exp(x) - np.exp(law[support] @ np.log(gaps) - level))

    grid = np.linspace(-45.0, 25.0, 701)
    values = [objective(x) for x in grid]
    best = int(np.argmin(values))
    low, high = grid[max(0, best - 1)], grid[min(len(grid) - 1, best + 1)]
    found = minimize_scalar(
        objective, bounds=(low, high), method="bounded", options={"xatol": 1e-12}
    )
    return min(float(found.fun), values[best])


def solve(counts: list[int] | Ints, upper: list[float] | Floats, level: float) -> float:
    table = np.array(counts, np.int64)[None, :]
    return klmax(table, 0, int(table.sum()), np.array(upper, np.float64), level)


@pytest.mark.slow
@pytest.mark.parametrize("signals", [2, 3, 5, 20, 50])
def test_random_laws_match_the_dual(signals: int) -> None:
    rng = np.random.default_rng(signals)
    for case in range(120):
        plays = int(10 ** rng.uniform(0, 5))
        law = rng.dirichlet([rng.choice([0.05, 0.5, 2.0])] * signals)
        counts = rng.multinomial(plays, law)
        upper = rng.random(signals)
        if case % 3 == 0:
            upper = np.round(upper, 1)
        if case % 5 == 0:
            upper[rng.integers(signals)] = 1.0
        level = 10 ** rng.uniform(-4, 1.3)
        expected = dual(counts / plays, upper, level)
        assert solve(counts, upper, level) == pytest.approx(expected, abs=TOLERANCE)


@pytest.mark.parametrize(
    ("counts", "upper"),
    [
        ([5, 0], [0.2, 0.9]),  # all mass on the worse signal
        ([0, 5], [0.2, 0.9]),  # all mass on the better one
        ([1, 1], [0.5, 0.5]),  # nothing to gain
        ([3, 3, 3], [0.7, 0.7, 0.1]),  # a tie at the top
        ([3, 0, 3], [0.7, 0.7, 0.1]),  # a tie at the top, one of it unseen
        ([0, 7, 0, 0], [1.0, 0.3, 1.0, 0.0]),  # one-hot, two best signals unseen
        ([10**9, 1], [0.0, 1.0]),  # peaked
        ([1, 10**9], [0.0, 1.0]),
        ([4, 4], [1.0 - 1e-10, 1.0]),  # nearly a tie
    ],
)
@pytest.mark.parametrize("level", [1e-9, 1e-3, 0.1, 3.0, 40.0])
def test_degenerate_laws_match_the_dual(
    counts: list[int], upper: list[float], level: float
) -> None:
    law = np.array(counts) / sum(counts)
    expected = dual(law, np.array(upper), level)
    assert solve(counts, upper, level) == pytest.approx(expected, abs=TOLERANCE)


def test_it_is_between_the_mean_and_its_cheap_bound_and_grows_with_the_level() -> None:
    rng = np.random.default_rng(7)
    for _ in range(300):
        signals = int(rng.integers(2, 12))
        counts = rng.integers(0, 50, signals)
        counts[rng.integers(signals)] += 1
        upper = rng.random(signals)
        levels = np.sort(10 ** rng.uniform(-5, 1, 4))
        values = [solve(counts, upper, level) for level in levels]
        mean = float(counts @ upper / counts.sum())
        bound = klmax_bound(counts[None, :], 0, int(counts.sum()), upper, levels[-1])
        assert mean - 1e-12 <= values[0]
        assert all(a <= b + 1e-12 for a, b in itertools.pairwise(values))
        assert values[-1] <= bound + 1e-9


def test_no_radius_gives_the_mean_and_an_endless_one_the_best_signal() -> None:
    assert solve([3, 1], [0.2, 0.6], 0.0) == pytest.approx(0.3)
    assert solve([3, 1], [0.2, 0.6], float("inf")) == pytest.approx(0.6)


def test_signals_are_only_names() -> None:
    rng = np.random.default_rng(8)
    for _ in range(50):
        counts, upper = rng.integers(0, 9, 6), rng.random(6)
        counts[0] += 1
        order = rng.permutation(6)
        value = solve(counts, upper, 0.2)
        assert solve(counts[order], upper[order], 0.2) == pytest.approx(value, abs=1e-12)
