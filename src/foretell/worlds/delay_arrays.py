"""Delay families as arrays, one entry for each signal, and how a delay is drawn from them.

Where delays depend on the reward there are two entries for each signal: first those of low rewards,
then those of high ones.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from foretell.kernel import kernel
from foretell.types import Floats, Ints
from foretell.worlds.delays import (
    NEVER,
    ByRewardDelay,
    ConstantDelay,
    Delay,
    GammaDelay,
    GeometricDelay,
    LogNormalDelay,
    NeverDelay,
    ParetoDelay,
    PlainDelay,
    TableDelay,
    UniformDelay,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

_FAR = 2.0**62
"""A delay of so many rounds is never over."""
_FAR_EXPONENT = 700.0
"""exp of it is far beyond, and still a number."""

_CONSTANT, _UNIFORM, _GEOMETRIC, _LOG_NORMAL, _PARETO, _TABLE, _NEVER, _GAMMA = range(8)


class DelayArrays(NamedTuple):
    """The delay family of each signal, as arrays for the simulator."""

    by_reward: bool
    """Whether there are entries for low rewards, and after them for high ones."""
    kind: Ints
    first: Floats
    second: Floats
    lost: Floats
    table_rounds: Ints
    table_cumulative: Floats
    table_start: Ints
    uses_uniform: bool
    uses_normal: bool
    rounds: Ints
    """(entries,): the delay of each entry, where all are constant."""
    constant: int
    """The delay of every reward, where there is only one; NEVER where there are several."""

    @property
    def all_constant(self) -> bool:
        """Whether no delay is drawn, and none depends on the reward."""
        drawn = (self.kind != _CONSTANT).any() or self.lost.any()
        return not (drawn or self.by_reward)


def delay_arrays(delays: Sequence[Delay]) -> DelayArrays:
    """Turn one delay per signal into arrays."""
    by_reward = any(isinstance(one, ByRewardDelay) for one in delays)
    plain = [one.low if isinstance(one, ByRewardDelay) else one for one in delays]
    if by_reward:
        plain += [one.high if isinstance(one, ByRewardDelay) else one for one in delays]
    return _entry_arrays(plain, by_reward=by_reward)


def _entry_arrays(delays: Sequence[PlainDelay], *, by_reward: bool) -> DelayArrays:
    tables = [one if isinstance(one, TableDelay) else TableDelay((0,)) for one in delays]
    rows = [_parameters(one) for one in delays]
    lost = np.array([getattr(one, "lost", 0.0) for one in delays])
    kind = np.array([row[0] for row in rows])
    arrays = DelayArrays(
        by_reward=by_reward,
        kind=kind,
        first=np.array([row[1] for row in rows]),
        second=np.array([row[2] for row in rows]),
        lost=lost,
        table_rounds=np.concatenate([np.array(one.rounds, np.int64) for one in tables]),
        table_cumulative=np.concatenate([np.cumsum(one.probabilities()) for one in tables]),
        table_start=np.array([0, *itertools.accumulate(len(one.rounds) for one in tables)]),
        uses_uniform=bool(
            np.isin(kind, (_UNIFORM, _GEOMETRIC, _PARETO, _TABLE, _GAMMA)).any() or lost.any()
        ),
        uses_normal=bool((kind == _LOG_NORMAL).any()),
        rounds=np.array([one.rounds if isinstance(one, ConstantDelay) else 0 for one in delays]),
        constant=NEVER,
    )
    if not arrays.all_constant or len(set(arrays.rounds.tolist())) > 1:
        return arrays
    return arrays._replace(constant=int(arrays.rounds[0]))


def _parameters(delay: PlainDelay) -> tuple[int, float, float]:  # noqa: PLR0911  one per family
    match delay:
        case ConstantDelay(rounds):
            return _CONSTANT, float(rounds), 0.0
        case UniformDelay(low, high):
            return _UNIFORM, float(low), float(high)
        case GeometricDelay(average):
            return _GEOMETRIC, math.log1p(-1.0 / (1.0 + average)), 0.0
        case GammaDelay(average, shape):
            return _GAMMA, average / shape, float(shape)
        case LogNormalDelay(median, sigma):
            return _LOG_NORMAL, math.log(median), sigma
        case ParetoDelay(shape, scale):
            return _PARETO, shape, scale
        case TableDelay():
            return _TABLE, 0.0, 0.0
        case NeverDelay():
            return _NEVER, 0.0, 0.0


@kernel
def _gamma_quantile(share: float, stages: int) -> float:
    """Return x with share = 1 − exp(−x) (1 + x + … + x^(stages−1) / (stages−1)!), by bisection."""
    low = 0.0
    high = 1.0
    while _gamma_share(high, stages) < share and high < _FAR_EXPONENT:
        low = high
        high *= 2.0
    for _ in range(50):
        middle = 0.5 * (low + high)
        if _gamma_share(middle, stages) < share:
            low = middle
        else:
            high = middle
    return high


@kernel
def _gamma_share(x: float, stages: int) -> float:
    """Return the chance that so many exponential stages of mean 1 take at most x."""
    term = math.exp(-x)
    left = 0.0
    for stage in range(stages):
        left += term
        term *= x / (stage + 1.0)
    return 1.0 - left


@kernel
def delay_entry(delays: DelayArrays, signals: int, signal: int, reward: float) -> int:
    """Return which entry the delay of this reward is drawn from."""
    return signal + signals if delays.by_reward and reward >= 0.5 else signal


@kernel
def draw_delay(delays: DelayArrays, entry: int, uniform: float, normal: float) -> int:
    """Return a delay drawn from this entry, or NEVER, from one uniform and one normal."""
    lost = delays.lost[entry]
    kind = delays.kind[entry]
    first = delays.first[entry]
    if uniform < lost:
        return NEVER
    if kind == _CONSTANT:
        return int(first)
    rest = (uniform - lost) / (1.0 - lost)
    second = delays.second[entry]
    if kind == _UNIFORM:
        rounds = first + rest * (second - first + 1.0)
    elif kind == _GEOMETRIC:
        rounds = math.log1p(-rest) / first
    elif kind == _GAMMA:
        rounds = first * _gamma_quantile(rest, int(second))
    elif kind == _LOG_NORMAL:
        rounds = math.exp(min(first + second * normal, _FAR_EXPONENT))
    elif kind == _PARETO:
        rounds = second * math.expm1(min(-math.log1p(-rest) / first, _FAR_EXPONENT))
    elif kind == _TABLE:
        index = delays.table_start[entry]
        last = delays.table_start[entry + 1] - 1
        while index < last and rest >= delays.table_cumulative[index]:
            index += 1
        return int(delays.table_rounds[index])
    else:
        return NEVER
    return int(rounds) if rounds < _FAR else NEVER
