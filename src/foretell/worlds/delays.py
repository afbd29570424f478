"""When rewards arrive: delay families, in whole rounds.

A reward of round u with delay d is learned at the end of round u + d, so it is usable from round
u + d + 1 on [Vernade2020, Sec. 3]: with delay 0, from the next round. Every family may lose a
share of its rewards (`lost`): those never arrive.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec
import numpy as np

from foretell.errors import InvalidInput
from foretell.kernel import kernel
from foretell.types import Floats, Ints, is_number, is_whole

if TYPE_CHECKING:
    from collections.abc import Sequence

NEVER = -1
_FAR = 2.0**62
"""A delay of so many rounds is never over."""
_FAR_EXPONENT = 700.0
"""exp of it is far beyond, and still a number."""

_CONSTANT, _UNIFORM, _GEOMETRIC, _LOG_NORMAL, _PARETO, _TABLE, _NEVER = range(7)


class _Family(msgspec.Struct, frozen=True, tag_field="family", tag=str.lower):
    """What all families have: the share of rewards that never arrive."""


class Constant(_Family, frozen=True):
    """Every reward arrives after the same number of rounds."""

    rounds: int = 0
    lost: float = 0.0

    def __post_init__(self) -> None:
        """Check the fields."""
        _check_rounds("a constant delay", self.rounds)
        _check_lost(self.lost)

    def mean(self) -> float:
        """Give the mean delay of the rewards that arrive."""
        return float(self.rounds)


class Uniform(_Family, frozen=True):
    """Every whole number of rounds from low to high is equally likely."""

    low: int
    high: int
    lost: float = 0.0

    def __post_init__(self) -> None:
        """Check the fields."""
        _check_rounds("the low end of a uniform delay", self.low)
        _check_rounds("the high end of a uniform delay", self.high)
        if self.high < self.low:
            raise InvalidInput(
                f"a uniform delay needs low <= high, got {self.low} > {self.high}: swap the two"
            )
        _check_lost(self.lost)

    def mean(self) -> float:
        """Give the mean delay of the rewards that arrive."""
        return (self.low + self.high) / 2


class Geometric(_Family, frozen=True):
    """P(delay = d) = q (1 − q)^d for d = 0, 1, …, with mean (1 − q) / q."""

    average: float
    lost: float = 0.0

    def __post_init__(self) -> None:
        """Check the fields."""
        _check_positive("the mean of a geometric delay", self.average)
        _check_lost(self.lost)

    def mean(self) -> float:
        """Give the mean delay of the rewards that arrive."""
        return self.average


class LogNormal(_Family, frozen=True):
    """The whole part of median · exp(sigma · z), z standard normal."""

    median: float
    sigma: float
    lost: float = 0.0

    def __post_init__(self) -> None:
        """Check the fields."""
        _check_positive("the median of a log-normal delay", self.median)
        _check_positive("the sigma of a log-normal delay", self.sigma)
        _check_lost(self.lost)

    def mean(self) -> float:
        """Give the mean of the delays that arrive, before they are cut to whole rounds."""
        return self.median * math.exp(0.5 * self.sigma**2)


class Pareto(_Family, frozen=True):
    """Heavy-tailed: P(delay >= d) = (1 + d / scale)^-shape; the mean is infinite for shape <= 1."""

    shape: float
    scale: float
    lost: float = 0.0

    def __post_init__(self) -> None:
        """Check the fields."""
        _check_positive("the shape of a Pareto delay", self.shape)
        _check_positive("the scale of a Pareto delay", self.scale)
        _check_lost(self.lost)

    def mean(self) -> float:
        """Give the mean of the delays that arrive, before they are cut to whole rounds."""
        return self.scale / (self.shape - 1.0) if self.shape > 1.0 else math.inf


class Table(_Family, frozen=True):
    """The delays of a table, each with its weight (equal weights where none are given)."""

    rounds: tuple[int, ...]
    weights: tuple[float, ...] = ()
    lost: float = 0.0

    def __post_init__(self) -> None:
        """Check the fields."""
        if len(self.rounds) == 0:
            raise InvalidInput("a table of delays needs at least one delay, got none: list some")
        for rounds in self.rounds:
            _check_rounds("a delay in a table", rounds)
        if len(self.weights) not in (0, len(self.rounds)):
            raise InvalidInput(
                f"a table of delays needs one weight per delay, got {len(self.weights)} weights "
                f"for {len(self.rounds)} delays: give as many, or none"
            )
        if any(not is_number(weight) or weight < 0 for weight in self.weights) or (
            self.weights and sum(self.weights) == 0
        ):
            raise InvalidInput(
                f"the weights of a table of delays must be non-negative with a positive sum, "
                f"got {list(self.weights)}"
            )
        _check_lost(self.lost)

    def probabilities(self) -> Floats:
        """Give the probability of each delay."""
        weights = np.array(self.weights or [1.0] * len(self.rounds))
        return weights / weights.sum()

    def mean(self) -> float:
        """Give the mean delay of the rewards that arrive."""
        return float(self.probabilities() @ np.array(self.rounds))


class Never(_Family, frozen=True):
    """No reward ever arrives."""

    def mean(self) -> float:
        """Give the mean delay: none arrives."""
        return math.inf


Delay: TypeAlias = Constant | Uniform | Geometric | LogNormal | Pareto | Table | Never


def as_delay(delay: Delay | int) -> Delay:
    """Read a whole number as a constant delay."""
    if isinstance(delay, _Family):
        return delay
    if not is_whole(delay):
        raise InvalidInput(
            f"a delay must be a whole number of rounds or one of foretell.delays, got {delay!r}"
        )
    return Constant(int(delay))


class Delays(NamedTuple):
    """The delay family of each signal, as arrays for the simulator."""

    kind: Ints
    first: Floats
    second: Floats
    lost: Floats
    table_rounds: Ints
    table_cumulative: Floats
    table_start: Ints
    uses_uniform: bool
    uses_normal: bool


def delay_arrays(delays: Sequence[Delay]) -> Delays:
    """Turn one delay per signal into arrays."""
    tables = [one if isinstance(one, Table) else Table((0,)) for one in delays]
    rows = [_parameters(one) for one in delays]
    lost = np.array([getattr(one, "lost", 0.0) for one in delays])
    kind = np.array([row[0] for row in rows])
    return Delays(
        kind=kind,
        first=np.array([row[1] for row in rows]),
        second=np.array([row[2] for row in rows]),
        lost=lost,
        table_rounds=np.concatenate([np.array(one.rounds, np.int64) for one in tables]),
        table_cumulative=np.concatenate([np.cumsum(one.probabilities()) for one in tables]),
        table_start=np.array([0, *itertools.accumulate(len(one.rounds) for one in tables)]),
        uses_uniform=bool(
            np.isin(kind, (_UNIFORM, _GEOMETRIC, _PARETO, _TABLE)).any() or lost.any()
        ),
        uses_normal=bool((kind == _LOG_NORMAL).any()),
    )


def _parameters(delay: Delay) -> tuple[int, float, float]:  # noqa: PLR0911  one per family
    match delay:
        case Constant(rounds):
            return _CONSTANT, float(rounds), 0.0
        case Uniform(low, high):
            return _UNIFORM, float(low), float(high)
        case Geometric(average):
            return _GEOMETRIC, math.log1p(-1.0 / (1.0 + average)), 0.0
        case LogNormal(median, sigma):
            return _LOG_NORMAL, math.log(median), sigma
        case Pareto(shape, scale):
            return _PARETO, shape, scale
        case Table():
            return _TABLE, 0.0, 0.0
        case Never():
            return _NEVER, 0.0, 0.0


@kernel
def draw_delay(delays: Delays, signal: int, uniform: float, normal: float) -> int:
    """Give the delay of a reward of this signal, or NEVER, from one uniform and one normal."""
    lost = delays.lost[signal]
    kind = delays.kind[signal]
    first = delays.first[signal]
    if uniform < lost:
        return NEVER
    if kind == _CONSTANT:
        return int(first)
    rest = (uniform - lost) / (1.0 - lost)
    second = delays.second[signal]
    if kind == _UNIFORM:
        rounds = first + rest * (second - first + 1.0)
    elif kind == _GEOMETRIC:
        rounds = math.log1p(-rest) / first
    elif kind == _LOG_NORMAL:
        rounds = math.exp(min(first + second * normal, _FAR_EXPONENT))
    elif kind == _PARETO:
        rounds = second * math.expm1(min(-math.log1p(-rest) / first, _FAR_EXPONENT))
    elif kind == _TABLE:
        index = delays.table_start[signal]
        last = delays.table_start[signal + 1] - 1
        while index < last and rest >= delays.table_cumulative[index]:
            index += 1
        return int(delays.table_rounds[index])
    else:
        return NEVER
    return int(rounds) if rounds < _FAR else NEVER


def _check_rounds(what: str, rounds: int) -> None:
    if not is_whole(rounds):
        raise InvalidInput(f"{what} must be a whole number of rounds, got {rounds!r}")
    if rounds < 0:
        raise InvalidInput(
            f"{what} must be at least 0 rounds, got {rounds}: "
            f"a reward cannot come before its action"
        )


def _check_positive(what: str, value: float) -> None:
    if not is_number(value) or value <= 0.0:
        raise InvalidInput(f"{what} must be a finite number above 0, got {value}")


def _check_lost(lost: float) -> None:
    if not is_number(lost) or not 0.0 <= lost < 1.0:
        raise InvalidInput(
            f"the share of lost rewards must lie in [0, 1), got {lost}: "
            f"for rewards that never arrive use foretell.delays.Never()"
        )
