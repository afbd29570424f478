"""Rewards that are on their way, found by the round in which they are due.

Where every reward has the same delay, they wait in a ring, by their round. Else in a hashed
timing wheel: a reward due in round r waits in a list at slot r mod size, together with
those due a whole number of turns later. The wheel has as many slots as it has room for rewards
and doubles when it is full, so adding and taking cost O(1) on average for any delay, and memory
is O(rewards on their way). Rewards due in the same round come out in the order of their rounds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from foretell.kernel import kernel
from foretell.types import Floats, Ints

NO_ENTRY = -1


class Pending(NamedTuple):
    """The rewards (one entry each) and the wheel (one list per slot)."""

    due: Ints
    round: Ints
    action: npt.NDArray[np.int32]
    signal: npt.NDArray[np.int32]
    reward: Floats
    delay: Ints
    """The rounds after which a conversion is reported, where rewards are censored."""
    following: npt.NDArray[np.int32]
    """The next entry of the same list, or of the list of free entries."""
    first: npt.NDArray[np.int32]
    last: npt.NDArray[np.int32]
    free: Ints
    """(1,): the first free entry."""


def new_pending(room: int) -> Pending:
    """Make a wheel with room for this many rewards, a power of two."""
    following = np.arange(1, room + 1).astype(np.int32)
    following[room - 1] = NO_ENTRY
    return Pending(
        due=np.zeros(room, np.int64),
        round=np.zeros(room, np.int64),
        action=np.zeros(room, np.int32),
        signal=np.zeros(room, np.int32),
        reward=np.zeros(room, np.float64),
        delay=np.zeros(room, np.int64),
        following=following,
        first=np.full(room, NO_ENTRY, np.int32),
        last=np.full(room, NO_ENTRY, np.int32),
        free=np.zeros(1, np.int64),
    )


@kernel
def pass_ring(pending: Pending, delay: int, t: int, action: int, signal: int, reward: float) -> int:
    """Let the reward of round t wait in the ring, and return the one that is due, or NO_ENTRY.

    Every reward has this delay, and the ring has more room than that.
    """
    mask = pending.first.size - 1
    entry = t & mask
    pending.round[entry] = t
    pending.action[entry] = action
    pending.signal[entry] = signal
    pending.reward[entry] = reward
    return (t - delay) & mask if t >= delay else NO_ENTRY


@kernel
def is_full(pending: Pending) -> bool:
    """Return whether there is no room for another reward."""
    return pending.free[0] == NO_ENTRY


@kernel
def add_pending(
    pending: Pending, due: int, t: int, action: int, signal: int, reward: float, delay: int = 0
) -> None:
    """Let the reward of round t wait until round `due`; there must be room."""
    entry = pending.free[0]
    pending.free[0] = pending.following[entry]
    pending.due[entry] = due
    pending.round[entry] = t
    pending.action[entry] = action
    pending.signal[entry] = signal
    pending.reward[entry] = reward
    pending.delay[entry] = delay
    pending.following[entry] = NO_ENTRY
    index = due & (pending.first.size - 1)
    if pending.first[index] == NO_ENTRY:
        pending.first[index] = entry
    else:
        pending.following[pending.last[index]] = entry
    pending.last[index] = entry


@kernel
def take_due(pending: Pending, t: int) -> int:
    """Take a reward that is due in round t; its entry stays readable until the next is added.

    Returns NO_ENTRY when no more are due.
    """
    index = t & (pending.first.size - 1)
    before = NO_ENTRY
    entry = pending.first[index]
    while entry != NO_ENTRY and pending.due[entry] != t:
        before = entry
        entry = pending.following[entry]
    if entry == NO_ENTRY:
        return NO_ENTRY
    following = pending.following[entry]
    if before == NO_ENTRY:
        pending.first[index] = following
    else:
        pending.following[before] = following
    if following == NO_ENTRY:
        pending.last[index] = before
    pending.following[entry] = pending.free[0]
    pending.free[0] = entry
    return entry


def doubled(pending: Pending) -> Pending:
    """Return a wheel of twice the size with the same rewards; the old one must be full."""
    room = pending.first.size
    larger = new_pending(2 * room)
    for name in ("due", "round", "action", "signal", "reward", "delay"):
        getattr(larger, name)[:room] = getattr(pending, name)
    index = pending.due & (2 * room - 1)
    order = np.lexsort((pending.round, index))
    begins = np.flatnonzero(np.diff(index[order], prepend=-1))
    ends = np.append(begins[1:], room) - 1
    larger.following[order[:-1]] = order[1:]
    larger.following[order[ends]] = NO_ENTRY
    larger.first[index[order[begins]]] = order[begins]
    larger.last[index[order[ends]]] = order[ends]
    larger.free[0] = room
    return larger
