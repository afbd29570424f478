"""Counts and sums of rewards that fade: a reward of s rounds ago weighs gamma^s.

[Garivier2011]: N_t(gamma, a) = sum gamma^(t − s) over the rounds s in which a was played;
here over those whose reward has arrived. A late reward enters with the weight of its round, so
delays do not make it count for more. Weighted sums of reals depend on the order of arrival.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from foretell.errors import InvalidInput
from foretell.kernel import kernel
from foretell.types import Floats, Ints


class DiscountedRewards(NamedTuple):
    """Faded rewards, by action, as of the latest round played."""

    gamma: float
    counts: Floats
    sums: Floats
    clock: Ints
    """(1,): the rounds played so far."""


def new_discounted_rewards(actions: int, gamma: float) -> DiscountedRewards:
    """Return what is known before the first round: nothing."""
    return DiscountedRewards(
        float(gamma), np.zeros(actions), np.zeros(actions), np.zeros(1, np.int64)
    )


def check_gamma(gamma: float) -> None:
    """Refuse a discount outside (0, 1]."""
    if isinstance(gamma, bool) or not isinstance(gamma, (int, float)) or not 0.0 < gamma <= 1.0:
        raise InvalidInput(
            f"gamma is the weight kept per round, in (0, 1], got {gamma!r}: 0.999 forgets about "
            f"1,000 rounds"
        )


@kernel
def discounted_play(rewards: DiscountedRewards, t: int) -> None:
    """Let every reward fade by one round."""
    for action in range(rewards.counts.size):
        rewards.counts[action] *= rewards.gamma
        rewards.sums[action] *= rewards.gamma
    rewards.clock[0] = t + 1


@kernel
def discounted_credit(rewards: DiscountedRewards, t: int, action: int, reward: float) -> None:
    """Count the reward of round t with the weight that is left of it."""
    weight = math.pow(rewards.gamma, float(rewards.clock[0] - 1 - t))
    rewards.counts[action] += weight
    rewards.sums[action] += weight * reward
