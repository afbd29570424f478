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
from typing import NamedTuple

import numpy as np

from foretell.types import Floats, Ints

DOUBT = 0.01
"""How likely a false alarm may be over a whole campaign, about."""
TAIL = 0.025
"""How likely a change may be before the earliest stretch that is named, or after the latest."""


class Change(NamedTuple):
    """A change of law between two stretches."""

    stretch: int
    """The likeliest first stretch of the new law."""
    earliest: int
    latest: int
    """The first stretch of the new law lies between these with 95 %."""
    log_evidence: float
    """The log of how many times likelier two laws make the counts than one."""

    def probability(self, actions: int) -> float:
        """Return how sure the change is, if one among all actions is as likely as none.

        >>> round(Change(4, 4, 4, 9.2).probability(actions=10), 4)
        0.999
        """
        return 1.0 / (1.0 + math.exp(min(700.0, math.log(actions) - self.log_evidence)))


def find_changes(counts: Ints, actions: int) -> list[Change]:
    """Return the changes of an action's law, in the order of time, and how sure each is.

    `counts` is (stretches, signals).

    >>> before, after = np.array([[90, 10]] * 4), np.array([[10, 90]] * 4)
    >>> [change.stretch for change in find_changes(np.concatenate([before, after]), actions=1)]
    [4]
    >>> find_changes(np.concatenate([before, before]), actions=1)
    []
    """
    found: list[Change] = []
    _search(counts, 0, math.log(actions / DOUBT), found)
    return sorted(found)


def _search(counts: Ints, offset: int, threshold: float, found: list[Change]) -> None:
    filled = np.flatnonzero(counts.sum(axis=1))
    if filled.size < 2:
        return
    before = np.cumsum(counts, axis=0)
    total, splits = before[-1], filled[1:]
    first = before[splits - 1]
    gains = _evidence(first) + _evidence(total - first) - _evidence(total[None])
    peak = float(gains.max())
    weights = np.exp(gains - peak)
    log_evidence = peak + math.log(float(weights.mean()))
    if log_evidence <= threshold:
        return
    split = int(splits[int(gains.argmax())])
    reached = weights.cumsum() / weights.sum()
    earliest, latest = splits[np.searchsorted(reached, [TAIL, 1.0 - TAIL])].tolist()
    found.append(Change(offset + split, offset + earliest, offset + latest, log_evidence))
    _search(counts[:split], offset, threshold, found)
    _search(counts[split:], offset + split, threshold, found)


def _evidence(counts: Ints) -> Floats:
    """Return the log of the marginal likelihood of each row of counts under Dirichlet(1/2)."""
    half = 0.5 * counts.shape[1]
    numbers: Floats = counts.astype(np.float64)
    sums: Floats = np.add.reduce(numbers, 1)
    found: Floats = (_log_gamma(numbers + 0.5) - math.lgamma(0.5)).sum(axis=1)
    return found + math.lgamma(half) - _log_gamma(sums + half)


def _log_gamma(x: Floats) -> Floats:
    """Return log Γ(x) of positive numbers, by Stirling's series eight further up.

    >>> abs(float(_log_gamma(np.array([0.5]))[0]) - math.lgamma(0.5)) < 1e-11
    True
    """
    product, y = x.copy(), x + 8.0
    for step in range(1, 8):
        product *= x + step
    series = (1 / 12 - (1 / 360 - (1 / 1260 - 1 / (1680 * y * y)) / (y * y)) / (y * y)) / y
    found: Floats = (y - 0.5) * np.log(y) - y + 0.5 * math.log(2 * math.pi) + series
    return found - np.log(product)
