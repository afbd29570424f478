"""Signals whose meaning changes: theta in steps, in straight lines, redrawn, or as a random walk.

The paper's theta is fixed [Vernade2020, Sec. 2]; logs say that it often is not. A pattern turns
the first theta into knots: rounds with the theta that holds there. Between two knots theta stays
as it is, or, where it drifts, moves in a straight line to the next. A reward has the mean of the
round of its decision, whenever it arrives.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeAlias

import msgspec
import numpy as np

from foretell.errors import InvalidInput
from foretell.types import Bools, Floats, Ints, RewardScale, is_number
from foretell.worlds.changes import schedule
from foretell.worlds.drift import MOST_KNOTS
from foretell.worlds.knots import Schedule, check_count, following_change

Stops: TypeAlias = tuple[tuple[int, tuple[float, ...]], ...]


class ThetaKnots(NamedTuple):
    """The thetas of the worlds of some runs, and the rounds from which on they hold."""

    first: Ints
    """(runs,): the first knot of each run."""
    end: Ints
    """(runs,): the knot after its last one."""
    rounds: Ints
    """(knots,): the first round of each, from 0."""
    values: Floats
    """(knots, signals)"""
    drifts: Bools
    """(knots,): whether theta moves in a straight line from this knot to the next."""

    def of_runs(self, numbers: Ints | slice) -> ThetaKnots:
        """Return the thetas of some of the runs."""
        return self._replace(first=self.first[numbers], end=self.end[numbers])

    def alone(self, run: int) -> ThetaKnots:
        """Return the thetas of one run, with no knots but its own."""
        own = slice(int(self.first[run]), int(self.end[run]))
        return theta_knots(self.rounds[own], self.values[own], self.drifts[own])

    def changes_of(self, run: int) -> tuple[int, ...]:
        """Return the rounds at which the theta of a run jumps."""
        rounds = self.rounds[self.first[run] : self.end[run]]
        drifts = self.drifts[self.first[run] : self.end[run]]
        return tuple(int(r) for r in rounds[1:][~drifts[:-1]])


def theta_knots(rounds: Any, values: Any, drifts: Any) -> ThetaKnots:
    """Return the knots of one run."""
    return ThetaKnots(
        first=np.zeros(1, np.int64),
        end=np.array([len(rounds)]),
        rounds=np.asarray(rounds, np.int64),
        values=np.asarray(values, np.float64),
        drifts=np.asarray(drifts, np.bool_),
    )


def joined(runs: list[ThetaKnots]) -> ThetaKnots:
    """Return the knots of all these runs together."""
    ends = np.cumsum([knots.rounds.size for knots in runs])
    return ThetaKnots(
        first=np.concatenate([np.zeros(1, np.int64), ends[:-1]]),
        end=ends,
        rounds=np.concatenate([knots.rounds for knots in runs]),
        values=np.concatenate([knots.values for knots in runs]),
        drifts=np.concatenate([knots.drifts for knots in runs]),
    )


class _ThetaPattern(msgspec.Struct, frozen=True, tag_field="pattern"):
    """What all patterns are: by default without stops of their own, and drawn at random."""

    def stops(self) -> Stops:
        """Return the thetas that are listed."""
        return ()

    def check_fit(self, signals: int, scale: RewardScale) -> None:
        """Refuse what does not fit the signals, or the scale of the rewards."""
        for stop, theta in self.stops():
            if len(theta) != signals:
                raise InvalidInput(
                    f"theta at round {stop} needs one mean for each of the {signals} signals, "
                    f"got {len(theta)}"
                )

    def check(self) -> None:
        """Refuse stops that do not increase."""
        Schedule(at=tuple(stop for stop, _ in self.stops()))


class ConstantTheta(_ThetaPattern, frozen=True, tag="constant"):
    """Theta never changes, as the paper assumes."""

    def draw(
        self, theta: Floats, scale: RewardScale, horizon: int, rng: np.random.Generator
    ) -> ThetaKnots:
        """Return the one knot."""
        return theta_knots([0], theta[None], [False])


class ThetaSteps(_ThetaPattern, frozen=True, tag="steps"):
    """Sudden changes to each listed (round, theta) in turn."""

    towards: Stops
    """The thetas, each with the first round in which it holds."""

    def stops(self) -> Stops:
        """Return the thetas that are listed."""
        return self.towards

    def draw(
        self, theta: Floats, scale: RewardScale, horizon: int, rng: np.random.Generator
    ) -> ThetaKnots:
        """Return the steps."""
        reached = [(stop, value) for stop, value in self.towards if stop < horizon]
        rounds = [0, *(stop for stop, _ in reached)]
        values = [theta, *(value for _, value in reached)]
        return theta_knots(rounds, values, np.zeros(len(rounds)))


class ThetaLines(_ThetaPattern, frozen=True, tag="lines"):
    """Slow drift in straight lines: from the first theta to each listed (round, theta) in turn."""

    towards: Stops
    """The thetas, each with the round at which it is reached."""

    def stops(self) -> Stops:
        """Return the thetas that are listed."""
        return self.towards

    def draw(
        self, theta: Floats, scale: RewardScale, horizon: int, rng: np.random.Generator
    ) -> ThetaKnots:
        """Return the stops."""
        rounds = np.array([0, *(stop for stop, _ in self.towards)])
        values = [theta, *(value for _, value in self.towards)]
        return theta_knots(rounds, values, rounds < rounds[-1])


class ThetaRedraws(_ThetaPattern, frozen=True, tag="redraws"):
    """At each change some signals get a new mean, uniform on the range of the rewards.

    All of them, or `count` at random; `low` and `high` are another range.
    """

    when: Schedule
    """At which rounds: `at`, `every` or `hazard` of a schedule."""
    count: int | None = None
    """How many signals get a new mean at each change; None is all."""
    low: float | None = None
    """Lowest new mean; None is the lowest reward."""
    high: float | None = None
    """Highest new mean; None is the highest reward."""

    def __post_init__(self) -> None:
        """Check the fields."""
        check_count("count", self.count, "signal")

    def check_fit(self, signals: int, scale: RewardScale) -> None:
        """Refuse more signals than there are, and a range that is none."""
        self._between(scale)
        if self.count is not None and self.count > signals:
            raise InvalidInput(
                f"{self.count} signals cannot change at once, got only {signals}: lower count"
            )

    def draw(
        self, theta: Floats, scale: RewardScale, horizon: int, rng: np.random.Generator
    ) -> ThetaKnots:
        """Draw the new means."""
        low, high = self._between(scale)
        count = theta.size if self.count is None else self.count
        moments = self.when.moments(horizon)
        rounds, values = [0], [theta]
        while (change := following_change(moments, len(rounds) - 1, rounds[-1], rng)) < horizon:
            moved = values[-1].copy()
            moved[rng.permutation(theta.size)[:count]] = rng.uniform(low, high, count)
            rounds.append(change)
            values.append(moved)
        return theta_knots(rounds, values, np.zeros(len(rounds)))

    def _between(self, scale: RewardScale) -> tuple[float, float]:
        """Return the range of the new means, or refuse what has none or leaves that of rewards."""
        low = scale.low if self.low is None else self.low
        high = scale.high if self.high is None else self.high
        known = scale.kind == "bounded" or None not in (self.low, self.high)
        inside = scale.kind != "bounded" or (scale.low <= low and high <= scale.high)
        if not (known and is_number(low) and is_number(high) and low < high and inside):
            raise InvalidInput(
                f"new thetas are drawn between low and high, inside the range of the rewards, got "
                f"low={self.low} and high={self.high}: give low < high"
            )
        return low, high


class ThetaWalk(_ThetaPattern, frozen=True, tag="walk"):
    """Slow drift: a random walk of every signal's mean, by its spread over 1,000 rounds.

    Every `every` rounds (by default so that there are at most 2,000 steps) each mean takes a
    Gaussian step and is reflected at the ends of the range; between steps it moves in a line.
    """

    spread: float
    """Standard deviation of a free mean after 1,000 rounds."""
    every: int | None = None
    """Rounds between steps; None makes at most 2,000 steps."""

    def __post_init__(self) -> None:
        """Check the fields."""
        if not is_number(self.spread) or self.spread <= 0.0:
            raise InvalidInput(
                f"the spread of a random walk must be a finite number above 0, got {self.spread}"
            )
        check_count("every", self.every, "round")

    def draw(
        self, theta: Floats, scale: RewardScale, horizon: int, rng: np.random.Generator
    ) -> ThetaKnots:
        """Draw the walk."""
        every = self.every or max(10, -(-horizon // MOST_KNOTS))
        rounds = np.arange(0, horizon + every, every)
        step = self.spread * math.sqrt(every / 1000.0)
        free = theta + np.cumsum(step * rng.standard_normal((rounds.size, theta.size)), axis=0)
        free += theta - free[0]
        if scale.kind == "bounded":
            turn = np.mod(free - scale.low, 2.0 * scale.width)
            free = scale.low + np.minimum(turn, 2.0 * scale.width - turn)
        free[0] = theta
        return theta_knots(rounds, free, rounds < rounds[-1])


ThetaChanges: TypeAlias = ConstantTheta | ThetaSteps | ThetaLines | ThetaRedraws | ThetaWalk


def theta_steps(towards: list[tuple[int, list[float]]]) -> ThetaSteps:
    """Let theta jump to each listed (round, theta).

    >>> theta_steps([(3000, [0.2, 0.9])]).towards
    ((3000, (0.2, 0.9)),)
    """
    return ThetaSteps(_stops(towards))


def theta_lines(towards: list[tuple[int, list[float]]]) -> ThetaLines:
    """Let theta drift in straight lines through the listed (round, theta)."""
    return ThetaLines(_stops(towards))


def theta_redraws(
    at: list[int] | tuple[int, ...] | None = None,
    *,
    every: int | None = None,
    hazard: float | None = None,
    count: int | None = None,
    low: float | None = None,
    high: float | None = None,
) -> ThetaRedraws:
    """Draw new means for some signals at rounds `at`, `every` so many, or with a `hazard`."""
    return ThetaRedraws(schedule(at, every, hazard), count, low, high)


def theta_walk(spread: float, *, every: int | None = None) -> ThetaWalk:
    """Let the mean of every signal walk at random."""
    return ThetaWalk(spread, every)


def _stops(towards: list[tuple[int, list[float]]]) -> Stops:
    try:
        return tuple((int(stop), tuple(float(mean) for mean in theta)) for stop, theta in towards)
    except (TypeError, ValueError):
        raise InvalidInput(
            "theta changes must be pairs of a round and a theta: for instance [(3000, [0.2, 0.9])]"
        ) from None
