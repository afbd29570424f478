"""The divergence of two Bernoulli laws, and the confidence bound that it gives.

    kl(p, q) = p ln(p / q) + (1 − p) ln((1 − p) / (1 − q))

The bound max{q : kl(mean, q) <= level} of [Cappe2013] holds for any rewards in [0, 1],
because among these Bernoulli rewards vary the most.
"""

from __future__ import annotations

import math

from foretell.kernel import kernel

STEPS = 60
"""Newton's method needs about five steps; it is stopped here whatever happens."""


@kernel
def bernoulli_kl(p: float, q: float) -> float:
    """Return kl(p, q), with 0 ln 0 = 0; +inf where p has mass and q has none."""
    divergence = 0.0
    if p > 0.0:
        if q <= 0.0:
            return math.inf
        divergence += p * math.log(p / q)
    if p < 1.0:
        if q >= 1.0:
            return math.inf
        divergence += (1.0 - p) * math.log((1.0 - p) / (1.0 - q))
    return max(0.0, divergence)


@kernel
def kl_upper(mean: float, level: float) -> float:
    """Return max{q in [0, 1] : kl(mean, q) <= level}.

    kl is convex in q, so Newton's method falls towards the root from any point above it. It is
    run on the gap x = 1 − q, which keeps its digits where q is near 1, and starts at the larger
    of two lower bounds of the gap: Pinsker's, and the one that drops −mean ln q >= 0.
    """
    if level <= 0.0 or mean >= 1.0:
        return min(1.0, max(0.0, mean))
    if mean <= 0.0:
        return -math.expm1(-level)
    rest = 1.0 - mean
    entropy = -mean * math.log(mean) - rest * math.log(rest)
    gap = max(rest - math.sqrt(0.5 * level), math.exp(-(level + entropy) / rest))
    if gap == 0.0:
        return 1.0
    for _ in range(STEPS):
        upper = 1.0 - gap
        excess = -entropy - mean * math.log(upper) - rest * math.log(gap) - level
        slope = mean / upper - rest / gap
        if excess <= 0.0 or slope >= 0.0:
            break
        step = -excess / slope
        if step <= 1e-14 * gap:
            break
        gap += step
    return 1.0 - min(gap, rest)


@kernel
def kl_lower(mean: float, level: float) -> float:
    """Return min{q in [0, 1] : kl(mean, q) <= level}."""
    return 1.0 - kl_upper(1.0 - mean, level)
