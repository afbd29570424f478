"""Theorems 1 to 3: monotone, ordered, vacuous where they are, and clear about bad input."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretell.errors import InvalidInput
from foretell.theory import (
    Bound,
    Setting,
    bad_probabilities,
    bad_rounds,
    difficulty,
    first_useful_horizon,
    gaps,
    law_radius_constant,
    problem_dependent_bound,
    stationary_bound,
    switching_bound,
    theta_radius_constant,
)

PAPER = Setting(horizon=8000, actions=4, signals=3, switches=3, delay=500)
STILL = replace(PAPER, switches=0)
TABLE = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.1, 0.4, 0.5]]
THETA = [0.8, 0.4, 0.2]
GAP = 0.42

settings = st.builds(
    Setting,
    horizon=st.integers(20, 5000),
    actions=st.integers(2, 10),
    signals=st.integers(2, 10),
    switches=st.integers(0, 10),
    delay=st.integers(0, 6000),
    delta=st.floats(0.001, 1.0),
    constants=st.sampled_from(["literal", "tight"]),
)
sizes = st.sampled_from(["delay", "actions", "signals", "switches"])
windows = st.none() | st.integers(1, 6000)
by_gap = partial(problem_dependent_bound, smallest_gap=0.28, probabilities=0.1)
count = partial(bad_rounds, epsilon=0.3, probabilities=0.1)


@given(settings, sizes, windows)
def test_a_harder_problem_never_has_a_smaller_bound(
    setting: Setting, size: str, window: int | None
) -> None:
    harder = replace(setting, **{size: getattr(setting, size) + 1})
    for bound in (switching_bound, by_gap, count):
        easy, hard = bound(setting, window=window), bound(harder, window=window)
        assert easy.total <= hard.total * (1.0 + 1e-12)
    if size != "switches":
        setting, harder = replace(setting, switches=0), replace(harder, switches=0)
        easy, hard = stationary_bound(setting, window), stationary_bound(harder, window)
        assert easy.total <= hard.total * (1.0 + 1e-12)


def test_each_size_moves_the_bound() -> None:
    for size in ("delay", "actions", "signals", "switches"):
        long = replace(PAPER, horizon=10**7)
        harder = replace(long, **{size: getattr(PAPER, size) + 1})
        for bound in (switching_bound, by_gap, count):
            assert bound(long, window=10**5).total < bound(harder, window=10**5).total


@given(settings, windows)
def test_tight_promises_at_least_as_much_term_by_term(setting: Setting, window: int | None) -> None:
    literal = replace(setting, constants="literal")
    tight = replace(setting, constants="tight")
    assert switching_bound(tight).total <= switching_bound(literal).total
    window = window or 100
    for bound in (switching_bound, by_gap):
        small, large = bound(tight, window=window), bound(literal, window=window)
        for name, value in small.by_name().items():
            assert value <= large.by_name()[name]


@given(settings)
def test_without_switches_theorem_2_is_theorem_1(setting: Setting) -> None:
    setting = replace(setting, switches=0)
    assert switching_bound(setting, 50).by_name() == stationary_bound(setting, 50).by_name()
    assert switching_bound(setting) == stationary_bound(setting)


@given(settings, st.integers(1, 4000))
def test_a_window_beyond_the_horizon_is_no_window(setting: Setting, beyond: int) -> None:
    for bound in (switching_bound, by_gap, count):
        long = bound(setting, window=setting.horizon + beyond)
        assert long == bound(setting, window=setting.horizon)


@given(settings)
def test_a_delay_beyond_the_horizon_costs_no_more_than_every_round(setting: Setting) -> None:
    late = replace(setting, delay=setting.horizon + 7)
    assert switching_bound(late).delay == setting.horizon


def test_the_terms_are_the_displayed_formula() -> None:
    bound = switching_bound(PAPER, 800)
    assert bound.switching == 2400.0
    assert bound.law == pytest.approx(
        2.0 * math.sqrt(law_radius_constant(PAPER, 800)) * 10 * 2.0 * math.sqrt(4 * 800)
    )
    assert bound.theta == pytest.approx(4.0 * math.sqrt(3 * 8000 * theta_radius_constant(PAPER)))
    assert bound.azuma == pytest.approx(math.sqrt(8000 * math.log(10.0) / 2.0))
    assert bound.delay == 3 * 501
    assert bound.total == pytest.approx(sum(bound.by_name().values()))
    assert bound.probability == pytest.approx(0.7)


def test_theorem_3_is_the_displayed_formula() -> None:
    setting = replace(PAPER, horizon=10**8)
    window, blocks = 10**6, 100
    literal = by_gap(setting, window=window)
    law, theta = law_radius_constant(setting, window), theta_radius_constant(setting)
    assert literal.law == pytest.approx(blocks * 4 * (16.0 * law / 0.28 + 4.0))
    assert literal.theta == pytest.approx(128.0 * theta * 3 / 0.1 / 0.28)
    assert literal.delay == pytest.approx(4 * 3 * 501)
    setting = replace(setting, constants="tight")
    tight = by_gap(setting, window=window)
    law, theta = law_radius_constant(setting, window), theta_radius_constant(setting)
    assert tight.law == pytest.approx(blocks * 4 * (8.0 * law / 0.28 + 1.0))
    assert tight.theta == pytest.approx(64.0 * theta * 3 / 0.1 / 0.28)
    assert tight.delay == 3 * 501
    bad = count(setting, window=window)
    assert bad.law == pytest.approx(blocks * 4 * (4.0 * law / 0.09 + 1.0))
    assert bad.theta == pytest.approx(32.0 * theta * 3 / 0.1 / 0.09)


@given(settings, st.integers(1, 5000), st.floats(0.01, 1.0), st.floats(0.01, 1.0))
def test_fewer_rounds_are_worse_by_more(
    setting: Setting, window: int, one: float, other: float
) -> None:
    small, large = sorted((one, other))
    often = bad_rounds(setting, small, 0.1, window)
    seldom = bad_rounds(setting, large, 0.1, window)
    assert seldom.total <= often.total * (1.0 + 1e-12)


def test_signals_that_bad_actions_never_show_cost_nothing() -> None:
    some = bad_rounds(PAPER, 0.3, [0.1, 0.2, math.inf])
    every = bad_rounds(PAPER, 0.3, [0.1, 0.2, 0.5])
    assert some.delay == 2 * 501
    assert some.theta == pytest.approx(every.theta * 15.0 / 17.0)


@pytest.mark.parametrize("constants", ["literal", "tight"])
def test_every_bound_is_vacuous_in_the_scenario_of_the_paper(constants: Any) -> None:
    setting = replace(PAPER, constants=constants)
    for window in (None, 400, 800, 1243, 2000):
        assert switching_bound(setting, window).vacuous(GAP)
        assert by_gap(setting, window=window).vacuous(GAP)
        assert count(setting, window=window).vacuous()
    assert stationary_bound(replace(setting, switches=0)).vacuous(GAP)
    assert "vacuous" in switching_bound(setting).verdict(GAP)


@pytest.mark.parametrize("constants", ["literal", "tight"])
@pytest.mark.parametrize("bound", [switching_bound, by_gap])
def test_the_horizon_found_is_where_the_bound_starts_to_say_something(
    bound: Any, constants: Any
) -> None:
    setting = replace(PAPER, constants=constants)
    found = first_useful_horizon(setting, GAP, bound)
    assert found is not None
    assert not bound(replace(setting, horizon=found)).vacuous(GAP)
    assert bound(replace(setting, horizon=found - 1)).vacuous(GAP)
    for share in (0.001, 0.01, 0.1, 0.5, 0.9, 0.99):
        assert bound(replace(setting, horizon=int(share * found))).vacuous(GAP)
    for times in (1.01, 1.1, 2, 10):
        later = bound(replace(setting, horizon=int(times * found)))
        assert not later.vacuous(GAP)
        assert "informative" in later.verdict(GAP)


def test_horizons_of_the_paper() -> None:
    assert first_useful_horizon(STILL, GAP, stationary_bound) == 121_422
    assert first_useful_horizon(PAPER, GAP) == pytest.approx(3_834_290, rel=1e-3)


def test_an_easy_promise_is_useful_at_once_and_an_impossible_one_never() -> None:
    easy = Bound(0.0, 0.0, 0.0, 0.0, 0.0, horizon=9, window=9, probability=1.0)
    hard = replace(easy, switching=math.inf)
    assert first_useful_horizon(PAPER, GAP, lambda _: easy) == 4
    assert first_useful_horizon(PAPER, GAP, lambda _: hard) is None


def test_the_horizon_found_is_exact() -> None:
    def promise(setting: Setting) -> Bound:
        total = 0.0 if setting.horizon >= first else math.inf
        return Bound(total, 0.0, 0.0, 0.0, 0.0, setting.horizon, setting.horizon, 1.0)

    for first in range(4, 400):
        assert first_useful_horizon(PAPER, GAP, promise) == first


def test_a_steady_rate_of_switches_leaves_the_bound_vacuous() -> None:
    for horizon in (10**4, 10**6, 10**8):
        setting = replace(PAPER, horizon=horizon, switches=horizon // 2667, constants="tight")
        assert switching_bound(setting).vacuous(GAP)


def test_the_gaps_of_the_table() -> None:
    assert gaps(TABLE, THETA)[0] == pytest.approx([0.0, 0.28, 0.42, 0.36])
    found = difficulty([TABLE, TABLE[::-1]], THETA)
    assert found.largest_gap == pytest.approx(GAP)
    assert found.smallest_gap == pytest.approx(0.28)
    assert found.smallest_probability == 0.1
    assert bad_probabilities(TABLE, THETA, 0.4) == pytest.approx([0.1, 0.1, 0.8])
    never = bad_probabilities([[0.5, 0.5, 0.0], [0.9, 0.1, 0.0]], [1.0, 0.0, 0.0], 0.4)
    assert never.tolist() == [0.5, 0.5, math.inf]


def wrong(**values: Any) -> dict[str, Any]:
    """Hide the type of a value from the type checker, as a caller without one would."""
    return values


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: replace(PAPER, horizon=0), "horizon must be at least 4, got 0: each action"),
        (lambda: replace(PAPER, actions=1), "actions must be at least 2, got 1: with fewer"),
        (lambda: replace(PAPER, signals=1), "signals must be at least 2, got 1: with fewer"),
        (lambda: replace(PAPER, delay=-1), "delay must be at least 0, got -1: give 0"),
        (lambda: replace(PAPER, switches=-1), "switches must be at least 0, got -1: give 0"),
        (lambda: replace(PAPER, switches=8000), "switches must be fewer than the horizon of 8000"),
        (
            lambda: replace(PAPER, **wrong(delay=1.5)),
            "delay must be a whole number, got 1.5: give 0",
        ),
        (lambda: replace(PAPER, delta=0.0), r"delta must lie in \(0, 1\], got 0.0: the usual"),
        (lambda: replace(PAPER, delta=math.nan), r"delta must lie in \(0, 1\], got nan"),
        (
            lambda: replace(PAPER, **wrong(constants="loose")),
            "constants must be 'literal' or 'tight'",
        ),
        (lambda: switching_bound(PAPER, 0), "window must be at least 1 round, got 0: leave it out"),
        (
            lambda: switching_bound(PAPER, **wrong(window=1.5)),
            "window must be a whole number of rounds, got 1.5",
        ),
        (lambda: stationary_bound(PAPER), "Theorem 1 is for a law that never changes, got swi"),
        (lambda: switching_bound(PAPER).vacuous(2.0), r"largest_gap must lie in \(0, 1\], got 2"),
        (lambda: bad_rounds(PAPER, 0.0, 0.1), r"epsilon must lie in \(0, 1\], got 0.0: give the"),
        (lambda: bad_rounds(PAPER, 0.1, [0.1]), "probabilities must be one number or one for"),
        (lambda: bad_rounds(PAPER, 0.1, 0.0), r"probabilities must lie in \(0, 1\], got"),
        (lambda: by_gap(PAPER, smallest_gap=-1), r"smallest_gap must lie in \(0, 1\], got -1"),
        (lambda: first_useful_horizon(PAPER, 0.1, limit=0), "limit must be at least 1, got 0"),
        (lambda: gaps(TABLE, [0.1]), "laws must be .* got shapes .*: give one mean reward"),
        (lambda: gaps([[0.5, 0.6], [1.0, 0.0]], [0, 1]), "each row of a law must be probabilities"),
        (lambda: gaps([[0.5, 0.5], [1.0, 0.0]], [0, 2]), r"theta must lie in \[0, 1\], got"),
        (lambda: difficulty([[1, 0], [1, 0]], [0, 1]), "no action is ever worse than another"),
    ],
)
def test_bad_input_is_refused_in_one_clear_sentence(call: Any, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{sentence}"):
        call()
