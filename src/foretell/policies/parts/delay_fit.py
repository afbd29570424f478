"""How many of the rewards that will come would have come by now? Delays fitted per signal.

A decision of signal s converts with chance c, after an exponential delay of rate r; what is silent
at age e may convert later, or never [Chapelle2014]. EM over the open decisions of a signal: one
that is silent converts later with chance

    w = c exp(−r e) / (1 − c + c exp(−r e)),

and then, with n decisions and X conversions seen before their close,

    c = (X + Σ w + 1/2) / (n + 5)
    r = (X + Σ w + WEIGHT) / (Σ delays + Σ w (e + 1/r) + WEIGHT · typical).

Every fit begins at the declared delay and takes STEPS steps, so that it depends on what is known
and on nothing else, as if it had never been made before. It ends early on purpose: the ridge
between "slow" and "rare" is climbed slowly while little is known, and then the declared delay
counts. Where the delays are not exponential the fit is wrong in shape: a heuristic, measured in
docs/explanation/censored-rewards.md.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from foretell.kernel import kernel
from foretell.policies.parts.open_rewards import CELLS, LEVELS, NOW, OpenRewards
from foretell.policies.parts.ordered_theta import ThetaPrior, sample_theta
from foretell.policies.parts.theta import Rewards
from foretell.types import GRAIN

if TYPE_CHECKING:
    import numpy as np

    from foretell.types import Floats

STEPS = 24
WEIGHT = 20.0
"""Conversions after the declared delay that are assumed to have been seen."""


@kernel
def fit_delays(rewards: OpenRewards, theta: Rewards) -> None:
    """Write how many open decisions of each signal count, where that is not known."""
    if rewards.scratch_stale[0] == 0:
        return
    rewards.scratch_stale[0] = 0
    for signal in range(rewards.typical.size):
        used = _read_cells(rewards, signal)
        rate = _fitted_rate(rewards, theta.counts[signal], signal, used)
        known = 0.0
        for index in range(used):
            known -= rewards.scratch_total[index] * math.expm1(-rate * rewards.scratch_age[index])
        rewards.scratch_known[signal] = known


@kernel
def _read_cells(rewards: OpenRewards, signal: int) -> int:
    """Write the cells of a signal that are not empty; return how many there are.

    A decision of age 0 has been waited for one tick: rewards of a tick come at its end.
    """
    used = 0
    for level in range(LEVELS):
        width = rewards.width << level
        for number in range(rewards.first[level], rewards.first[level] + CELLS):
            column = level * CELLS + number % CELLS
            total = rewards.silent[signal, column] + rewards.arrived[signal, column]
            if total > 0:
                begin = number * width
                last = min(begin + width - 1, rewards.clock[NOW])
                rewards.scratch_age[used] = rewards.clock[NOW] + 1.0 - 0.5 * (begin + last)
                rewards.scratch_silent[used] = rewards.silent[signal, column]
                rewards.scratch_total[used] = total
                used += 1
    return used


@kernel
def _fitted_rate(rewards: OpenRewards, closed: int, signal: int, used: int) -> float:
    """Return the rate at which rewards of a signal come."""
    converted = float(rewards.conversions[signal])
    decisions = float(closed)
    for index in range(used):
        decisions += rewards.scratch_total[index]
    decisions = max(decisions, converted)
    waited = rewards.ticks[signal] + 0.5 * converted + WEIGHT * rewards.typical[signal]
    chance = (converted + 0.5) / (decisions + 5.0)
    rate = 1.0 / rewards.typical[signal]
    for _ in range(STEPS):
        later = 0.0
        waiting = 0.0
        for index in range(used):
            age = rewards.scratch_age[index]
            still = chance * math.exp(-rate * age)
            weight = rewards.scratch_silent[index] * still / (1.0 - chance + still)
            later += weight
            waiting += weight * (age + 1.0 / rate)
        chance = (converted + later + 0.5) / (decisions + 5.0)
        rate = (converted + later + WEIGHT) / (waited + waiting)
    return rate


@kernel
def sample_known_theta(
    theta: Rewards,
    prior: ThetaPrior,
    rewards: OpenRewards,
    gaussian: bool,
    sample: Floats,
    rng: np.random.Generator,
) -> None:
    """Draw theta as `ordered_theta` does, with open decisions where these are counted.

    Of a signal with N known decisions and the rewards X among them that is Beta(1 + X, 1 + N − X).
    """
    if rewards.width == 0:
        sample_theta(theta, prior, gaussian, sample, rng)
        return
    fit_delays(rewards, theta)
    for signal in range(sample.size):
        arrived = 0
        for column in range(rewards.arrived.shape[1]):
            arrived += rewards.arrived[signal, column]
        counts = theta.counts[signal] + arrived
        grains = theta.grains[signal] + rewards.grains[signal]
        silent = max(rewards.scratch_known[signal] - arrived, grains / GRAIN - counts)
        rewards.scratch_counts[signal] = counts
        rewards.scratch_grains[signal] = grains
        rewards.scratch_prior[signal] = prior.counts[signal] + silent
    known = Rewards(rewards.scratch_counts, rewards.scratch_grains)
    besides = ThetaPrior(prior.ordered, rewards.scratch_prior, prior.sums, prior.scratch_blocks)
    sample_theta(known, besides, gaussian, sample, rng)


@kernel
def theta_estimate(theta: Rewards, rewards: OpenRewards, signal: int) -> float:
    """Return X / N of a signal, once `fit_delays` has run: without any decision 0."""
    known = theta.counts[signal] + rewards.scratch_known[signal]
    total = (theta.grains[signal] + rewards.grains[signal]) / GRAIN
    return total / known if known > 0.0 else 0.0
