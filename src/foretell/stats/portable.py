"""Logarithm and exponential of arrays, the same to the last bit on every processor.

NumPy's own pick other instructions where a processor has them, and differ in the last bit. What is
part of a state must not: servers on different machines fold one log to the same bytes. Here
there are sums, products and quotients alone, which are exact to the bit everywhere. The error is
two units in the last place at most.
"""

from __future__ import annotations

import math

import numpy as np

from foretell.types import Floats

_LN2_HIGH = 0.693147180369123816490
"""The first 33 bits of ln 2: whole multiples of it are exact."""
_LN2_LOW = 1.90821492927058770002e-10
_SERIES = 12
"""Terms of 2 artanh(z), for |z| below 0.1716."""
_TERMS = 14
"""Terms of e^x, for |x| below 0.3466."""


def portable_log(values: Floats) -> Floats:
    """Return ln of numbers above 0.

    >>> portable_log(np.array([1.0, 0.5])).tolist() == [0.0, math.log(0.5)]
    True
    """
    mantissa, exponent = np.frexp(values)
    small = mantissa < math.sqrt(0.5)
    mantissa = np.where(small, 2.0 * mantissa, mantissa)
    power = np.where(small, exponent - 1, exponent).astype(np.float64)
    ratio = (mantissa - 1.0) / (mantissa + 1.0)
    square, series = ratio * ratio, np.zeros_like(ratio)
    for term in range(_SERIES, 0, -1):
        series += 1.0 / (2 * term + 1)
        series *= square
    return power * _LN2_HIGH + (power * _LN2_LOW + 2.0 * (ratio + ratio * series))


def portable_exp(values: Floats) -> Floats:
    """Return e to the power of numbers; what is too small for a float is 0.

    >>> portable_exp(np.array([0.0, -1e9])).tolist()
    [1.0, 0.0]
    """
    power = np.rint(np.maximum(values, -1000.0) / math.log(2.0))
    rest = (np.maximum(values, -1000.0) - power * _LN2_HIGH) - power * _LN2_LOW
    series = np.ones_like(rest)
    for term in range(_TERMS, 0, -1):
        series = 1.0 + rest * series / term
    found: Floats = np.ldexp(series, power.astype(np.int64))
    return found
