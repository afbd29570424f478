"""A policy reads decisions in their order, each with what came of it, from arrays.

`read_rounds` is plain Python; `foretell.sim.compiled` hands it to the compiler.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from foretell.kernel import kernel
from foretell.policies.verbs import credit, elapse, observe, play
from foretell.types import Floats, Ints


class Reading(NamedTuple):
    """What a policy reads of decisions; one entry for each in every array."""

    t: Ints
    action: Ints
    tick: Ints
    """When it was made."""
    signal: Ints
    """Negative where there is none."""
    reward: Floats
    """In unit rewards, NaN where there is none; only with a signal."""


Reader = Callable[[Any, Reading], None]
"""`read_rounds`, plain or compiled."""


def nothing_to_read() -> Reading:
    """Return no decisions at all."""
    none = np.zeros(0, np.int64)
    return Reading(none, none, none, none, np.zeros(0))


@kernel
def read_rounds(state: Any, read: Reading) -> None:
    """Let a policy know decisions; one that is told propensities or voids reads them otherwise."""
    for index in range(read.t.size):
        t, action, signal = read.t[index], read.action[index], read.signal[index]
        play(state, t, action)
        elapse(state, read.tick[index])
        if signal >= 0:
            observe(state, t, action, signal)
            if not math.isnan(read.reward[index]):
                credit(state, t, action, signal, read.reward[index])
