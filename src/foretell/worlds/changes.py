"""How the law changes over time.

A change pattern turns the first law into knots: rounds with the law that holds there. Between
two knots the law stays as it is, or, where it drifts, moves in a straight line to the next.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

import msgspec
import numpy as np

from foretell.errors import InvalidInput
from foretell.inputs import is_number, is_whole
from foretell.types import Floats

MOST_KNOTS = 2000


class Knot(NamedTuple):
    """The law from a round on; `mu` are the action means of the misspecified mixture."""

    round: int
    law: Floats
    mu: Floats
    drifts: bool
    """The law moves in a straight line from here to the next knot."""


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
        _check_count("every", self.every, "round")
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
        """Give the rounds of the changes below the horizon."""
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


class _Pattern(msgspec.Struct, frozen=True, tag_field="pattern", tag=str.lower):
    """What all change patterns are."""


class Stationary(_Pattern, frozen=True):
    """The law never changes."""

    def check(self, horizon: int, actions: int) -> None:
        """Nothing to refuse."""

    def knots(self, law: Floats, mu: Floats, horizon: int, rng: np.random.Generator) -> list[Knot]:
        """Give the one knot."""
        return [Knot(0, law, mu, drifts=False)]


class Shifts(_Pattern, frozen=True):
    """Cyclic shifts of the rows of the law, and of mu with them [Vernade2020, Sec. 5].

    At each change r is drawn from 1..n−1 for n shifting actions, and the i-th of them takes what
    the (i−r)-th had: with every action shifting, each has a new law and the best one moves.
    """

    when: Schedule
    actions: tuple[int, ...] | None = None

    def check(self, horizon: int, actions: int) -> None:
        """Refuse changes that do not fit the problem."""
        self.when.check(horizon)
        _check_actions(self.actions, actions, least=2)

    def knots(self, law: Floats, mu: Floats, horizon: int, rng: np.random.Generator) -> list[Knot]:
        """Draw the shifts."""
        knots = [Knot(0, law, mu, drifts=False)]
        moving = np.arange(len(law)) if self.actions is None else np.array(self.actions)
        for change in self.when.rounds(horizon, rng):
            origin = np.arange(len(law))
            origin[moving] = np.roll(moving, int(rng.integers(1, len(moving))))
            law, mu = law[origin], mu[origin]
            knots.append(Knot(change, law, mu, drifts=False))
        return knots


class Redraws(_Pattern, frozen=True):
    """At each change some actions get a new law, drawn from a symmetric Dirichlet.

    All of them, the listed `actions`, or `count` of these at random.
    """

    when: Schedule
    actions: tuple[int, ...] | None = None
    count: int | None = None
    concentration: float = 1.0

    def __post_init__(self) -> None:
        """Check the fields."""
        if not is_number(self.concentration) or self.concentration <= 0.0:
            raise InvalidInput(
                f"the concentration of redrawn laws must be above 0, got {self.concentration}"
            )
        _check_count("count", self.count, "action")

    def check(self, horizon: int, actions: int) -> None:
        """Refuse changes that do not fit the problem."""
        self.when.check(horizon)
        _check_actions(self.actions, actions, least=1)
        available = actions if self.actions is None else len(self.actions)
        if self.count is not None and self.count > available:
            raise InvalidInput(
                f"{self.count} actions cannot change at once, got only {available}: lower count"
            )

    def knots(self, law: Floats, mu: Floats, horizon: int, rng: np.random.Generator) -> list[Knot]:
        """Draw the new laws."""
        knots = [Knot(0, law, mu, drifts=False)]
        pool = np.arange(len(law)) if self.actions is None else np.array(self.actions)
        for change in self.when.rounds(horizon, rng):
            rows = pool if self.count is None else rng.choice(pool, self.count, replace=False)
            law = law.copy()
            law[rows] = rng.dirichlet([self.concentration] * law.shape[1], len(rows))
            knots.append(Knot(change, law, mu, drifts=False))
        return knots


class Interpolation(_Pattern, frozen=True):
    """Slow drift in straight lines: from the first law to each listed (round, law) in turn."""

    towards: tuple[tuple[int, tuple[tuple[float, ...], ...]], ...]

    def check(self, horizon: int, actions: int) -> None:
        """Refuse stops that do not fit the problem."""
        Schedule(at=tuple(stop for stop, _ in self.towards)).check(horizon)
        for stop, law in self.towards:
            if len(law) != actions:
                raise InvalidInput(
                    f"the law at round {stop} has {len(law)} actions, the first law {actions}: "
                    f"give one row per action"
                )

    def knots(self, law: Floats, mu: Floats, horizon: int, rng: np.random.Generator) -> list[Knot]:
        """Give the stops."""
        stops = [(0, law), *((stop, np.array(target)) for stop, target in self.towards)]
        return [Knot(stop, law, mu, drifts=stop != stops[-1][0]) for stop, law in stops]


class RandomWalk(_Pattern, frozen=True):
    """Slow drift: a random walk on the simplex, by its spread over 1,000 rounds.

    Every `every` rounds (by default so that there are at most 2,000 steps) each moving row takes
    a Gaussian step and is projected back onto the simplex; between steps it moves in a line.
    """

    spread: float
    every: int | None = None
    actions: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        """Check the fields."""
        if not is_number(self.spread) or self.spread <= 0.0:
            raise InvalidInput(
                f"the spread of a random walk must be a finite number above 0, got {self.spread}"
            )
        _check_count("every", self.every, "round")

    def check(self, horizon: int, actions: int) -> None:
        """Refuse actions that the problem does not have."""
        _check_actions(self.actions, actions, least=1)

    def knots(self, law: Floats, mu: Floats, horizon: int, rng: np.random.Generator) -> list[Knot]:
        """Draw the walk."""
        every = self.every or max(10, -(-horizon // MOST_KNOTS))
        rows = np.arange(len(law)) if self.actions is None else np.array(self.actions)
        step = self.spread * math.sqrt(every / 1000.0)
        knots = [Knot(0, law, mu, drifts=True)]
        for stop in range(every, horizon + every, every):
            law = law.copy()
            moved = law[rows] + step * rng.standard_normal((len(rows), law.shape[1]))
            law[rows] = [_project(row) for row in moved]
            knots.append(Knot(stop, law, mu, drifts=True))
        return knots


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
    return Shifts(_schedule(at, every, hazard), None if actions is None else tuple(actions))


def redraws(
    at: list[int] | tuple[int, ...] | None = None,
    *,
    every: int | None = None,
    hazard: float | None = None,
    actions: list[int] | None = None,
    count: int | None = None,
    concentration: float = 1.0,
) -> Redraws:
    """Give some actions a new random law at each change."""
    chosen = None if actions is None else tuple(actions)
    return Redraws(_schedule(at, every, hazard), chosen, count, concentration)


def interpolation(towards: list[tuple[int, list[list[float]]]]) -> Interpolation:
    """Drift in straight lines through the listed (round, law)."""
    return Interpolation(
        tuple((stop, tuple(tuple(map(float, row)) for row in law)) for stop, law in towards)
    )


def random_walk(
    spread: float, *, every: int | None = None, actions: list[int] | None = None
) -> RandomWalk:
    """Drift as a random walk on the simplex."""
    return RandomWalk(spread, every, None if actions is None else tuple(actions))


def _schedule(
    at: list[int] | tuple[int, ...] | None, every: int | None, hazard: float | None
) -> Schedule:
    if at is not None and not hasattr(at, "__iter__"):
        raise InvalidInput(f"at must be a list of rounds, got {at!r}: for instance at=[2000]")
    listed = None if at is None else tuple(int(r) if is_whole(r) else r for r in at)
    return Schedule(listed, every, hazard)


def _check_count(what: str, count: int | None, unit: str) -> None:
    if count is not None and (not is_whole(count) or count < 1):
        raise InvalidInput(
            f"{what} must be at least 1 {unit}, got {count!r}: give a whole number of {unit}s"
        )


def _check_actions(chosen: tuple[int, ...] | None, actions: int, least: int) -> None:
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


def _project(row: Floats) -> Floats:
    """Give the nearest point of the simplex [Duchi2008]."""
    falling = np.sort(row)[::-1]
    excess = (np.cumsum(falling) - 1.0) / np.arange(1, len(row) + 1)
    last = np.nonzero(falling > excess)[0][-1]
    inside = np.maximum(row - excess[last], 0.0)
    projected: Floats = inside / inside.sum()
    return projected
