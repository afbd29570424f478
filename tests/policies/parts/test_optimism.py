"""The optimistic law of Appendix A is the solution of its linear program."""

from __future__ import annotations

import numpy as np
import pytest

from foretell.policies.parts.optimism import optimistic_value, sort_signals
from tests.reference.optimism import Case, algorithm_2, linear_programs

BLOCK = 100


def value(case: Case, start: np.random.Generator | None = None) -> float:
    order = np.arange(len(case.upper))
    if start is not None:
        start.shuffle(order)
    sort_signals(case.upper, order)
    counts = case.counts[None, :]
    return optimistic_value(counts, 0, 1.0 / case.counts.sum(), case.radius, case.upper, order)


def random_case(rng: np.random.Generator) -> Case:
    signals = int(rng.integers(2, 21))
    counts = rng.integers(0, 30, signals)
    if rng.random() < 0.3:
        counts *= rng.random(signals) < 0.4
    counts[rng.integers(signals)] += 1
    return Case(counts, float(rng.random() * 2.2), rng.random(signals))


def degenerate_case(rng: np.random.Generator) -> Case:
    signals = int(rng.integers(2, 21))
    one_hot = np.zeros(signals, np.int64)
    one_hot[rng.integers(signals)] = rng.integers(1, 50)
    counts = [one_hot, np.ones(signals, np.int64), rng.integers(1, 9, signals)][rng.integers(3)]
    upper = [
        np.ones(signals),
        np.zeros(signals),
        rng.integers(0, 3, signals) / 2,
        rng.standard_normal(signals),
        np.where(np.arange(signals) == rng.integers(signals), 1.0, 0.25),
    ][rng.integers(5)]
    best_share = counts[np.argmax(upper)] / counts.sum()
    radius = [0.0, 2.0, 2.5, 17.0, 1e-13, 2 * (1 - best_share), rng.random()][rng.integers(7)]
    return Case(counts, float(radius), upper)


@pytest.mark.parametrize("seed", range(20))
def test_random_laws_match_the_linear_program(seed: int) -> None:
    rng = np.random.default_rng([1, seed])
    cases = [random_case(rng) for _ in range(BLOCK)]
    np.testing.assert_allclose([value(case) for case in cases], linear_programs(cases), atol=1e-7)


@pytest.mark.parametrize("seed", range(20))
def test_degenerate_laws_match_the_linear_program(seed: int) -> None:
    rng = np.random.default_rng([2, seed])
    cases = [degenerate_case(rng) for _ in range(BLOCK)]
    np.testing.assert_allclose([value(case) for case in cases], linear_programs(cases), atol=1e-7)


def test_it_is_algorithm_2_to_the_last_digits() -> None:
    rng = np.random.default_rng(3)
    for make in (random_case, degenerate_case):
        for _ in range(1500):
            case = make(rng)
            printed = algorithm_2(case.law, case.radius, case.upper)
            assert value(case) == pytest.approx(printed, abs=1e-12)


def test_radius_zero_is_the_mean_and_radius_two_the_best_signal() -> None:
    rng = np.random.default_rng(4)
    for _ in range(300):
        case = random_case(rng)
        mean = float(case.law @ case.upper)
        assert value(case._replace(radius=0.0)) == pytest.approx(mean, abs=1e-13)
        assert value(case._replace(radius=2.0)) == pytest.approx(case.upper.max(), abs=1e-12)


def test_a_larger_ball_is_never_worse() -> None:
    rng = np.random.default_rng(5)
    for _ in range(300):
        case = random_case(rng)
        values = [value(case._replace(radius=float(r))) for r in np.linspace(0, 2.5, 11)]
        assert (np.diff(values) >= -1e-12).all()


def test_the_order_of_signals_does_not_depend_on_where_sorting_starts() -> None:
    rng = np.random.default_rng(6)
    for _ in range(300):
        upper = rng.integers(0, 4, int(rng.integers(2, 21))) / 4
        order = rng.permutation(upper.size)
        sort_signals(upper, order)
        np.testing.assert_array_equal(order, np.argsort(-upper, kind="stable"))


def test_the_value_does_not_depend_on_the_last_order() -> None:
    rng = np.random.default_rng(7)
    for _ in range(300):
        case = degenerate_case(rng)
        assert value(case) == value(case, start=rng)
