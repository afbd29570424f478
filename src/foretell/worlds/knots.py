"""Rounds at which the law is known, and when it changes: what all change patterns are made of.

A change pattern turns the first law into knots: rounds with the law that holds there. Between
two knots the law stays as it is, or, where it drifts, moves in a straight line to the next.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import numpy as np

from foretell.errors import InvalidInput
from foretell.types import Bools, Floats, Ints, is_number, is_whole


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


class Schedule(msgspec.Struct, frozen=True):
    """At which rounds: listed, at regular steps, or at random with a hazard per round."""

    at: tuple[int, ...] | None = None
    every: int | None = None
    hazard: float | None = None

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

    def check(self, horizon: int) -> None:
        """Refuse a listed round that the horizon does not reach."""
        if self.at is not None and self.at and self.at[-1] >= horizon:
            raise InvalidInput(
                f"the change at round {self.at[-1]} never happens: the horizon is {horizon}, its "
                f"last round {horizon - 1}: lengthen the horizon or drop the change"
            )

    def rounds(self, horizon: int, rng: np.random.Generator) -> list[int]:
        """Return the rounds of the changes below the horizon."""
        if self.at is not None:
            return list(self.at)
        if self.every is not None:
            return list(range(self.every, horizon, self.every))
        assert self.hazard is not None  # noqa: S101  one of the three is given
        if self.hazard == 0.0:
            return []
        rounds = []
        change = int(rng.geometric(self.hazard))
        while change < horizon:
            rounds.append(change)
            change += int(rng.geometric(self.hazard))
        return rounds


class Pattern(msgspec.Struct, frozen=True, tag_field="pattern", tag=str.lower):
    """What all change patterns are."""


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
