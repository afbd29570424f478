"""Laws that change at once: shifts and redraws; `Changes` is every way a law can change."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from foretell.errors import InvalidInput
from foretell.types import Floats, is_number, is_whole
from foretell.worlds.drift import Interpolation, RandomWalk
from foretell.worlds.knots import Knots, Pattern, Schedule, check_actions, check_count, sudden


class Stationary(Pattern, frozen=True):
    """The law never changes."""

    def check(self, horizon: int, actions: int) -> None:
        """Nothing to refuse."""

    def knots(self, law: Floats, mu: Floats, horizon: int, rng: np.random.Generator) -> Knots:
        """Return the one knot."""
        return sudden([0], law[None], mu[None])


class Shifts(Pattern, frozen=True):
    """Cyclic shifts of the rows of the law, and of mu with them [Vernade2020, Sec. 5].

    At each change r is drawn from 1..n−1 for n shifting actions, and the i-th of them takes what
    the (i−r)-th had: with every action shifting, each has a new law and the best one moves.
    """

    when: Schedule
    actions: tuple[int, ...] | None = None

    def check(self, horizon: int, actions: int) -> None:
        """Refuse changes that do not fit the problem."""
        self.when.check(horizon)
        check_actions(self.actions, actions, least=2)

    def knots(self, law: Floats, mu: Floats, horizon: int, rng: np.random.Generator) -> Knots:
        """Draw the shifts."""
        rounds = [0, *self.when.rounds(horizon, rng)]
        moving = np.arange(len(law)) if self.actions is None else np.array(self.actions)
        turned = np.zeros(len(rounds), np.int64)
        turned[1:] = np.cumsum(rng.integers(1, moving.size, len(rounds) - 1))
        origin = np.empty((len(rounds), len(law)), np.int64)
        origin[:] = np.arange(len(law))
        origin[:, moving] = moving[(np.arange(moving.size) - turned[:, None]) % moving.size]
        return sudden(rounds, law[origin], mu[origin])


class Redraws(Pattern, frozen=True):
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
        check_count("count", self.count, "action")

    def check(self, horizon: int, actions: int) -> None:
        """Refuse changes that do not fit the problem."""
        self.when.check(horizon)
        check_actions(self.actions, actions, least=1)
        available = actions if self.actions is None else len(self.actions)
        if self.count is not None and self.count > available:
            raise InvalidInput(
                f"{self.count} actions cannot change at once, got only {available}: lower count"
            )

    def knots(self, law: Floats, mu: Floats, horizon: int, rng: np.random.Generator) -> Knots:
        """Draw the new laws."""
        rounds = [0, *self.when.rounds(horizon, rng)]
        laws = [law]
        pool = np.arange(len(law)) if self.actions is None else np.array(self.actions)
        for _ in rounds[1:]:
            rows = pool if self.count is None else rng.choice(pool, self.count, replace=False)
            law = law.copy()
            law[rows] = rng.dirichlet([self.concentration] * law.shape[1], len(rows))
            laws.append(law)
        return sudden(rounds, np.array(laws), np.tile(mu, (len(rounds), 1)))


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
    """Draw a new law for some actions at each change."""
    chosen = None if actions is None else tuple(actions)
    return Redraws(_schedule(at, every, hazard), chosen, count, concentration)


def _schedule(
    at: list[int] | tuple[int, ...] | None, every: int | None, hazard: float | None
) -> Schedule:
    if at is not None and not hasattr(at, "__iter__"):
        raise InvalidInput(f"at must be a list of rounds, got {at!r}: for instance at=[2000]")
    listed = None if at is None else tuple(int(r) if is_whole(r) else r for r in at)
    return Schedule(listed, every, hazard)
