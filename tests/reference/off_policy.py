"""Estimates of another policy's value, and its replay, by plain loops over lists."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from foretell.evaluation.decision_log import DecisionLog
from foretell.policies.draw import choices
from foretell.policies.registry import policy, start
from foretell.policies.verbs import credit, observe, play
from foretell.types import Problem


def mean_and_error(terms: list[float], groups: list[int]) -> tuple[float, float]:
    """Return the mean, and its standard error where groups are independent."""
    mean = math.fsum(terms) / len(terms)
    sums: dict[int, float] = {}
    for term, group in zip(terms, groups, strict=True):
        sums[group] = sums.get(group, 0.0) + term - mean
    return mean, math.sqrt(math.fsum(one * one for one in sums.values())) / len(terms)


def replayed_probabilities(
    name: str, log: DecisionLog, signals: int, *, withheld: bool
) -> list[float]:
    """Return the probability of each logged action, for an index policy and all actions known.

    Everything that is known by a decision is looked for among all decisions before it.
    """
    found: list[float] = []
    everything, rng = np.ones(log.actions, np.bool_), np.random.default_rng(0)
    for t in range(log.decisions):
        state = start(policy(name), Problem(log.actions, signals))
        for earlier in range(t):
            play(state, earlier, int(log.action[earlier]))
        for earlier in range(t):
            _tell(state, log, earlier, int(log.decided_at[t]), withheld=withheld)
        shares = choices(state, t, everything, rng, 1).shares
        explore = float(log.explore[t])
        mixed = explore / log.actions + (1.0 - explore) * shares
        found.append(float(mixed[log.action[t]]))
    return found


def _tell(state: Any, log: DecisionLog, t: int, now: int, *, withheld: bool) -> None:
    action, signal = int(log.action[t]), int(log.signal[t])
    rewarded = log.reward_at[t] <= now and not math.isnan(log.reward[t])
    if rewarded or (log.signal_at[t] <= now and not withheld):
        observe(state, t, action, signal)
    if rewarded:
        credit(state, t, action, signal, float(log.reward[t]))
