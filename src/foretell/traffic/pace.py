"""Windows in seconds of the server, rounds in stretches of its time, and waiting for the next.

The server closes windows by its own clock. So that a window has the same number of rounds each
time, round t is played `t` stretches after round 0 by that clock, which is read off every
answer: it says when the reward window closes, hence when the decision was made.
"""

from __future__ import annotations

import asyncio
import time
from typing import NamedTuple

from foretell.errors import InvalidInput
from foretell.traffic.plan import Plan
from foretell.traffic.probe import Tempo

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
"""So many seconds it takes at least and at most."""
REWARD_SLACK = 3.0
"""Where silence is unknown, a reward is late after so many times its mean delay."""
SHORTEST_STRETCH = 20 * GRID
LONGEST_WINDOW = 3650 * 86400.0


class Timing(NamedTuple):
    """The windows of a campaign and the stretch of a round, all in seconds of the server."""

    speed: float
    """Seconds of the server's clock in one second."""
    stretch: float
    """From a round to the next; 0 is as fast as the server goes along."""
    signal_window: float
    reward_window: float

    def made(self, due: float) -> float:
        """Return when a decision was made, whose reward window closes at `due`."""
        return due - self.reward_window

    def signal_due(self, due: float) -> float:
        """Return when the signal window of that decision has closed."""
        return self.made(due) + self.signal_window + GRID


def timing(plan: Plan, tempo: Tempo) -> Timing:
    """Choose the windows of a plan."""
    if plan.silence == "default":
        safe = max(SLACK * tempo.round, SIGNAL_SLACK * tempo.slow_round / SIGNAL_SHARE)
        seconds = safe if plan.rate is None else 1.0 / plan.rate
        stretch = seconds * tempo.speed
        if stretch < SHORTEST_STRETCH:
            raise InvalidInput(
                f"a round of {seconds:.3g} s is {stretch:.3g} s by the server's clock, too short "
                f"for windows: start the server with --time-scale 1000, or lower --rate"
            )
        # Half a round more, so that it closes well between two decisions.
        reward_window = min((plan.window + 0.5) * stretch, LONGEST_WINDOW)
        return Timing(tempo.speed, stretch, SIGNAL_SHARE * stretch, reward_window)
    shortest, longest = SIGNAL_SECONDS
    likely = max(tempo.round, 0.0 if plan.rate is None else 1.0 / plan.rate) * tempo.speed
    rounds = min(max(REWARD_SLACK * plan.window, SIGNAL_ROUNDS), plan.horizon)
    return Timing(
        tempo.speed,
        0.0 if plan.rate is None else tempo.speed / plan.rate,
        max(tempo.speed * min(max(SIGNAL_ROUNDS * tempo.round, shortest), longest), GRID),
        min(max(rounds * likely, GRID), LONGEST_WINDOW),
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
            due = max(self._first + self._round * timing.stretch, self._last)
            planned = self._sent + (due - self._last) / timing.speed
            window = timing.signal_window + GRID if after_window else 0.0
            earliest = self._answered + window / timing.speed
            await asyncio.sleep(max(0.0, max(planned, earliest) - time.monotonic()))
        self._sent = time.monotonic()

    def decided(self, made: float) -> None:
        """Take note of when, by the server's clock, the decision of this round was made."""
        if self._round == 0:
            self._first = made
        self._last = made
        self._answered = time.monotonic()
        self._round += 1
