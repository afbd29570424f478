"""The rivals of other papers against slow twins of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import foretell as ft
from foretell.policies import start
from foretell.policies.ids import best_mixture
from foretell.policies.m_ucb import forced_share, halves_threshold
from foretell.policies.verbs import choose, credit, play
from tests.reference.baselines import ranked, run_with_delay
from tests.reference.rivals import (
    Arrival,
    explained_variance,
    slow_cusum,
    slow_kl_index,
    slow_m_ucb,
    slow_queues,
)


def switching_history(rounds: int, seed: int, actions: int = 3) -> list[Arrival]:
    """Draw rewards whose means turn over in the middle."""
    rng = np.random.default_rng(seed)
    means = np.linspace(0.1, 0.9, actions)
    return [
        (t, a, 0, float(rng.random() < (means[a] if t < rounds / 2 else 1 - means[a])))
        for t, a in enumerate(rng.integers(actions, size=rounds).tolist())
    ]


@pytest.mark.parametrize("delay", [0, 9])
def test_sw_kl_ucb_is_its_formula(delay: int) -> None:
    window = 25
    state, _, received = run_with_delay(ft.SwKlUcb(window=window), 80, delay)
    for action, index in enumerate(ranked(state, 80)):
        mine = [reward for _, a, _, reward in received[-window:] if a == action]
        assert index == pytest.approx(slow_kl_index(mine, math.log(window)), abs=1e-9)


@pytest.mark.parametrize("delay", [0, 9])
def test_d_kl_ucb_is_its_formula(delay: int) -> None:
    gamma = 0.9
    state, _, received = run_with_delay(ft.DKlUcb(gamma=gamma), 80, delay)
    counts, sums = np.zeros(3), np.zeros(3)
    for t, action, _, reward in received:
        counts[action] += gamma ** (79 - t)
        sums[action] += gamma ** (79 - t) * reward
    level = math.log(max(1.0, counts.sum()))
    for action, index in enumerate(ranked(state, 80)):
        slow = slow_kl_index([sums[action] / counts[action]], level / counts[action])
        assert index == pytest.approx(slow, abs=1e-9)


def test_m_ucb_restarts_when_the_halves_differ() -> None:
    rounds, width = 900, 80
    history = switching_history(rounds, seed=3)
    alarms = slow_m_ucb(history, 3, width, rounds)
    state = start(ft.MUcb(changes=1, width=width), ft.Problem(3, 2, horizon=rounds))
    found = []
    for number, (t, action, signal, reward) in enumerate(history):
        before = state.clock[2]
        play(state, t, action)
        credit(state, t, action, signal, reward)
        if state.clock[2] > before:
            found.append(number)
    assert found == alarms
    assert len(alarms) == 1
    assert alarms[0] > rounds / 2
    later = history[alarms[0] + 1 :]
    assert state.rewards.counts.tolist() == [sum(a == b for _, b, _, _ in later) for a in range(3)]


def test_m_ucb_is_tuned_as_its_paper_says() -> None:
    threshold = math.sqrt(75 * math.log(2 * 3 * 20_000**2))
    assert halves_threshold(3, 150, 20_000.0) == pytest.approx(threshold)
    share = math.sqrt(4 * 3 * (2 * threshold + 3 * math.sqrt(150)) / 40_000)
    assert forced_share(3, 150, 4.0, 20_000.0) == pytest.approx(share)


def test_cusum_ucb_restarts_the_action_whose_walk_is_too_long() -> None:
    rounds, first, drift = 900, 60, 0.1
    history = switching_history(rounds, seed=4)
    alarms = slow_cusum(history, 3, first, drift, math.log(rounds / 1))
    spec = ft.CusumUcb(changes=1, first=first, drift=drift)
    state = start(spec, ft.Problem(3, 2, horizon=rounds))
    found = []
    for number, (t, action, signal, reward) in enumerate(history):
        before = state.clock[1]
        play(state, t, action)
        credit(state, t, action, signal, reward)
        if state.clock[1] > before:
            assert state.rewards.counts[action] == 0
            found.append((number, action))
    assert found == alarms
    assert {action for _, action in alarms} == {0, 2}


def test_cusum_ucb_explores_as_often_as_its_paper_says() -> None:
    state = start(ft.CusumUcb(changes=2), ft.Problem(2, 2, horizon=200))
    for t in range(40):
        play(state, t, t % 2)
        credit(state, t, t % 2, 0, float(t % 2))
    rng = np.random.default_rng(0)
    chosen = [choose(state, 40, np.ones(2, np.bool_), rng) for _ in range(4000)]
    share = math.sqrt(2 * math.log(100) / 200) / 2
    assert chosen.count(0) / 4000 == pytest.approx(share, abs=0.03)


@pytest.mark.parametrize(("c", "factor"), [(0.0, 1.0), (2.0, math.log(80) ** 2)])
def test_bayes_ucb_is_a_quantile_of_the_posterior(c: float, factor: float) -> None:
    state, _, received = run_with_delay(ft.BayesUcb(c=c), 80, 6)
    for action, index in enumerate(ranked(state, 80)):
        mine = [reward for _, a, _, reward in received if a == action]
        posterior = stats.beta(1 + sum(mine), 1 + len(mine) - sum(mine))
        assert index == pytest.approx(posterior.isf(1 / (81 * factor)), rel=1e-9)


def test_bayes_ucb_skips_nothing_that_could_win() -> None:
    rng = np.random.default_rng(5)
    everyone = np.ones(6, np.bool_)
    for seed in range(30):
        state, _, _ = run_with_delay(ft.BayesUcb(), 60, 3, seed=seed, actions=6)
        values = ranked(state, 60, actions=6)
        assert values[choose(state, 60, everyone, rng)] >= values.max() - 1e-12


def test_ids_plays_the_best_mixture_of_two() -> None:
    state, _, _ = run_with_delay(ft.Ids(samples=200), 40, 4, actions=4)
    rng = np.random.default_rng(6)
    chosen = [choose(state, 40, np.ones(4, np.bool_), rng) for _ in range(5)]
    assert set(chosen) <= set(range(4))
    regret, gain = explained_variance(state.scratch_sample)
    np.testing.assert_allclose(state.scratch_regret, regret, atol=1e-12)
    np.testing.assert_allclose(state.scratch_gain, gain, atol=1e-12)
    pairs = [
        best_mixture(regret[one], gain[one], regret[other], gain[other])[1]
        for one in range(4)
        for other in range(one)
    ]
    mixtures = rng.dirichlet([0.3] * 4, 4000)
    assert min(pairs) <= ((mixtures @ regret) ** 2 / (mixtures @ gain)).min() + 1e-12


def test_the_best_mixture_is_that_of_a_fine_grid() -> None:
    rng = np.random.default_rng(7)
    shares = np.linspace(0, 1, 2001)
    for _ in range(300):
        one, other = rng.random(2), rng.random(2) ** 3
        share, least = best_mixture(one[0], other[0], one[1], other[1])
        regrets = shares * one[0] + (1 - shares) * one[1]
        gains = shares * other[0] + (1 - shares) * other[1]
        grid = regrets**2 / gains
        assert least <= grid.min() + 1e-12
        assert least == pytest.approx(grid.min(), rel=1e-2, abs=1e-6)
        assert 0.0 <= share <= 1.0
    assert best_mixture(0.0, 0.0, 0.3, 0.0) == (1.0, 0.0)


@pytest.mark.parametrize("delay", [0, 20])
def test_qpm_d_gives_its_base_what_it_asks_for_and_no_more(delay: int) -> None:
    state, _, received = run_with_delay(ft.QpmD(), 150, delay)
    given, bounds = slow_queues(received, 3)
    assert state.rewards.counts.tolist() == list(map(len, given))
    assert (state.rewards.grains / 2**30).tolist() == [sum(one) for one in given]
    np.testing.assert_allclose(ranked(state, 150), bounds, atol=1e-9)
    best = int(np.argmax(bounds))
    assert state.queues.first[best] == -1


def test_growing_exploration_forces_more_after_every_restart() -> None:
    def forced_in(restarts: int, *, growing: bool) -> int:
        spec = ft.GlrKlUcb(alpha=0.1, growing=growing)
        state = start(spec, ft.Problem(4, 2, horizon=4000))
        state.clock[1] = restarts
        rounds = 0
        for t in range(4000):
            play(state, t, t % 4)
            rounds += int(state.forced.max() == t + 1)
        return rounds

    assert forced_in(3, growing=False) == forced_in(0, growing=True) == 400
    assert forced_in(3, growing=True) == 800
