"""Ordered theta, from its definitions: pooling by restarts, bounds by looking at every pair."""

from __future__ import annotations

import math
from typing import NamedTuple

from foretell.types import Floats


class Block(NamedTuple):
    """Neighbouring signals that share one value."""

    signals: int
    value: float
    mean: float
    variance: float


def pooled(blocks: list[Block], overruled: float) -> list[float]:
    """Merge the first pair of neighbours that must be, of those read so far, until none must."""
    done: list[Block] = []
    for block in blocks:
        done.append(block)
        while len(done) > 1 and _must_merge(done[-2], done[-1], overruled):
            done[-2:] = [_merge(done[-2], done[-1])]
    return [block.value for block in done for _ in range(block.signals)]


def _must_merge(weak: Block, strong: Block, overruled: float) -> bool:
    deviation = math.sqrt(weak.variance + strong.variance)
    return weak.value > strong.value and (weak.mean - strong.mean) / deviation <= overruled


def _merge(weak: Block, strong: Block) -> Block:
    one, other = 1 / weak.variance, 1 / strong.variance
    return Block(
        weak.signals + strong.signals,
        (one * weak.value + other * strong.value) / (one + other),
        (one * weak.mean + other * strong.mean) / (one + other),
        1 / (one + other),
    )


def ordered_upper(own: Floats, lower: Floats) -> list[float]:
    """Return min{own_s' : s' ≥ s, lower_s ≤ own_s'} for every signal s."""
    return [
        min([own[s], *(own[k] for k in range(s + 1, len(own)) if lower[s] <= own[k])])
        for s in range(len(own))
    ]
