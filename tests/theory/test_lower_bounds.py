"""Proposition 1: no policy beats the lower bound where the best policy can be computed."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import foretell as ft
from foretell.theory import Setting, conjectured_order, lower_bound, minimax_lower_bound
from foretell.theory.lower_bounds import learning_factor

settings = st.builds(
    Setting,
    horizon=st.integers(21, 5000),
    actions=st.integers(2, 20),
    signals=st.just(2),
    switches=st.integers(0, 19),
    delay=st.integers(0, 6000),
)


def least_regret(rounds: int, gap: float) -> float:
    """Return the regret of the best policy of all against one good action of two, drawn at random.

    The good action wins with 1/2 + gap, the other with 1/2. The posterior depends only on the
    difference of wins and of losses between the two actions: dynamic programming over both.
    """
    wins, losses = np.meshgrid(np.arange(-rounds, rounds + 1), np.arange(-rounds, rounds + 1))
    log_odds = wins * math.log(1.0 + 2.0 * gap) + losses * math.log(1.0 - 2.0 * gap)
    first = 1.0 / (1.0 + np.exp(-log_odds))
    cost = np.zeros_like(first)
    for _ in range(rounds):
        ahead = np.pad(cost, 1, mode="edge")
        win_first = 0.5 + gap * first
        win_second = 0.5 + gap * (1.0 - first)
        play_first = gap * (1.0 - first) + (
            win_first * ahead[1:-1, 2:] + (1.0 - win_first) * ahead[2:, 1:-1]
        )
        play_second = gap * first + (
            win_second * ahead[1:-1, :-2] + (1.0 - win_second) * ahead[:-2, 1:-1]
        )
        cost = np.minimum(play_first, play_second)
    return float(cost[rounds, rounds])


@pytest.mark.parametrize("rounds", [2, 3, 5, 10, 30, 80])
def test_the_best_policy_of_all_pays_the_learning_part(rounds: int) -> None:
    gap = 0.25 * min(1.0, math.sqrt(2.0 / rounds))
    promised = lower_bound(Setting(horizon=rounds, actions=2, signals=2)).learning
    paid = least_regret(rounds, gap)
    assert promised <= paid <= 6.0 * promised


def test_the_learning_factor_is_at_least_a_twentieth() -> None:
    assert all(learning_factor(actions) >= 1.0 / 18.0 for actions in range(2, 100))
    assert learning_factor(10**6) < 0.25


@given(settings)
def test_the_explicit_bound_has_the_printed_order(setting: Setting) -> None:
    found = lower_bound(setting)
    assert found.order / 36.0 <= found.total <= setting.horizon
    rounds, segments = setting.horizon, setting.switches + 1
    printed = math.sqrt(setting.actions * segments * rounds) + segments * setting.delay
    assert found.order == pytest.approx(min(rounds, printed))


@given(settings)
def test_delay_is_paid_in_every_segment_but_never_beyond_it(setting: Setting) -> None:
    segments = setting.switches + 1
    share = 1.0 - 1.0 / setting.actions
    found = lower_bound(setting)
    assert found.delay <= share * min(setting.horizon, segments * (setting.delay + 1)) + 1e-9
    endless = lower_bound(replace(setting, delay=2 * setting.horizon))
    assert endless.delay == pytest.approx(share * setting.horizon)


@given(settings, st.sampled_from(["delay", "actions", "switches"]))
def test_a_harder_problem_never_has_a_smaller_lower_bound(setting: Setting, size: str) -> None:
    harder = replace(setting, **{size: getattr(setting, size) + 1})
    assert lower_bound(setting).total <= lower_bound(harder).total * (1.0 + 1e-12)


@given(settings, st.integers(2, 60))
def test_with_signals_the_threat_is_never_larger(setting: Setting, signals: int) -> None:
    setting = replace(setting, signals=signals)
    threat, blind = minimax_lower_bound(setting), lower_bound(setting)
    assert threat.learning == blind.learning
    assert threat.delay <= blind.delay
    assert threat.order <= blind.order
    assert threat.total >= threat.order / 36.0


@given(settings, st.integers(2, 60))
def test_the_delay_part_is_half_of_the_blind_rounds(setting: Setting, signals: int) -> None:
    setting = replace(setting, signals=signals)
    segments = min(signals // 2, setting.switches + 1)
    length, longer = divmod(setting.horizon, segments)
    lengths = [length + (index < longer) for index in range(segments)]
    blind = sum(min(rounds, setting.delay + 1) for rounds in lengths)
    assert minimax_lower_bound(setting).delay == pytest.approx(0.5 * blind)


@pytest.mark.parametrize("spec", ["nsd-kl", "nsd-psrl", "nsd-adaptive"])
def test_our_policies_pay_for_fresh_signals(spec: str) -> None:
    length, delay, segments = 20, 12, 3
    laws = []
    for segment in range(segments):
        law = np.zeros((3, 2 * segments))
        law[0, 2 * segment] = law[1:, 2 * segment + 1] = 1.0
        laws.append((length * segment, law.tolist()))
    paid = []
    for coins in itertools.product((0, 1), repeat=segments):
        theta = [float(worth) for coin in coins for worth in (coin, 1 - coin)]
        world = ft.Scenario(segments=laws, theta=theta, delay=delay)
        paid.append(ft.simulate(world, spec, length * segments, 1, compiled=False).final[0])
    setting = Setting(
        horizon=length * segments, actions=3, signals=6, switches=segments - 1, delay=delay
    )
    assert np.mean(paid) >= minimax_lower_bound(setting).delay - 1e-9


@pytest.mark.parametrize("segments", [4, 10, 100])
def test_the_conjecture_is_too_small_where_every_segment_has_signals_of_its_own(
    segments: int,
) -> None:
    horizon = 10**9
    setting = Setting(
        horizon=horizon,
        actions=2,
        signals=2 * segments,
        switches=segments - 1,
        delay=horizon // segments - 1,
    )
    assert minimax_lower_bound(setting).total == pytest.approx(horizon / 2)
    assert conjectured_order(setting) < 0.6 * horizon / 2


def test_the_conjecture_is_too_large_without_delay() -> None:
    setting = Setting(horizon=10**6, actions=4, signals=50, switches=60)
    assert minimax_lower_bound(setting).order < 0.2 * conjectured_order(setting)
