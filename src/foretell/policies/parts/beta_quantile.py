"""Tails and quantiles of Beta laws.

The tail P(X > x) = I_(1−x)(b, a) is the continued fraction of the incomplete beta function
[Press2007, Sec. 6.4], by Lentz's method. Only arithmetic, `log`, `log1p` and `exp` are used, whose
compiled and plain results are the same bytes; those of `math.lgamma` are not.
"""

from __future__ import annotations

import math

from foretell.kernel import kernel

TINY = 1e-300
STEPS = 400
"""The continued fraction needs O(sqrt(a + b)) steps, and is stopped here whatever happens."""
SHIFT = 10.0
"""From here on Stirling's series has sixteen digits."""


@kernel
def log_gamma(x: float) -> float:
    """Return ln Gamma(x) for x > 0: Stirling's series, below 10 after shifting x up."""
    product = 1.0
    while x < SHIFT:
        product *= x
        x += 1.0
    square = 1.0 / (x * x)
    series = 1.0 / 1260.0 - square * (1.0 / 1680.0 - square / 1188.0)
    series = 1.0 / 12.0 - square * (1.0 / 360.0 - square * series)
    return (x - 0.5) * math.log(x) - x + 0.9189385332046727 + series / x - math.log(product)


@kernel
def log_beta(a: float, b: float) -> float:
    """Return ln B(a, b)."""
    return log_gamma(a) + log_gamma(b) - log_gamma(a + b)


@kernel
def beta_fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of I_x(a, b), which is fast for x < (a + 1) / (a + b + 2)."""
    c = 1.0
    d = 1.0 - (a + b) * x / (a + 1.0)
    if abs(d) < TINY:
        d = TINY
    value = d = 1.0 / d
    for m in range(1, STEPS):
        even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        change = 1.0
        for term in (even, odd):
            d = 1.0 + term * d
            if abs(d) < TINY:
                d = TINY
            d = 1.0 / d
            c = 1.0 + term / c
            if abs(c) < TINY:
                c = TINY
            change = c * d
            value *= change
        if abs(change - 1.0) < 1e-13:
            break
    return value


@kernel
def beta_tail(a: float, b: float, scale: float, x: float) -> float:
    """Return P(X > x) for X ~ Beta(a, b); `scale` is ln B(a, b)."""
    if x <= 0.0:
        return 1.0
    if x >= 1.0:
        return 0.0
    front = math.exp(a * math.log(x) + b * math.log1p(-x) - scale)
    if x > (a + 1.0) / (a + b + 2.0):
        return front * beta_fraction(b, a, 1.0 - x) / b
    return 1.0 - front * beta_fraction(a, b, x) / a


@kernel
def beta_upper(a: float, b: float, tail: float) -> float:
    """Return the x for which P(X > x) = `tail`: a quantile near 1 without a difference from 1.

    Newton's method on ln P(X > x), which is concave for a, b >= 1, inside a bracket that it halves
    whenever a step would leave it.
    """
    if tail >= 1.0:
        return 0.0
    scale = log_beta(a, b)
    low, high = 0.0, 1.0
    mean = a / (a + b)
    spread = math.sqrt(mean * (1.0 - mean) / (a + b + 1.0))
    x = min(mean + spread * math.sqrt(max(0.0, -math.log(tail))), 0.5 * (mean + 1.0))
    for _ in range(80):
        above = beta_tail(a, b, scale, x)
        if above > tail:
            low = x
        else:
            high = x
        step = 0.0
        if above > 0.0:
            density = math.exp((a - 1.0) * math.log(x) + (b - 1.0) * math.log1p(-x) - scale)
            step = math.log(above / tail) * above / density if density > 0.0 else 0.0
        following = x + step
        if not low < following < high or step == 0.0:
            following = 0.5 * (low + high)
        if abs(following - x) <= 1e-14 * x or following in (low, high):
            return following
        x = following
    return x
