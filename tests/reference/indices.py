"""The index of every action in a round, recomputed from the whole past."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from foretell.policies import (
    NsdUcrl2,
    OracleNsd,
    OracleUcb,
    Spec,
    SwUcb,
    Ucb,
)
from foretell.types import Floats
from tests.reference.counts import (
    Past,
    arrived,
    before,
    in_window,
    latest,
    plays,
    rewards_of,
    segment_start,
    since,
    transitions,
)
from tests.reference.optimism import algorithm_2


class Setting(NamedTuple):
    """What is known before the first round."""

    actions: int
    signals: int
    horizon: int
    ceiling: float
    changes: tuple[int, ...]


def ucb_indices(known: list[Past], actions: int, logarithm: float, scale: float) -> Floats:
    """Return mean + scale · sqrt(2 ln / N), +inf while there is no reward."""
    values = np.full(actions, math.inf)
    for action in range(actions):
        rewards = [one.reward for one in known if one.action == action]
        if rewards:
            radius = scale * math.sqrt(2 * logarithm / len(rewards))
            values[action] = sum(rewards) / len(rewards) + radius
    return values


def nsd_indices(
    past: list[Past],
    law_past: list[Past],
    t: int,
    setting: Setting,
    window: float,
    delta: float,
    scale: float,
    *,
    tight: bool = False,
) -> Floats:
    """Return rho⁺_t(a) of Eq. (4): theta from `past`, the law from the window of `law_past`.

    `tight` takes the constants of errata P1 and P2, and U = 1 while there is no reward.
    """
    actions, signals, horizon = setting.actions, setting.signals, setting.horizon
    counts, sums = rewards_of(arrived(past, t), signals)
    received = np.maximum(1, counts)
    of_theta = 2 * math.log(2 * horizon * signals / delta)
    if tight and setting.ceiling == 1.0:
        of_theta /= 4
    upper = np.minimum(setting.ceiling, sums / received + scale * np.sqrt(of_theta / received))
    if tight:
        upper = np.where(counts == 0, np.maximum(upper, 1.0), upper)
    logarithm = math.log(actions * min(window, horizon) * horizon / delta)
    of_law = 2 * (math.log(2**signals - 2) + logarithm) if tight else 2 * signals * logarithm
    recent = in_window(law_past, t, window)
    seen = transitions(recent, actions, signals)
    played = plays(recent, actions)
    ever = plays(law_past, actions)
    values = np.full(actions, math.inf)
    for action in range(actions):
        if ever[action] and not played[action]:
            values[action] = upper.max()
        elif ever[action]:
            radius = scale * math.sqrt(of_law / played[action])
            values[action] = algorithm_2(seen[action] / played[action], radius, upper)
    return values


def all_indices(spec: Spec, whole: list[Past], t: int, setting: Setting) -> Floats:
    """Return the index of every action in round t."""
    past = before(whole, t)
    first = segment_start(setting.changes, t)
    match spec:
        case OracleUcb():
            known = arrived(since(past, first), t)
            return ucb_indices(known, setting.actions, math.log(t - first + 1), spec.scale)
        case Ucb():
            return ucb_indices(arrived(past, t), setting.actions, math.log(t + 1), spec.scale)
        case SwUcb():
            window = spec.window or math.inf
            known = (
                arrived(in_window(past, t, window), t)
                if spec.over == "rounds"
                else latest(arrived(past, t), window)
            )
            return ucb_indices(known, setting.actions, math.log(min(t + 1, window)), spec.scale)
        case NsdUcrl2():
            window = spec.window or math.inf
            return nsd_indices(
                past, past, t, setting, window, spec.delta, spec.scale, tight=spec.tight
            )
        case OracleNsd():
            here = since(past, first)
            return nsd_indices(past, here, t, setting, math.inf, spec.delta, spec.scale)
        case _:
            raise AssertionError(f"{spec} has no twin")
