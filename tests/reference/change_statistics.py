"""How a policy meets changes, round by round: twins of `foretell.sim.change_statistics`."""

from __future__ import annotations

import math


def delays(changes: list[int], alarms: list[int], horizon: int, within: float) -> list[float]:
    """Walk from each change to the next one, until there is an alarm."""
    found = []
    for change in changes:
        delay = math.nan
        for t in range(change, horizon):
            if t in changes and t != change:
                break
            if t in alarms:
                delay = t - change if t - change <= within else math.nan
                break
        found.append(delay)
    return found


def count_false(changes: list[int], alarms: list[int], horizon: int, within: int | None) -> int:
    """Walk through all rounds, with the alarms that the latest change still calls for."""
    false, owed, latest = 0, False, None
    for t in range(horizon):
        if t in changes:
            owed, latest = True, t
        if t in alarms:
            if within is None:
                false += not owed
                owed = False
            else:
                false += latest is None or t - latest > within
    return false


def segment_regrets(changes: list[int], gaps: list[float]) -> list[float]:
    """Add up the gaps, beginning again at every change."""
    total = [0.0]
    for t, gap in enumerate(gaps):
        if t in changes:
            total.append(0.0)
        total[-1] += gap
    return total


def regrets_since(changes: list[int], gaps: list[float]) -> list[float]:
    """Add up the gaps since the latest change, after every round."""
    total, since = 0.0, []
    for t, gap in enumerate(gaps):
        total = gap if t in changes else total + gap
        since.append(total)
    return since
