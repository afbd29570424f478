"""Nobody asks for decisions: is that usual at this hour, or has the traffic stopped?

Decisions are counted by stretches of time. The stretches that have passed since that of the last
decision are compared with the same hours of the days before, or with the stretches before where
each is a day or longer. If there were decisions on all of these days, so many that none now is
no chance, the traffic has stopped. If on one of them there were none either, that is usual.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from foretell.service.model.stretches import DECISIONS, Stretches
from foretell.stats.overdue import SELDOM, silence

HOUR = 3_600_000_000
DAY = 24 * HOUR
COMPARED = 14
"""Days before that are compared with, at most: two weekends are among them."""


class TrafficPause(NamedTuple):
    """What is known of a time without decisions."""

    kind: Literal["none", "usual", "unknown", "stopped"]
    """None: it is no longer than chance makes them. Unknown: there is nothing to compare with."""
    due: float = 0.0
    """Decisions that were to be asked for meanwhile."""


GOES_ON = TrafficPause("none")


def traffic_pause(stretches: Stretches, now: int) -> TrafficPause:
    """Return what is known of the time since the last decision."""
    kept, length = len(stretches), stretches.length
    pause = now - stretches.last
    if not kept or pause < HOUR:
        return GOES_ON
    decided = stretches.traffic[:kept, ..., DECISIONS].sum(axis=(1, 2))
    total = int(decided.sum())
    average = total * pause / max(HOUR, stretches.last - stretches.first)
    if silence(average, total) >= SELDOM:
        return GOES_ON
    begin = kept  # the first stretch after that of the last decision
    end = (now // length) - stretches.first // length
    back = max(1, DAY // length)
    found = [
        int(decided[begin - shift : end - shift].sum())
        for shift in range(back, COMPARED * back + 1, back)
        if begin - shift >= 0 and begin < end <= kept + shift
    ]
    if not found:
        return TrafficPause("unknown", average)
    due = float(np.mean(found))
    if min(found) == 0:
        return TrafficPause("usual", due)
    return TrafficPause("stopped", due) if silence(due, sum(found)) < SELDOM else GOES_ON
