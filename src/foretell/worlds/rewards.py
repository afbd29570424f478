"""What a reward looks like around its mean: reward families.

Theta is given in natural rewards. A bounded family lives in a declared range [low, high], which
is mapped to [0, 1] for the policies; a Gaussian one declares its standard deviation.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import msgspec
import numpy as np

from foretell.errors import InvalidInput
from foretell.kernel import kernel, uniform
from foretell.types import GRAIN, Floats, RewardScale, is_number

BERNOULLI, BETA, FIXED, GAUSSIAN = range(4)


class _Bounded(msgspec.Struct, frozen=True, tag_field="family", tag=str.lower):
    """A family inside [low, high]."""

    low: float = 0.0
    """The lowest reward, below `high`."""
    high: float = 1.0
    """The highest reward."""

    def __post_init__(self) -> None:
        """Check the fields."""
        self.scale()

    def scale(self) -> RewardScale:
        """Return the scale on which these rewards are measured."""
        return RewardScale("bounded", float(self.low), float(self.high))


class Bernoulli(_Bounded, frozen=True):
    """Either low or high."""


class Beta(_Bounded, frozen=True):
    """Beta-distributed on [low, high]; the larger the concentration, the closer to its mean."""

    concentration: float = 4.0
    """How close rewards are to their mean: larger is closer."""

    def __post_init__(self) -> None:
        """Check the fields."""
        self.scale()
        if not is_number(self.concentration) or self.concentration <= 0.0:
            raise InvalidInput(
                f"the concentration of Beta rewards must be a finite number above 0, "
                f"got {self.concentration}"
            )


class Fixed(_Bounded, frozen=True):
    """Exactly the mean, without noise."""


class Gaussian(msgspec.Struct, frozen=True, tag_field="family", tag=str.lower):
    """Normal around the mean with a declared standard deviation; `centre` is a first guess."""

    sigma: float = 1.0
    """Standard deviation of a reward around its mean."""
    centre: float = 0.0
    """A first guess of the rewards, around which policies start."""

    def __post_init__(self) -> None:
        """Check the fields."""
        if not is_number(self.sigma) or self.sigma <= 0.0:
            raise InvalidInput(
                f"the sigma of Gaussian rewards must be a finite number above 0, got {self.sigma}"
            )

    def scale(self) -> RewardScale:
        """Return the scale on which these rewards are measured."""
        return RewardScale.gaussian(float(self.sigma), float(self.centre))


RewardFamily: TypeAlias = Bernoulli | Beta | Fixed | Gaussian


def family_code(family: RewardFamily) -> tuple[int, float]:
    """Return the family as numbers for the simulator: its kind and its concentration."""
    match family:
        case Bernoulli():
            return BERNOULLI, 0.0
        case Beta():
            return BETA, family.concentration
        case Fixed():
            return FIXED, 0.0
        case Gaussian():
            return GAUSSIAN, 0.0


@kernel
def beta_reward(mean: float, concentration: float, rng: np.random.Generator) -> float:
    """Draw a Beta reward with this mean; at 0 and 1 it has no noise."""
    if mean <= 0.0 or mean >= 1.0:
        return mean
    return rng.beta(concentration * mean, concentration * (1.0 - mean))


@kernel
def draw_reward(
    kind: int,
    concentration: float,
    theta: Floats,
    mu: Floats,
    index: int,
    mixed: bool,
    mixing: bool,
    rng: np.random.Generator,
) -> float:
    """Draw a unit reward: with mean mu[index] in a mixed round, else with mean theta[index].

    What is taken from `rng` does not depend on the action: Beta rewards are drawn for every
    signal (and, when the scenario mixes, every action), and all but one are thrown away.
    """
    mean = mu[index] if mixed else theta[index]
    if kind == BERNOULLI:
        return 1.0 if uniform(rng) < mean else 0.0
    if kind == GAUSSIAN:
        reward = mean + rng.standard_normal()
    elif kind == BETA:
        reward = 0.0
        for signal in range(theta.size):
            value = beta_reward(theta[signal], concentration, rng)
            if not mixed and signal == index:
                reward = value
        if mixing:
            for action in range(mu.size):
                value = beta_reward(mu[action], concentration, rng)
                if mixed and action == index:
                    reward = value
    else:
        reward = mean
    return math.floor(reward * GRAIN + 0.5) / GRAIN
