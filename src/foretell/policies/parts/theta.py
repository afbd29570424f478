"""Counts and sums of the rewards received for each signal: they are never forgotten.

[Vernade2020, Sec. 3]: theta does not change, so its estimate uses every reward that has arrived.
Rewards are whole multiples of 1/GRAIN and summed as integers, so that the order of arrival does
not matter to the last bit.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from foretell.kernel import kernel
from foretell.types import GRAIN

if TYPE_CHECKING:
    from foretell.types import Floats, Ints


class Rewards(NamedTuple):
    """Rewards received, by signal (or by action, for a policy that ignores signals)."""

    counts: Ints
    grains: Ints


def new_rewards(size: int) -> Rewards:
    """Return what is known before the first round: nothing."""
    return Rewards(np.zeros(size, np.int64), np.zeros(size, np.int64))


@kernel
def to_grains(reward: float) -> int:
    """Return a reward as the nearest whole number of grains."""
    return math.floor(reward * GRAIN + 0.5)


@kernel
def add_reward(rewards: Rewards, index: int, reward: float) -> None:
    """Count one reward."""
    rewards.counts[index] += 1
    rewards.grains[index] += to_grains(reward)


@kernel
def remove_reward(rewards: Rewards, index: int, reward: float) -> None:
    """Undo `add_reward` exactly."""
    rewards.counts[index] -= 1
    rewards.grains[index] -= to_grains(reward)


@kernel
def reward_sum(rewards: Rewards, index: int) -> float:
    """Return the sum of the rewards."""
    return rewards.grains[index] / GRAIN


@kernel
def reward_mean(rewards: Rewards, index: int) -> float:
    """Return the mean of the rewards, 0 while there is none."""
    return rewards.grains[index] / (GRAIN * max(1, rewards.counts[index]))


@kernel
def sample_mean(count: float, total: float, gaussian: bool, rng: np.random.Generator) -> float:
    """Draw a mean reward from Beta(1 + sum, 1 + n − sum), or N(sum, 1) / (n + 1) if Gaussian."""
    if gaussian:
        noise = rng.standard_normal() / math.sqrt(count + 1.0)
        return total / (count + 1.0) + noise
    return rng.beta(1.0 + total, 1.0 + count - total)


@kernel
def sample_means(
    rewards: Rewards, gaussian: bool, sample: Floats, rng: np.random.Generator
) -> None:
    """Draw the mean reward of every index, each for itself."""
    for index in range(sample.size):
        count, total = rewards.counts[index], reward_sum(rewards, index)
        sample[index] = sample_mean(count, total, gaussian, rng)


@kernel
def forget_rewards(rewards: Rewards) -> None:
    """Drop everything."""
    rewards.counts[:] = 0
    rewards.grains[:] = 0
