"""How a policy meets changes: how soon it finds them, false alarms, and regret between them.

A change is a round at which the law or theta of a run jumps, an alarm a round in which the policy
found one by its own test; both are in `batch.changes` and `batch.alarms`. Everything here needs
every round of the runs: simulate with `trajectories=True`.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from foretell.errors import InvalidInput
from foretell.types import is_whole

if TYPE_CHECKING:
    from foretell.sim.result import Batch
    from foretell.types import Bools, Floats, Ints


def detection_delay(batch: Batch, within: int | None = None) -> tuple[Floats, ...]:
    """Return for each run, and each of its changes, the rounds from the change to its alarm.

    The alarm of a change is the first one from the change on and before the next change; an alarm
    in the round of the change has delay 0. NaN where there is none, or, with `within`, none in so
    many rounds after the change.
    """
    _check_within(within)
    found = []
    for changes, alarms in zip(batch.changes, batch.alarms, strict=True):
        delays = np.full(changes.size, np.nan)
        first = np.searchsorted(alarms, changes)
        end = np.append(changes[1:], batch.horizon)
        for index, (change, alarm) in enumerate(zip(changes, first, strict=True)):
            if alarm < alarms.size and alarms[alarm] < end[index]:
                delays[index] = alarms[alarm] - change
        if within is not None:
            delays[delays > within] = np.nan
        found.append(delays)
    return tuple(found)


def false_alarms(batch: Batch, within: int | None = None) -> Ints:
    """Return (runs,): the rounds with an alarm that no change calls for.

    Without `within`, each change calls for one alarm: false are those before the first change, and
    all but the first between two changes. With `within`, a change calls for any number of them in
    so many rounds after it, as a policy raises that tests each action by itself; all others are
    false.
    """
    _check_within(within)
    runs = zip(batch.changes, batch.alarms, strict=True)
    return np.array([int(_is_false(changes, alarms, within).sum()) for changes, alarms in runs])


def _is_false(changes: Ints, alarms: Ints, within: int | None) -> Bools:
    segment = np.searchsorted(changes, alarms, side="right")
    if within is None:
        again: Bools = np.append(False, segment[1:] == segment[:-1])[: segment.size]
        return again | (segment == 0)
    since = np.concatenate([[-np.inf], changes])[segment]
    late: Bools = alarms - since > within
    return late


def regret_since_change(batch: Batch) -> Floats:
    """Return (runs, horizon): the regret after each round that came since the latest change.

    It begins again at 0 with every change; before the first it is the regret since round 0.
    """
    gaps = batch.traced.gaps
    since = np.empty_like(gaps)
    for run, changes in enumerate(batch.changes):
        bounds = [0, *changes.tolist(), batch.horizon]
        for first, end in itertools.pairwise(bounds):
            since[run, first:end] = np.cumsum(gaps[run, first:end])
    return since


def regret_per_segment(batch: Batch) -> tuple[Floats, ...]:
    """Return for each run the regret of each of its segments: there is one more than changes."""
    return tuple(
        np.add.reduceat(gaps, np.append(0, changes))
        for gaps, changes in zip(batch.traced.gaps, batch.changes, strict=True)
    )


def _check_within(within: int | None) -> None:
    if within is not None and (not is_whole(within) or within < 0):
        raise InvalidInput(
            f"within must be a whole number of rounds from 0 on, got {within!r}: "
            f"leave it out for any"
        )
