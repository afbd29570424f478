"""Upper bounds of theta that hold at all times at once, lowered where the order is declared.

    U_s = max{u : n_s kl(theta_hat_s, u) ≤ c(n_s, delta / 2S)},   1 without a reward

and, where signals are declared to be ordered, the least of those of stronger signals that the
rewards allow, see `ordered_theta`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from foretell.kernel import kernel
from foretell.policies.parts.bernoulli_kl import kl_lower, kl_upper
from foretell.policies.parts.kl_bounds import mixture_level
from foretell.policies.parts.ordered_theta import ThetaPrior, known_count, known_sum, order_upper
from foretell.policies.parts.theta import Rewards
from foretell.types import Floats


class ThetaBounds(NamedTuple):
    """Bounds of the mean reward of each signal, moved only by a reward."""

    prior: ThetaPrior
    own: Floats
    """(signals,): upper bounds from the rewards of each signal alone."""
    lower: Floats
    """(signals,): lower bounds from the same; kept where signals are ordered."""
    upper: Floats
    """(signals,): U, with the order."""


def new_theta_bounds(prior: ThetaPrior, theta: Rewards, delta: float) -> ThetaBounds:
    """Return the bounds before the first reward."""
    signals = theta.counts.size
    bounds = ThetaBounds(prior, np.ones(signals), np.zeros(signals), np.ones(signals))
    for signal in range(signals):
        bounds_update(bounds, theta, signal, delta)
    return bounds


@kernel
def bounds_update(bounds: ThetaBounds, theta: Rewards, signal: int, delta: float) -> None:
    """Learn that the rewards of a signal have changed."""
    received = known_count(theta, bounds.prior, signal)
    level = mixture_level(received, 2.0 * theta.counts.size / delta)
    bound_signal(bounds, theta, signal, level)
    if bounds.prior.ordered:
        order_upper(bounds.own, bounds.lower, bounds.upper)


@kernel
def bound_signal(bounds: ThetaBounds, theta: Rewards, signal: int, level: float) -> None:
    """Write the bounds of one signal, n_s kl ≤ level; an order is left to `order_upper`."""
    received = known_count(theta, bounds.prior, signal)
    bounds.own[signal] = 1.0
    bounds.lower[signal] = 0.0
    if received > 0.0:
        mean = known_sum(theta, bounds.prior, signal) / received
        bounds.own[signal] = kl_upper(mean, level / received)
        if bounds.prior.ordered:
            bounds.lower[signal] = kl_lower(mean, level / received)
    bounds.upper[signal] = bounds.own[signal]
