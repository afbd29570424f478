"""What a policy that corrects for silence knows of the reward of a decision.

From its signal until its reward window closes a decision counts by its age, with the reward that
has come; then it counts as any other, and of the reward only the delay is news. All of this is a
function of the records of the decision, so that it can be undone when another comes.
"""

from __future__ import annotations

from typing import NamedTuple

from foretell.policies.verbs import CLOSED, OPEN, SILENT
from foretell.service.model.outcome import Outcome
from foretell.service.model.running import Running

TICK = 1000
"""Microseconds of a tick, in which policies count time."""


class OpenReward(NamedTuple):
    """What is delivered with `wait`."""

    made: int
    """When the decision was made, in ticks."""
    signal: int
    delay: int
    """Ticks until its reward came, or SILENT."""
    reward: float | None
    """None while there is none."""
    closed: bool


def open_reward(running: Running, delivered: Outcome, *, closed: bool) -> OpenReward | None:
    """Return what is known of the reward of a decision; None where there is nothing to count.

    `delivered` is what the policy knows of it, `closed` whether its reward window is.
    """
    signal, reward, came = delivered[0], running.reward.total, running.reward_arrival
    if signal is None or running.void:
        return None
    made = running.decided_at // TICK
    if reward is not None and came is not None and not came.late:
        delay = (running.decided_at + came.age) // TICK - made
        return OpenReward(made, int(signal), delay, reward, CLOSED if closed else OPEN)
    return None if closed else OpenReward(made, int(signal), SILENT, None, OPEN)
