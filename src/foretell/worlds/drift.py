"""Laws that change slowly: in straight lines, or as a random walk on the simplex."""

from __future__ import annotations

import math

import numpy as np

from foretell.errors import InvalidInput
from foretell.types import Floats, is_number
from foretell.worlds.knots import Knots, Pattern, Schedule, check_actions, check_count

MOST_KNOTS = 2000


class Interpolation(Pattern, frozen=True):
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

    def knots(self, law: Floats, mu: Floats, horizon: int, rng: np.random.Generator) -> Knots:
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
    every: int | None = None
    actions: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        """Check the fields."""
        if not is_number(self.spread) or self.spread <= 0.0:
            raise InvalidInput(
                f"the spread of a random walk must be a finite number above 0, got {self.spread}"
            )
        check_count("every", self.every, "round")

    def check(self, horizon: int, actions: int) -> None:
        """Refuse actions that the problem does not have."""
        check_actions(self.actions, actions, least=1)

    def knots(self, law: Floats, mu: Floats, horizon: int, rng: np.random.Generator) -> Knots:
        """Draw the walk."""
        every = self.every or max(10, -(-horizon // MOST_KNOTS))
        rows = np.arange(len(law)) if self.actions is None else np.array(self.actions)
        step = self.spread * math.sqrt(every / 1000.0)
        stops = np.arange(0, horizon + every, every)
        laws = [law]
        for _ in stops[1:]:
            law = law.copy()
            moved = law[rows] + step * rng.standard_normal((len(rows), law.shape[1]))
            law[rows] = [_project(row) for row in moved]
            laws.append(law)
        return Knots(
            stops, np.array(laws), np.tile(mu, (stops.size, 1)), np.ones(stops.size, np.bool_)
        )


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


def _project(row: Floats) -> Floats:
    """Return the nearest point of the simplex [Duchi2008]."""
    falling = np.sort(row)[::-1]
    excess = (np.cumsum(falling) - 1.0) / np.arange(1, len(row) + 1)
    last = np.nonzero(falling > excess)[0][-1]
    inside = np.maximum(row - excess[last], 0.0)
    projected: Floats = inside / inside.sum()
    return projected
