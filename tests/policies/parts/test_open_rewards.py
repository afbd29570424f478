"""Open decisions by age: exact in any order, undone exactly, close to sums over all rounds."""

from __future__ import annotations

import numpy as np
import pytest

from foretell.policies import NsdPsrl
from foretell.policies.parts.delay_fit import fit_delays, theta_estimate
from foretell.policies.parts.open_rewards import OpenRewards, new_open_rewards, open_count
from foretell.policies.parts.open_rewards import open_elapse as elapse
from foretell.policies.parts.theta import Rewards, add_reward, new_rewards
from foretell.policies.state import fingerprint
from foretell.types import Problem
from tests.reference.open_rewards import WaitingDecision, known_decisions

SIGNALS = 3
TYPICAL = (40.0, 100.0, 700.0)
START = 10_000


def begun() -> OpenRewards:
    rewards = new_open_rewards(NsdPsrl(censored=True, typical_delay=TYPICAL), Problem(2, SIGNALS))
    elapse(rewards, START)
    return rewards


def count(rewards: OpenRewards, one: WaitingDecision, by: int = 1) -> None:
    open_count(rewards, *one, by)


def drawn(rng: np.random.Generator, now: int, number: int = 300) -> list[WaitingDecision]:
    """Draw decisions made up to now, in the order of time; a third of them has a reward."""
    made = np.sort(rng.integers(START, now + 1, number)).tolist()
    decisions = []
    for tick in made:
        delay = int(rng.integers(0, now - tick + 1)) if rng.random() < 1 / 3 else -1
        reward = float(rng.integers(1, 5)) / 4 if delay >= 0 else 0.0
        closed = bool(rng.random() < 0.2)
        decisions.append(WaitingDecision(tick, int(rng.integers(SIGNALS)), delay, reward, closed))
    return decisions


@pytest.mark.parametrize("seed", range(8))
def test_what_is_known_depends_on_the_decisions_and_the_present_alone(seed: int) -> None:
    rng = np.random.default_rng(seed)
    now = START + int(rng.choice([5, 900, 40_000, 2_000_000]))
    decisions = drawn(rng, now)
    at_the_end = begun()
    elapse(at_the_end, now)
    for index in rng.permutation(len(decisions)).tolist():
        count(at_the_end, decisions[index])
    as_they_came, waiting = begun(), []
    for one in decisions:
        unheard = one._replace(delay=-1, reward=0.0, closed=False)
        elapse(as_they_came, one.made)
        count(as_they_came, unheard)
        waiting.append((unheard, one))
        for _ in range(int(rng.integers(3))):
            if waiting:
                before, after = waiting.pop(int(rng.integers(len(waiting))))
                count(as_they_came, before, -1)
                count(as_they_came, after)
    elapse(as_they_came, now)
    for before, after in waiting:
        count(as_they_came, before, -1)
        count(as_they_came, after)
    assert fingerprint(as_they_came) == fingerprint(at_the_end)
    open_ones = sum(not one.closed for one in decisions)
    assert at_the_end.silent.sum() + at_the_end.arrived.sum() == open_ones


def test_what_is_undone_was_never_there() -> None:
    rng = np.random.default_rng(1)
    rewards = begun()
    elapse(rewards, START + 5000)
    before = fingerprint(rewards)
    decisions = drawn(rng, START + 5000)
    for one in decisions:
        count(rewards, one)
    assert fingerprint(rewards) != before
    for one in reversed(decisions):
        count(rewards, one, -1)
    assert fingerprint(rewards) == before


def closed_ones(decisions: list[WaitingDecision]) -> Rewards:
    theta = new_rewards(SIGNALS)
    for one in decisions:
        if one.closed:
            add_reward(theta, one.signal, one.reward)
    return theta


@pytest.mark.parametrize("seed", range(6))
def test_cells_count_as_sums_over_all_decisions_do(seed: int) -> None:
    rng = np.random.default_rng(seed)
    now = START + int(rng.choice([60, 900, 5000]))
    decisions = drawn(rng, now, 1000)
    rewards, theta = begun(), closed_ones(decisions)
    for one in decisions:
        elapse(rewards, one.made)
        count(rewards, one)
    elapse(rewards, now)
    fit_delays(rewards, theta)
    for signal, typical in enumerate(TYPICAL):
        exact = known_decisions(decisions, signal, now, typical)
        assert rewards.scratch_known[signal] == pytest.approx(exact, rel=0.03)
        paid = sum(one.reward for one in decisions if one.signal == signal)
        known = theta.counts[signal] + rewards.scratch_known[signal]
        assert theta_estimate(theta, rewards, signal) * known == pytest.approx(paid)


def test_a_fit_depends_on_what_is_known_and_not_on_earlier_fits() -> None:
    decisions = drawn(np.random.default_rng(4), START + 3000)
    known = []
    for look_often in (True, False):
        rewards, theta = begun(), closed_ones(decisions)
        for one in decisions:
            elapse(rewards, one.made)
            count(rewards, one)
            if look_often:
                fit_delays(rewards, theta)
        fit_delays(rewards, theta)
        known.append(rewards.scratch_known.tobytes())
    assert known[0] == known[1]


@pytest.mark.parametrize("mean", [30.0, 150.0, 400.0])
def test_theta_is_found_before_windows_close(mean: float) -> None:
    rng = np.random.default_rng(int(mean))
    theta_true, now = 0.4, START + 600
    rewards = new_open_rewards(NsdPsrl(censored=True, typical_delay=mean), Problem(2, 2))
    elapse(rewards, START)
    for tick in range(START, now):
        elapse(rewards, tick)
        delay = int(rng.exponential(mean)) if rng.random() < theta_true else -1
        came = 0 <= delay <= now - 1 - tick
        count(rewards, WaitingDecision(tick, 1, delay if came else -1, float(came), closed=False))
    theta = new_rewards(2)
    fit_delays(rewards, theta)
    assert theta_estimate(theta, rewards, 1) == pytest.approx(theta_true, rel=0.25)
