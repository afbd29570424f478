"""The baselines' formulas against slow, obvious twins written from their papers."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, special

from foretell.policies import DUcb, Exp3S, GlrKlUcb, KlUcb, MetaBio, SignalGlrKlUcb, start
from foretell.policies.d_ts import DTs
from foretell.policies.parts.bernoulli_kl import bernoulli_kl, kl_upper
from foretell.policies.parts.prefix_grid import GRID_WIDTH, grid_add, grid_before, new_prefix_grid
from foretell.policies.parts.reward_change_test import glr_statistic, glr_threshold
from foretell.policies.parts.signal_change_test import (
    MOST_KEPT,
    change_statistic,
    log_gamma,
    log_gammas,
    stirling,
)
from foretell.policies.verbs import choose, credit, indices, observe, play
from foretell.types import GRAIN, Floats, Problem

MEANS = st.floats(0.0, 1.0) | st.sampled_from([0.0, 1.0, 1e-9, 1 - 1e-9, 0.5])
LEVELS = st.floats(1e-9, 20.0)


def slow_kl(p: float, q: float) -> float:
    return float(special.rel_entr(p, q) + special.rel_entr(1 - p, 1 - q))


@given(MEANS, LEVELS)
def test_the_upper_bound_is_the_root_of_the_divergence(mean: float, level: float) -> None:
    upper = kl_upper(mean, level)
    assert mean - 1e-12 <= upper <= 1.0
    if mean >= 1.0:
        assert upper == 1.0
        return
    top = 1.0 - 1e-16
    if slow_kl(mean, top) <= level:
        assert upper >= top - 1e-12
    else:
        slow = optimize.brentq(lambda q: slow_kl(mean, q) - level, mean, top, xtol=1e-14)
        assert upper == pytest.approx(slow, abs=1e-9)


@given(MEANS, MEANS)
def test_the_divergence_is_scipys(p: float, q: float) -> None:
    assert bernoulli_kl(p, q) == pytest.approx(max(0.0, slow_kl(p, q)), abs=1e-12, rel=1e-9)


def random_history(rounds: int, actions: int, seed: int) -> list[tuple[int, int, int, float]]:
    rng = np.random.default_rng(seed)
    return [
        (t, int(rng.integers(actions)), int(rng.integers(3)), float(rng.integers(2)))
        for t in range(rounds)
    ]


def lived(spec: Any, rounds: int, delay: int, seed: int = 0, actions: int = 3) -> Any:
    """Return the state, and what is known, after rounds in which rewards are late by `delay`."""
    state = start(spec, Problem(actions, 3, horizon=rounds))
    history = random_history(rounds, actions, seed)
    for t, action, signal, _ in history:
        play(state, t, action)
        observe(state, t, action, signal)
        if t >= delay:
            credit(state, *history[t - delay])
    return state, history, history[: max(0, rounds - delay)]


def ranked(state: Any, t: int, actions: int = 3) -> Floats:
    out = np.zeros(actions)
    indices(state, t, out)
    return out


def test_kl_ucb_is_its_formula() -> None:
    state, _, received = lived(KlUcb(c=3.0), 80, delay=10)
    level = math.log(81) + 3 * math.log(math.log(81))
    for action, index in enumerate(ranked(state, 80)):
        mine = [reward for _, a, _, reward in received if a == action]
        mean = sum(mine) / len(mine)
        assert len(mine) * slow_kl(mean, index) == pytest.approx(level, rel=1e-6)


@pytest.mark.parametrize("delay", [0, 7, 30])
def test_discounted_counts_are_the_brute_force_sums(delay: int) -> None:
    gamma, xi = 0.9, 0.6
    state, _, received = lived(DUcb(gamma=gamma, xi=xi), 60, delay)
    last = 59
    counts, sums = np.zeros(3), np.zeros(3)
    for t, action, _, reward in received:
        counts[action] += gamma ** (last - t)
        sums[action] += gamma ** (last - t) * reward
    np.testing.assert_allclose(state.rewards.counts, counts, rtol=1e-12)
    np.testing.assert_allclose(state.rewards.sums, sums, rtol=1e-12, atol=1e-15)
    slow = sums / counts + 2 * np.sqrt(xi * np.log(max(1.0, counts.sum())) / counts)
    np.testing.assert_allclose(ranked(state, 60), slow, rtol=1e-12)


def test_discounted_thompson_returns_to_the_prior() -> None:
    state = start(DTs(gamma=0.5), Problem(2, 2, horizon=500))
    play(state, 0, 0)
    credit(state, 0, 0, 0, 1.0)
    for t in range(1, 200):
        play(state, t, 1)
        credit(state, t, 1, 0, 0.0)
    both = np.ones(2, np.bool_)
    chosen = [choose(state, 200, both, np.random.default_rng(s)) for s in range(400)]
    # Beta(1, 1) against Beta(1, 3): the first wins in 3/4 of the draws.
    assert 0.65 < 1 - np.mean(chosen) < 0.85


def splits(length: int) -> list[tuple[int, int]]:
    found = []
    moment, level = grid_before(length, length, 0)
    while moment > 0:
        found.append((moment, level))
        moment, level = grid_before(length, moment, level)
    return found


@given(st.integers(0, 5000))
def test_the_grid_is_complete_near_and_geometric_far(length: int) -> None:
    found = [moment for moment, _ in splits(length)]
    ages = [length - moment for moment in found]
    assert ages == sorted(set(ages))
    assert found[: GRID_WIDTH - 1] == list(range(length - 1, max(0, length - GRID_WIDTH), -1))
    assert len(found) <= GRID_WIDTH * (1 + max(0, math.log2(length + 1) - 2))
    for one, other in itertools.pairwise(ages):
        assert other - one <= max(1, one / (GRID_WIDTH / 2 - 1))


@given(st.integers(2, 400), st.integers(0, 2**32 - 1), st.booleans())
def test_the_reward_statistic_is_the_brute_force_one(length: int, seed: int, real: bool) -> None:
    rng = np.random.default_rng(seed)
    rewards = rng.random(length) if real else (rng.random(length) < 0.3).astype(float)
    rewards[length // 2 :] = 1 - rewards[length // 2 :]
    grains = np.floor(rewards * GRAIN + 0.5).astype(np.int64)
    grid = new_prefix_grid(2, 1, length)
    for grain in grains:
        grid_add(grid, 1, 0, int(grain))
    rewards = grains / GRAIN
    slow = 0.0
    for moment, _ in splits(length):
        before, after = rewards[:moment].mean(), rewards[moment:].mean()
        both = rewards.mean()
        statistic = moment * slow_kl(before, both) + (length - moment) * slow_kl(after, both)
        slow = max(slow, statistic)
    assert glr_statistic(grid, 1) == pytest.approx(slow, abs=1e-6)
    assert glr_statistic(grid, 0) == 0.0


def test_the_threshold_is_the_papers() -> None:
    assert glr_threshold(50, 0.01) == pytest.approx(math.log(50**1.5 / 0.01))


def slow_log_kt(counts: Floats) -> float:
    half = len(counts) / 2
    prior = special.gammaln(half) - len(counts) * special.gammaln(0.5)
    return float(prior + special.gammaln(counts + 0.5).sum() - special.gammaln(counts.sum() + half))


@pytest.mark.parametrize("signals", [2, 3, 6])
@pytest.mark.parametrize("length", [2, 37, 300])
def test_the_signal_statistic_is_the_brute_force_one(signals: int, length: int) -> None:
    rng = np.random.default_rng(length)
    seen = rng.integers(signals, size=length)
    grid = new_prefix_grid(1, signals, length)
    for signal in seen:
        grid_add(grid, 0, int(signal), 1)
    counts = np.bincount(seen, minlength=signals).astype(float)
    likelihood = float(special.xlogy(counts, counts / length).sum())
    slow = -math.inf
    for moment, _ in splits(length):
        before = np.bincount(seen[:moment], minlength=signals).astype(float)
        mixture = slow_log_kt(before) + slow_log_kt(counts - before)
        slow = max(slow, mixture - likelihood - math.log(moment * (moment + 1)))
    found = change_statistic(grid, 0, log_gammas(signals, length))
    assert found == pytest.approx(slow, abs=1e-8)


def test_gammas_beyond_the_table_are_stirlings() -> None:
    assert stirling(150.5) == pytest.approx(special.gammaln(150.5), rel=1e-13)
    table = log_gammas(3, None).half
    assert len(table) == MOST_KEPT
    for index in (MOST_KEPT - 1, MOST_KEPT, 10 * MOST_KEPT):
        assert log_gamma(table, index, 0.5) == pytest.approx(special.gammaln(index + 0.5))


@pytest.mark.parametrize("delay", [0, 5])
def test_exp3s_weights_are_the_papers(delay: int) -> None:
    rounds, gamma, actions = 50, 0.2, 3
    state, history, _ = lived(Exp3S(gamma=gamma), rounds, delay)
    weights = np.ones(actions)
    played = {}
    for t, action, _, _ in history:
        shares = (1 - gamma) * weights / weights.sum() + gamma / actions
        played[t] = shares[action]
        if t >= delay:
            u, earlier, _, reward = history[t - delay]
            total = weights.sum()
            weights[earlier] *= math.exp(gamma * reward / played[u] / actions)
            weights += math.e / rounds / actions * total
    np.testing.assert_allclose(state.weights, weights / weights.sum(), rtol=1e-10)


@pytest.mark.parametrize("delay", [0, 4, 20])
def test_metabio_feeds_what_has_waited_long_enough(delay: int) -> None:
    rounds, delta, actions, signals = 120, 0.1, 3, 3
    state, history, _ = lived(MetaBio(delta=delta), rounds, delay)
    losses = np.zeros(actions)
    waiting: list[tuple[int, int, int]] = []
    probability: dict[int, float] = {}
    visits, known = np.zeros(signals, int), np.zeros(signals, int)
    sums, waited = np.zeros(signals), 0

    def release() -> None:
        for one in list(waiting):
            u, signal, visit = one
            if known[signal] >= visit / 2:
                radius = math.sqrt(math.log(4 * signals * rounds / delta) / (2 * known[signal]))
                loss = max(0.0, 1 - sums[signal] / known[signal] - radius)
                losses[history[u][1]] += loss / probability[u]
                waiting.remove(one)

    for t, action, signal, _ in history:
        rate = math.sqrt(math.log(actions) / (actions * (t + 1) + waited))
        weights = np.exp(-rate * (losses - losses.min()))
        probability[t] = weights[action] / weights.sum()
        waited += len(waiting)
        visits[signal] += 1
        waiting.append((t, signal, int(visits[signal])))
        release()
        if t >= delay:
            _, _, earlier, reward = history[t - delay]
            known[earlier] += 1
            sums[earlier] += reward
            release()
    np.testing.assert_allclose(state.losses, losses, rtol=1e-9)
    assert state.clock[1] == len(waiting)
    assert state.clock[2] == waited


@pytest.mark.parametrize("local", [False, True])
def test_a_change_of_rewards_restarts(local: bool) -> None:
    state = start(GlrKlUcb(local=local, alpha=0.0), Problem(2, 2, horizon=2000))
    for t in range(200):
        play(state, t, t % 2)
        credit(state, t, t % 2, 0, 1.0 if t < 100 or t % 2 else 0.0)
    assert state.clock[1] == 1
    assert 100 < state.since[0] < 160
    assert state.since[1] == (0 if local else state.since[0])


def test_a_change_of_signals_restarts_and_drops_rewards_of_before() -> None:
    state = start(SignalGlrKlUcb(alpha=0.0), Problem(2, 2, horizon=2000))
    for t in range(300):
        play(state, t, t % 2)
        observe(state, t, t % 2, int(t >= 150))
        if t >= 50:
            credit(state, t - 50, t % 2, 0, 1.0)
    restart = int(state.since[0])
    assert state.clock[1] >= 1
    assert 150 < restart < 200
    assert state.rewards.counts.sum() == 250 - restart


def test_forced_rounds_visit_every_action_in_turn() -> None:
    actions, share = 4, 0.25
    state = start(GlrKlUcb(alpha=share), Problem(actions, 2, horizon=400))
    everyone = np.ones(actions, np.bool_)
    rng = np.random.default_rng(0)
    period = int(actions / share)
    for block in range(10):
        seen = []
        for t in range(block * period, block * period + actions):
            action = choose(state, t, everyone, rng)
            play(state, t, action)
            seen.append(action)
        assert sorted(seen) == list(range(actions))
