"""The log of a campaign as arrays: what was decided, with which probability, and what came of it.

Times are whole numbers that only have to be in order: those of a campaign are places in its log,
those of a simulation are rounds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from foretell.errors import InvalidInput
from foretell.types import Bools, Floats, Ints

UNKNOWN = -1
"""The signal of a decision that has none yet."""


NO_CHANCE = (
    "the log says nothing about another policy, because actions that the policy did not prefer had "
    "no chance (their propensity is 0): set explore to a share such as 0.05, and evaluate what is "
    "decided from then on"
)
"""What is said of a log without exploration."""


class DecisionLog(NamedTuple):
    """Decisions in their order; all arrays but `masks` have one entry for each."""

    decided_at: Ints
    action: Ints
    eligible: Ints
    """The row of `masks` that says which actions could be chosen."""
    masks: Bools
    """(sets, actions)"""
    propensity: Floats
    """The probability of the action when it was drawn."""
    explore: Floats
    """The share of uniform play that was mixed in: with 0, an action may have had no chance."""
    held_out: Bools
    """Whether it was drawn uniformly, as a holdout."""
    first: Ints
    """The decision that drew the action: itself, but where a sticky unit got its action again."""
    signal: Ints
    """`UNKNOWN` where there is none yet."""
    signal_at: Ints
    """From when on the signal was known, or its turn had passed."""
    reward: Floats
    """In unit rewards, NaN where there is none yet."""
    reward_at: Ints
    settled: Bools
    """Whether its reward is known and can change no more, but by what comes late."""

    @property
    def decisions(self) -> int:
        """How many decisions there are."""
        return self.action.size

    @property
    def actions(self) -> int:
        """How many actions there are."""
        return self.masks.shape[1]

    @property
    def possible(self) -> Bools:
        """Where every eligible action had a chance when the action was drawn."""
        return (self.explore[self.first] > 0.0) | self.held_out[self.first]

    @property
    def counted(self) -> Bools:
        """The decisions from which another policy can be evaluated."""
        counted: Bools = self.settled & self.possible
        return counted


def check_evaluable(log: DecisionLog) -> None:
    """Refuse a log from which nothing can be said about another policy."""
    if not log.settled.any():
        raise InvalidInput(
            f"no reward of the {log.decisions:,} decisions is settled yet: "
            f"evaluate once the first reward windows have closed"
        )
    if not log.possible[log.settled].any():
        raise InvalidInput(NO_CHANCE)
    if not np.all(log.propensity[log.counted] > 0.0):
        raise InvalidInput(
            "a propensity must be above 0, got 0 for an action that was played: the log was "
            "changed since it was written, so make the export again"
        )
