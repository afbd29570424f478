"""Does the reward depend on the signal alone? A test that may be looked at in every round.

Each reward is predicted from the earlier rewards of its own segment and signal, with the
Krichevsky–Trofimov estimator, and compared with the best fixed theta in hindsight:

    ln E = sum over rewards of ln(its predicted likelihood) − sum_s ln(largest likelihood of s)

Where E[reward | action, signal, past] = theta_s, E is at most a nonnegative martingale that
starts at 1, so by Ville's inequality it ever exceeds 1/delta with probability at most delta. For
a reward x inside [0, 1] the likelihood is p^x (1 − p)^(1 − x), which is convex in x and so keeps
the inequality; Gaussian rewards have their density. Actions may be chosen in any way; delays must
not depend on the reward, and a reward's segment is fixed when it arrives.
"""

from __future__ import annotations

import math

from foretell.kernel import kernel
from foretell.policies.parts.segments import Segments
from foretell.policies.parts.theta import Rewards
from foretell.types import GRAIN


@kernel
def _log_fit(gaussian: bool, reward: float, total: float, received: int) -> float:
    """Return the log-likelihood of a reward, predicted from the rewards before it."""
    if gaussian:
        spread = 1.0 + 1.0 / (received + 1.0)
        miss = reward - total / (received + 1.0)
        return -0.5 * (miss * miss / spread + math.log(spread))
    share = (total + 0.5) / (received + 1.0)
    if reward >= 1.0:
        return math.log(share)
    if reward <= 0.0:
        return math.log1p(-share)
    return reward * math.log(share) + (1.0 - reward) * math.log1p(-share)


@kernel
def _log_best(gaussian: bool, squares: float, total: float, received: float) -> float:
    """Return the log-likelihood of rewards under the best fixed mean."""
    if gaussian:
        return -0.5 * (squares - total * total / received) if received > 0 else 0.0
    if total <= 0.0 or total >= received:
        return 0.0
    share = total / received
    return total * math.log(share) + (received - total) * math.log1p(-share)


@kernel
def likelihood(gaussian: bool, reward: float, total: float, received: int) -> float:
    """Return the likelihood of a reward, predicted from the rewards before it."""
    if not gaussian:
        if reward >= 1.0:
            return (total + 0.5) / (received + 1.0)
        if reward <= 0.0:
            return 1.0 - (total + 0.5) / (received + 1.0)
    return math.exp(_log_fit(gaussian, reward, total, received))


@kernel
def log_best_gain(gaussian: bool, theta: Rewards, signal: int, reward: float) -> float:
    """Return by how much a reward raises the largest log-likelihood of one theta."""
    total = theta.grains[signal] / GRAIN
    received = theta.counts[signal]
    before = _log_best(gaussian, 0.0, total, received)
    after = _log_best(gaussian, reward * reward, total + reward, received + 1.0)
    return after - before


@kernel
def evidence_gain(
    gaussian: bool, segments: Segments, segment: int, theta: Rewards, signal: int, reward: float
) -> float:
    """Return by how much a reward raises ln E; neither its segment nor theta holds it yet."""
    own = segments.grains[segment][signal] / GRAIN
    gain = _log_fit(gaussian, reward, own, segments.received[segment][signal])
    return gain - log_best_gain(gaussian, theta, signal, reward)
