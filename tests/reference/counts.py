"""What is known at the start of a round, recomputed from the whole past by the paper's formulas.

Rounds are counted from 0. The reward of round u is usable in round t if and only if u < t − D_u.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from foretell.sim.result import Trajectories
from foretell.types import Floats, Ints


class Past(NamedTuple):
    """One round of the past; a delay of None never ends."""

    round: int
    action: int
    signal: int
    reward: float
    delay: int | None


def history(trajectories: Trajectories, run: int) -> list[Past]:
    """Return the rounds of one run."""
    return [
        Past(t, int(action), int(signal), float(reward), None if delay < 0 else int(delay))
        for t, (action, signal, reward, delay) in enumerate(
            zip(*(column[run] for column in trajectories[:4]), strict=True)
        )
    ]


def before(past: list[Past], t: int) -> list[Past]:
    """Keep the rounds before t."""
    return [one for one in past if one.round < t]


def since(past: list[Past], first: int) -> list[Past]:
    """Keep the rounds from `first` on."""
    return [one for one in past if one.round >= first]


def in_window(past: list[Past], t: int, window: float) -> list[Past]:
    """Keep u = (t − W)⁺ … t − 1."""
    return [one for one in past if max(0.0, t - window) <= one.round < t]


def arrived(past: list[Past], t: int) -> list[Past]:
    """Keep the rounds u < t − D_u."""
    return [one for one in past if one.delay is not None and one.round < t - one.delay]


def latest(past: list[Past], window: float) -> list[Past]:
    """Keep the W latest rounds."""
    ordered = sorted(past, key=lambda one: one.round)
    return ordered if math.isinf(window) else ordered[-int(window) :]


def plays(past: list[Past], actions: int) -> Ints:
    """Count the plays of each action."""
    return np.array([sum(one.action == a for one in past) for a in range(actions)])


def transitions(past: list[Past], actions: int, signals: int) -> Ints:
    """Count the signals of each action."""
    return np.array(
        [
            [sum(one.action == a and one.signal == s for one in past) for s in range(signals)]
            for a in range(actions)
        ]
    )


def rewards_of(past: list[Past], signals: int) -> tuple[Ints, Floats]:
    """Count and sum the rewards of each signal."""
    counts = np.array([sum(one.signal == s for one in past) for s in range(signals)])
    sums = np.array([sum(one.reward for one in past if one.signal == s) for s in range(signals)])
    return counts, sums


def segment_start(changes: tuple[int, ...], t: int) -> int:
    """Return the first round of the segment that t belongs to."""
    return max([0, *(change for change in changes if change <= t)])
