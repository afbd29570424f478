"""The W latest rounds of a set, added in any order.

Rewards arrive out of order, and a window over *arrived* rewards holds the W latest rounds among
them. Rounds are kept in a hash table with linear probing, home place `round mod size`, ordered
inside a run of occupied places by (home, round); so the table depends on the set alone and not
on the order of arrival. The oldest round only moves forward once the window is full, so looking
for the next oldest costs O(1) per round, amortised, and nothing ever passes over the window.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from foretell.kernel import kernel

if TYPE_CHECKING:
    from foretell.types import Ints

EMPTY = -1
NEVER = 2**62


class Latest(NamedTuple):
    """A set of at most `window` rounds, each with its action and its reward in grains."""

    window: int
    rounds: Ints
    """(size,): the round at each place, or EMPTY; size is a power of two, over 2 · window."""
    action: npt.NDArray[np.int32]
    grains: Ints
    span: Ints
    """(2,): how many rounds are held, and a round that none of them is older than."""


def new_latest(window: int) -> Latest:
    """Hold nothing yet."""
    size = 1 << (2 * window).bit_length()
    return Latest(
        window=window,
        rounds=np.full(size, EMPTY, np.int64),
        action=np.full(size, EMPTY, np.int32),
        grains=np.zeros(size, np.int64),
        span=np.array([0, NEVER]),
    )


@kernel
def _comes_before(one: int, other: int, place: int, mask: int) -> bool:
    """Tell whether round `one` stands before `other` in the run that reaches `place`."""
    far = (place - one) & mask
    other_far = (place - other) & mask
    return far > other_far or (far == other_far and one < other)


@kernel
def _insert(latest: Latest, t: int, action: int, grains: int) -> None:
    mask = latest.rounds.size - 1
    place = t & mask
    while latest.rounds[place] != EMPTY:
        other = latest.rounds[place]
        if _comes_before(t, other, place, mask):
            other_action = latest.action[place]
            other_grains = latest.grains[place]
            latest.rounds[place] = t
            latest.action[place] = action
            latest.grains[place] = grains
            t = other
            action = other_action
            grains = other_grains
        place = (place + 1) & mask
    latest.rounds[place] = t
    latest.action[place] = action
    latest.grains[place] = grains


@kernel
def _find(latest: Latest, t: int) -> int:
    """Give the place of round t, or EMPTY."""
    mask = latest.rounds.size - 1
    place = t & mask
    while latest.rounds[place] != EMPTY:
        other = latest.rounds[place]
        if other == t:
            return place
        if _comes_before(t, other, place, mask):
            return EMPTY
        place = (place + 1) & mask
    return EMPTY


@kernel
def _delete(latest: Latest, place: int) -> None:
    """Empty a place, moving back what follows it in its run."""
    mask = latest.rounds.size - 1
    following = (place + 1) & mask
    while latest.rounds[following] != EMPTY and latest.rounds[following] & mask != following:
        latest.rounds[place] = latest.rounds[following]
        latest.action[place] = latest.action[following]
        latest.grains[place] = latest.grains[following]
        place = following
        following = (following + 1) & mask
    latest.rounds[place] = EMPTY
    latest.action[place] = EMPTY
    latest.grains[place] = 0


@kernel
def add_latest(latest: Latest, t: int, action: int, grains: int) -> tuple[bool, int, int]:
    """Add round t; tell whether it was taken, and the action and grains it pushed out.

    The action pushed out is EMPTY when nothing was.
    """
    full = latest.span[0] == latest.window
    if full and t < latest.span[1]:
        return False, EMPTY, 0
    _insert(latest, t, action, grains)
    if not full:
        latest.span[0] += 1
        latest.span[1] = min(latest.span[1], t)
        return True, EMPTY, 0
    oldest = _find(latest, latest.span[1])
    gone_action = latest.action[oldest]
    gone_grains = latest.grains[oldest]
    _delete(latest, oldest)
    following = latest.span[1] + 1
    while _find(latest, following) == EMPTY:
        following += 1
    latest.span[1] = following
    return True, gone_action, gone_grains


@kernel
def drop_before(latest: Latest, oldest: int) -> tuple[int, int]:
    """Let no round before `oldest` be held, given that none before `oldest - 1` is.

    Gives the action and grains of the round that left, EMPTY when none did.
    """
    latest.span[1] = oldest
    place = _find(latest, oldest - 1)
    if place == EMPTY:
        return EMPTY, 0
    action = latest.action[place]
    grains = latest.grains[place]
    _delete(latest, place)
    latest.span[0] -= 1
    return action, grains


@kernel
def remove_latest(latest: Latest, t: int, oldest: int) -> bool:
    """Undo `add_latest` of a round that pushed nothing out; tell whether it is still held.

    `oldest` is what `drop_before` was last given, 0 or less before its first time.
    """
    place = _find(latest, t)
    if place == EMPTY:
        return False
    _delete(latest, place)
    latest.span[0] -= 1
    if oldest <= 0:
        latest.span[1] = NEVER
        for other in latest.rounds:
            if other != EMPTY:
                latest.span[1] = min(latest.span[1], other)
    return True
