"""UCB in the world of the paper, by hand in numba: one function without calls.

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


def _ucb(
    law: Any, theta: Any, rounds: Any, horizon: int, delay: int, runs: int, seed: int, final: Any
) -> None:
    actions, signals = law.shape
    counts = np.zeros(actions, np.int32)
    sums = np.zeros(actions, np.int32)
    values = np.zeros(actions)
    reached = np.zeros((actions, signals))
    gaps = np.zeros(actions)
    waiting = np.zeros((delay + 1, 2), np.uint8)
    for run in range(runs):
        a = b = c = np.uint64(seed + run) * _GOLDEN
        counter = _ONE
        for _ in range(12):
            bits = a + b + counter
            counter += _ONE
            a = b ^ (b >> _11)
            b = c + (c << _3)
            c = ((c << _24) | (c >> _40)) + bits
        counts[:] = 0
        sums[:] = 0
        regret = 0.0
        index = shift = segment = 0
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

            exploration = math.sqrt(2.0 * math.log(t + 1.0))
            best = -math.inf
            for action in range(actions):
                if counts[action] == 0:
                    values[action] = math.inf
                else:
                    received = float(counts[action])
                    values[action] = sums[action] / received + exploration / math.sqrt(received)
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
            waiting[index, 0] = chosen
            waiting[index, 1] = (bits >> _11) * _UNIT < theta[signal]
            index = 0 if index == delay else index + 1
            if t >= delay:
                counts[waiting[index, 0]] += 1
                sums[waiting[index, 0]] += waiting[index, 1]
            regret += gaps[chosen]
        final[run] = regret


ucb: Any = numba.njit(nogil=True)(_ucb)
