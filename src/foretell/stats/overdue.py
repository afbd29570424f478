"""Have rewards stopped? How many were to come since the last one, by the ages of decisions.

A decision gets its reward at some age, and how often it does at each age is known from those that
came: arrivals at an age, over the decisions that had reached it. Since the last reward every
decision has grown older, and what it was to bring meanwhile adds up to what was due. Few arrivals
say little about the rate: if n have come, none among `due` more has probability (1 + due/n)^−n.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from foretell.types import Floats

SELDOM = 0.001
"""A silence that is as improbable as this is none."""
SURELY = math.log(20.0)
"""As many as are due when a reward comes with 95 %."""
POINTS = 8
"""Decisions of one stretch are taken as made at so many moments of it."""


class MadeAt(NamedTuple):
    """Decisions of one kind by when they were made: moments, and how many were made about then."""

    at: Floats
    number: Floats

    @classmethod
    def over(cls, begin: Floats, end: Floats, count: Floats) -> MadeAt:
        """Spread the decisions of each stretch evenly over it."""
        share = (np.arange(POINTS) + 0.5) / POINTS
        at = begin[:, None] + (end - begin)[:, None] * share
        return cls(at.ravel(), np.repeat(count / POINTS, POINTS))


def arrival_rate(
    made: MadeAt, edges: Floats, arrivals: Floats, then: float, least: float = 0.0
) -> Floats:
    """Return, at each edge, how many rewards a decision brings by that age.

    `arrivals` are those of the ages up to each edge, seen by the moment `then`: a bin counts in
    full for decisions that have reached its end, and in part for those in the middle of it. A bin
    that few have reached counts as if at least so many had: else a single arrival would outweigh
    all the others.
    """
    before = np.concatenate([[0.0], edges[:-1]])
    reached = np.clip((then - made.at[:, None] - before) / (edges - before), 0.0, 1.0)
    exposed = (reached * made.number[:, None]).sum(axis=0)
    return np.cumsum(np.minimum(1.0, arrivals / np.maximum(exposed, max(least, 1e-9))))


def due(made: MadeAt, edges: Floats, by_age: Floats, then: float, now: float) -> float:
    """Return how many rewards were to come between two moments."""
    ages = np.concatenate([[0.0], edges])
    shares = np.concatenate([[0.0], by_age])
    grown = [np.interp(np.maximum(0.0, moment - made.at), ages, shares) for moment in (then, now)]
    return float((made.number * (grown[1] - grown[0])).sum())


def silence(expected: float, arrived: int) -> float:
    """Return the probability that none of the expected rewards comes, after so many have.

    >>> round(silence(7.0, 10_000), 4), round(silence(7.0, 3), 3)
    (0.0009, 0.027)
    """
    return math.exp(-arrived * math.log1p(expected / arrived)) if arrived else 1.0
