"""Rounds of which only conversions are reported, each until its reward window closes.

A conversion is reported when it arrives, to the policies that can use that (`wait`). When the
window of a round closes its reward is known, converted or not, and every policy is credited with
it: one that does not correct for silence waits for the window.
"""

from __future__ import annotations

from typing import Any

from foretell.kernel import kernel
from foretell.policies.verbs import CLOSED, OPEN, SILENT, credit, elapse, unwait, wait
from foretell.sim.pending import NO_ENTRY, Pending, add_pending, take_due
from foretell.worlds.delays import NEVER


@kernel
def pass_censored(
    state: Any,
    pending: Pending,
    window: int,
    horizon: int,
    t: int,
    action: int,
    signal: int,
    reward: float,
    delay: int,
) -> None:
    """Let round t wait for its conversion or the close of its window, and report what is due."""
    elapse(state, t)
    wait(state, t, signal, SILENT, 0.0, OPEN)
    if delay == NEVER or delay >= window or reward <= 0.0:
        delay = SILENT
        reward = 0.0
    due = window if delay == SILENT else delay
    if due < horizon - t:
        add_pending(pending, t + due, t, action, signal, reward, delay)
    _report_due(state, pending, window, horizon, t)


@kernel
def _report_due(state: Any, pending: Pending, window: int, horizon: int, t: int) -> None:
    """Report the conversions of round t, and the rewards of the window that closes in it."""
    entry = take_due(pending, t)
    while entry != NO_ENTRY:
        made = pending.round[entry]
        action = pending.action[entry]
        signal = pending.signal[entry]
        reward = pending.reward[entry]
        delay = pending.delay[entry]
        if t - made < window:
            unwait(state, made, signal, SILENT, 0.0, OPEN)
            wait(state, made, signal, delay, reward, OPEN)
            if made + window < horizon:
                add_pending(pending, made + window, made, action, signal, reward, delay)
        else:
            unwait(state, made, signal, delay, reward, OPEN)
            if delay != SILENT:
                wait(state, made, signal, delay, reward, CLOSED)
            credit(state, made, action, signal, reward)
        entry = take_due(pending, t)
