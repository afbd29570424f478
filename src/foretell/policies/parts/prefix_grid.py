"""Running totals of a stream at few, well-spaced earlier moments.

A change test compares what came before a split with what came after it. Testing every split costs
O(n) per observation; here the splits are a geometric grid in age. Level l keeps the running totals
at the w = GRID_WIDTH latest multiples of 2^l, so every split among the latest w observations can
be tested, every second among the next w, every fourth among the 2w after these, and so on:
O(log n) splits, the age of the nearest one wrong by a quarter at most. Adding is O(1) amortised.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from foretell.kernel import kernel
from foretell.types import Ints

GRID_WIDTH = 8
"""Totals kept per level: a power of two."""

MOST_LEVELS = 40


class PrefixGrid(NamedTuple):
    """For every stream: how long it is, its totals, and its totals at the moments of the grid."""

    length: Ints
    """(streams,)"""
    total: Ints
    """(streams, components)"""
    kept: Ints
    """(streams, levels, w, components): the total at moment m 2^l, at index m mod w."""


def new_prefix_grid(streams: int, components: int, longest: int | None) -> PrefixGrid:
    """Return an empty grid; `longest` is the most observations that one stream can have."""
    levels = MOST_LEVELS if longest is None else max(1, math.ceil(math.log2(longest + 1)) - 2)
    return PrefixGrid(
        length=np.zeros(streams, np.int64),
        total=np.zeros((streams, components), np.int64),
        kept=np.zeros((streams, levels, GRID_WIDTH, components), np.int64),
    )


@kernel
def grid_add(grid: PrefixGrid, stream: int, component: int, amount: int) -> None:
    """Let one observation add `amount` to one component of a stream."""
    grid.total[stream, component] += amount
    moment = grid.length[stream] + 1
    grid.length[stream] = moment
    level = 0
    while level < grid.kept.shape[1]:
        index = moment % GRID_WIDTH
        for each in range(grid.total.shape[1]):
            grid.kept[stream, level, index, each] = grid.total[stream, each]
        if moment % 2 == 1:
            return
        moment //= 2
        level += 1


@kernel
def grid_before(length: int, moment: int, level: int) -> tuple[int, int]:
    """Return the split that comes next, going back in time, and its level; 0 when there is none.

    Begin with `moment = length` and `level = 0`.
    """
    following = (moment - 1) >> level << level
    while following > 0 and (length >> level) - (following >> level) >= GRID_WIDTH:
        level += 1
        following = (moment - 1) >> level << level
    return max(0, following), level


@kernel
def grid_forget(grid: PrefixGrid, stream: int) -> None:
    """Restart a stream; its old totals can no longer be reached."""
    grid.length[stream] = 0
    for each in range(grid.total.shape[1]):
        grid.total[stream, each] = 0
