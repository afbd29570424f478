"""The most optimistic law in a Kullback–Leibler ball, solved exactly.

    rho⁺ = max { q·U : q in the simplex, KL(p, q) ≤ level }

With v the multiplier of q's mass, the maximiser is q proportional to p / (v − U) on the support
of p, and v solves f(v) = level for

    f(v) = sum_s p_s ln(v − U_s) + ln sum_s p_s / (v − U_s)

[Filippi2010, App. A]. A signal of largest U outside the support can take mass of its own: then v
stands at that U. The equation is solved in x = ln(v − m), m the largest U of the support, and
with the gaps m − U_s, because v itself equals m in floating point on peaked laws. O(S) per step
and no sorting; Newton's method, kept inside a bracket, needs four or five steps.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from foretell.kernel import kernel

if TYPE_CHECKING:
    from foretell.types import Floats, Ints

SAME = 1e-12
"""Values closer than this are one value."""
STEPS = 100
"""Newton's method is stopped here whatever happens."""
LEAST = -690.0
"""The smallest x whose exponential is a number that may divide."""


@kernel
def _divergence(
    counts: Ints, action: int, total: int, upper: Floats, top: float, distance: float
) -> tuple[float, float, float]:
    """Return f at v = top + distance, its derivative in ln(distance), and the value q·U."""
    logs = 0.0
    lost = 0.0
    first = 0.0
    second = 0.0
    gaps = 0.0
    for signal in range(upper.size):
        count = counts[action, signal]
        if count > 0:
            share = count / total
            gap = top - upper[signal]
            if gap > 0.0:
                ratio = gap / distance
                half = 1.0 / (1.0 + ratio)
                logs += share * math.log1p(ratio)
                lost += share * ratio * half
            else:
                gap = 0.0
                half = 1.0
            first += share * half
            second += share * half * half
            gaps += share * gap * half
    divergence = logs + (math.log1p(-lost) if lost < 0.5 else math.log(first))
    return divergence, first - second / first, top - gaps / first


@kernel
def _bracket(
    counts: Ints, action: int, total: int, upper: Floats, level: float, top: float, mean: float
) -> tuple[float, float, float]:
    """Return two ends between which x lies, and a first guess of it."""
    at_top = 0
    nearest = math.inf
    farthest = 0.0
    square = 0.0
    for signal in range(upper.size):
        count = counts[action, signal]
        if count > 0:
            gap = top - upper[signal]
            square += count * gap * gap
            farthest = max(farthest, gap)
            if gap > SAME:
                nearest = min(nearest, gap)
            else:
                at_top += count
    gap = top - mean
    on_top = at_top / total
    high = math.log(gap) - math.log(math.expm1(min(level, 700.0)))
    low = math.log(nearest) + (math.log(on_top) - level) / (1.0 - on_top) - 1e-9
    low = max(LEAST, low)
    deviation = math.sqrt(max(0.0, square / total - gap * gap))
    guess = max(1e-3 * farthest, deviation / math.sqrt(2.0 * level) - gap)
    high = max(LEAST, high)
    return low, high, max(low, min(high, math.log(guess)))


@kernel
def _solve(
    counts: Ints, action: int, total: int, upper: Floats, level: float, top: float, mean: float
) -> float:
    """Return q·U at the x with f = level."""
    low, high, x = _bracket(counts, action, total, upper, level, top, mean)
    value = mean
    for _ in range(STEPS):
        divergence, slope, value = _divergence(counts, action, total, upper, top, math.exp(x))
        excess = divergence - level
        if excess > 0.0:
            low = x
        else:
            high = x
        if abs(excess) <= 1e-12 * level or high - low <= 1e-13 * max(1.0, abs(x)):
            break
        following = x - excess / slope if slope < 0.0 else low
        if not low < following < high:
            following = 0.5 * (low + high)
        if following == x:
            break
        x = following
    return value


@kernel
def klmax(counts: Ints, action: int, total: int, upper: Floats, level: float) -> float:
    """Return rho⁺ for the law `counts[action] / total`; `level` is the radius of the ball."""
    highest = -math.inf
    lowest = math.inf
    top = -math.inf
    bottom = math.inf
    mean = 0.0
    for signal in range(upper.size):
        value = upper[signal]
        highest = max(highest, value)
        lowest = min(lowest, value)
        count = counts[action, signal]
        if count > 0:
            top = max(top, value)
            bottom = min(bottom, value)
            mean += count * value / total
    if highest - lowest < SAME or level == math.inf:
        return highest
    if level <= 0.0:
        return mean
    if highest - top > SAME:
        divergence, _, value = _divergence(counts, action, total, upper, top, highest - top)
        if divergence < level:
            return highest + math.exp(divergence - level) * (value - highest)
    if top - bottom < SAME:
        return top
    return _solve(counts, action, total, upper, level, top, mean)


@kernel
def klmax_bound(counts: Ints, action: int, total: int, upper: Floats, level: float) -> float:
    """Return a cheap upper bound of rho⁺, by Pinsker's inequality: nothing is solved."""
    highest = -math.inf
    lowest = math.inf
    mean = 0.0
    for signal in range(upper.size):
        highest = max(highest, upper[signal])
        lowest = min(lowest, upper[signal])
        mean += counts[action, signal] * upper[signal]
    reach = (highest - lowest) * math.sqrt(0.5 * level)
    return min(highest, mean / total + reach)
