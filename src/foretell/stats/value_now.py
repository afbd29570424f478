"""What would each action earn now? Draws from what is believed, and what they say together.

The belief about an action is a few hypotheses "its law has been the same since then", each with a
weight and the signals seen since; about a signal, the rewards received after it; and about what
the signals do not explain, a residual with its deviation. A draw takes a hypothesis by weight, a
law from Dirichlet(1 + signals), theta from Beta(1 + sum, 1 + rewards − sum), and the residual from
its normal law: the value is p·theta + residual.

A residual that rests on the action's own rewards is their mean minus what their signals promised.
So p·theta + residual is the mean of these rewards, however p and theta were drawn: their luck
cancels. `cancelled` is the share of it that does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from foretell.stats.estimate import Estimate
from foretell.types import Bools, Floats

MOST_DRAWS, FEWEST_DRAWS = 4000, 500
NUMBERS = 1_000_000
"""Random numbers that are drawn, about: large problems have fewer draws."""


AGRESTI = 2.0
"""Rewards of 1, and as many of 0, that are added before a variance is estimated."""


class Belief(NamedTuple):
    """What is believed of every action and signal."""

    weights: Floats
    """(actions, hypotheses): they sum to 1."""
    seen: Floats
    """(actions, hypotheses, signals): signals since the last change."""
    rewards: Floats
    """(signals,): rewards received."""
    sums: Floats
    """(signals,): their sums, in unit rewards."""
    residual: Floats
    deviation: Floats
    """(actions,): what the signals do not explain, 0 where they are trusted."""
    cancelled: Floats
    """(actions,): the weight of the action's own rewards in its residual, from 0 to 1."""


class ValuesNow(NamedTuple):
    """The value of each action, and the probability that it is the best."""

    values: list[Estimate]
    best: Floats


def residual_deviation(prior: Floats, weight: Floats, rewards: Floats, sums: Floats) -> Floats:
    """Return the deviation of residuals that weigh an action's own rewards with `weight`.

    `prior` is the variance of what was expected before. The rest is the variance of the action's
    own rewards, which is that of an action like it: not that of all rewards, as one that earns
    little also varies little.
    """
    # sums may lie outside of what so few rewards can sum to, while corrections are under way
    mean = np.clip((sums + AGRESTI) / (rewards + 2 * AGRESTI), 0.0, 1.0)
    own = mean * (1.0 - mean) / np.maximum(1.0, rewards)
    deviation: Floats = np.sqrt((1.0 - weight) ** 2 * prior + weight**2 * own)
    return deviation


def values_now(belief: Belief, eligible: Bools, rng: np.random.Generator) -> ValuesNow:
    """Return what a belief says; only eligible actions can be the best."""
    drawn = _draw(belief, rng)
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    ends = zip(drawn.mean(axis=0).tolist(), low.tolist(), high.tolist(), strict=True)
    values = [Estimate(*(min(1.0, max(0.0, end)) for end in one)) for one in ends]
    best = np.zeros(eligible.size)
    if eligible.any():
        winners = np.where(eligible, drawn, -np.inf).argmax(axis=1)
        best = np.bincount(winners, minlength=eligible.size) / len(drawn)
    return ValuesNow(values, best)


def _draw(belief: Belief, rng: np.random.Generator) -> Floats:
    """Return (draws, actions): values drawn from a belief."""
    actions, _, signals = belief.seen.shape
    draws = max(FEWEST_DRAWS, min(MOST_DRAWS, NUMBERS // (actions * signals)))
    failed = np.maximum(0.0, belief.rewards - belief.sums)
    theta = rng.beta(1.0 + belief.sums, 1.0 + failed, (draws, signals))
    expected = (1.0 + belief.sums) / (2.0 + belief.sums + failed)
    drawn = np.empty((draws, actions))
    for action in range(actions):
        which = (rng.random(draws)[:, None] > belief.weights[action].cumsum()[:-1]).sum(axis=1)
        likely = 1.0 + belief.seen[action, which]
        law = rng.standard_gamma(likely)
        value = (law * theta).sum(axis=1) / law.sum(axis=1)
        centre = likely @ expected / likely.sum(axis=1)
        drawn[:, action] = value + belief.cancelled[action] * (centre - value)
    luck = rng.standard_normal((draws, actions))
    return drawn + belief.residual + belief.deviation * luck
