"""One campaign: what is delivered to its policy, and when. No clock, no socket, no database.

The log is folded in its order, and between two records every window closes that is due by then, in
the order of closing: so the same log gives the same state, whenever and however often it is
read. Of its open decisions a campaign remembers two rounds only, the first whose signal window
is open and the first whose reward window is: windows close in the order of decisions. The records
of a decision are loaded when they are needed.

To a policy that can undo (`unobserve`, `uncredit`) and reads in any order, the present outcome of
every decision is delivered. To a policy that reads a stream, each signal is delivered once, in the
order of decisions; what was delivered stays, until the next refit.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from foretell.policies.registry import policy, start
from foretell.policies.state import fingerprint, grow
from foretell.policies.verbs import credit, observe, play, uncredit, unobserve
from foretell.service.model.capabilities import campaign_problem, capabilities_of
from foretell.service.model.counters import Counters
from foretell.service.model.delivered import LastRefit, delivered_once, unread
from foretell.service.model.events import CampaignConfig, Decided, Rewarded, Signalled
from foretell.service.model.outcome import (
    NO_OUTCOME,
    DecisionRecords,
    FeedbackRecord,
    Outcome,
    Rules,
    first_signal,
    lacks_target,
    outcome_of,
    rewards,
    unmatched,
)
from foretell.service.model.prefetch import Load, Prefetch
from foretell.types import Bools, RewardScale

NEVER = 2**62
"""A moment that never comes."""


class Campaign:
    """The state of one campaign, up to a record of the log and a moment."""

    def __init__(self, config: CampaignConfig) -> None:
        """Begin with nothing known."""
        self.config = config
        self.spec = policy(config.policy)
        self.rules = Rules.of(config)
        self.scale = RewardScale("bounded", *config.reward_range)
        self.state: Any = start(self.spec, campaign_problem(config))
        self.counters = Counters(len(config.actions), len(config.signals))
        self.seq = 0
        self.as_of = 0
        self.decided = 0
        self.signal_cursor = 0
        self.reward_cursor = 0
        self.signal_next = NEVER
        self.reward_next = NEVER
        self.refit = LastRefit(0, 0, 0)
        self.blind, self.undoes_rewards, self.undoes = capabilities_of(
            self.spec, campaign_problem(config)
        )
        self.waits_for_signals = self.rules.signal_default or not self.undoes

    def change(self, config: CampaignConfig) -> None:
        """Take a configuration with the same policy, windows and rewards."""
        old = self.config
        self.config = config
        if len(config.actions) > len(old.actions) or len(config.signals) > len(old.signals):
            self.state = grow(self.spec, self.state, len(old.actions), campaign_problem(config))
            self.counters.grow(len(config.actions), len(config.signals))

    def decide(self, event: Decided) -> None:
        """Take in a decision; `advance` was called up to its time."""
        play(self.state, event.round, event.action)
        self.counters.decide(event.recorded_at, event.action)
        if self.signal_cursor == self.decided and self.waits_for_signals:
            self.signal_next = self.rules.signal_due(event.recorded_at)
        if self.reward_cursor == self.decided and self.rules.reward_default:
            self.reward_next = self.rules.reward_due(event.recorded_at)
        self.decided += 1
        self.as_of = event.recorded_at

    def take(self, record: FeedbackRecord, records: DecisionRecords | None, load: Load) -> str:
        """Take in feedback on a decision; `records` are those before it, None if it is not known.

        Returns what becomes of the feedback: accepted, late or parked.
        """
        event = record.event
        signal = isinstance(event, Signalled)
        self.as_of = event.recorded_at
        if records is None:
            self.counters.count("parked")
            return "parked"
        self.counters.count("signals" if signal else "rewards")
        decided_at = records.decided.decided_at
        due = self.rules.signal_due(decided_at) if signal else self.rules.reward_due(decided_at)
        now = DecisionRecords(records.decided, [*records.feedback, record])
        if self._has_effect(decided_at, event.recorded_at, signal=signal):
            self._move(records, now, event.recorded_at)
        if not signal:
            parked = unmatched(rewards(now.feedback)) - unmatched(rewards(records.feedback))
            self.counters.count("parked", parked)
        is_next = records.decided.round == self.signal_cursor and not self.rules.signal_default
        if signal and is_next and not self.undoes:
            self._read_on(event.recorded_at, load)
        late = event.recorded_at >= due
        self.counters.count("late", late)
        if isinstance(event, Rewarded) and lacks_target(event, rewards(records.feedback)):
            return "parked"
        return "late" if late else "accepted"

    def _has_effect(self, decided_at: int, now: int, *, signal: bool) -> bool:
        """Return whether feedback can change the outcome now, and not only when a window closes."""
        if self.rules.signal_default and now < self.rules.signal_due(decided_at):
            return False
        return signal or not self.rules.reward_default or now >= self.rules.reward_due(decided_at)

    def advance(self, now: int, load: Load) -> None:
        """Close every window that is due, in the order of closing."""
        self.as_of = max(self.as_of, now)
        if now < self.signal_next and now < self.reward_next:
            return
        signals, rewarded = Prefetch(load), Prefetch(load)
        while min(self.signal_next, self.reward_next) <= now:
            if self.signal_next <= self.reward_next:
                moment, records = self.signal_next, signals.decision(self.signal_cursor)
                self.signal_cursor += 1
                closes = self.rules.signal_default
                self._move(records, records, moment, reads=True, signal_closes=closes)
                if not closes:
                    self._read_on(moment, load)
                self.signal_next = self._due_of_signal(signals)
            else:
                moment, records = self.reward_next, rewarded.decision(self.reward_cursor)
                self.reward_cursor += 1
                self._move(records, records, moment, reward_closes=True)
                self.reward_next = self._due_of_reward(rewarded)

    def end_refit(self, seq: int, now: int, stored: int) -> None:
        """End a refit, after every decision was given to `refit_one`.

        `stored` is how many records of decisions, signals and rewards the log held: those that
        belong to no decision are parked.
        """
        known = sum(self.counters.counts[:3])
        self.counters.count("parked", stored - known)
        self.refit = LastRefit(seq, now, self.signal_cursor)
        self.seq, self.as_of = seq, now

    def refit_one(self, records: DecisionRecords, now: int) -> None:
        """Read the next decision of a refit, with its outcome at a later moment."""
        decided_at, t = records.decided.decided_at, records.decided.round
        is_next = t == self.signal_cursor
        self.decide(records.decided)
        outcome = outcome_of(self.rules, records, now)
        delivered = outcome
        if self.waits_for_signals and now < self.rules.signal_due(decided_at):
            early = not self.rules.signal_default and outcome.signal is not None
            if not (is_next and early):
                delivered = NO_OUTCOME
        closed = delivered.signal is not None or now >= self.rules.signal_due(decided_at)
        if self.waits_for_signals and is_next and closed:
            self.signal_cursor = t + 1
            self.signal_next = NEVER
        if self.rules.reward_default and now >= self.rules.reward_due(decided_at):
            self.reward_cursor = t + 1
            self.reward_next = NEVER
        self._deliver(records, NO_OUTCOME, delivered)
        self._count(records, NO_OUTCOME, outcome)
        self.counters.count(
            "signals", sum(isinstance(one.event, Signalled) for one in records.feedback)
        )
        self.counters.count("rewards", len(rewards(records.feedback)))
        self.counters.count("parked", unmatched(rewards(records.feedback)))
        self.counters.count("late", sum(self._late(records, one) for one in records.feedback))

    def _late(self, records: DecisionRecords, record: FeedbackRecord) -> bool:
        decided_at = records.decided.decided_at
        signal = isinstance(record.event, Signalled)
        due = self.rules.signal_due(decided_at) if signal else self.rules.reward_due(decided_at)
        return record.event.recorded_at >= due

    def _read_on(self, now: int, load: Load) -> None:
        """Deliver the next decisions of the stream, as far as their signals have come."""
        prefetch = Prefetch(load)
        while self.signal_cursor < self.decided:
            records = prefetch.decision(self.signal_cursor)
            if first_signal(self.rules, records) is None:
                break
            self.signal_cursor += 1
            self._move(records, records, now, reads=True)
        self.signal_next = self._due_of_signal(prefetch)

    def _due_of_signal(self, prefetch: Prefetch) -> int:
        if self.signal_cursor >= self.decided or not self.waits_for_signals:
            return NEVER
        return self.rules.signal_due(prefetch.decision(self.signal_cursor).decided.decided_at)

    def _due_of_reward(self, prefetch: Prefetch) -> int:
        if self.reward_cursor >= self.decided:
            return NEVER
        return self.rules.reward_due(prefetch.decision(self.reward_cursor).decided.decided_at)

    def _move(
        self,
        before: DecisionRecords,
        after: DecisionRecords,
        now: int,
        *,
        reads: bool = False,
        signal_closes: bool = False,
        reward_closes: bool = False,
    ) -> None:
        """Move a decision from one outcome to the next, for the policy and for the counters.

        `reads` is whether its turn in the stream has just come.
        """
        t, closes = before.decided.round, signal_closes or reward_closes
        outcome_before = outcome_of(self.rules, before, now - signal_closes, now - closes)
        outcome_after = outcome_of(self.rules, after, now, now - signal_closes)
        if self.undoes:
            delivered, to_deliver = outcome_before, outcome_after
        else:
            known = (self.rules, self.refit, self.undoes_rewards)
            was_read = t < self.signal_cursor - reads
            was_closed = t < self.reward_cursor - reward_closes
            delivered = delivered_once(*known, before, now, read=was_read, closed=was_closed)
            is_read, is_closed = t < self.signal_cursor, t < self.reward_cursor
            to_deliver = delivered_once(*known, after, now, read=is_read, closed=is_closed)
            self.counters.count("revisions", unread(to_deliver, outcome_after, passed=is_read))
            self.counters.count("revisions", -unread(delivered, outcome_before, passed=was_read))
        self._deliver(before, delivered, to_deliver)
        self._count(before, outcome_before, outcome_after)

    def _deliver(self, records: DecisionRecords, before: Outcome, after: Outcome) -> None:
        """Let the policy know an outcome in place of the one that was delivered before."""
        if before == after:
            return
        t, action = records.decided.round, records.decided.action
        if before.reward is not None and before.signal is not None:
            uncredit(self.state, t, action, before.signal, self._unit(before.reward))
        if before.signal != after.signal:
            if before.signal is not None:
                unobserve(self.state, t, action, before.signal)
            if after.signal is not None:
                observe(self.state, t, action, after.signal)
        if after.reward is not None and after.signal is not None:
            credit(self.state, t, action, after.signal, self._unit(after.reward))

    def _count(self, records: DecisionRecords, before: Outcome, after: Outcome) -> None:
        if before == after:
            return
        units = (self._unit(before.reward or 0.0), self._unit(after.reward or 0.0))
        decided_at, action = records.decided.decided_at, records.decided.action
        self.counters.move(decided_at, action, before, after, units)
        clipped = self._outside(after) - self._outside(before)
        self.counters.count("clipped", clipped)

    def _outside(self, outcome: Outcome) -> int:
        low, high = self.config.reward_range
        return int(outcome.reward is not None and not low <= outcome.reward <= high)

    def _unit(self, reward: float) -> float:
        low, high = self.config.reward_range
        return self.scale.unit(min(max(reward, low), high))

    def actions_without_feedback(self) -> Bools:
        """Mark the actions of which nothing was delivered to the policy yet."""
        return np.logical_not(
            (self.counters.paid if self.blind else self.counters.seen).any(axis=1)
        )

    def digest(self) -> str:
        """Digest all that the campaign knows: the same log and moment give the same digest."""
        cursors = (self.decided, self.signal_cursor, self.reward_cursor)
        digest = hashlib.sha256(repr(cursors).encode() + fingerprint(self.state))
        digest.update(repr(self.counters.counts).encode())
        for counted in (self.counters.seen, self.counters.paid, self.counters.grains):
            digest.update(counted.tobytes())
        return digest.hexdigest()[:32]
