"""When did the signals of an action change? Read off their counts over stretches of time.

A change between two stretches is believed when the counts are far likelier as two laws than as
one: the marginal likelihood under Dirichlet(1/2), averaged over the stretches at which the change
may have been, against that of no change. Each part is then searched in turn.

The policies' own test (`foretell.policies.parts.signal_change_test`) weighs the same evidence
while a stream runs. It does so in compiled code, from tables, and adds in another order, so the
two share the formula and not the function.
"""

from __future__ import annotations

import math

import numpy as np

from foretell.types import Floats, Ints

DOUBT = 0.01
"""How likely a false alarm may be over a whole campaign, about."""


def change_points(counts: Ints, actions: int) -> list[int]:
    """Return the stretches at which an action's law changed; `counts` is (stretches, signals).

    >>> before, after = np.array([[90, 10]] * 4), np.array([[10, 90]] * 4)
    >>> change_points(np.concatenate([before, after]), actions=1)
    [4]
    >>> change_points(np.concatenate([before, before]), actions=1)
    []
    """
    found: list[int] = []
    _search(counts, 0, math.log(actions / DOUBT), found)
    return sorted(found)


def _search(counts: Ints, offset: int, threshold: float, found: list[int]) -> None:
    filled = np.flatnonzero(counts.sum(axis=1))
    if filled.size < 2:
        return
    total = counts.sum(axis=0)
    before = np.cumsum(counts, axis=0)
    splits = filled[1:]
    gains = np.array(
        [_evidence(before[split - 1]) + _evidence(total - before[split - 1]) for split in splits]
    ) - _evidence(total)
    peak = gains.max()
    if peak + math.log(np.exp(gains - peak).mean()) <= threshold:
        return
    split = int(splits[int(gains.argmax())])
    found.append(offset + split)
    _search(counts[:split], offset, threshold, found)
    _search(counts[split:], offset + split, threshold, found)


def _evidence(counts: Ints | Floats) -> float:
    """Return the log of the marginal likelihood of counts under Dirichlet(1/2)."""
    size = len(counts)
    value = math.lgamma(0.5 * size) - math.lgamma(float(counts.sum()) + 0.5 * size)
    return value + sum(math.lgamma(float(one) + 0.5) - math.lgamma(0.5) for one in counts)
