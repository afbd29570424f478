"""A scenario in fewer rounds: what happens in its own horizon happens in a shorter one.

Changes come as often, rewards as late and drifts as far, measured in shares of the horizon.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import msgspec

from foretell.worlds import Scenario, scenario, suite
from foretell.worlds.changes import Changes, Redraws, Shifts
from foretell.worlds.delays import ByRewardDelay, Delay, NeverDelay, PlainDelay
from foretell.worlds.drift import Interpolation, RandomWalk
from foretell.worlds.knots import Schedule
from foretell.worlds.paper import HORIZON
from foretell.worlds.theta_changes import (
    ThetaChanges,
    ThetaLines,
    ThetaRedraws,
    ThetaSteps,
    ThetaWalk,
)

DELAY_FIELDS = ("rounds", "low", "high", "average", "median", "scale")
"""The fields of delays that are measured in rounds."""


def scenario_for_horizon(name: str, horizon: int, delay: int | None) -> Scenario:
    """Return a named scenario that fits into a horizon, with another delay where one is given.

    >>> shorter = scenario_for_horizon("paper", 4000, None)
    >>> shorter.changes.when.at, shorter.delay.rounds
    ((1000, 2000, 3000), 250)
    """
    own = {entry.name: entry.horizon for entry in suite()}.get(name, HORIZON)
    made = rescaled(scenario(name), horizon / own)
    if delay is not None:
        made = dataclasses.replace(made, delay=delay)
    made.check(horizon)
    return made


def rescaled(original: Scenario, share: float) -> Scenario:
    """Return the scenario in which everything takes a share of its rounds."""
    if share == 1.0:
        return original
    delays: Any = original.delay if isinstance(original.delay, tuple) else (original.delay,)
    shorter = [_delay(one, share) for one in delays]
    return dataclasses.replace(
        original,
        segments=[(round(first * share), law) for first, law in original.segments],
        changes=_changes(original.changes, share),
        theta_changes=_theta_changes(original.theta_changes, share),
        delay=shorter if isinstance(original.delay, tuple) else shorter[0],
    )


def _delay(delay: Delay, share: float) -> Delay:
    if isinstance(delay, ByRewardDelay):
        return ByRewardDelay(_plain_delay(delay.high, share), _plain_delay(delay.low, share))
    return _plain_delay(delay, share)


def _plain_delay(delay: PlainDelay, share: float) -> PlainDelay:
    if isinstance(delay, NeverDelay):
        return delay
    fields = {
        name: _rounds(value, share)
        for name in DELAY_FIELDS
        if (value := getattr(delay, name, None)) is not None
    }
    return msgspec.structs.replace(delay, **fields)


def _rounds(value: Any, share: float) -> Any:
    if isinstance(value, tuple):
        return tuple(round(one * share) for one in value)
    return round(value * share) if isinstance(value, int) else value * share


def _changes(changes: Changes, share: float) -> Changes:
    match changes:
        case Shifts() | Redraws():
            return msgspec.structs.replace(changes, when=_schedule(changes.when, share))
        case Interpolation(towards):
            stops = tuple((max(1, round(stop * share)), law) for stop, law in towards)
            return Interpolation(stops)
        case RandomWalk():
            return msgspec.structs.replace(changes, **_walk(changes, share))
        case _:
            return changes


def _theta_changes(changes: ThetaChanges, share: float) -> ThetaChanges:
    match changes:
        case ThetaRedraws():
            return msgspec.structs.replace(changes, when=_schedule(changes.when, share))
        case ThetaSteps(towards) | ThetaLines(towards):
            stops = tuple((max(1, round(stop * share)), theta) for stop, theta in towards)
            return msgspec.structs.replace(changes, towards=stops)
        case ThetaWalk():
            return msgspec.structs.replace(changes, **_walk(changes, share))
        case _:
            return changes


def _walk(walk: RandomWalk | ThetaWalk, share: float) -> dict[str, Any]:
    """Return the spread and the steps with which a walk comes as far in a share of its rounds."""
    every = None if walk.every is None else max(1, round(walk.every * share))
    return {"spread": walk.spread / math.sqrt(share), "every": every}


def _schedule(when: Schedule, share: float) -> Schedule:
    if when.at is not None:
        return Schedule(at=tuple(max(1, round(change * share)) for change in when.at))
    if when.every is not None:
        return Schedule(every=max(1, round(when.every * share)))
    return Schedule(hazard=min(1.0, (when.hazard or 0.0) / share))
