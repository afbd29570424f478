"""Slow, obvious twins of the rivals that restart, queue or weigh information."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable

import numpy as np
from scipy import optimize

from foretell.types import Floats
from tests.reference.baselines import slow_kl

Arrival = tuple[int, int, int, float]


def slow_kl_index(rewards: list[float], level: float) -> float:
    """Return max{q : n kl(mean, q) <= level} by bisection; +inf without a reward."""
    if not rewards:
        return math.inf
    mean, share = sum(rewards) / len(rewards), level / len(rewards)
    if mean >= 1.0 or share <= 0.0:
        return mean
    if slow_kl(mean, 1.0 - 1e-15) <= share:
        return 1.0
    return float(optimize.brentq(lambda q: slow_kl(mean, q) - share, mean, 1.0 - 1e-15, xtol=1e-14))


def slow_m_ucb(arrivals: Iterable[Arrival], actions: int, width: int, horizon: int) -> list[int]:
    """Return after which arrivals, counted from 0, the halves of the latest rewards differ."""
    threshold = math.sqrt(width / 2 * math.log(2 * actions * horizon**2))
    latest: list[list[float]] = [[] for _ in range(actions)]
    alarms = []
    for number, (_, action, _, reward) in enumerate(arrivals):
        latest[action].append(reward)
        window = latest[action][-width:]
        older, newer = window[: width // 2], window[width // 2 :]
        if len(window) == width and abs(sum(newer) - sum(older)) > threshold:
            alarms.append(number)
            latest = [[] for _ in range(actions)]
    return alarms


def slow_cusum(
    arrivals: Iterable[Arrival], actions: int, first: int, drift: float, threshold: float
) -> list[tuple[int, int]]:
    """Return after which arrivals which action was forgotten."""
    known: list[list[float]] = [[] for _ in range(actions)]
    alarms = []
    for number, (_, action, _, reward) in enumerate(arrivals):
        known[action].append(reward)
        base = sum(known[action][:first]) / first
        up = down = 0.0
        for later in known[action][first:]:
            up = max(0.0, up + later - base - drift)
            down = max(0.0, down + base - later - drift)
        if max(up, down) > threshold:
            alarms.append((number, action))
            known[action] = []
    return alarms


def slow_queues(arrivals: Iterable[Arrival], actions: int) -> tuple[list[list[float]], Floats]:
    """Return what KL-UCB was given of each action, and its indices, when it asks queues first."""
    given: list[list[float]] = [[] for _ in range(actions)]
    waiting: list[deque[tuple[int, float]]] = [deque() for _ in range(actions)]
    bounds = np.full(actions, math.inf)
    for number, (_, action, _, reward) in enumerate(arrivals):
        waiting[action].append((number, reward))
        while True:
            wanted = [
                (waiting[one][0][0], one)
                for one in range(actions)
                if waiting[one] and bounds[one] >= bounds.max() - 1e-12
            ]
            if not wanted:
                break
            one = min(wanted)[1]
            given[one].append(waiting[one].popleft()[1])
            level = math.log(1 + sum(map(len, given)))
            bounds = np.array([slow_kl_index(rewards, level) for rewards in given])
    return given, bounds


def explained_variance(sample: Floats) -> tuple[Floats, Floats]:
    """Return the expected regret of each action, and the variance that the best one explains."""
    best = sample.argmax(axis=0)
    regret = sample.max(axis=0).mean() - sample.mean(axis=1)
    gain = np.zeros(len(sample))
    for action in set(best.tolist()):
        here = best == action
        gain += here.mean() * (sample[:, here].mean(axis=1) - sample.mean(axis=1)) ** 2
    return regret, gain
