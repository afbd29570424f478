"""How much more do decisions of the policy earn than those of the holdout?

The interval holds at all times at once, so it may be looked at every day and acted on. With S the
sum of deviations of n rewards of variance v from their means, V = n v and any rho > 0,

    sqrt(rho / (V + rho)) · exp(S² / (2 (V + rho)))

is about a nonnegative martingale that starts at 1 [Robbins1970]; so is the product of one for the
policy and one for the holdout, which by Ville's inequality stays below 20 with probability 95 %.
The interval is the range of the difference of the two means over all that the product allows.
Variances are estimated, so it holds for many rewards: measured, not proved, for few.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from foretell.stats.estimate import Estimate

LEVEL = math.log(20.0)
SHARPEST = 200
"""Rewards at which each part of the interval is about as narrow as it can be."""


class RewardSums(NamedTuple):
    """Settled rewards of a kind: how many, their sum and that of their squares, in [0, 1]."""

    rewards: int
    total: float
    squares: float

    @property
    def mean(self) -> float:
        """Their mean."""
        return self.total / self.rewards

    @property
    def variance(self) -> float:
        """Their variance, with one reward of 0 and one of 1 added: never 0."""
        count = self.rewards + 2
        return (self.squares + 1.0) / count - ((self.total + 1.0) / count) ** 2


def uplift(policy: RewardSums, holdout: RewardSums) -> Estimate | None:
    """Return the mean of one minus that of the other; None where one has no reward.

    >>> found = uplift(RewardSums(5000, 1500, 1500), RewardSums(500, 100, 100))
    >>> print(found)
    0.100 [0.028, 0.172]
    """
    if not policy.rewards or not holdout.rewards:
        return None
    allowed, spread = LEVEL, 0.0
    for sums in (policy, holdout):
        grown = sums.rewards + SHARPEST
        allowed += 0.5 * math.log(grown / SHARPEST)
        spread += grown * sums.variance / sums.rewards**2
    half = math.sqrt(2.0 * allowed * spread)
    mean = policy.mean - holdout.mean
    return Estimate(mean, max(-1.0, mean - half), min(1.0, mean + half))
