"""NSD-UCRL2 in the world of the paper, by hand in numba: one function without calls.

A second yardstick, written as someone would who needs this one loop and nothing else. It does
what loops.cpp does, draw for draw, with the same array types and the formulas as printed.
"""

# ruff: noqa: C901, PLR0912, PLR0915  one loop without calls is the point

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

_TIE = 1e-12
_UNIT = 2.0**-53
_11, _3, _24, _40 = np.uint64(11), np.uint64(3), np.uint64(24), np.uint64(40)
_ONE = np.uint64(1)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def _nsd_ucrl2(
    law: Any,
    theta: Any,
    rounds: Any,
    horizon: int,
    delay: int,
    window: int,
    delta: float,
    runs: int,
    seed: int,
    final: Any,
) -> None:
    actions, signals = law.shape
    seen = np.zeros((actions, signals), np.int32)
    plays = np.zeros(actions, np.int32)
    ever = np.zeros(actions, np.bool_)
    counts = np.zeros(signals, np.int32)
    sums = np.zeros(signals, np.int32)
    order = np.zeros(signals, np.int32)
    upper = np.zeros(signals)
    values = np.zeros(actions)
    reached = np.zeros((actions, signals))
    gaps = np.zeros(actions)
    ring = np.zeros((window, 2), np.uint8)
    waiting = np.zeros((delay + 1, 2), np.uint8)
    law_constant = 2.0 * signals * math.log(actions * window * horizon / delta)
    theta_constant = 2.0 * math.log(2.0 * horizon * signals / delta)
    for run in range(runs):
        a = b = c = np.uint64(seed + run) * _GOLDEN
        counter = _ONE
        for _ in range(12):
            bits = a + b + counter
            counter += _ONE
            a = b ^ (b >> _11)
            b = c + (c << _3)
            c = ((c << _24) | (c >> _40)) + bits
        seen[:] = 0
        plays[:] = 0
        ever[:] = False
        counts[:] = 0
        sums[:] = 0
        for signal in range(signals):
            order[signal] = signal
        regret = 0.0
        index = shift = segment = oldest = 0
        for t in range(horizon):
            if t == rounds[segment]:
                if segment > 0:
                    bits = a + b + counter
                    counter += _ONE
                    a = b ^ (b >> _11)
                    b = c + (c << _3)
                    c = ((c << _24) | (c >> _40)) + bits
                    shift = (shift + 1 + int((bits >> _11) * _UNIT * (actions - 1))) % actions
                segment += 1
                best = -math.inf
                for action in range(actions):
                    row = (action + actions - shift) % actions
                    total = mean = 0.0
                    for signal in range(signals):
                        total += law[row, signal]
                        mean += law[row, signal] * theta[signal]
                        reached[action, signal] = total
                    gaps[action] = mean
                    best = max(best, mean)
                for action in range(actions):
                    gaps[action] = best - gaps[action]

            for signal in range(signals):
                received = float(max(1, counts[signal]))
                radius = math.sqrt(theta_constant / received)
                upper[signal] = min(1.0, sums[signal] / received + radius)
            for i in range(1, signals):
                signal = order[i]
                value = upper[signal]
                j = i - 1
                while j >= 0 and (
                    upper[order[j]] < value or (upper[order[j]] == value and order[j] > signal)
                ):
                    order[j + 1] = order[j]
                    j -= 1
                order[j + 1] = signal
            best = -math.inf
            for action in range(actions):
                if plays[action] > 0:
                    share = 1.0 / plays[action]
                    value = 0.0
                    for signal in range(signals):
                        value += seen[action, signal] * share * upper[signal]
                    first = order[0]
                    moving = min(
                        0.5 * math.sqrt(law_constant * share), 1.0 - seen[action, first] * share
                    )
                    value += moving * upper[first]
                    for i in range(signals - 1, 0, -1):
                        if moving <= 0.0:
                            break
                        taken = min(moving, seen[action, order[i]] * share)
                        value -= taken * upper[order[i]]
                        moving -= taken
                    values[action] = value
                else:
                    values[action] = upper[order[0]] if ever[action] else math.inf
                best = max(best, values[action])
            ties = chosen = 0
            for action in range(actions):
                if values[action] >= best - _TIE:
                    ties += 1
                    chosen = action
            if ties > 1:
                bits = a + b + counter
                counter += _ONE
                a = b ^ (b >> _11)
                b = c + (c << _3)
                c = ((c << _24) | (c >> _40)) + bits
                skip = int((bits >> _11) * _UNIT * ties)
                for action in range(actions):
                    if values[action] >= best - _TIE:
                        if skip == 0:
                            chosen = action
                            break
                        skip -= 1

            bits = a + b + counter
            counter += _ONE
            a = b ^ (b >> _11)
            b = c + (c << _3)
            c = ((c << _24) | (c >> _40)) + bits
            uniform = (bits >> _11) * _UNIT
            signal = 0
            for other in range(signals - 1):
                signal += uniform >= reached[chosen, other]
            bits = a + b + counter
            counter += _ONE
            a = b ^ (b >> _11)
            b = c + (c << _3)
            c = ((c << _24) | (c >> _40)) + bits
            if t >= window:
                seen[ring[oldest, 0], ring[oldest, 1]] -= 1
                plays[ring[oldest, 0]] -= 1
            ring[oldest, 0] = chosen
            ring[oldest, 1] = signal
            oldest = 0 if oldest + 1 == window else oldest + 1
            seen[chosen, signal] += 1
            plays[chosen] += 1
            ever[chosen] = True
            waiting[index, 0] = signal
            waiting[index, 1] = (bits >> _11) * _UNIT < theta[signal]
            index = 0 if index == delay else index + 1
            if t >= delay:
                counts[waiting[index, 0]] += 1
                sums[waiting[index, 0]] += waiting[index, 1]
            regret += gaps[chosen]
        final[run] = regret


nsd_ucrl2: Any = numba.njit(nogil=True)(_nsd_ucrl2)
