"""Censored rewards, the slow way: a list of decisions, and sums over every one of them."""

from __future__ import annotations

import math
from typing import NamedTuple


class WaitingDecision(NamedTuple):
    """What is known of the reward of one decision."""

    made: int
    signal: int
    delay: int
    """−1 while its reward has not arrived."""
    reward: float
    closed: bool


def known_decisions(
    decisions: list[WaitingDecision], signal: int, now: int, typical: float, steps: int = 24
) -> float:
    """Return how many open decisions of a signal count, each by its own age."""
    own = [one for one in decisions if one.signal == signal]
    arrived = [one.delay + 0.5 for one in own if one.delay >= 0]
    ages = [now - one.made + 1.0 for one in own if not one.closed]
    silent = [now - one.made + 1.0 for one in own if not one.closed and one.delay < 0]
    chance, rate = (len(arrived) + 0.5) / (len(own) + 5.0), 1.0 / typical
    for _ in range(steps):
        still = [chance * math.exp(-rate * age) for age in silent]
        later = [one / (1.0 - chance + one) for one in still]
        waited = math.fsum(w * (age + 1.0 / rate) for w, age in zip(later, silent, strict=True))
        converted = len(arrived) + math.fsum(later)
        chance = (converted + 0.5) / (len(own) + 5.0)
        rate = (converted + 20.0) / (math.fsum(arrived) + waited + 20.0 * typical)
    return math.fsum(1.0 - math.exp(-rate * age) for age in ages)
