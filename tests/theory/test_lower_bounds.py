"""Proposition 1: no policy beats the lower bound where the best policy can be computed."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretell.theory import Setting, lower_bound
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
