"""Every summation step of the proofs, against brute force."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretell.theory import Setting, law_radius_constant, paid_widths, theta_radius_constant
from foretell.theory.measured import early_sights, past_counts, stable_rounds
from foretell.theory.radius_constants import law_radius_constants
from foretell.theory.terms import LAW_FACTOR, law_term
from foretell.theory.window_search import block_windows


def inverse_roots(counts: range) -> float:
    return sum(1.0 / math.sqrt(count) for count in counts)


def window_sum(actions: np.ndarray, window: int) -> float:
    """Sum 1 / sqrt(N^W_t(A_t)) as it is defined."""
    total = 0.0
    for t, action in enumerate(actions):
        held = int((actions[max(0, t - window) : t] == action).sum())
        total += 1.0 / math.sqrt(max(1, held))
    return total


def root_sum(horizon: int, actions: int, window: int) -> float:
    """Return 2 sqrt(K) times the sum of sqrt(length) over blocks of W, the last one shorter."""
    lengths = [min(window, horizon - start) for start in range(0, horizon, window)]
    return 2.0 * math.sqrt(actions) * sum(math.sqrt(length) for length in lengths)


def test_inverse_roots_sum_to_at_most_two_roots_less_one() -> None:
    for last in range(1, 1000):
        assert inverse_roots(range(1, last + 1)) <= 2.0 * math.sqrt(last) - 1.0 + 1e-9


def test_the_printed_bound_on_inverse_roots_is_a_lower_bound() -> None:
    for last in range(1, 300):
        assert inverse_roots(range(1, last + 1)) > 2.0 * (math.sqrt(last + 1) - 1.0)


@pytest.mark.parametrize(("actions", "horizon"), [(2, 10), (3, 6)])
def test_no_order_of_play_exceeds_the_blocks_of_term_a(actions: int, horizon: int) -> None:
    for window in range(1, horizon + 1):
        most = root_sum(horizon, actions, window)
        for order in itertools.product(range(actions), repeat=horizon):
            assert window_sum(np.array(order), window) <= most + 1e-9


@given(st.integers(2, 5), st.integers(1, 40), st.lists(st.integers(0, 4), min_size=5, max_size=90))
def test_random_orders_do_not_exceed_it_either(actions: int, window: int, order: list[int]) -> None:
    played = np.array(order) % actions
    assert window_sum(played, window) <= root_sum(played.size, actions, window) + 1e-9


def test_past_counts_are_their_definition() -> None:
    order = np.random.default_rng(1).integers(2, size=40)
    for window, delay in itertools.product(range(1, 45), range(45)):
        wanted = [
            max(1, sum(order[u] == here for u in range(max(0, t - window), max(0, t - delay))))
            for t, here in enumerate(order)
        ]
        assert past_counts(order, window, delay).tolist() == wanted


@given(st.integers(1, 30), st.sets(st.integers(1, 59)))
def test_stable_rounds_are_those_whose_window_holds_one_law(window: int, changes: set[int]) -> None:
    phase = np.cumsum([t in changes for t in range(60)])
    wanted = [len(set(phase[max(0, t - window) : t + 1])) == 1 for t in range(60)]
    assert stable_rounds(60, window, changes).tolist() == wanted


def test_the_search_looks_at_both_ends_of_every_number_of_blocks() -> None:
    for horizon in range(1, 150):
        parts = range(1, horizon + 1)
        wanted = {horizon // m for m in parts} | {-(-horizon // m) for m in parts}
        found = block_windows(horizon).tolist()
        assert wanted <= set(found) <= set(parts)
        assert len(found) <= 3 * math.isqrt(horizon) + 3


@given(st.integers(0, 2**32), st.integers(2, 6))
def test_two_laws_differ_in_value_by_at_most_half_their_distance(seed: int, signals: int) -> None:
    rng = np.random.default_rng(seed)
    one, other = rng.dirichlet(np.ones(signals), size=2)
    upper = rng.random(signals)
    distance = float(np.abs(one - other).sum())
    assert (one - other) @ upper <= 0.5 * distance + 1e-12
    assert (one - other) @ (one > other) == pytest.approx(0.5 * distance)


def test_optimism_reaches_one_radius_and_is_charged_one_or_two() -> None:
    radius, middle = 0.3, np.array([0.5, 0.5])
    shift = 0.5 * radius * np.array([1.0, -1.0])
    optimism = (middle + shift - (middle - shift)) @ np.array([1.0, 0.0])
    assert optimism == pytest.approx(LAW_FACTOR["tight"] * radius)
    assert np.abs(2.0 * shift).sum() == pytest.approx(LAW_FACTOR["literal"] * radius)


def test_the_blocks_of_term_a_lose_little_against_turns() -> None:
    turns = np.arange(4000) % 4
    assert window_sum(turns, 400) > 0.45 * root_sum(4000, 4, 400)
    assert window_sum(turns, 4000) > 0.95 * root_sum(4000, 4, 4000)


@given(st.integers(2, 300), st.integers(1, 400), st.sampled_from(["literal", "tight"]))
def test_term_a_is_its_definition(horizon: int, window: int, constants: str) -> None:
    setting = Setting(horizon=horizon, actions=2, signals=3, constants=constants)  # type: ignore[arg-type]
    window = min(window, horizon)
    radius = math.sqrt(law_radius_constant(setting, window))
    wanted = LAW_FACTOR[constants] * radius * root_sum(horizon, 2, window)
    assert law_term(setting, window) == pytest.approx(wanted)


def arrivals(order: tuple[int, ...], delay: int) -> list[int]:
    """Return max{1, N^D_t(S_t)} as it is defined."""
    return [
        max(1, sum(seen == signal for seen in order[: max(0, t - delay)]))
        for t, signal in enumerate(order)
    ]


@pytest.mark.parametrize("delay", [0, 1, 2, 5, 20])
def test_no_order_of_signals_exceeds_theta_and_delay(delay: int) -> None:
    setting = Setting(horizon=10, actions=2, signals=2, delay=delay, delta=1.0, constants="tight")
    constant = theta_radius_constant(setting)
    for order in itertools.product(range(2), repeat=setting.horizon):
        counts = arrivals(order, delay)
        first = early_sights(np.array(order), delay)
        roots = sum(1.0 / math.sqrt(n) for n, early in zip(counts, first, strict=True) if not early)
        later = [max(0, order.count(signal) - delay - 1) for signal in range(2)]
        assert roots <= 2.0 * sum(map(math.sqrt, later)) + 1e-9
        assert roots <= 2.0 * math.sqrt(2 * sum(later)) + 1e-9
        assert first.sum() <= min(10, 2 * (delay + 1))
        paid = paid_widths(setting, 10, [0] * 10, order)
        widths = [min(1.0, 2.0 * math.sqrt(constant / n)) for n in counts]
        assert paid.theta + paid.delay == pytest.approx(sum(widths))
        assert paid.delay <= first.sum()


def test_theta_and_delay_lose_little_when_signals_come_in_turns() -> None:
    signals, delay, rounds = 3, 9, 3000
    order = tuple(t // (delay + 1) % signals for t in range(rounds))
    counts = arrivals(order, delay)
    first = early_sights(np.array(order), delay)
    roots = sum(1.0 / math.sqrt(n) for n, early in zip(counts, first, strict=True) if not early)
    assert 0.9 < roots / (2.0 * math.sqrt(signals * rounds)) <= 1.0


def test_the_printed_delay_step_lacks_the_root_of_c() -> None:
    constant = theta_radius_constant(Setting(horizon=8000, actions=4, signals=3))
    delay = 10
    extra = sum(1.0 / math.sqrt(n - delay - 1) - 1.0 / math.sqrt(n) for n in range(delay + 2, 8001))
    assert extra <= 1.5 * (delay + 1)
    assert math.sqrt(constant) * extra > 1.5 * (delay + 1)


def test_a_block_holds_one_more_bad_round_than_the_printed_count() -> None:
    for most in (1.0, 2.5, 7.0):
        played = 0
        while max(1, played) <= most:
            played += 1
        assert most < played <= most + 1.0


@given(st.integers(1, 400), st.floats(0.01, 1.0))
def test_half_the_expected_signals_are_missed_no_more_often_than_chernoff_says(
    rounds: int, probability: float
) -> None:
    few = range(math.ceil(rounds * probability / 2.0))
    tail = sum(
        math.comb(rounds, n) * probability**n * (1.0 - probability) ** (rounds - n) for n in few
    )
    assert tail <= math.exp(-rounds * probability / 8.0) + 1e-12


@given(
    st.lists(st.floats(0.01, 1.0), min_size=1, max_size=8, unique=True),
    st.floats(0.0, 100.0),
    st.floats(0.0, 100.0),
)
def test_peeling(gaps: list[float], square: float, constant: float) -> None:
    gaps = sorted(gaps)
    most = [square / gap**2 + constant for gap in gaps] + [0.0]
    worst = sum(
        gap * (here - above) for gap, here, above in zip(gaps, most, most[1:], strict=False)
    )
    integral = 2.0 * square / gaps[0] + constant
    assert worst <= integral + 1e-9 * (1.0 + integral)
    layers = 0.0
    for k in range(math.ceil(math.log2(1.0 / gaps[0])) + 1):
        low = 2.0**k * gaps[0]
        if low <= gaps[-1]:
            layers += min(1.0, 2.0 * low) * (square / low**2 + constant)
    assert worst <= layers + 1e-9 * (1.0 + layers)
    assert layers <= (4.0 * square / gaps[0] + 4.0 * constant) * (1.0 + 1e-9)


@given(st.integers(2, 12), st.integers(2, 12), st.integers(1, 50))
def test_tight_constants_are_what_the_union_bounds_need(
    actions: int, signals: int, window: int
) -> None:
    setting = Setting(horizon=50, actions=actions, signals=signals, constants="tight")
    law = (2.0**signals - 2.0) * math.exp(-law_radius_constant(setting, window) / 2.0)
    assert actions * window * 50 * law == pytest.approx(setting.delta)
    theta = 2.0 * math.exp(-2.0 * theta_radius_constant(setting))
    assert signals * 50 * theta == pytest.approx(setting.delta)


@given(st.integers(2, 2000), st.integers(2, 60), st.floats(0.001, 1.0))
def test_literal_constants_are_never_the_smaller(horizon: int, signals: int, delta: float) -> None:
    literal = Setting(horizon=horizon, actions=2, signals=signals, delta=delta)
    tight = Setting(horizon=horizon, actions=2, signals=signals, delta=delta, constants="tight")
    windows = np.arange(1, horizon + 1)
    assert np.all(law_radius_constants(literal, windows) >= law_radius_constants(tight, windows))
    assert theta_radius_constant(literal) == pytest.approx(4.0 * theta_radius_constant(tight))
