"""How many rounds windows had, as the server's own times tell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from foretell.traffic.pace import Timing


class Windows(NamedTuple):
    """Rounds between a decision and the close of its reward window: the lab's delay."""

    shortest: int
    median: int
    longest: int
    signals_behind: float
    """The share of decisions that were made before the signal of the last round was in."""


def measured(timing: Timing, runs: Iterable[Sequence[float]]) -> Windows | None:
    """Measure windows by when those of each round closed; None: none has closed.

    A window that closes between the decisions of rounds u + d and u + d + 1 is a delay of d: the
    reward is known from round u + d + 1 on.
    """
    rounds, behind = [np.zeros(0, np.int64)], []
    for closes in runs:
        dues = np.array(closes)
        made = dues - timing.reward_window
        first_after = np.searchsorted(made, dues)
        known = first_after < made.size
        rounds.append((first_after - np.arange(made.size) - 1)[known])
        behind.append(np.diff(made) < timing.signal_window)
    all_rounds = np.concatenate(rounds)
    if all_rounds.size == 0:
        return None
    return Windows(
        int(all_rounds.min()),
        int(np.median(all_rounds)),
        int(all_rounds.max()),
        float(np.concatenate(behind).mean()),
    )
