"""The window that minimises a bound exactly, among all whole numbers of rounds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from foretell.types import Floats, Ints


def minimise_window(cost: Callable[[Ints], Floats], horizon: int) -> int:
    """Return the window in 1..T with the smallest cost, in O(sqrt(T)) evaluations.

    Between two neighbouring T/m the number of blocks is fixed and every cost of this package is
    concave in W, so that its minimum over the whole numbers there is at an end: T/m rounded down
    or up. There are O(sqrt(T)) such numbers.

    >>> minimise_window(lambda windows: 3.0 * windows + 100.0 * -(-1000 // windows), 1000)
    200
    """
    windows = block_windows(horizon)
    return int(windows[np.argmin(cost(windows))])


def block_windows(horizon: int) -> Ints:
    """Return every T/m rounded down and up, m = 1..T, sorted (and at most one number more).

    >>> block_windows(10).tolist()
    [1, 2, 3, 4, 5, 10]
    """
    root = math.isqrt(horizon)
    short = np.arange(1, min(horizon, root + 1) + 1, dtype=np.int64)
    long = horizon // short
    return np.unique(np.concatenate([short, long, -(-horizon // short)]))
