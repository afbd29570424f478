"""What another policy would have earned, from decisions that were drawn with known probabilities.

Each decision has a weight: the probability of its action under the other policy, over the
probability with which it was drawn. Decisions that share one draw form a group, and only groups
are independent of each other given the past. All means are over decisions.

Where the weights, and the rewards that a model expects, depend on nothing but what was known before
a decision, the inverse-propensity and the doubly robust estimates have no bias: each term, minus
what the policy earns at that decision, is a martingale difference [Bibaut2021]. The spread
around the mean also counts how the value moves over time, so that the intervals err on the wide
side. The self-normalised estimate has a bias that vanishes like one over the decisions
[Swaminathan2015].
"""

from __future__ import annotations

import math

import numpy as np

from foretell.stats.estimate import Estimate, Z, score_interval
from foretell.types import Floats, Ints


class Weighted:
    """Decisions with their weights and unit rewards, and what they say about another policy."""

    def __init__(self, weights: Floats, rewards: Floats, groups: Ints) -> None:
        """Take one weight, reward and group for each decision."""
        self.weights = weights
        self.rewards = rewards
        _, self._group = np.unique(groups, return_inverse=True)

    def inverse_propensity(self) -> Estimate:
        """Return the mean of the weighted rewards [Horvitz1952].

        >>> four = Weighted(np.ones(4), np.array([0.0, 1.0, 0.0, 1.0]), np.arange(4))
        >>> four.inverse_propensity().mean
        0.5
        """
        count, even = self.weights.size, self._even_count()
        heaviest = float(self.weights.sum()) / even if even > 0.0 else 1.0
        return self._estimate(self.weights * self.rewards, count, (0.0, heaviest))

    def self_normalised(self) -> Estimate:
        """Return the weighted mean of the rewards, as if the weights had their mean of 1.

        >>> four = Weighted(np.full(4, 3.0), np.array([0.0, 1.0, 0.0, 1.0]), np.arange(4))
        >>> four.self_normalised().mean
        0.5
        """
        total = float(self.weights.sum())
        if total == 0.0:
            return Estimate(math.nan, 0.0, 1.0)
        mean = float(self.weights @ self.rewards) / total
        off = self.weights * (self.rewards - mean) * (self.weights.size / total)
        return self._estimate(mean + off, self._even_count(), (0.0, 1.0))

    def doubly_robust(self, expected: Floats, value: Floats) -> Estimate:
        """Return what a model expects of the policy, put right by what it got wrong [Dudik2014].

        `expected` is what the model expects of the logged actions, `value` of the policy.
        """
        terms = value + self.weights * (self.rewards - expected)
        return self._estimate(terms, self._even_count(), (0.0, 1.0))

    def gain(self, expected: Floats, value: Floats, live: Floats) -> Estimate:
        """Return the doubly robust estimate over the mean reward of the decisions marked `live`."""
        earned = float(self.rewards @ live) / float(live.sum())
        own = live * (self.rewards - earned) * (live.size / live.sum())
        terms = value + self.weights * (self.rewards - expected)
        return self._estimate(terms - earned - own, self._even_count(), (-1.0, 1.0))

    def effective(self) -> float:
        """Return how many decisions of equal weight would say as much [Kish1965].

        >>> Weighted(np.array([1.0, 1.0, 0.0, 0.0]), np.zeros(4), np.arange(4)).effective()
        2.0
        """
        sums = np.bincount(self._group, weights=self.weights)
        square = float(sums @ sums)
        return float(self.weights.sum()) ** 2 / square if square > 0.0 else 0.0

    def _even_count(self) -> float:
        """Return how many decisions of equal weight would be as skewed as these."""
        sums = np.bincount(self._group, weights=self.weights)
        cube = float(np.sum(sums**3))
        return float(sums.sum()) * float(sums @ sums) / cube if cube > 0.0 else 0.0

    def _estimate(self, terms: Floats, count: float, within: tuple[float, float]) -> Estimate:
        """Return the mean of some terms, with the wider of two intervals at each end.

        One is the normal interval. The other inverts the score test for the mean of `count`
        numbers within bounds: where rewards are rare or few decisions weigh much, the spread that
        was seen says too little about what was not.
        """
        mean = float(terms.mean())
        if count == 0.0:
            return Estimate(mean, *within)
        sums = np.bincount(self._group, weights=terms - mean)
        squared_error = float(sums @ sums) / terms.size**2
        half = Z * math.sqrt(squared_error)
        score = score_interval(mean, squared_error * count, count, *within)
        low, high = min(mean - half, score.low), max(mean + half, score.high)
        return Estimate(mean, min(mean, max(within[0], low)), max(mean, min(within[1], high)))
