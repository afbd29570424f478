"""Does the meaning of signals move? The filter of `run_length`, on the rewards of each signal.

Each signal has a few hypotheses "its mean reward last changed in round r", with a weight and the
rewards of the rounds since. How often means change, and whether together, is learned as it is for
laws. Nothing of it is used while a fixed theta explains the rewards: the filter predicts each
reward from those before it, and the prediction is compared with the best fixed theta in hindsight,

    ln E = sum over rewards of ln(predicted likelihood) − sum_s ln(largest likelihood of s)

Where E[reward | action, signal, past] = theta_s, E is at most a nonnegative martingale that starts
at 1, as in `misspecification_test`: E ever exceeds 1/delta with probability at most delta.

**Theta by period against theta by action.** Both kinds of a wrong model reject a fixed theta in
the end: where theta moves, actions that were played at other times differ as well; where the action
matters, the mean after a signal moves with what is played. So the two tests are set against each
other. Both are likelihoods of the same rewards over the same largest one, so their ratio is a Bayes
factor: theta moves where E is 20 and 20 times the evidence by action. That is still a test of a
fixed theta, only stricter. That it takes one wrong model for the other seldom is no theorem.

A reward of a round before r does not count for the hypothesis, whenever it arrives, and says
nothing about it; a reward that is late begins no hypothesis.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from foretell.kernel import kernel
from foretell.policies.parts.misspecification_test import likelihood, log_best_gain
from foretell.policies.parts.run_length import (
    LEARNED,
    NONE,
    RunLengths,
    age_runs,
    draw_run,
    new_run_lengths,
    normalise_runs,
    settle_runs,
)
from foretell.policies.parts.theta import Rewards, new_rewards, to_grains
from foretell.types import GRAIN, Floats

LEVEL = math.log(1.0 / 0.05)
"""The evidence speaks against a fixed theta from here on."""


class MovingTheta(NamedTuple):
    """When the mean reward of each signal may have changed, and the evidence that any did."""

    gaussian: bool
    runs: RunLengths
    """Of signals in place of actions; `counts` are the sums of rewards, `totals` their number."""
    evidence: Floats
    """(1,): ln E."""
    scratch_since: Rewards
    """The rewards since a change that was drawn."""


def new_moving_theta(signals: int, *, gaussian: bool) -> MovingTheta:
    """Return what is known before the first reward: one empty hypothesis for every signal."""
    runs = new_run_lengths(signals, 1, 0.0, LEARNED)
    return MovingTheta(gaussian, runs, np.zeros(1), new_rewards(signals))


@kernel
def theta_moves(moving: MovingTheta, by_action: float) -> bool:
    """Return whether theta moves, where `by_action` is ln E of the test by action."""
    return moving.evidence[0] >= LEVEL + max(0.0, by_action)


@kernel
def moving_credit(moving: MovingTheta, theta: Rewards, t: int, signal: int, reward: float) -> None:
    """Learn the reward of round t; call it before `theta`, all rewards, learns it."""
    runs = moving.runs
    kept, fresh = 1.0, NONE
    if t >= runs.last[signal]:
        kept, fresh = age_runs(runs, signal, t)
    weights, starts = runs.weight[signal], runs.start[signal]
    sums, totals = runs.counts[signal], runs.totals[signal]
    older = 0.0
    fit = 0.0
    younger = False
    grains = to_grains(reward)
    for index in range(runs.used[signal]):
        weight = 1.0 - kept if index == fresh else kept * weights[index]
        if starts[index] <= t:
            received, total = sums[index][0], totals[index]
            older += weight
            weight *= likelihood(moving.gaussian, reward, received / GRAIN, total)
            fit += weight
            sums[index][0] = received + grains
            totals[index] = total + 1
        else:
            younger = True
        weights[index] = weight
    if older == 0.0:
        return
    if younger:
        for index in range(runs.used[signal]):
            if starts[index] > t:
                weights[index] *= fit / older
    best = log_best_gain(moving.gaussian, theta, signal, reward)
    moving.evidence[0] += math.log(fit / older) - best
    normalise_runs(runs, signal)
    settle_runs(runs, signal, runs.last[signal])


@kernel
def draw_since(moving: MovingTheta, rng: np.random.Generator) -> None:
    """Draw a last change for every signal, and write down the rewards since."""
    runs = moving.runs
    for signal in range(len(runs.used)):
        index = draw_run(runs, signal, runs.last[signal], 0.0, rng)
        moving.scratch_since.counts[signal] = runs.totals[signal, index]
        moving.scratch_since.grains[signal] = runs.counts[signal, index, 0]
