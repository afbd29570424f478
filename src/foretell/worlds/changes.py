"""Laws that change at once: shifts and redraws; `Changes` is every way a law can change."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from foretell.errors import InvalidInput
from foretell.kernel import kernel, uniform
from foretell.types import Floats, Ints, is_number, is_whole
from foretell.worlds.drift import Interpolation, RandomWalk
from foretell.worlds.knots import (
    FULL,
    Knots,
    Moments,
    Pattern,
    Schedule,
    check_actions,
    check_count,
    copy_knot,
    draw_knots,
    following_change,
    sudden,
)


class Stationary(Pattern, frozen=True):
    """The law never changes."""

    def check(self, actions: int) -> None:
        """Nothing to refuse."""

    def rule(self, law: Floats, mu: Floats, horizon: int) -> Knots:
        """Return the one knot."""
        return sudden([0], law[None], mu[None])


class Shifts(Pattern, frozen=True):
    """Cyclic shifts of the rows of the law, and of mu with them [Vernade2020, Sec. 5].

    At each change r is drawn from 1..n−1 for n shifting actions, and the i-th of them takes what
    the (i−r)-th had: with every action shifting, each has a new law and the best one moves.
    """

    when: Schedule
    """At which rounds: `at`, `every` or `hazard` of a schedule."""
    actions: tuple[int, ...] | None = None
    """The actions that shift among themselves, at least two; None is all."""

    def check(self, actions: int) -> None:
        """Refuse changes that do not fit the problem."""
        check_actions(self.actions, actions, least=2)

    def rule(self, law: Floats, mu: Floats, horizon: int) -> ShiftRule:
        """Return the rule that draws the shifts."""
        return ShiftRule(self.when.moments(horizon), law, mu, _listed(self.actions, len(law)))

    def room(self, horizon: int) -> int:
        """Return for how many knots to make room at first."""
        return 1 + self.when.expected(horizon)


class ShiftRule(NamedTuple):
    """Shifts as numbers and arrays."""

    moments: Moments
    law: Floats
    mu: Floats
    moving: Ints
    """The actions that shift among themselves."""


@draw_knots.register(ShiftRule)
def _draw_shifts(
    rule: ShiftRule, horizon: int, rng: np.random.Generator, knots: Knots, first: int
) -> int:
    size = rule.moving.size
    index, change, turned = first, 0, 0
    while change < horizon:
        if index == knots.rounds.size:
            return FULL
        copy_knot(knots, index, rule.law, rule.mu, change)
        for i in range(size):
            action = rule.moving[i]
            origin = rule.moving[(i + size - turned) % size]
            knots.mus[index, action] = rule.mu[origin]
            for signal in range(rule.law.shape[1]):
                knots.laws[index, action, signal] = rule.law[origin, signal]
        change = following_change(rule.moments, index - first, change, rng)
        turned = (turned + 1 + int(uniform(rng) * (size - 1))) % size
        index += 1
    return index


class Redraws(Pattern, frozen=True):
    """At each change some actions get a new law, drawn from a symmetric Dirichlet.

    All of them, the listed `actions`, or `count` of these at random.
    """

    when: Schedule
    """At which rounds: `at`, `every` or `hazard` of a schedule."""
    actions: tuple[int, ...] | None = None
    """The actions that may get a new law; None is all."""
    count: int | None = None
    """How many of them get one at each change, at random; None is all."""
    concentration: float = 1.0
    """Of the Dirichlet: above 1 laws are even, below 1 one signal dominates."""

    def __post_init__(self) -> None:
        """Check the fields."""
        if not is_number(self.concentration) or self.concentration <= 0.0:
            raise InvalidInput(
                f"the concentration of redrawn laws must be above 0, got {self.concentration}"
            )
        check_count("count", self.count, "action")

    def check(self, actions: int) -> None:
        """Refuse changes that do not fit the problem."""
        check_actions(self.actions, actions, least=1)
        available = actions if self.actions is None else len(self.actions)
        if self.count is not None and self.count > available:
            raise InvalidInput(
                f"{self.count} actions cannot change at once, got only {available}: lower count"
            )

    def rule(self, law: Floats, mu: Floats, horizon: int) -> RedrawRule:
        """Return the rule that draws the new laws."""
        moving = _listed(self.actions, len(law))
        return RedrawRule(
            moments=self.when.moments(horizon),
            law=law,
            mu=mu,
            moving=moving,
            changing=moving.size if self.count is None else self.count,
            concentration=float(self.concentration),
        )

    def room(self, horizon: int) -> int:
        """Return for how many knots to make room at first."""
        return 1 + self.when.expected(horizon)


class RedrawRule(NamedTuple):
    """Redraws as numbers and arrays."""

    moments: Moments
    law: Floats
    mu: Floats
    moving: Ints
    """The actions that may get a new law."""
    changing: int
    """How many of them do at each change."""
    concentration: float


@draw_knots.register(RedrawRule)
def _draw_redraws(
    rule: RedrawRule, horizon: int, rng: np.random.Generator, knots: Knots, first: int
) -> int:
    index, change = first, 0
    while change < horizon:
        if index == knots.rounds.size:
            return FULL
        if index == first:
            copy_knot(knots, index, rule.law, rule.mu, change)
        else:
            copy_knot(knots, index, knots.laws[index - 1], rule.mu, change)
            wanted = rule.changing
            for i in range(rule.moving.size):
                if wanted == rule.moving.size - i or uniform(rng) * (rule.moving.size - i) < wanted:
                    wanted -= 1
                    draw_dirichlet(rule.concentration, rng, knots.laws[index, rule.moving[i]])
        change = following_change(rule.moments, index - first, change, rng)
        index += 1
    return index


@kernel
def draw_dirichlet(concentration: float, rng: np.random.Generator, row: Floats) -> None:
    """Draw a law from a symmetric Dirichlet; where all weights vanish, one signal takes all."""
    mass = 0.0
    for signal in range(row.size):
        row[signal] = rng.standard_gamma(concentration)
        mass += row[signal]
    if mass == 0.0:
        row[int(uniform(rng) * row.size)] = mass = 1.0
    for signal in range(row.size):
        row[signal] /= mass


def _listed(actions: tuple[int, ...] | None, count: int) -> Ints:
    return np.arange(count) if actions is None else np.array(actions, np.int64)


Changes: TypeAlias = Stationary | Shifts | Redraws | Interpolation | RandomWalk


def shifts(
    at: list[int] | tuple[int, ...] | None = None,
    *,
    every: int | None = None,
    hazard: float | None = None,
    actions: list[int] | None = None,
) -> Shifts:
    """Shift the rows of the law at rounds `at`, `every` so many, or at random with a `hazard`.

    >>> shifts(at=[2000, 4000, 6000]).when.at
    (2000, 4000, 6000)
    """
    return Shifts(schedule(at, every, hazard), None if actions is None else tuple(actions))


def redraws(
    at: list[int] | tuple[int, ...] | None = None,
    *,
    every: int | None = None,
    hazard: float | None = None,
    actions: list[int] | None = None,
    count: int | None = None,
    concentration: float = 1.0,
) -> Redraws:
    """Draw a new law for some actions at each change."""
    chosen = None if actions is None else tuple(actions)
    return Redraws(schedule(at, every, hazard), chosen, count, concentration)


def schedule(
    at: list[int] | tuple[int, ...] | None, every: int | None, hazard: float | None
) -> Schedule:
    """Return at which rounds something changes: one of the three is given."""
    if at is not None and not hasattr(at, "__iter__"):
        raise InvalidInput(f"at must be a list of rounds, got {at!r}: for instance at=[2000]")
    listed = None if at is None else tuple(int(r) if is_whole(r) else r for r in at)
    return Schedule(listed, every, hazard)
