"""Laws that change slowly: in straight lines, or as a random walk on the simplex."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from foretell.errors import InvalidInput
from foretell.kernel import kernel
from foretell.types import Floats, Ints, is_number
from foretell.worlds.knots import (
    FULL,
    Knots,
    Pattern,
    Schedule,
    check_actions,
    check_count,
    copy_knot,
    draw_knots,
)

MOST_KNOTS = 2000


class Interpolation(Pattern, frozen=True):
    """Slow drift in straight lines: from the first law to each listed (round, law) in turn."""

    towards: tuple[tuple[int, tuple[tuple[float, ...], ...]], ...]
    """The laws, each with the round at which it is reached."""

    def check(self, actions: int) -> None:
        """Refuse stops that do not fit the problem."""
        Schedule(at=tuple(stop for stop, _ in self.towards))
        for stop, law in self.towards:
            if len(law) != actions:
                raise InvalidInput(
                    f"the law at round {stop} has {len(law)} actions, the first law {actions}: "
                    f"give one row per action"
                )

    def rule(self, law: Floats, mu: Floats, horizon: int) -> Knots:
        """Return the stops."""
        stops = np.array([0, *(stop for stop, _ in self.towards)])
        laws = np.array([law, *(target for _, target in self.towards)])
        return Knots(stops, laws, np.tile(mu, (stops.size, 1)), stops < stops[-1])


class RandomWalk(Pattern, frozen=True):
    """Slow drift: a random walk on the simplex, by its spread over 1,000 rounds.

    Every `every` rounds (by default so that there are at most 2,000 steps) each moving row takes
    a Gaussian step and is projected back onto the simplex; between steps it moves in a line.
    """

    spread: float
    """Standard deviation of a free probability after 1,000 rounds."""
    every: int | None = None
    """Rounds between steps; None makes at most 2,000 steps."""
    actions: tuple[int, ...] | None = None
    """The actions whose laws walk; None is all."""

    def __post_init__(self) -> None:
        """Check the fields."""
        if not is_number(self.spread) or self.spread <= 0.0:
            raise InvalidInput(
                f"the spread of a random walk must be a finite number above 0, got {self.spread}"
            )
        check_count("every", self.every, "round")

    def check(self, actions: int) -> None:
        """Refuse actions that the problem does not have."""
        check_actions(self.actions, actions, least=1)

    def rule(self, law: Floats, mu: Floats, horizon: int) -> WalkRule:
        """Return the rule that draws the walk."""
        every = self._every(horizon)
        moving = np.arange(len(law)) if self.actions is None else np.array(self.actions, np.int64)
        return WalkRule(law, mu, moving, every, self.spread * math.sqrt(every / 1000.0))

    def room(self, horizon: int) -> int:
        """Return how many knots there are."""
        return 1 - (-horizon // self._every(horizon))

    def _every(self, horizon: int) -> int:
        return self.every or max(10, -(-horizon // MOST_KNOTS))


class WalkRule(NamedTuple):
    """A random walk as numbers and arrays."""

    law: Floats
    mu: Floats
    moving: Ints
    """The actions whose laws walk."""
    every: int
    step: float
    """The standard deviation of one step."""


@draw_knots.register(WalkRule)
def _draw_walk(
    rule: WalkRule, horizon: int, rng: np.random.Generator, knots: Knots, first: int
) -> int:
    index, stop = first, 0
    while stop < horizon + rule.every:
        if index == knots.rounds.size:
            return FULL
        if index == first:
            copy_knot(knots, index, rule.law, rule.mu, stop)
        else:
            copy_knot(knots, index, knots.laws[index - 1], rule.mu, stop)
            for i in range(rule.moving.size):
                row = knots.laws[index, rule.moving[i]]
                for signal in range(row.size):
                    row[signal] += rule.step * rng.standard_normal()
                project(row)
        knots.drifts[index] = True
        stop += rule.every
        index += 1
    return index


@kernel
def project(row: Floats) -> None:
    """Replace a row by the nearest point of the simplex, max(row − excess, 0) [Duchi2008].

    The excess is found by dropping what it leaves nothing of until all that is left has mass 1
    [Michelot1986].
    """
    excess = -math.inf
    left = row.size + 1
    while True:
        count = 0
        total = -1.0
        for signal in range(row.size):
            if row[signal] > excess:
                count += 1
                total += row[signal]
        if count == left:
            break
        left = count
        excess = total / count
    mass = 0.0
    for signal in range(row.size):
        row[signal] = max(row[signal] - excess, 0.0)
        mass += row[signal]
    for signal in range(row.size):
        row[signal] /= mass


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
