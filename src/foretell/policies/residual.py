"""What the signals do not explain: a residual per action and segment, kept until it is needed.

The model says that a reward depends on the signal alone. Let it be wrong: in a cell, a segment of
action a, the mean reward is p·theta + b. Until the test of `model_test` rejects the model, b is 0.
Then

* b is predicted from cells with a similar signal law (what looked like this before), with a
  variance learned from how well cells predict each other, and corrected by the cell's own rewards;
* plays whose reward is still on its way already count against the variance. Otherwise an action
  is explored for a whole delay, when its first few plays will tell: the price that makes such
  layers expensive where the model is wrong and its ranking right.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from foretell.kernel import kernel
from foretell.policies.cells import ARCHIVE, NONE, Cells, close_cell, find_past, new_cells
from foretell.policies.model_test import evidence_gain
from foretell.policies.theta import Rewards, to_grains
from foretell.types import GRAIN

if TYPE_CHECKING:
    from foretell.types import Floats, Ints

LEVEL = math.log(1.0 / 0.05)
"""The e-process speaks against the model from here on."""
WIDTH = 0.01
"""Squared distance at which two laws are about alike."""
DOUBT = 0.3
"""What no similar cell weighs."""
FEW = 8
"""Rewards that a cell needs to teach others."""
FLOOR = 0.02
"""The least variance of a reward."""
EVERY = 32
"""Rewards between two looks at all cells."""


class Residual(NamedTuple):
    """Cells, the test, and what is predicted for the open cell of each action."""

    gaussian: bool
    open: Cells
    past: Cells
    closed: Ints
    """(1,): cells closed so far."""
    evidence: Floats
    """(2,): ln of the e-process, and the largest it has been."""
    spread: Floats
    """(2,): variance of residuals, and of their prediction from similar cells."""
    mean: Floats
    deviation: Floats
    """(actions,): of the residual of the open cell; 0 while the model stands."""
    clock: Ints
    """(1,): rewards received."""
    scratch_residual: Floats
    """(cells,): of the open cells, then of the closed ones."""
    scratch_rewards: Floats


def new_residual(actions: int, signals: int, *, gaussian: bool) -> Residual:
    """Open one cell for every action."""
    opened = new_cells(actions, signals)
    opened.first[:] = 0
    return Residual(
        gaussian=gaussian,
        open=opened,
        past=new_cells(ARCHIVE, signals),
        closed=np.zeros(1, np.int64),
        evidence=np.zeros(2),
        spread=np.zeros(2),
        mean=np.zeros(actions),
        deviation=np.zeros(actions),
        clock=np.zeros(1, np.int64),
        scratch_residual=np.zeros(actions + ARCHIVE),
        scratch_rewards=np.zeros(actions + ARCHIVE),
    )


@kernel
def doubted(residual: Residual) -> bool:
    """Tell whether the test has rejected the model."""
    return residual.evidence[1] >= LEVEL


@kernel
def residual_credit(
    residual: Residual, theta: Rewards, t: int, action: int, signal: int, reward: float
) -> None:
    """Count the reward of round t in its cell; call it before theta learns the reward."""
    if t >= residual.open.first[action]:
        _count(residual, residual.open, action, theta, signal, reward)
    else:
        cell = find_past(residual.past, action, t)
        if cell != NONE:
            _count(residual, residual.past, cell, theta, signal, reward)
    residual.clock[0] += 1


@kernel
def _count(
    residual: Residual, cells: Cells, cell: int, theta: Rewards, signal: int, reward: float
) -> None:
    gain = evidence_gain(residual.gaussian, cells, cell, theta, signal, reward)
    residual.evidence[0] += gain
    residual.evidence[1] = max(residual.evidence[1], residual.evidence[0])
    cells.received[cell, signal] += 1
    cells.grains[cell, signal] += to_grains(reward)


@kernel
def residual_close(residual: Residual, action: int, first: int) -> None:
    """Close the cell of an action: its law changed in round `first`."""
    cell = residual.closed[0] % ARCHIVE
    residual.closed[0] += 1
    close_cell(residual.open, residual.past, cell, action, first)


@kernel
def residual_keep(residual: Residual, action: int, signal: int, count: int) -> None:
    """Move signals from the cell just closed to the one that follows it."""
    cell = (residual.closed[0] - 1) % ARCHIVE
    moved = min(count, residual.past.seen[cell, signal])
    residual.past.seen[cell, signal] -= moved
    residual.open.seen[action, signal] += moved


@kernel
def _measure(residual: Residual, cells: Cells, cell: int, theta: Rewards, place: int) -> None:
    """Write the mean residual of a cell, and its rewards, at a place of the scratch arrays."""
    rewards = 0.0
    excess = 0.0
    for signal in range(cells.seen.shape[1]):
        received = cells.received[cell, signal]
        if received > 0:
            mean = theta.grains[signal] / (GRAIN * max(1, theta.counts[signal]))
            rewards += received
            excess += cells.grains[cell, signal] / GRAIN - received * mean
    residual.scratch_rewards[place] = rewards
    residual.scratch_residual[place] = excess / max(1.0, rewards)


@kernel
def _likeness(one: Cells, i: int, other: Cells, j: int) -> float:
    """Give how alike the laws of two cells are: 1 for the same, 0 for unlike ones."""
    signals = one.seen.shape[1]
    n = 0.5 * signals
    m = 0.5 * signals
    for signal in range(signals):
        n += one.seen[i, signal]
        m += other.seen[j, signal]
    distance = 0.0
    for signal in range(signals):
        gap = (one.seen[i, signal] + 0.5) / n - (other.seen[j, signal] + 0.5) / m
        distance += gap * gap
    width = WIDTH + 0.5 / n + 0.5 / m
    return math.exp(-0.5 * distance / width) * WIDTH / width


@kernel
def _noise(residual: Residual, theta: Rewards) -> float:
    """Give the variance of one reward."""
    if residual.gaussian:
        return 1.0
    total = 0.0
    received = 0.0
    for signal in range(theta.counts.size):
        total += theta.grains[signal] / GRAIN
        received += theta.counts[signal]
    mean = total / max(1.0, received)
    return max(FLOOR, mean * (1.0 - mean))


@kernel
def _foresee(
    residual: Residual, cells: Cells, cell: int, itself: int, noise: float
) -> tuple[float, float]:
    """Predict a cell's residual from the others: its mean, and how much speaks for it."""
    actions = residual.open.first.size
    reliable = noise / max(residual.spread[0], 1e-4)
    weight = 0.0
    total = 0.0
    for place in range(actions + ARCHIVE):
        rewards = residual.scratch_rewards[place]
        if place == itself or rewards < FEW:
            continue
        if place < actions:
            alike = _likeness(cells, cell, residual.open, place)
        else:
            alike = _likeness(cells, cell, residual.past, place - actions)
        alike *= rewards / (rewards + reliable)
        weight += alike
        total += alike * residual.scratch_residual[place]
    return total / (weight + DOUBT), weight


@kernel
def residual_predict(residual: Residual, theta: Rewards, action: int) -> None:
    """Write what is expected of the open cell of an action."""
    if not doubted(residual):
        return
    noise = _noise(residual, theta)
    _measure(residual, residual.open, action, theta, action)
    prior, weight = _foresee(residual, residual.open, action, action, noise)
    spread = (DOUBT * residual.spread[0] + weight * residual.spread[1]) / (DOUBT + weight)
    if spread <= 0.0:
        residual.mean[action] = prior
        residual.deviation[action] = 0.0
        return
    plays = 0.0
    for signal in range(residual.open.seen.shape[1]):
        plays += residual.open.seen[action, signal]
    told = residual.scratch_rewards[action] / noise
    plays = max(plays, residual.scratch_rewards[action])
    precision = 1.0 / spread
    residual.mean[action] = (precision * prior + told * residual.scratch_residual[action]) / (
        precision + told
    )
    residual.deviation[action] = math.sqrt(1.0 / (precision + plays / noise))


@kernel
def _measure_all(residual: Residual, theta: Rewards) -> None:
    actions = residual.open.first.size
    for action in range(actions):
        _measure(residual, residual.open, action, theta, action)
    for cell in range(ARCHIVE):
        _measure(residual, residual.past, cell, theta, actions + cell)


@kernel
def _learn_spread(residual: Residual, noise: float) -> None:
    """Learn how large residuals are, and how far from what similar cells say."""
    actions = residual.open.first.size
    for kind in range(2):
        mass = 0.0
        total = 0.0
        for place in range(actions + ARCHIVE):
            rewards = residual.scratch_rewards[place]
            if rewards < FEW:
                continue
            prior, weight = 0.0, 1.0
            if kind == 1 and place < actions:
                prior, weight = _foresee(residual, residual.open, place, place, noise)
            elif kind == 1:
                prior, weight = _foresee(residual, residual.past, place - actions, place, noise)
            variance = noise / rewards
            weight /= variance + 0.01
            mass += weight
            total += weight * ((residual.scratch_residual[place] - prior) ** 2 - variance)
        if mass > 0.0:
            residual.spread[kind] = max(1e-4, total / mass)
        elif kind == 1:
            residual.spread[1] = residual.spread[0]
    residual.spread[1] = min(residual.spread[0], residual.spread[1])


@kernel
def residual_refresh(residual: Residual, theta: Rewards) -> None:
    """Look at all cells again, every few rewards."""
    if not doubted(residual) or residual.clock[0] % EVERY != 0:
        return
    _measure_all(residual, theta)
    _learn_spread(residual, _noise(residual, theta))
    for action in range(residual.open.first.size):
        residual_predict(residual, theta, action)
