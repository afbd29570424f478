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
from foretell.policies.parts.cells import ARCHIVE, NONE, Cells, close_cell, find_past, new_cells
from foretell.policies.parts.model_test import evidence_gain
from foretell.policies.parts.theta import Rewards, to_grains
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
LEAST = 1e-4
"""The least variance of residuals."""
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
    """(2,): rewards received, and how many there were at the last look at all cells."""


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
        clock=np.array([0, -EVERY]),
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
def _look(cells: Cells, cell: int, theta: Rewards) -> None:
    """Write down the mean residual of a cell, and how many rewards it rests on."""
    told = 0.0
    excess = 0.0
    for signal in range(cells.seen.shape[1]):
        received = cells.received[cell, signal]
        if received > 0:
            mean = theta.grains[signal] / (GRAIN * max(1, theta.counts[signal]))
            told += received
            excess += cells.grains[cell, signal] / GRAIN - received * mean
    cells.told[cell] = told
    cells.excess[cell] = excess / max(1.0, told)


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
def _foresee(residual: Residual, kind: int, cell: int, noise: float) -> tuple[float, float]:
    """Predict a cell's residual from the others: its mean, and how much speaks for it.

    `kind` is 0 for an open cell, 1 for a closed one.
    """
    cells = residual.open if kind == 0 else residual.past
    reliable = noise / max(residual.spread[0], LEAST)
    weight = 0.0
    total = 0.0
    for group in range(2):
        others = residual.open if group == 0 else residual.past
        for other in range(others.told.size):
            told = others.told[other]
            if told < FEW or (group == kind and other == cell):
                continue
            alike = _likeness(cells, cell, others, other) * told / (told + reliable)
            weight += alike
            total += alike * others.excess[other]
    return total / (weight + DOUBT), weight


@kernel
def _learn_spread(residual: Residual, noise: float) -> None:
    """Learn how large residuals are, and how far from what similar cells say."""
    for step in range(2):
        mass = 0.0
        total = 0.0
        for kind in range(2):
            cells = residual.open if kind == 0 else residual.past
            for cell in range(cells.told.size):
                if cells.told[cell] < FEW:
                    continue
                prior, weight = 0.0, 1.0
                if step == 1:
                    prior, weight = _foresee(residual, kind, cell, noise)
                variance = noise / cells.told[cell]
                weight /= variance + 0.01
                mass += weight
                total += weight * ((cells.excess[cell] - prior) ** 2 - variance)
        if mass > 0.0:
            residual.spread[step] = max(LEAST, total / mass)
        elif step == 1:
            residual.spread[1] = residual.spread[0]
    residual.spread[1] = min(residual.spread[0], residual.spread[1])


@kernel
def _predict(residual: Residual, action: int, noise: float) -> None:
    """Write what is expected of the open cell of an action."""
    told = residual.open.told[action]
    prior, weight = _foresee(residual, 0, action, noise)
    spread = (DOUBT * residual.spread[0] + weight * residual.spread[1]) / (DOUBT + weight)
    precision = 1.0 / max(LEAST, spread)
    plays = 0.0
    for signal in range(residual.open.seen.shape[1]):
        plays += residual.open.seen[action, signal]
    own = told / noise
    total = precision * prior + own * residual.open.excess[action]
    residual.mean[action] = total / (precision + own)
    residual.deviation[action] = math.sqrt(1.0 / (precision + max(plays, told) / noise))


@kernel
def residual_update(residual: Residual, theta: Rewards, action: int) -> None:
    """Predict the residual of an action that was just seen, now and then of all of them."""
    if not doubted(residual):
        return
    noise = _noise(residual, theta)
    first, last = action, action + 1
    if residual.clock[0] - residual.clock[1] >= EVERY:
        residual.clock[1] = residual.clock[0]
        first, last = 0, residual.mean.size
        for cell in range(ARCHIVE):
            _look(residual.past, cell, theta)
    for each in range(first, last):
        _look(residual.open, each, theta)
    if last - first == residual.mean.size:
        _learn_spread(residual, noise)
    for each in range(first, last):
        _predict(residual, each, noise)
