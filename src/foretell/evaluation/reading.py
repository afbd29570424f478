"""A policy reads decisions in their order, each with what came of it, from arrays.

`read_rounds` is plain Python; `foretell.sim.compiled` hands it to the compiler.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from foretell.kernel import kernel
from foretell.policies.verbs import credit, elapse, observe, play
from foretell.types import Floats, Ints

PLAYED, OBSERVED, CREDITED = 1, 2, 4
"""What a policy is told of a decision: that it was made, its signal, its reward."""


class Reading(NamedTuple):
    """What a policy reads of decisions, one entry after the other; as many in every array."""

    t: Ints
    action: Ints
    tick: Ints
    """When it was made."""
    signal: Ints
    reward: Floats
    """In unit rewards."""
    verbs: Ints
    """What of this is told: a sum of `PLAYED`, `OBSERVED` and `CREDITED`; the rest is ignored."""


Reader = Callable[[Any, Reading], None]
"""`read_rounds`, plain or compiled."""


def nothing_to_read() -> Reading:
    """Return no decisions at all."""
    none = np.zeros(0, np.int64)
    return Reading(none, none, none, none, np.zeros(0), none)


@kernel
def read_rounds(state: Any, read: Reading) -> None:
    """Let a policy know decisions; one that is told propensities or voids reads them otherwise."""
    for index in range(read.t.size):
        t, action, signal = read.t[index], read.action[index], read.signal[index]
        verbs = read.verbs[index]
        if verbs & PLAYED:
            play(state, t, action)
            elapse(state, read.tick[index])
        if verbs & OBSERVED:
            observe(state, t, action, signal)
        if verbs & CREDITED:
            credit(state, t, action, signal, read.reward[index])
