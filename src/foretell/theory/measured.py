"""The terms of the proof on one run, to be set against their bounds.

Two ways to measure, both under the names of `Terms`: `paid_widths` sums the confidence widths that
the proof charges, from actions and signals alone; `paid_regret` sums what was really lost to each,
from what the policy believed. While no failure event occurs, term by term,

    paid_regret <= paid_widths <= bound        (azuma: paid_regret <= bound, with 1 - delta).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from foretell.errors import InvalidInput
from foretell.theory.radius_constants import law_radius_constant, theta_radius_constant
from foretell.theory.setting import effective_window
from foretell.theory.terms import LAW_FACTOR, Terms

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from foretell.theory.setting import Setting
    from foretell.types import Bools, Floats, Ints


def paid_widths(
    setting: Setting,
    window: int,
    actions: npt.ArrayLike,
    signals: npt.ArrayLike,
    changes: Iterable[int] = (),
) -> Terms:
    """Sum the widths that a run was charged: 0-based actions and signals, one a round.

    Stable rounds pay min{1, factor sqrt(C_W / N^W_t(A_t))} for the law, others 1 for the switch;
    every round pays min{1, 2 sqrt(C_T / N^D_t(S_t))} for theta, and for delay instead among the
    first D + 1 sights of its signal.

    >>> from foretell.theory import Setting
    >>> run = Setting(horizon=4, actions=2, signals=2, delay=0)
    >>> paid_widths(run, 4, actions=[0, 1, 0, 0], signals=[0, 1, 0, 1])
    Terms(switching=0.0, law=4.0, theta=2.0, azuma=0.0, delay=2.0)
    """
    window = effective_window(setting, window)
    played = _rounds("actions", actions, setting.horizon, setting.actions)
    seen = _rounds("signals", signals, setting.horizon, setting.signals)
    stable = stable_rounds(setting.horizon, window, changes)
    first = early_sights(seen, setting.delay)
    law = LAW_FACTOR[setting.constants] * math.sqrt(law_radius_constant(setting, window))
    theta = 2.0 * math.sqrt(theta_radius_constant(setting))
    law_widths = np.minimum(1.0, law / np.sqrt(past_counts(played, window, 0)))
    theta_widths = np.minimum(
        1.0, theta / np.sqrt(past_counts(seen, setting.horizon, setting.delay))
    )
    return Terms(
        switching=float((~stable).sum()),
        law=float(law_widths[stable].sum()),
        theta=float(theta_widths[~first].sum()),
        azuma=0.0,
        delay=float(theta_widths[first].sum()),
    )


def paid_regret(
    setting: Setting,
    window: int,
    *,
    index: npt.ArrayLike,
    upper: npt.ArrayLike,
    law: npt.ArrayLike,
    theta: npt.ArrayLike,
    signals: npt.ArrayLike,
    changes: Iterable[int] = (),
) -> Terms:
    """Split rho⁺_t(A_t) - rho_t(A_t), an upper bound on the regret of round t, over the terms.

    `index` (T,) is rho⁺_t(A_t), `upper` (T, S) is U_t, `law` (T, S) is the true p_t(A_t), `theta`
    (S,) the true means. In stable rounds the total is the sum of index - law·theta exactly; rounds
    after a switch pay 1 for it and keep their theta, azuma and delay, as in the proof.
    """
    stable = stable_rounds(setting.horizon, effective_window(setting, window), changes)
    seen = _rounds("signals", signals, setting.horizon, setting.signals)
    first = early_sights(seen, setting.delay)
    table = (setting.horizon, setting.signals)
    believed = _numbers("upper", upper, table)
    true_law = _numbers("law", law, table)
    width = believed - _numbers("theta", theta, table[1:])
    expected = (true_law * width).sum(axis=1)
    drawn = width[np.arange(setting.horizon), seen]
    optimism = _numbers("index", index, table[:1]) - (true_law * believed).sum(axis=1)
    return Terms(
        switching=float((~stable).sum()),
        law=float(optimism[stable].sum()),
        theta=float(drawn[~first].sum()),
        azuma=float((expected - drawn).sum()),
        delay=float(drawn[first].sum()),
    )


def stable_rounds(horizon: int, window: int, changes: Iterable[int]) -> Bools:
    """Mark T(W): rounds whose window holds one law, that is all but W after each change.

    >>> stable_rounds(6, 2, [3]).tolist()
    [True, True, True, False, False, True]
    """
    stable = np.ones(horizon, np.bool_)
    for change in changes:
        if not 0 < change < horizon:
            raise InvalidInput(
                f"a change must come after round 0 and before the horizon {horizon}, got {change}: "
                f"give the first round under the new law"
            )
        stable[change : change + window] = False
    return stable


def early_sights(signals: Ints, delay: int) -> Bools:
    """Mark the first D + 1 sights of each signal.

    >>> early_sights(np.array([0, 0, 1, 0]), delay=1).tolist()
    [True, True, True, False]
    """
    first = np.zeros(signals.size, np.bool_)
    for signal in np.unique(signals):
        first[np.flatnonzero(signals == signal)[: delay + 1]] = True
    return first


def past_counts(values: Ints, window: int, delay: int) -> Floats:
    """Return max{1, #{u : t - window <= u < t - delay, values[u] = values[t]}} for every t.

    >>> past_counts(np.array([0, 0, 1, 0, 0]), window=3, delay=0).tolist()
    [1.0, 1.0, 1.0, 2.0, 2.0]
    """
    counts = np.empty(values.size)
    for value in np.unique(values):
        rounds = np.flatnonzero(values == value)
        gone = np.searchsorted(rounds, rounds - window)
        known = np.searchsorted(rounds, rounds - delay)
        counts[rounds] = np.maximum(1, known - gone)
    return counts


def _numbers(name: str, values: npt.ArrayLike, shape: tuple[int, ...]) -> Floats:
    numbers = np.asarray(values, np.float64)
    if numbers.shape != shape:
        raise InvalidInput(
            f"{name} must have shape {shape}, got {numbers.shape}: give one entry a round or signal"
        )
    return numbers


def _rounds(name: str, values: npt.ArrayLike, horizon: int, size: int) -> Ints:
    numbers = np.asarray(values)
    if numbers.shape != (horizon,) or not np.issubdtype(numbers.dtype, np.integer):
        raise InvalidInput(
            f"{name} must be {horizon} whole numbers, one a round, got {numbers.dtype} "
            f"of shape {numbers.shape}: give the run of this horizon"
        )
    if numbers.min() < 0 or numbers.max() >= size:
        raise InvalidInput(
            f"{name} must be numbers from 0 to {size - 1}, got {numbers.min()} to {numbers.max()}: "
            f"count from 0"
        )
    return numbers.astype(np.int64)
