"""Theta where signals are listed weakest first, and where their values are declared.

Before the first reward, independent priors make "silence is best" as likely as "download is
best", and the most certain action looks best. A declared order, theta_1 ≤ theta_2 ≤ …, removes
most of that. It is a declaration that data overrule, never a guess:

* **a draw** is made of independent draws from the posteriors of the signals. While nothing is
  known, neither a reward nor a declared value, it is sorted, which is a draw from the uniform law
  on ordered thetas. Later, neighbours in the wrong order are pooled, weighted by precision, as in
  isotonic regression [Barlow1972], unless their posterior means contradict the order by more than
  OVERRULED deviations;
* **an upper bound** of a signal is lowered to that of a stronger one, U_s = min{U_s' : s' ≥ s,
  L_s ≤ U_s'}: where the order holds this is a bound as good as theirs, and where the lower bound
  L_s is above U_s' the rewards have overruled the order of the two.

Declared values count as rewards that were received before the first round.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from foretell.errors import InvalidInput
from foretell.kernel import kernel
from foretell.policies.parts.theta import Rewards, reward_sum, sample_mean
from foretell.policies.theta_spec import ThetaSpec
from foretell.types import Floats, Problem

OVERRULED = 2.5
"""Deviations between two posterior means from which on their order is that of the data."""


class ThetaPrior(NamedTuple):
    """What is declared: whether signals are ordered, and the rewards that their values count as."""

    ordered: bool
    counts: Floats
    """(signals,): rewards counted before the first one."""
    sums: Floats
    """(signals,): their sum."""
    scratch_blocks: Floats
    """(4, signals): of each block its value, precision and posterior mean, and its end."""


def new_theta_prior(spec: ThetaSpec, problem: Problem) -> ThetaPrior:
    """Return what a spec declares about the signals of a problem."""
    signals = problem.signals
    counts, sums = np.zeros(signals), np.zeros(signals)
    if spec.signal_values is not None:
        values = np.array(spec.signal_values, np.float64)  # None becomes a nan
        if values.size != signals:
            raise InvalidInput(
                f"signal_values must be one for each of the {signals} signals, "
                f"got {values.size}: give what a reward is on average after each, or None"
            )
        known = ~np.isnan(values)
        if problem.rewards == "bounded" and not ((values >= 0.0) & (values <= 1.0))[known].all():
            raise InvalidInput(
                f"signal_values must lie in [0, 1], the unit of policies, "
                f"got {spec.signal_values}: rewards are scaled to it"
            )
        counts[known] = spec.signal_values_weight
        sums[known] = spec.signal_values_weight * values[known]
    return ThetaPrior(bool(spec.ordered), counts, sums, np.zeros((4, signals)))


@kernel
def known_count(theta: Rewards, prior: ThetaPrior, signal: int) -> float:
    """Return the rewards of a signal, declared ones included."""
    return prior.counts[signal] + theta.counts[signal]


@kernel
def known_sum(theta: Rewards, prior: ThetaPrior, signal: int) -> float:
    """Return the sum of the rewards of a signal, declared ones included."""
    return prior.sums[signal] + reward_sum(theta, signal)


@kernel
def sample_theta(
    theta: Rewards, prior: ThetaPrior, gaussian: bool, sample: Floats, rng: np.random.Generator
) -> None:
    """Draw the mean reward of every signal from its posterior, in order where that is declared."""
    for signal in range(len(sample)):
        count = known_count(theta, prior, signal)
        total = known_sum(theta, prior, signal)
        sample[signal] = sample_mean(count, total, gaussian, rng)
    if prior.ordered and _falls(sample):
        put_in_order(theta, prior, gaussian, sample)


@kernel
def put_in_order(theta: Rewards, prior: ThetaPrior, gaussian: bool, sample: Floats) -> None:
    """Sort or pool a draw that falls somewhere; it may be a list, and what is known lists."""
    known = 0.0
    for signal in range(len(sample)):
        known += known_count(theta, prior, signal)
    if known == 0.0:
        _sort(sample)
    else:
        _pool(theta, prior, gaussian, sample)


@kernel
def _sort(values: Floats) -> None:
    for index in range(1, len(values)):
        value = values[index]
        free = index
        while free > 0 and values[free - 1] > value:
            values[free] = values[free - 1]
            free -= 1
        values[free] = value


@kernel
def _falls(values: Floats) -> bool:
    for index in range(1, len(values)):
        if values[index - 1] > values[index]:
            return True
    return False


@kernel
def _pool(theta: Rewards, prior: ThetaPrior, gaussian: bool, sample: Floats) -> None:
    """Pool neighbouring signals whose draws are in the wrong order, and spread their mean."""
    value, precision = prior.scratch_blocks[0], prior.scratch_blocks[1]
    mean, end = prior.scratch_blocks[2], prior.scratch_blocks[3]
    last = -1
    for signal in range(len(sample)):
        last += 1
        count = known_count(theta, prior, signal)
        total = known_sum(theta, prior, signal)
        value[last] = sample[signal]
        if gaussian:
            mean[last] = total / (count + 1.0)
            precision[last] = count + 1.0
        else:
            mean[last] = (total + 1.0) / (count + 2.0)
            precision[last] = (count + 3.0) / (mean[last] * (1.0 - mean[last]))
        while last > 0 and value[last - 1] > value[last]:
            deviation = math.sqrt(1.0 / precision[last - 1] + 1.0 / precision[last])
            if mean[last - 1] - mean[last] > OVERRULED * deviation:
                break
            mass = precision[last - 1] + precision[last]
            share = precision[last] / mass
            value[last - 1] += share * (value[last] - value[last - 1])
            mean[last - 1] += share * (mean[last] - mean[last - 1])
            precision[last - 1] = mass
            last -= 1
        end[last] = signal + 1
    block = 0
    for signal in range(len(sample)):
        if signal >= end[block]:
            block += 1
        sample[signal] = value[block]


@kernel
def order_upper(own: Floats, lower: Floats, upper: Floats) -> None:
    """Write U_s = min{own_s' : s' ≥ s, lower_s ≤ own_s'}, from bounds of each signal alone."""
    least = math.inf
    for signal in range(own.size - 1, -1, -1):
        upper[signal] = own[signal]
        if lower[signal] <= least:
            upper[signal] = min(own[signal], least)
        else:
            for stronger in range(signal + 1, own.size):
                if lower[signal] <= own[stronger]:
                    upper[signal] = min(upper[signal], own[stronger])
        least = min(least, own[signal])
