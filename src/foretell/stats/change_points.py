"""When did the signals of an action change? Read off their counts over stretches of time.

A change between two stretches is believed when the counts are far likelier as two laws than as
one: the marginal likelihood under Dirichlet(1/2), averaged over the places where the change may
have been, against that of no change. Each part is then searched in turn.
"""

from __future__ import annotations

import math

import numpy as np

from foretell.types import Floats, Ints

DOUBT = 0.01
"""How likely a false alarm may be over a whole campaign, about."""


def change_places(counts: Ints, actions: int) -> list[int]:
    """Give the stretches at which the law of one action changed; `counts` is (stretches, signals).

    >>> before, after = np.array([[90, 10]] * 4), np.array([[10, 90]] * 4)
    >>> change_places(np.concatenate([before, after]), actions=1)
    [4]
    >>> change_places(np.concatenate([before, before]), actions=1)
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
    places = filled[1:]
    gains = np.array(
        [_evidence(before[place - 1]) + _evidence(total - before[place - 1]) for place in places]
    ) - _evidence(total)
    peak = gains.max()
    if peak + math.log(np.exp(gains - peak).mean()) <= threshold:
        return
    place = int(places[int(gains.argmax())])
    found.append(offset + place)
    _search(counts[:place], offset, threshold, found)
    _search(counts[place:], offset + place, threshold, found)


def _evidence(counts: Ints | Floats) -> float:
    """Give the log of the marginal likelihood of counts under Dirichlet(1/2)."""
    size = len(counts)
    value = math.lgamma(0.5 * size) - math.lgamma(float(counts.sum()) + 0.5 * size)
    return value + sum(math.lgamma(float(one) + 0.5) - math.lgamma(0.5) for one in counts)
