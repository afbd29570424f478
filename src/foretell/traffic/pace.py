"""Windows and rounds in seconds of the server's clock, waiting for the next round, and a look back.

The server closes windows by its own clock. So that a window has the same number of rounds each
time, round t is played `t` round lengths after round 0 by that clock, which is read off every
answer: it says when the reward window closes, hence when the decision was made. By the same times,
the rounds that windows really had are counted in the end.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from foretell.errors import InvalidInput
from foretell.traffic.plan import Plan
from foretell.traffic.probe import ServerSpeed

GRID = 0.01
"""Windows close on whole multiples of so many seconds of the server."""
SLACK = 2.0
"""Where silence is a default, a round takes so many times as long as the server needs for it."""
SIGNAL_SHARE = 0.75
"""The part of a round in which its signal is waited for, where silence is a default."""
SIGNAL_SLACK = 1.5
"""That part is so many times as long as a slow round of the probe."""
SIGNAL_ROUNDS = 6
"""The rounds in which a signal is waited for, where silence is unknown, by the probe's rounds."""
SIGNAL_SECONDS = (0.1, 2.0)
"""The fewest and the most seconds of such a wait."""
REWARD_SLACK = 3.0
"""Where silence is unknown, a reward is late after so many times its mean delay."""
MIN_ROUND_LENGTH = 20 * GRID
"""Seconds of the server without which a round has no room for windows."""
MAX_WINDOW = 3650 * 86400.0
"""Seconds of a window: a campaign may have one of ten years."""


class Timing(NamedTuple):
    """The windows of a campaign and the length of a round, all in seconds of the server."""

    clock_rate: float
    """Seconds of the server's clock in one second."""
    round_length: float
    """From a round to the next; 0 is as fast as the server can."""
    signal_window: float
    reward_window: float

    def decided_at(self, due: float) -> float:
        """Return when a decision was made whose reward window closes at `due`."""
        return due - self.reward_window

    def signal_due(self, due: float) -> float:
        """Return when the signal window of that decision has closed."""
        return self.decided_at(due) + self.signal_window + GRID


def choose_timing(plan: Plan, speed: ServerSpeed) -> Timing:
    """Choose the windows and the length of a round for a plan."""
    if plan.silence == "default":
        safe = max(
            SLACK * speed.round_seconds, SIGNAL_SLACK * speed.slow_round_seconds / SIGNAL_SHARE
        )
        seconds = safe if plan.rate is None else 1.0 / plan.rate
        round_length = seconds * speed.clock_rate
        if round_length < MIN_ROUND_LENGTH:
            raise InvalidInput(
                f"a round of {seconds:.3g} s is {round_length:.3g} s by the server's clock, "
                f"too short for windows: start the server with --time-scale 1000, or lower --rate"
            )
        # Half a round more, so that it closes well between two decisions.
        reward_window = min((plan.window + 0.5) * round_length, MAX_WINDOW)
        signal_window = min(SIGNAL_SHARE * round_length, reward_window)
        return Timing(speed.clock_rate, round_length, signal_window, reward_window)
    shortest, longest = SIGNAL_SECONDS
    signal_seconds = min(max(SIGNAL_ROUNDS * speed.round_seconds, shortest), longest)
    wanted = 0.0 if plan.rate is None else 1.0 / plan.rate
    likely = max(speed.round_seconds, wanted) * speed.clock_rate
    rounds = min(max(REWARD_SLACK * plan.window, SIGNAL_ROUNDS), plan.horizon)
    signal_window = max(speed.clock_rate * signal_seconds, GRID)
    return Timing(
        speed.clock_rate,
        0.0 if plan.rate is None else speed.clock_rate / plan.rate,
        signal_window,
        min(max(rounds * likely, signal_window), MAX_WINDOW),
    )


class Pace:
    """Lets the rounds of one run begin when they are due."""

    def __init__(self, timing: Timing) -> None:
        """Begin with round 0."""
        self._timing = timing
        self._round = 0
        self._first = 0.0
        self._last = 0.0
        self._sent = 0.0
        self._answered = 0.0

    async def wait(self, *, after_window: bool) -> None:
        """Wait for the next round; `after_window`: until the last one's signal window is closed."""
        timing = self._timing
        if self._round > 0:
            due = max(self._first + self._round * timing.round_length, self._last)
            planned = self._sent + (due - self._last) / timing.clock_rate
            window = timing.signal_window + GRID if after_window else 0.0
            earliest = self._answered + window / timing.clock_rate
            await asyncio.sleep(max(0.0, max(planned, earliest) - time.monotonic()))
        self._sent = time.monotonic()

    def decided(self, decided_at: float) -> None:
        """Take note of when, by the server's clock, the decision of this round was made."""
        if self._round == 0:
            self._first = decided_at
        self._last = decided_at
        self._answered = time.monotonic()
        self._round += 1


class Windows(NamedTuple):
    """Rounds between a decision and the close of its reward window: the lab's delay."""

    shortest: int
    median: int
    longest: int
    signals_behind: float
    """The share of decisions that were made before the signal of the last round was in."""


def measured_windows(timing: Timing, runs: Iterable[Sequence[float]]) -> Windows | None:
    """Measure windows by when those of each round closed; None: none has closed.

    A window that closes between the decisions of rounds u + d and u + d + 1 is a delay of d: the
    reward is known from round u + d + 1 on.
    """
    rounds, behind = [np.zeros(0, np.int64)], []
    for closes in runs:
        dues = np.array(closes)
        decided_at = dues - timing.reward_window
        first_after = np.searchsorted(decided_at, dues)
        known = first_after < decided_at.size
        rounds.append((first_after - np.arange(decided_at.size) - 1)[known])
        behind.append(np.diff(decided_at) < timing.signal_window)
    all_rounds = np.concatenate(rounds)
    if all_rounds.size == 0:
        return None
    return Windows(
        int(all_rounds.min()),
        int(np.median(all_rounds)),
        int(all_rounds.max()),
        float(np.concatenate(behind).mean()),
    )
