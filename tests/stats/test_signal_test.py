"""The evidence against a signal is that of its definition, and seldom misleads, at any time."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from foretell.stats.signal_test import BATCH, POOLED, WITHIN, SignalTest
from foretell.types import GRAIN
from tests.reference.signal_evidence import Entry, evidence


def entered(entries: list[Entry], actions: int, signals: int) -> SignalTest:
    test = SignalTest(actions, signals)
    for entry in entries:
        test.enter([entry])
    return test


@pytest.mark.parametrize("binary", [True, False])
def test_batches_give_what_the_definition_gives(binary: bool) -> None:
    rng = np.random.default_rng(3)
    rewards = rng.random(500).round() if binary else rng.random(500)
    entries = list(
        zip(
            rng.integers(3, size=500).tolist(),
            rng.integers(2, size=500).tolist(),
            rewards.tolist(),
            strict=True,
        )
    )
    by_action, pooled = evidence(entries, 3, 200)
    test = entered(entries, 3, 2)
    assert test.evidence.sum(axis=1) == pytest.approx(by_action)
    assert test.log_evidence()[POOLED] == pytest.approx(pooled)
    mean = sum(math.exp(one - max(by_action)) for one in by_action) / 3
    assert test.log_evidence()[WITHIN] == pytest.approx(max(by_action) + math.log(mean))


@pytest.mark.parametrize("theta", [0.1, 0.5])
def test_evidence_is_1_at_most_in_the_mean_however_actions_are_chosen(theta: float) -> None:
    """All sequences of seven rewards, after actions that depend on the rewards before."""
    rounds = 7
    mean, reached = 0.0, 0.0
    for rewards in itertools.product((0.0, 1.0), repeat=rounds):
        actions = [0]
        for reward in rewards[:-1]:  # stay after a reward, else move on
            actions.append(actions[-1] if reward else 1 - actions[-1])
        entries = [(action, 0, reward) for action, reward in zip(actions, rewards, strict=True)]
        chance = math.prod(theta if reward else 1 - theta for reward in rewards)
        values = [
            float(np.mean(np.exp(evidence(entries[:end], 2, 4)[0]))) for end in range(1, rounds + 1)
        ]
        mean += chance * values[-1]
        reached += chance * (max(values) >= 2)
    assert mean <= 1
    assert reached <= 0.5


def test_a_theta_that_moves_between_periods_is_no_evidence_against_an_action() -> None:
    rng = np.random.default_rng(5)
    alarms = np.zeros(2)
    for _ in range(40):
        test, best = SignalTest(3, 2), 0
        for index in range(1000):
            theta = (0.1, 0.9 - 0.18 * (index // 200))
            if rng.random() < 0.02:
                best = int(rng.integers(3))
            action = best if rng.random() < 0.7 else int(rng.integers(3))
            signal = int(rng.random() < 0.5)
            test.enter([(action, signal, float(rng.random() < theta[signal]))])
        alarms += test.peak >= math.log(20)
    assert alarms[WITHIN] <= 2
    assert alarms[POOLED] >= 38


def test_an_action_whose_signal_means_something_else_is_found() -> None:
    rng = np.random.default_rng(6)
    found = 0
    for _ in range(20):
        test = SignalTest(4, 2)
        for _ in range(1500):
            action, signal = int(rng.integers(4)), int(rng.random() < 0.5)
            theta = 0.02 if not signal else 0.1 if action == 2 else 0.6
            test.enter([(action, signal, float(rng.random() < theta))])
        named = divmod(int(test.evidence.argmax()), 2)
        found += test.peak[WITHIN] >= math.log(20) and named == (2, 1)
    assert found >= 19


def test_a_new_action_changes_no_evidence_and_a_copy_goes_on_alike() -> None:
    rng = np.random.default_rng(7)
    entries = [
        (int(rng.integers(2)), int(rng.integers(2)), float(rng.random() < 0.4)) for _ in range(310)
    ]
    test = entered(entries, 2, 2)
    before = test.log_evidence()
    test.grow(4, 3)
    assert test.log_evidence() == pytest.approx(before)
    copy = SignalTest(4, 3)
    copy.restore(test.arrays())
    for one in (test, copy):
        for entry in entries:
            one.enter([entry])
        one.enter([(3, 2, 1.0)])
    assert {name: array.tobytes() for name, array in copy.arrays().items()} == {
        name: array.tobytes() for name, array in test.arrays().items()
    }
    assert test.clock[0] == 2 * 310 + 1
    assert test.clock[1] % BATCH == 0


@pytest.mark.parametrize(("actions", "signals"), [(1, 2), (3, 2), (12, 9), (40, 20)])
def test_batches_that_are_weighed_together_give_the_bytes_of_one_by_one(
    actions: int, signals: int
) -> None:
    """Also across the ends of periods, and whatever number comes at a time."""
    rng = np.random.default_rng(actions)
    entries = list(
        zip(
            rng.integers(actions, size=2500).tolist(),
            rng.integers(signals, size=2500).tolist(),
            (rng.integers(int(GRAIN), size=2500) / GRAIN).tolist(),
            strict=True,
        )
    )
    alone, together = SignalTest(actions, signals), SignalTest(actions, signals)
    peaks = [alone.peak.tobytes() for entry in entries if alone.enter([entry])]
    filled = [together.fill(entries[first : first + 37]) for first in range(0, 1110, 37)]
    found = together.weigh()
    filled.append(together.fill(entries[1110:]))
    found += together.weigh()
    assert len(found) == sum(filled) == 2500 // BATCH
    assert [one.tobytes() for one in found] == peaks
    assert {name: array.tobytes() for name, array in together.arrays().items()} == {
        name: array.tobytes() for name, array in alone.arrays().items()
    }
