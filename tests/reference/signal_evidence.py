"""The evidence against a signal, written down from its definition: one reward after the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

Entry = tuple[int, int, float]
"""Action, signal, reward."""


def period_ends(first: int, rewards: int) -> list[int]:
    """Return where periods end: four of a length, then four of twice that length."""
    ends, length = [0], first
    while ends[-1] < rewards:
        for _ in range(4):
            ends.append(ends[-1] + length)
        length *= 2
    return ends[1:]


def evidence(entries: Sequence[Entry], actions: int, first: int) -> tuple[list[float], float]:
    """Return ln E of each action, and ln E of the pooled test."""
    ends = period_ends(first, len(entries))
    by_action = [
        sum(
            _log_mean(_forecast(entries, index, ends, odd), entries[index][2])
            for index in range(len(entries))
        )
        - sum(_largest(entries[begin:end]) for begin, end in zip([0, *ends], ends, strict=False))
        for odd in range(actions)
    ]
    moving = sum(
        _log_mean(_mean(entries, index, ends, lambda _: True, 0.5), entries[index][2])
        for index in range(len(entries))
    )
    return by_action, moving - _largest(entries)


def _forecast(entries: Sequence[Entry], index: int, ends: list[int], odd: int) -> float:
    """Return the mean that is predicted for a reward, if one action is unlike the others."""
    action = entries[index][0]
    others = _mean(entries, index, ends, lambda one: one != action, 0.5)
    if action == odd:
        return _mean(entries, index, ends, lambda one: one == odd, others)
    return _mean(entries, index, ends, lambda one: one != odd, 0.5)


def _mean(
    entries: Sequence[Entry],
    index: int,
    ends: list[int],
    included: Callable[[int], bool],
    centre: float,
) -> float:
    """Return the mean of earlier rewards of the same signal; each period back counts half."""
    period = sum(end <= index for end in ends)
    count, total = 1.0, centre
    for earlier in range(index):
        action, signal, reward = entries[earlier]
        if signal == entries[index][1] and included(action):
            weight = 0.5 ** (period - sum(end <= earlier for end in ends))
            count += weight
            total += weight * reward
    return total / count


def _log_mean(mean: float, reward: float) -> float:
    return reward * math.log(mean) + (1 - reward) * math.log(1 - mean)


def _largest(entries: Sequence[Entry]) -> float:
    """Return the log-likelihood of rewards under the best mean of each signal."""
    value = 0.0
    for signal in {one[1] for one in entries}:
        rewards = [one[2] for one in entries if one[1] == signal]
        mean = sum(rewards) / len(rewards)
        if 0 < mean < 1:
            value += sum(_log_mean(mean, reward) for reward in rewards)
    return value
