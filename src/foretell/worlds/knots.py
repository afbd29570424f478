"""Rounds at which the law is known, and when it changes: what all change patterns are made of.

A change pattern turns the first law into knots: rounds with the law that holds there. Between
two knots the law stays as it is, or, where it drifts, moves in a straight line to the next.
"""

from __future__ import annotations

import math
from functools import singledispatch
from typing import Any, NamedTuple

import msgspec
import numpy as np

from foretell.errors import InvalidInput
from foretell.kernel import kernel, uniform
from foretell.types import Bools, Floats, Ints, is_number, is_whole

FULL = -1
"""What `draw_knots` returns when there is no room for another knot."""
_FAR = 2**62
"""The round of a change that never comes."""


class Knots(NamedTuple):
    """The laws of a world, and the rounds from which on they hold."""

    rounds: Ints
    """(knots,): the first round of each, from 0."""
    laws: Floats
    """(knots, actions, signals)"""
    mus: Floats
    """(knots, actions): action means of the misspecified mixture."""
    drifts: Bools
    """(knots,): whether the law moves in a straight line from this knot to the next."""


def sudden(rounds: list[int], laws: Floats, mus: Floats) -> Knots:
    """Return knots between which the law stays as it is."""
    return Knots(np.array(rounds), laws, mus, np.zeros(len(rounds), np.bool_))


def empty_knots(room: int, actions: int, signals: int) -> Knots:
    """Make room for this many knots."""
    return Knots(
        rounds=np.zeros(room, np.int64),
        laws=np.zeros((room, actions, signals)),
        mus=np.zeros((room, actions)),
        drifts=np.zeros(room, np.bool_),
    )


@singledispatch
def draw_knots(rule: Any, horizon: int, rng: np.random.Generator, knots: Knots, first: int) -> int:
    """Draw the knots of one world, and write them from index `first` on.

    Returns the index after the last one, or FULL. Each rule by which laws change at random is a
    NamedTuple of numbers and arrays, and registers this verb.
    """
    raise TypeError(f"{type(rule).__name__} does not say how to draw its knots")


class Moments(NamedTuple):
    """A schedule as numbers: the rounds of the changes, or the hazard that draws them."""

    listed: Ints
    random: bool
    rate: float
    """ln(1 − hazard), where the changes are random."""


@kernel
def following_change(moments: Moments, number: int, change: int, rng: np.random.Generator) -> int:
    """Return the round of change `number` (from 0); the one before it was in round `change`."""
    if not moments.random:
        return moments.listed[number] if number < moments.listed.size else _FAR
    if moments.rate == 0.0:
        return _FAR
    pause = math.log1p(-uniform(rng)) / moments.rate
    return change + 1 + int(pause) if pause < 2.0**60 else _FAR


@kernel
def copy_knot(knots: Knots, index: int, law: Floats, mu: Floats, change: int) -> None:
    """Write a knot from which on this law and these means hold."""
    knots.rounds[index] = change
    knots.drifts[index] = False
    for action in range(law.shape[0]):
        knots.mus[index, action] = mu[action]
        for signal in range(law.shape[1]):
            knots.laws[index, action, signal] = law[action, signal]


class Schedule(msgspec.Struct, frozen=True):
    """At which rounds: listed, at regular steps, or at random with a hazard per round."""

    at: tuple[int, ...] | None = None
    """The rounds, from 1 on and increasing."""
    every: int | None = None
    """A change every so many rounds: a whole number from 1 on."""
    hazard: float | None = None
    """Probability of a change in each round, in [0, 1]."""

    def __post_init__(self) -> None:
        """Check the fields."""
        given = [name for name in ("at", "every", "hazard") if getattr(self, name) is not None]
        if len(given) != 1:
            raise InvalidInput(
                f"changes happen at listed rounds (at), every so many rounds (every) or at random "
                f"(hazard): give one of the three, got {' and '.join(given) or 'none'}"
            )
        if self.at is not None:
            if any(not is_whole(change) or change < 1 for change in self.at):
                raise InvalidInput(
                    f"change rounds must be whole numbers from 1 on, got {list(self.at)}: "
                    f"round 0 is the first law's own"
                )
            if list(self.at) != sorted(set(self.at)):
                raise InvalidInput(
                    f"change rounds must increase, got {list(self.at)}: sort them, each once"
                )
        check_count("every", self.every, "round")
        if self.hazard is not None and not (is_number(self.hazard) and 0 <= self.hazard <= 1):
            raise InvalidInput(
                f"the hazard is a probability per round, in [0, 1], got {self.hazard}"
            )

    def moments(self, horizon: int) -> Moments:
        """Return the changes below the horizon, or the rule that draws them."""
        listed = np.zeros(0, np.int64)
        if self.at is not None:
            listed = np.array([change for change in self.at if change < horizon], np.int64)
        elif self.every is not None:
            listed = np.arange(self.every, horizon, self.every)
        hazard = self.hazard or 0.0
        rate = math.log1p(-hazard) if hazard < 1.0 else -math.inf
        return Moments(listed, self.hazard is not None, rate)

    def expected(self, horizon: int) -> int:
        """Return about how many changes there are below the horizon: seldom more."""
        if self.hazard is None:
            return self.moments(horizon).listed.size
        mean = self.hazard * horizon
        return min(horizon, int(mean + 4.0 * math.sqrt(mean)) + 4)


class Pattern(msgspec.Struct, frozen=True, tag_field="pattern", tag=str.lower):
    """What all change patterns are."""

    def room(self, horizon: int) -> int:
        """Return for how many knots of one world to make room at first."""
        return 1


def check_count(what: str, count: int | None, unit: str) -> None:
    """Refuse what is no whole number of at least 1."""
    if count is not None and (not is_whole(count) or count < 1):
        raise InvalidInput(
            f"{what} must be at least 1 {unit}, got {count!r}: give a whole number of {unit}s"
        )


def check_actions(chosen: tuple[int, ...] | None, actions: int, least: int) -> None:
    """Refuse changing actions that the problem does not have, or too few of them."""
    if chosen is None:
        return
    if len(set(chosen)) != len(chosen) or any(not 0 <= action < actions for action in chosen):
        raise InvalidInput(
            f"changing actions must be distinct numbers from 0 to {actions - 1}, got {list(chosen)}"
        )
    if len(chosen) < least:
        raise InvalidInput(
            f"this change needs at least {least} changing actions, got {len(chosen)}: list more"
        )
