"""Words that every part of foretell shares: arrays, numbers, a problem, the scale of rewards."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from foretell.errors import InvalidInput

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]

RewardKind: TypeAlias = Literal["bounded", "gaussian"]

GRAIN = 2.0**30
"""Rewards are whole multiples of 1/GRAIN, so that their sums are exact in any order."""


FARTHEST = 1000.0
"""Gaussian rewards lie within so many standard deviations of their centre: sums stay exact."""


def is_whole(value: Any) -> bool:
    """Return whether this is a whole number: NumPy's count, truth values do not.

    >>> is_whole(3), is_whole(np.int64(3)), is_whole(3.0), is_whole(True)
    (True, True, False, False)
    """
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Return whether this is a finite number.

    >>> is_number(0.5), is_number(2), is_number("2"), is_number(float("nan"))
    (True, True, False, False)
    """
    return (
        isinstance(value, (int, float, np.integer, np.floating))
        and not isinstance(value, bool)
        and math.isfinite(value)
    )


@dataclass(frozen=True)
class RewardScale:
    """How rewards are measured, and how they map to the unit that policies learn in.

    A bounded reward in [low, high] becomes a number in [0, 1]. A Gaussian reward becomes its
    distance from `low` (the centre) in units of high - low (the declared standard deviation).

    >>> RewardScale(low=-5, high=15).unit(5.0)
    0.5
    >>> RewardScale.gaussian(scale=2.0).natural(-1.0)
    -2.0
    """

    kind: RewardKind = "bounded"
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        """Refuse a scale without width."""
        known = is_number(self.low) and is_number(self.high)
        if not (known and 0 < self.high - self.low < math.inf):
            raise InvalidInput(
                f"the reward range must have a finite low below a finite high, "
                f"got [{self.low}, {self.high}]: give low < high"
            )

    @classmethod
    def gaussian(cls, scale: float, centre: float = 0.0) -> RewardScale:
        """Return the scale of Gaussian rewards with this standard deviation."""
        return cls("gaussian", centre, centre + scale)

    @property
    def width(self) -> float:
        """One unit, in natural rewards."""
        return self.high - self.low

    def unit(self, reward: float) -> float:
        """Map a natural reward to the unit of policies, rounded to a whole number of grains."""
        if not is_number(reward):
            raise InvalidInput(f"a reward must be a finite number, got {reward!r}: report a number")
        if self.kind == "bounded" and not self.low <= reward <= self.high:
            raise InvalidInput(
                f"a reward must lie in the declared range [{self.low}, {self.high}], "
                f"got {reward}: widen the range or correct the reward"
            )
        unit = (reward - self.low) / self.width
        if abs(unit) > FARTHEST:
            raise InvalidInput(
                f"a Gaussian reward must lie within {FARTHEST:.0f} standard deviations of its "
                f"centre, got {reward} at {unit:.3g}: declare a larger one"
            )
        return math.floor(unit * GRAIN + 0.5) / GRAIN

    def natural(self, unit: float) -> float:
        """Map a unit reward or mean back to natural rewards."""
        return self.low + unit * self.width


@dataclass(frozen=True)
class Problem:
    """What a policy is told before the first round.

    `horizon` is None where nobody knows it. `changes` are the rounds at which the law changes,
    `theta_changes` those at which theta does; only oracles are told.
    """

    actions: int
    signals: int
    rewards: RewardKind = "bounded"
    horizon: int | None = None
    changes: tuple[int, ...] = ()
    theta_changes: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Refuse problems in which there is nothing to choose or to see."""
        if self.actions < 2:
            raise InvalidInput(
                f"a problem needs at least 2 actions, got {self.actions}: "
                f"with fewer there is nothing to choose"
            )
        if self.signals < 2:
            raise InvalidInput(
                f"a problem needs at least 2 signals, got {self.signals}: "
                f"with fewer a signal says nothing"
            )
        if self.horizon is not None and (not is_whole(self.horizon) or self.horizon < 1):
            raise InvalidInput(
                f"the horizon must be at least 1 round, got {self.horizon!r}: "
                f"leave it out where nobody knows it"
            )
