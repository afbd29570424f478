"""The verdict on a signal: what the evidence of `signal_test` comes to, and what it would show."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from foretell.stats.signal_test import POOLED, WITHIN, SignalTest, compared
from foretell.types import Floats, Ints

Verdict: TypeAlias = Literal["valid", "doubtful", "misleading", "too early"]
MISLEADING, DOUBTFUL = 20.0, 5.0
"""E-values from which on a signal is called so."""
ENOUGH = 50
"""Settled rewards that a verdict needs on two actions."""
USUALLY = 1.0
"""Standard deviations by which evidence is to exceed what is asked for."""
ROUNDS = 5


class Judgement(NamedTuple):
    """A verdict with its reasons."""

    verdict: Verdict
    e_value: float
    """The largest that the evidence among actions in the same period has been."""
    moves: bool
    """Whether theta moves over time, while no action is shown to be another within a period."""
    action: int
    signal: int
    """The action and the signal that the evidence is most about."""
    detectable: float
    """A difference between an action and the others that would have been seen, in unit rewards."""

    @property
    def untested(self) -> bool:
        """Whether it is valid, and even the largest difference might not have been seen."""
        return self.verdict == "valid" and self.detectable >= 1.0


def judge(test: SignalTest, settled: Ints) -> Judgement:
    """Return the verdict of a test; `settled` are the settled rewards of each action."""
    within, pooled = (math.exp(min(700.0, peak)) for peak in test.peak[[WITHIN, POOLED]].tolist())
    moves = within < MISLEADING <= pooled
    verdict: Verdict = "valid"
    if np.sort(settled)[-2] < ENOUGH:
        verdict = "too early"
    elif within >= MISLEADING:
        verdict = "misleading"
    elif within >= DOUBTFUL or moves:
        verdict = "doubtful"
    action = int(test.evidence.sum(axis=1).argmax())
    signal = int(test.evidence[action].argmax())
    return Judgement(verdict, within, moves, action, signal, detectable(test, settled))


def detectable(test: SignalTest, settled: Ints) -> float:
    """Return the difference that would usually have been seen on every action that is judged.

    A difference d of an action's mean after a signal adds about n d² / (2 v) to its evidence, with
    a deviation of d sqrt(n / v), where n is what `compared` counts and v the largest variance
    of a reward that may differ so. It is about the signal that most rewards come after. 1 where
    nothing would have been seen.
    """
    judged = np.flatnonzero(settled >= ENOUGH)
    if judged.size < 2:
        return 1.0
    main = main_signal(test)
    known = np.maximum(1e-9, (test.information + compared(test.period))[judged, main])
    mean = (test.total[main, 1] + 0.5) / (test.total[main, 0] + 1.0)
    missing = math.log(MISLEADING * test.actions) - test.evidence[judged].sum(axis=1)
    needed = USUALLY + np.sqrt(USUALLY**2 + 2.0 * np.maximum(0.0, missing))
    least: Floats = np.zeros(judged.size)
    for _ in range(ROUNDS):  # a mean that differs has another variance
        nearest = np.clip(0.5, mean - least, mean + least)
        least = needed * np.sqrt(nearest * (1.0 - nearest) / known)
    largest = float(least.max())
    return largest if largest <= max(mean, 1.0 - mean) else 1.0


def least_compared(test: SignalTest, settled: Ints) -> tuple[int, float]:
    """Return the judged action of which fewest rewards count as compared, and how many they are.

    Like `detectable` it is about the signal that most rewards come after.
    """
    known = (test.information + compared(test.period))[:, main_signal(test)]
    action = int(np.where(settled >= ENOUGH, known, np.inf).argmin())
    return action, float(known[action])


def main_signal(test: SignalTest) -> int:
    """Return the signal that most rewards come after."""
    return int(test.total[:, 1].argmax())
