"""What each action is expected to earn next, from what is known so far.

An action's reward is expected through its signals: the share of each signal among those that the
action has had lately, times the mean reward of that signal. Since only what is known before a
decision enters, a wrong model makes estimates wider and never biased.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from foretell.kernel import kernel
from foretell.types import Floats

MEMORY = 500.0
"""Signals of an action after which an old one counts 1/e: laws change."""
PRIOR = 2.0
"""Signals of an average action that every action has before its own."""


class RewardModel(NamedTuple):
    """Signals of each action, old ones counting less, and rewards by signal."""

    signals: Floats
    """(actions, signals)"""
    shown: Floats
    """(actions,): the sum of each row."""
    all_signals: Floats
    """(signals,): counts over all actions."""
    rewards: Floats
    """(signals,): sums of unit rewards."""
    paid: Floats
    """(signals,): how many rewards are in each sum."""
    totals: Floats
    """(3,): signals, rewards, and the sum of rewards."""


def new_reward_model(actions: int, signals: int) -> RewardModel:
    """Return a model that knows nothing."""
    return RewardModel(
        np.zeros((actions, signals)),
        np.zeros(actions),
        np.zeros(signals),
        np.zeros(signals),
        np.zeros(signals),
        np.zeros(3),
    )


@kernel
def model_observe(model: RewardModel, action: int, signal: int) -> None:
    """Learn the signal of an action."""
    keep = 1.0 - 1.0 / MEMORY
    for other in range(model.all_signals.size):
        model.signals[action, other] *= keep
    model.shown[action] = model.shown[action] * keep + 1.0
    model.signals[action, signal] += 1.0
    model.all_signals[signal] += 1.0
    model.totals[0] += 1.0


@kernel
def model_credit(model: RewardModel, signal: int, reward: float) -> None:
    """Learn the reward that followed a signal."""
    model.rewards[signal] += reward
    model.paid[signal] += 1.0
    model.totals[1] += 1.0
    model.totals[2] += reward


@kernel
def expected_reward(model: RewardModel, action: int) -> float:
    """Return what an action is expected to earn, in unit rewards."""
    overall = (model.totals[2] + 0.5) / (model.totals[1] + 1.0)
    size = model.all_signals.size
    expected = 0.0
    for signal in range(size):
        average = (model.all_signals[signal] + 1.0 / size) / (model.totals[0] + 1.0)
        share = (model.signals[action, signal] + PRIOR * average) / (model.shown[action] + PRIOR)
        expected += share * (model.rewards[signal] + overall) / (model.paid[signal] + 1.0)
    return expected
