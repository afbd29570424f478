"""When rewards arrive: delay families, in whole rounds.

A reward of round u with delay d is learned at the end of round u + d, so it is usable from round
u + d + 1 on [Vernade2020, Sec. 3]: with delay 0, from the next round. Every family may lose a
share of its rewards (`lost`): those never arrive. A delay may depend on the reward itself.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import msgspec
import numpy as np

from foretell.errors import InvalidInput
from foretell.types import Floats, is_number, is_whole

NEVER = -1
"""The delay of a reward that never arrives."""
MOST_STAGES = 100


class _Family(msgspec.Struct, frozen=True, tag_field="family"):
    """What all families have: the share of rewards that never arrive."""


class ConstantDelay(_Family, frozen=True, tag="constant"):
    """Every reward arrives after the same number of rounds."""

    rounds: int = 0
    """The delay; 0 makes a reward usable in the next round."""
    lost: float = 0.0
    """Share of the rewards that never arrive."""

    def __post_init__(self) -> None:
        """Check the fields."""
        _check_rounds("a constant delay", self.rounds)
        _check_lost(self.lost)

    def mean(self) -> float:
        """Return the mean delay of the rewards that arrive."""
        return float(self.rounds)


class UniformDelay(_Family, frozen=True, tag="uniform"):
    """Every whole number of rounds from low to high is equally likely."""

    low: int
    """The shortest delay in rounds."""
    high: int
    """The longest delay in rounds."""
    lost: float = 0.0
    """Share of the rewards that never arrive."""

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
        """Return the mean delay of the rewards that arrive."""
        return (self.low + self.high) / 2


class GeometricDelay(_Family, frozen=True, tag="geometric"):
    """P(delay = d) = q (1 − q)^d for d = 0, 1, …, with mean (1 − q) / q."""

    average: float
    """The mean delay in rounds."""
    lost: float = 0.0
    """Share of the rewards that never arrive."""

    def __post_init__(self) -> None:
        """Check the fields."""
        _check_positive("the mean of a geometric delay", self.average)
        _check_lost(self.lost)

    def mean(self) -> float:
        """Return the mean delay of the rewards that arrive."""
        return self.average


class GammaDelay(_Family, frozen=True, tag="gamma"):
    """The whole part of a gamma variable: the sum of `shape` exponential stages, equally long."""

    average: float
    """The mean delay in rounds, before it is cut to whole rounds."""
    shape: int
    """How many exponential stages: the more, the steadier the delay."""
    lost: float = 0.0
    """Share of the rewards that never arrive."""

    def __post_init__(self) -> None:
        """Check the fields."""
        _check_positive("the mean of a gamma delay", self.average)
        if not is_whole(self.shape) or not 1 <= self.shape <= MOST_STAGES:
            raise InvalidInput(
                f"the shape of a gamma delay must be a whole number from 1 to {MOST_STAGES}, "
                f"got {self.shape!r}"
            )
        _check_lost(self.lost)

    def mean(self) -> float:
        """Return the mean of the delays that arrive, before they are cut to whole rounds."""
        return self.average


class LogNormalDelay(_Family, frozen=True, tag="lognormal"):
    """The whole part of median · exp(sigma · z), z standard normal."""

    median: float
    """The median delay in rounds, before it is cut to whole rounds."""
    sigma: float
    """Standard deviation of its logarithm."""
    lost: float = 0.0
    """Share of the rewards that never arrive."""

    def __post_init__(self) -> None:
        """Check the fields."""
        _check_positive("the median of a log-normal delay", self.median)
        _check_positive("the sigma of a log-normal delay", self.sigma)
        _check_lost(self.lost)

    def mean(self) -> float:
        """Return the mean of the delays that arrive, before they are cut to whole rounds."""
        return self.median * math.exp(0.5 * self.sigma**2)


class ParetoDelay(_Family, frozen=True, tag="pareto"):
    """Heavy-tailed: P(delay >= d) = (1 + d / scale)^-shape; the mean is infinite for shape <= 1."""

    shape: float
    """The tail: smaller is heavier."""
    scale: float
    """The unit of the delay in rounds."""
    lost: float = 0.0
    """Share of the rewards that never arrive."""

    def __post_init__(self) -> None:
        """Check the fields."""
        _check_positive("the shape of a Pareto delay", self.shape)
        _check_positive("the scale of a Pareto delay", self.scale)
        _check_lost(self.lost)

    def mean(self) -> float:
        """Return the mean of the delays that arrive, before they are cut to whole rounds."""
        return self.scale / (self.shape - 1.0) if self.shape > 1.0 else math.inf


class TableDelay(_Family, frozen=True, tag="table"):
    """The delays of a table, each with its weight (equal weights where none are given)."""

    rounds: tuple[int, ...]
    """The delays that can happen."""
    weights: tuple[float, ...] = ()
    """The weight of each; none are equal weights."""
    lost: float = 0.0
    """Share of the rewards that never arrive."""

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
        """Return the probability of each delay."""
        weights = np.array(self.weights or [1.0] * len(self.rounds))
        return weights / weights.sum()

    def mean(self) -> float:
        """Return the mean delay of the rewards that arrive."""
        return float(self.probabilities() @ np.array(self.rounds))


class NeverDelay(_Family, frozen=True, tag="never"):
    """No reward ever arrives."""

    def mean(self) -> float:
        """Return the mean delay: none arrives."""
        return math.inf


PlainDelay: TypeAlias = (
    ConstantDelay
    | UniformDelay
    | GeometricDelay
    | GammaDelay
    | LogNormalDelay
    | ParetoDelay
    | TableDelay
    | NeverDelay
)
"""The families that do not look at the reward."""


class ByRewardDelay(_Family, frozen=True, tag="by-reward"):
    """Good news and bad news take their own time: a delay for each.

    Rewards from the middle of their range on have the delay `high`, the others `low`. What has
    arrived is then no fair sample of what will.
    """

    high: PlainDelay
    """The delay of rewards from the middle of their range on."""
    low: PlainDelay
    """The delay of the others."""

    def mean(self) -> float:
        """Return the larger of the two mean delays: how likely each is depends on theta."""
        return max(self.high.mean(), self.low.mean())


Delay: TypeAlias = PlainDelay | ByRewardDelay


def as_delay(delay: Delay | int) -> Delay:
    """Read a whole number as a constant delay."""
    if isinstance(delay, _Family):
        return delay
    if not is_whole(delay):
        raise InvalidInput(
            f"a delay must be a whole number of rounds or one of foretell.delays, got {delay!r}"
        )
    return ConstantDelay(int(delay))


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
            f"for rewards that never arrive use foretell.delays.NeverDelay()"
        )
