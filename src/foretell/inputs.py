"""What counts as a number when it comes from outside: NumPy's do, truth values do not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def is_whole(value: Any) -> bool:
    """Tell whether this is a whole number.

    >>> is_whole(3), is_whole(np.int64(3)), is_whole(3.0), is_whole(True)
    (True, True, False, False)
    """
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Tell whether this is a finite number.

    >>> is_number(0.5), is_number(2), is_number("2"), is_number(float("nan"))
    (True, True, False, False)
    """
    return (
        isinstance(value, (int, float, np.integer, np.floating))
        and not isinstance(value, bool)
        and math.isfinite(value)
    )
