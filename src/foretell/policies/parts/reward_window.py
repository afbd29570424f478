"""A window over arrived rewards: the W latest rounds of a set, added in any order.

Rewards arrive out of order, and a window over *arrived* rewards holds the W latest rounds among
them. Rounds are kept in a hash table with linear probing, home slot `round mod size`, ordered
inside a run of occupied slots by (home, round); so the table depends on the set alone and not
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
"""Marks a slot without a round."""
NO_ROUND = 2**62
"""Later than any round."""


class RewardWindow(NamedTuple):
    """A set of at most `window` rounds, each with its action and its reward in grains."""

    window: int
    rounds: Ints
    """(size,): the round in each slot, or EMPTY; size is a power of two, over 2 · window."""
    action: npt.NDArray[np.int32]
    grains: Ints
    span: Ints
    """(2,): how many rounds are held, and a round that none of them is older than."""


def new_reward_window(window: int) -> RewardWindow:
    """Return a window that holds nothing yet."""
    size = 1 << (2 * window).bit_length()
    return RewardWindow(
        window=window,
        rounds=np.full(size, EMPTY, np.int64),
        action=np.full(size, EMPTY, np.int32),
        grains=np.zeros(size, np.int64),
        span=np.array([0, NO_ROUND]),
    )


@kernel
def _comes_before(one: int, other: int, index: int, mask: int) -> bool:
    """Return whether round `one` stands before `other` in the run that reaches `index`."""
    far = (index - one) & mask
    other_far = (index - other) & mask
    return far > other_far or (far == other_far and one < other)


@kernel
def _insert(held: RewardWindow, t: int, action: int, grains: int) -> None:
    mask = held.rounds.size - 1
    index = t & mask
    while held.rounds[index] != EMPTY:
        other = held.rounds[index]
        if _comes_before(t, other, index, mask):
            other_action = held.action[index]
            other_grains = held.grains[index]
            held.rounds[index] = t
            held.action[index] = action
            held.grains[index] = grains
            t = other
            action = other_action
            grains = other_grains
        index = (index + 1) & mask
    held.rounds[index] = t
    held.action[index] = action
    held.grains[index] = grains


@kernel
def _find(held: RewardWindow, t: int) -> int:
    """Return the index of round t, or EMPTY."""
    mask = held.rounds.size - 1
    index = t & mask
    while held.rounds[index] != EMPTY:
        other = held.rounds[index]
        if other == t:
            return index
        if _comes_before(t, other, index, mask):
            return EMPTY
        index = (index + 1) & mask
    return EMPTY


@kernel
def _delete(held: RewardWindow, index: int) -> None:
    """Empty a slot, moving back what follows it in its run."""
    mask = held.rounds.size - 1
    following = (index + 1) & mask
    while held.rounds[following] != EMPTY and held.rounds[following] & mask != following:
        held.rounds[index] = held.rounds[following]
        held.action[index] = held.action[following]
        held.grains[index] = held.grains[following]
        index = following
        following = (following + 1) & mask
    held.rounds[index] = EMPTY
    held.action[index] = EMPTY
    held.grains[index] = 0


@kernel
def window_add(held: RewardWindow, t: int, action: int, grains: int) -> tuple[bool, int, int]:
    """Add round t; return whether it was taken, and the action and grains it pushed out.

    The action pushed out is EMPTY when nothing was.
    """
    full = held.span[0] == held.window
    if full and t < held.span[1]:
        return False, EMPTY, 0
    _insert(held, t, action, grains)
    if not full:
        held.span[0] += 1
        held.span[1] = min(held.span[1], t)
        return True, EMPTY, 0
    oldest = _find(held, held.span[1])
    gone_action = held.action[oldest]
    gone_grains = held.grains[oldest]
    _delete(held, oldest)
    following = held.span[1] + 1
    while _find(held, following) == EMPTY:
        following += 1
    held.span[1] = following
    return True, gone_action, gone_grains


@kernel
def window_drop_before(held: RewardWindow, oldest: int) -> tuple[int, int]:
    """Let no round before `oldest` be held, given that none before `oldest - 1` is.

    Returns the action and grains of the round that left, EMPTY when none did.
    """
    held.span[1] = oldest
    index = _find(held, oldest - 1)
    if index == EMPTY:
        return EMPTY, 0
    action = held.action[index]
    grains = held.grains[index]
    _delete(held, index)
    held.span[0] -= 1
    return action, grains


@kernel
def window_remove(held: RewardWindow, t: int, oldest: int) -> bool:
    """Undo `window_add` of a round that pushed nothing out; return whether it was still held.

    `oldest` is what `window_drop_before` was last given, 0 or less before its first time.
    """
    index = _find(held, t)
    if index == EMPTY:
        return False
    _delete(held, index)
    held.span[0] -= 1
    if oldest <= 0:
        held.span[1] = NO_ROUND
        for other in held.rounds:
            if other != EMPTY:
                held.span[1] = min(held.span[1], other)
    return True
