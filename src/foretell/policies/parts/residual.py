"""What the signals do not explain: a residual per action and segment, kept until it is needed.

The model says that a reward depends on the signal alone. Let it be wrong: in a segment of
action a the mean reward is p·theta + b. Until `misspecification_test` rejects the model, b is 0.
Then

* b is predicted from segments with a similar signal law (what looked like this before), with a
  variance learned from how well segments predict each other, and corrected by the rewards of the
  segment itself;
* plays whose reward is still on its way already count against the variance. Otherwise an action
  is explored for a whole delay, when its first few plays will tell: the price that makes such
  layers expensive where the model is wrong and its ranking right.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from foretell.kernel import kernel
from foretell.policies.parts.misspecification_test import evidence_gain
from foretell.policies.parts.segments import (
    ARCHIVE,
    NO_SEGMENT,
    Segments,
    close_segment,
    find_closed,
    new_segments,
)
from foretell.policies.parts.theta import Rewards, to_grains
from foretell.types import GRAIN

if TYPE_CHECKING:
    from foretell.types import Floats, Ints

LEVEL = math.log(1.0 / 0.05)
"""The e-process speaks against the model from here on."""
ALIKE = 0.01
"""Squared distance at which two laws are about alike."""
DOUBT = 0.3
"""What no similar segment weighs."""
FEW = 8
"""Rewards that a segment needs to teach others."""
FLOOR = 0.02
"""The least variance of a reward."""
LEAST = 1e-4
"""The least variance of residuals."""
EVERY = 32
"""Rewards between two looks at all segments."""


class Residual(NamedTuple):
    """Segments, the test, and what is predicted for the open segment of each action."""

    gaussian: bool
    open: Segments
    past: Segments
    closed: Ints
    """(1,): segments closed so far."""
    evidence: Floats
    """(2,): ln of the e-process, and the largest it has been."""
    spread: Floats
    """(2,): variance of residuals, and of their prediction from similar segments."""
    mean: Floats
    deviation: Floats
    """(actions,): of the residual of the open segment; 0 while the model stands."""
    clock: Ints
    """(2,): rewards received, and how many there were at the last look at all segments."""


def new_residual(actions: int, signals: int, *, gaussian: bool) -> Residual:
    """Open one segment for every action."""
    opened = new_segments(actions, signals)
    opened.first[:] = 0
    return Residual(
        gaussian=gaussian,
        open=opened,
        past=new_segments(ARCHIVE, signals),
        closed=np.zeros(1, np.int64),
        evidence=np.zeros(2),
        spread=np.zeros(2),
        mean=np.zeros(actions),
        deviation=np.zeros(actions),
        clock=np.array([0, -EVERY]),
    )


@kernel
def doubted(residual: Residual) -> bool:
    """Return whether the test has rejected the model."""
    return residual.evidence[1] >= LEVEL


@kernel
def residual_credit(
    residual: Residual, theta: Rewards, t: int, action: int, signal: int, reward: float
) -> None:
    """Count the reward of round t in its segment; call it before theta learns the reward."""
    if t >= residual.open.first[action]:
        _count(residual, residual.open, action, theta, signal, reward)
    else:
        segment = find_closed(residual.past, action, t)
        if segment != NO_SEGMENT:
            _count(residual, residual.past, segment, theta, signal, reward)
    residual.clock[0] += 1


@kernel
def _count(
    residual: Residual, segments: Segments, segment: int, theta: Rewards, signal: int, reward: float
) -> None:
    gain = evidence_gain(residual.gaussian, segments, segment, theta, signal, reward)
    residual.evidence[0] += gain
    residual.evidence[1] = max(residual.evidence[1], residual.evidence[0])
    segments.received[segment][signal] += 1
    segments.grains[segment][signal] += to_grains(reward)


@kernel
def residual_close(residual: Residual, action: int, first: int) -> None:
    """Close the segment of an action: its law changed in round `first`."""
    segment = residual.closed[0] % ARCHIVE
    residual.closed[0] += 1
    close_segment(residual.open, residual.past, segment, action, first)


@kernel
def residual_keep(residual: Residual, action: int, signal: int, count: int) -> None:
    """Move signals from the segment just closed to the one that follows it."""
    segment = (residual.closed[0] - 1) % ARCHIVE
    moved = min(count, residual.past.seen[segment][signal])
    residual.past.seen[segment][signal] -= moved
    residual.open.seen[action][signal] += moved


@kernel
def _look(segments: Segments, segment: int, theta: Rewards) -> None:
    """Write down the mean residual of a segment, and how many rewards it rests on."""
    told = 0.0
    excess = 0.0
    for signal in range(segments.seen.shape[1]):
        received = segments.received[segment][signal]
        if received > 0:
            mean = theta.grains[signal] / (GRAIN * max(1, theta.counts[signal]))
            told += received
            excess += segments.grains[segment][signal] / GRAIN - received * mean
    segments.told[segment] = told
    segments.excess[segment] = excess / max(1.0, told)


@kernel
def _likeness(one: Segments, i: int, other: Segments, j: int) -> float:
    """Return how alike the laws of two segments are: 1 for the same, 0 for unlike ones."""
    signals = one.seen.shape[1]
    n = 0.5 * signals
    m = 0.5 * signals
    for signal in range(signals):
        n += one.seen[i][signal]
        m += other.seen[j][signal]
    distance = 0.0
    for signal in range(signals):
        gap = (one.seen[i][signal] + 0.5) / n - (other.seen[j][signal] + 0.5) / m
        distance += gap * gap
    width = ALIKE + 0.5 / n + 0.5 / m
    return math.exp(-0.5 * distance / width) * ALIKE / width


@kernel
def _noise(residual: Residual, theta: Rewards) -> float:
    """Return the variance of one reward."""
    if residual.gaussian:
        return 1.0
    total = 0.0
    received = 0.0
    for signal in range(len(theta.counts)):
        total += theta.grains[signal] / GRAIN
        received += theta.counts[signal]
    mean = total / max(1.0, received)
    return max(FLOOR, mean * (1.0 - mean))


@kernel
def _foresee(residual: Residual, kind: int, segment: int, noise: float) -> tuple[float, float]:
    """Predict a segment's residual from the others: its mean, and how much speaks for it.

    `kind` is 0 for an open segment, 1 for a closed one.
    """
    segments = residual.open if kind == 0 else residual.past
    reliable = noise / max(residual.spread[0], LEAST)
    weight = 0.0
    total = 0.0
    for group in range(2):
        others = residual.open if group == 0 else residual.past
        for other in range(len(others.told)):
            told = others.told[other]
            if told < FEW or (group == kind and other == segment):
                continue
            alike = _likeness(segments, segment, others, other) * told / (told + reliable)
            weight += alike
            total += alike * others.excess[other]
    return total / (weight + DOUBT), weight


@kernel
def _learn_spread(residual: Residual, noise: float) -> None:
    """Learn how large residuals are, and how far from what similar segments say."""
    for step in range(2):
        mass = 0.0
        total = 0.0
        for kind in range(2):
            segments = residual.open if kind == 0 else residual.past
            for segment in range(len(segments.told)):
                if segments.told[segment] < FEW:
                    continue
                prior, weight = 0.0, 1.0
                if step == 1:
                    prior, weight = _foresee(residual, kind, segment, noise)
                variance = noise / segments.told[segment]
                weight /= variance + 0.01
                mass += weight
                total += weight * ((segments.excess[segment] - prior) ** 2 - variance)
        if mass > 0.0:
            residual.spread[step] = max(LEAST, total / mass)
        elif step == 1:
            residual.spread[1] = residual.spread[0]
    residual.spread[1] = min(residual.spread[0], residual.spread[1])


@kernel
def _predict(residual: Residual, action: int, noise: float) -> None:
    """Write what is expected of the open segment of an action."""
    told = residual.open.told[action]
    prior, weight = _foresee(residual, 0, action, noise)
    spread = (DOUBT * residual.spread[0] + weight * residual.spread[1]) / (DOUBT + weight)
    precision = 1.0 / max(LEAST, spread)
    plays = 0.0
    for signal in range(residual.open.seen.shape[1]):
        plays += residual.open.seen[action][signal]
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
        first, last = 0, len(residual.mean)
        for segment in range(ARCHIVE):
            _look(residual.past, segment, theta)
    for each in range(first, last):
        _look(residual.open, each, theta)
    if last - first == len(residual.mean):
        _learn_spread(residual, noise)
    for each in range(first, last):
        _predict(residual, each, noise)
