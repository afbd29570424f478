"""What a policy that cannot undo has been told about a decision: each thing once.

It reads signals in the order of decisions. Where silence is an outcome it is told the strongest
signal when the window closes, else the first signal that came; and what a decision stood at when
the policy last read everything anew stays told.
"""

from __future__ import annotations

from typing import NamedTuple

from foretell.service.model.outcome import (
    NOTHING,
    Facts,
    Rules,
    Standing,
    first_reward,
    first_signal,
    settled_reward,
    standing,
    timely,
)


class Refold(NamedTuple):
    """When a policy last read everything anew."""

    seq: int
    """Up to this line."""
    at: int
    """As things stood at this moment."""
    place: int
    """And the signals of the rounds before this one."""


def told_once(
    rules: Rules,
    refold: Refold,
    undoes_rewards: bool,  # noqa: FBT001  (what the policy can do, not how it is asked)
    facts: Facts,
    now: int,
    *,
    read: bool,
    closed: bool,
) -> Standing:
    """Give what was told: `read` is whether the signal's turn has come, `closed` the reward's."""
    before = NOTHING
    if facts.decided.round < refold.place:
        before = standing(rules, facts.until(refold.seq), refold.at)
    signal = before.signal
    if signal is None and read:
        signal = (
            standing(rules, timely(rules, facts), rules.signal_due(facts.decided.at)).signal
            if rules.signal_default
            else first_signal(rules, facts)
        )
    if signal is None:
        return NOTHING
    if rules.reward_default and not closed:
        return Standing(signal, None)
    if undoes_rewards:
        return Standing(signal, settled_reward(rules, facts, now))
    return Standing(
        signal, before.reward if before.reward is not None else first_reward(rules, facts)
    )


def unread(told: Standing, stands: Standing, *, passed: bool) -> int:
    """Tell whether the policy knows something else than what a decision stands at."""
    missed = passed and told.signal is None and stands.signal is not None
    revised = told.signal is not None and told.signal != stands.signal
    repaid = told.reward is not None and told.reward != stands.reward
    return int(missed or revised or repaid)
