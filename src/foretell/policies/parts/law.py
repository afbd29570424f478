"""Counts of signals per action, over all rounds or over a window of the latest ones.

[Vernade2020, Eq. (2)]: N^W_t(a) counts the plays of a in the last W rounds, and the law of a is
estimated by the share of each signal among them. A play whose signal is not there yet counts in
N^W_t(a) but not in the estimate, so that it does not bias it. Every update is O(1): the round
that leaves the window is found in a ring, by its number. The ring has room for a power of two, so
that no round has to be divided.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from foretell.kernel import kernel

if TYPE_CHECKING:
    from foretell.types import Bools, Ints

NOTHING = -1
"""Marks an index of the ring without a play, or a play without its signal."""


class Law(NamedTuple):
    """Signals seen, by action: what is known about the law p_t(signal | action)."""

    counts: Ints
    """(actions, signals): signals seen in the window."""
    seen: Ints
    """(actions,): their sum over signals."""
    plays: Ints
    """(actions,): plays in the window, signal seen or not: N^W_t(a) before max{1, ·}."""
    ever: Bools
    """(actions,): played at least once, in the window or before it."""
    window: int
    """The rounds that are counted; 0 for all of them."""
    action: npt.NDArray[np.int32]
    """(room,): the action of round t at index t mod room; empty without a window."""
    signal: npt.NDArray[np.int32]
    """(room,): its signal."""
    clock: Ints
    """(1,): the rounds played so far."""


def new_law(actions: int, signals: int, window: int | None) -> Law:
    """Return what is known before the first round: nothing."""
    room = 1 << (window - 1).bit_length() if window else 0
    return Law(
        counts=np.zeros((actions, signals), np.int64),
        seen=np.zeros(actions, np.int64),
        plays=np.zeros(actions, np.int64),
        ever=np.zeros(actions, np.bool_),
        window=window or 0,
        action=np.full(room, NOTHING, np.int32),
        signal=np.full(room, NOTHING, np.int32),
        clock=np.zeros(1, np.int64),
    )


@kernel
def law_play(law: Law, t: int, action: int) -> int:
    """Let round t, with this action, enter the window, and the oldest round leave it.

    Returns the action of the round that left, or NOTHING.
    """
    leaving = NOTHING
    if law.window > 0:
        mask = law.action.size - 1
        oldest = (t - law.window) & mask
        leaving = int(law.action[oldest])
        if leaving != NOTHING:
            law.plays[leaving] -= 1
            signal = law.signal[oldest]
            if signal != NOTHING:
                law.counts[leaving, signal] -= 1
                law.seen[leaving] -= 1
            law.action[oldest] = NOTHING
            law.signal[oldest] = NOTHING
        law.action[t & mask] = action
        law.signal[t & mask] = NOTHING
    law.plays[action] += 1
    law.ever[action] = True
    law.clock[0] = t + 1
    return leaving


@kernel
def law_unplay(law: Law, t: int, action: int) -> None:
    """Stop counting the play of round t, whose signal is not counted any more either."""
    if law.window > 0:
        if t < law.clock[0] - law.window:
            return
        law.action[t & (law.action.size - 1)] = NOTHING
    law.plays[action] -= 1


@kernel
def law_observe(law: Law, t: int, action: int, signal: int) -> None:
    """Count the signal of round t, unless that round has left the window."""
    if law.window > 0:
        if t < law.clock[0] - law.window:
            return
        law.signal[t & (law.action.size - 1)] = signal
    law.counts[action, signal] += 1
    law.seen[action] += 1


@kernel
def law_unobserve(law: Law, t: int, action: int, signal: int) -> None:
    """Undo `law_observe` exactly; a round that has left the window is left alone."""
    if law.window > 0:
        if t < law.clock[0] - law.window:
            return
        law.signal[t & (law.action.size - 1)] = NOTHING
    law.counts[action, signal] -= 1
    law.seen[action] -= 1


@kernel
def law_forget(law: Law) -> None:
    """Drop every count; the next round is round 0."""
    law.counts[:] = 0
    law.seen[:] = 0
    law.plays[:] = 0
    law.ever[:] = False
    law.action[:] = NOTHING
    law.signal[:] = NOTHING
    law.clock[0] = 0
