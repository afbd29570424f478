"""What was delivered of a decision to a policy that cannot undo: each thing once.

It reads signals in the order of decisions. Where silence is an outcome, the strongest signal is
delivered when the window closes, else the first signal that comes; and the outcome at the last
refit stays delivered.
"""

from __future__ import annotations

from typing import NamedTuple

from foretell.service.model.outcome import (
    NO_OUTCOME,
    DecisionRecords,
    Outcome,
    Rules,
    first_reward,
    first_signal,
    outcome_of,
    settled_reward,
    timely,
)


class LastRefit(NamedTuple):
    """When a policy last read the whole log."""

    seq: int
    """Up to this record."""
    as_of: int
    """As of this moment."""
    rounds: int
    """With the signals of so many rounds."""


def delivered_once(
    rules: Rules,
    refit: LastRefit,
    undoes_rewards: bool,  # noqa: FBT001  (what the policy can do, not how it is asked)
    records: DecisionRecords,
    now: int,
    *,
    read: bool,
    closed: bool,
) -> Outcome:
    """Return the outcome that was delivered.

    `read` is whether the turn of the signal has come, `closed` whether that of the reward has.
    """
    at_refit = NO_OUTCOME
    if records.decided.round < refit.rounds:
        at_refit = outcome_of(rules, records.until(refit.seq), refit.as_of)
    signal = at_refit.signal
    if signal is None and read:
        signal = (
            outcome_of(
                rules, timely(rules, records), rules.signal_due(records.decided.decided_at)
            ).signal
            if rules.signal_default
            else first_signal(rules, records)
        )
    if signal is None:
        return NO_OUTCOME
    if rules.reward_default and not closed:
        return Outcome(signal, None)
    if undoes_rewards:
        return Outcome(signal, settled_reward(rules, records, now))
    return Outcome(
        signal, at_refit.reward if at_refit.reward is not None else first_reward(rules, records)
    )


def unread(delivered: Outcome, outcome: Outcome, *, passed: bool) -> int:
    """Return 1 if the policy knows another outcome of a decision than the present one, else 0."""
    missed = passed and delivered.signal is None and outcome.signal is not None
    revised = delivered.signal is not None and delivered.signal != outcome.signal
    repaid = delivered.reward is not None and delivered.reward != outcome.reward
    return int(missed or revised or repaid)
