"""One campaign: what is delivered to its policy, and when. No clock, no socket, no database.

The law of the machine: its state is a function of the log up to its `position`. All records below
the position are applied, in the order of `seq`, and every window that is due by it is closed; a
window that is due at a microsecond closes before any record of that microsecond. So the same log
gives the same state, whenever and however often it is read.

The machine asks for what it must know and is not at hand (`needs`), somebody fetches it, and it
goes on (`close_windows`, then `apply`). Of its open decisions it remembers, for each stage, only
the first whose window is open: windows close in the order of decisions.

To a policy that can undo (`unobserve`, `uncredit`) and reads in any order, the present outcome of
every decision is delivered. To a policy that reads a stream, each signal is delivered once, in the
order of decisions; what was delivered stays, until the next refit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from foretell.policies.registry import policy, start
from foretell.policies.state import fingerprint, grow
from foretell.policies.verbs import credit, has, observe, play, uncredit, unobserve, unplay
from foretell.service.model.counters import Counters
from foretell.service.model.delivered import (
    campaign_problem,
    capabilities_of,
    delivered_once,
    unread,
)
from foretell.service.model.events import (
    SLOTS,
    VOID,
    CampaignConfig,
    Configured,
    Decided,
    DecisionRecords,
    Feedback,
    Record,
    moment,
)
from foretell.service.model.outcome import Outcome, Rules
from foretell.service.model.running import DecisionCache, LastRefit, RewardTotal, Running
from foretell.types import Bools, RewardScale

FOLD_VERSION = 1
"""Changes when the same log gives another state: then every campaign is refit at its next start."""
NEVER = 2**63
"""A seq that never comes."""
IN_TURN = -1
"""When a decision is due whose signal has come, to a policy that reads signals in their order."""


class Needs(NamedTuple):
    """What a campaign must know before it can go on."""

    numbers: tuple[int, ...] = ()
    """Decisions, by number."""
    after: tuple[int, ...] = ()
    """The next decisions after each of these numbers."""


NOTHING = Needs()


class _View(NamedTuple):
    """One decision as it is now."""

    outcome: Outcome
    delivered: Outcome
    """What the policy knows of it."""
    unread: int
    """1 if that is not the outcome, and only a refit will change it."""


class Campaign:
    """The state of one campaign, at a position in the log."""

    def __init__(self, config: CampaignConfig) -> None:
        """Begin with nothing known."""
        self.config = config
        self.spec = policy(config.policy)
        self.rules = Rules.of(config)
        self.scale = RewardScale("bounded", *config.reward_range)
        self.state: Any = start(self.spec, campaign_problem(config))
        self.counters = Counters(len(config.actions), len(config.signals))
        stages = len(self.rules.stages)
        self.version = 0
        """The version of its configuration."""
        self.position = 0
        self.whole = True
        """Whether the state is that of its position: not while some windows are closed of many."""
        self.decided = 0
        self.cursors = [0] * stages
        """For each stage, the rank of the first decision whose window is open."""
        self.passed = [0] * stages
        """For each stage, the number of the decision before it."""
        self.last_refit = LastRefit(0, 0)
        self.blind, self.undoes_rewards, self.undoes = capabilities_of(
            self.spec, campaign_problem(config)
        )
        self.tracked = tuple(
            stage
            for stage, rule in enumerate(self.rules.stages)
            if rule.waits or (stage == 0 and not self.undoes)
        )
        """The stages whose decisions have a turn: a window that closes, or a place in a stream."""
        self.cache = DecisionCache(stages)
        self._next: list[Running | None] = [None] * stages
        self._next_due = 0
        """Nothing is due below this seq; 0 where that is not known."""

    @property
    def as_of(self) -> int:
        """The moment of the position, in microseconds."""
        return moment(self.position)

    def needs(self, record: Record | None = None) -> Needs:
        """Return what must be known before windows close, and before a record is applied."""
        after = tuple(
            self.passed[stage]
            for stage in self.tracked
            if self.cursors[stage] < self.decided and self._at_cursor(stage) is None
        )
        about = record is not None and isinstance(record.event, Feedback)
        numbers = (record.decision,) if record and about and not self.knows(record.decision) else ()
        return Needs(numbers, after) if after or numbers else NOTHING

    def knows(self, number: int) -> bool:
        """Return whether a decision is at hand."""
        return self._at_hand(number) is not None

    def parked_about(self, number: int) -> int | None:
        """Return how much is parked about a decision; None for one that is not at hand."""
        running = self._at_hand(number)
        return None if running is None else running.reward.unmatched

    def clipped(self, record: Record) -> float | None:
        """Return the reward of a decision with a record, where it lies outside the range.

        None: it does not, as far as the records at hand say.
        """
        running = self._at_hand(record.decision)
        if running is not None and running.void:
            return None
        known = None if running is None else running.reward
        total = (known if isinstance(known, RewardTotal) else RewardTotal()).total_with(record)
        return total if self._outside((total,)) else None

    def close_windows(self, until: int, known: Iterable[DecisionRecords] = ()) -> bool:
        """Close every window that is due by a seq, in the order of closing.

        Returns whether that was all: if not, more must be known, and `needs` says what.
        """
        self.learn(known)
        while until >= self._next_due:
            turns = []
            for stage in self.tracked:
                if self.cursors[stage] >= self.decided:
                    continue
                running = self._at_cursor(stage)
                if running is None:
                    self.whole = False
                    return False
                turns.append((self._due(stage, running) * SLOTS, stage, running))
            due, stage, running = min(turns, key=_turn, default=(NEVER, 0, None))
            if running is None or due > until:
                self._next_due = due
                break
            self._close(stage, running)
        self.position = max(self.position, until)
        self.whole = True
        return True

    def apply(self, record: Record) -> None:
        """Take in a record; windows are closed up to it, and what it needs is known."""
        event = record.event
        if isinstance(event, Decided):
            self._decide(record.seq, event)
        elif isinstance(event, Feedback):
            self._take(record)
        elif isinstance(event, Configured):
            self._configure(event)
        self.position = record.seq + 1

    def learn(self, known: Iterable[DecisionRecords]) -> None:
        """Take note of decisions that were asked for; records above the position are ignored."""
        for records in known:
            if records.rank < self.decided and self._at_hand(records.number) is None:
                before = records.before(self.position)
                self.cache.add(Running.of(self.rules, before, self.last_refit))

    def _at_hand(self, number: int) -> Running | None:
        for running in self._next:
            if running is not None and running.number == number:
                return running
        return self.cache.find(number)

    def _at_cursor(self, stage: int) -> Running | None:
        """Return the first decision whose window is open, if it is at hand."""
        rank, running = self.cursors[stage], self._next[stage]
        if running is None or running.rank != rank:
            others = (one for one in self._next if one is not None and one.rank == rank)
            running = self._next[stage] = next(others, None) or self.cache.at_rank(rank)
        return running

    def _due(self, stage: int, running: Running) -> int:
        if stage == 0 and not self.rules.stages[0].waits and running.signals[0].first is not None:
            return IN_TURN
        return running.dues[stage]

    def _close(self, stage: int, running: Running) -> None:
        """Let the turn of a decision come at a stage."""
        before = self._view(running)
        self.cursors[stage] += 1
        self.passed[stage] = running.number
        self._next[stage] = None
        self._move(running, before)

    def _configure(self, event: Configured) -> None:
        """Take a configuration with the same policy, windows and rewards."""
        old, config = self.config, event.config
        self.config, self.version = config, event.version
        if len(config.actions) > len(old.actions) or len(config.signals) > len(old.signals):
            self.state = grow(self.spec, self.state, len(old.actions), campaign_problem(config))
            self.counters.grow(len(config.actions), len(config.signals))

    def _decide(self, number: int, event: Decided) -> None:
        play(self.state, self.decided, event.action)
        self.counters.decide(moment(number), event.action)
        self.cache.add(Running(self.rules, number, self.decided, event.action))
        if self.decided in self.cursors:
            self._next_due = 0
        self.decided += 1

    def _take(self, record: Record) -> None:
        event, running = record.event, self._at_hand(record.decision)
        assert isinstance(event, Feedback)  # noqa: S101  (apply has asked)
        if running is None:
            self.counters.count("parked")
            return
        before = self._view(running)
        unmatched, was_void = running.reward.unmatched, running.void
        running.add(record, self.last_refit)
        if not self.rules.stages[0].waits:
            self._next_due = 0  # its turn may have come
        after = self._move(running, before)
        self._count_feedback(event)
        if running.void and not was_void:
            self._void(running, read=not self.undoes and _was_read(running, after.delivered))
        self.counters.count("parked", running.reward.unmatched - unmatched)
        self.counters.count("late", running.is_late(record))

    def _count_feedback(self, event: Feedback) -> None:
        if event.verb_index != VOID:
            last = event.stage == len(self.rules.stages) - 1
            self.counters.count("rewards" if last else "signals")

    def _view(self, running: Running) -> _View:
        closed = tuple(running.rank < cursor for cursor in self.cursors)
        outcome = running.outcome(closed)
        if self.undoes:
            return _View(outcome, outcome, 0)
        delivered = delivered_once(
            running, self.last_refit, self.undoes_rewards, read=closed[0], closed=closed[-1]
        )
        return _View(outcome, delivered, unread(delivered, outcome, passed=closed[0]))

    def _move(self, running: Running, before: _View) -> _View:
        """Move a decision from what it was to what it is, for the policy and the counters."""
        after = self._view(running)
        self._deliver(running, before.delivered, after.delivered)
        self._count(running, before.outcome, after.outcome)
        self.counters.count("revisions", after.unread - before.unread)
        return after

    def _void(self, running: Running, *, read: bool) -> None:
        """Count a decision that was never shown; the policy does not wait for its signal then."""
        self.counters.void(running.decided_at)
        if not read and has(unplay, self.state):
            unplay(self.state, running.rank, running.action)

    def _deliver(self, running: Running, before: Outcome, after: Outcome) -> None:
        """Let the policy know an outcome in place of the one that was delivered before."""
        if before == after:
            return
        t, action = running.rank, running.action
        old, new = before[0], after[0]
        if before[-1] is not None and old is not None:
            uncredit(self.state, t, action, int(old), self._unit(before[-1]))
        if old != new:
            if old is not None:
                unobserve(self.state, t, action, int(old))
            if new is not None:
                observe(self.state, t, action, int(new))
        if after[-1] is not None and new is not None:
            credit(self.state, t, action, int(new), self._unit(after[-1]))

    def _count(self, running: Running, before: Outcome, after: Outcome) -> None:
        if before == after:
            return
        units = (self._unit(before[-1] or 0.0), self._unit(after[-1] or 0.0))
        self.counters.move(running.decided_at, running.action, before, after, units)
        self.counters.count("clipped", self._outside(after) - self._outside(before))

    def _outside(self, outcome: Outcome) -> int:
        low, high = self.config.reward_range
        return int(outcome[-1] is not None and not low <= outcome[-1] <= high)

    def _unit(self, reward: float) -> float:
        low, high = self.config.reward_range
        return self.scale.unit(min(max(reward, low), high))

    @classmethod
    def refit(
        cls, config: CampaignConfig, decisions: Iterable[DecisionRecords], position: int
    ) -> Campaign:
        """Read every decision in order, with its outcome at a position."""
        campaign = cls(config)
        for records in decisions:
            campaign.refit_one(records, position)
        campaign.end_refit(position)
        return campaign

    def refit_one(self, records: DecisionRecords, position: int) -> int:
        """Read the next decision of a refit, with its outcome at a later position.

        Returns how many records of feedback it had by then.
        """
        now, is_next = moment(position), self.cursors[0] == self.decided
        running = Running(self.rules, records.number, records.rank, records.decided.action)
        play(self.state, records.rank, running.action)
        self.counters.decide(running.decided_at, running.action)
        self.decided += 1
        nothing: Outcome = (None,) * len(self.rules.stages)
        feedback = records.before(position).feedback
        for record in feedback:
            running.add(record, self.last_refit)
            self._count_feedback(record.event)  # type: ignore[arg-type]
            self.counters.count("late", running.is_late(record))
        closed = self.rules.closed_by(running.decided_at, now)
        outcome = delivered = running.outcome(closed)
        if 0 in self.tracked and not closed[0]:
            early = not self.rules.stages[0].waits and outcome[0] is not None
            delivered = outcome if is_next and early else nothing
        for stage in self.tracked:
            turn = closed[stage] or (stage == 0 and delivered[0] is not None)
            if turn and self.cursors[stage] == records.rank:
                self.cursors[stage] += 1
                self.passed[stage] = records.number
        self._deliver(running, nothing, delivered)
        self._count(running, nothing, outcome)
        if running.void:
            self._void(running, read=False)
        self.counters.count("parked", running.reward.unmatched)
        return len(feedback)

    def end_refit(self, position: int, parked: int = 0) -> None:
        """End a refit, after every decision was given to `refit_one`.

        `parked` is how much feedback the log holds about decisions that it does not hold.
        """
        self.counters.count("parked", parked)
        self.last_refit = LastRefit(position, self.cursors[0])
        self.position = position

    def actions_without_feedback(self) -> Bools:
        """Mark the actions of which nothing was delivered to the policy yet."""
        return np.logical_not(
            (self.counters.paid if self.blind else self.counters.seen).any(axis=1)
        )

    def digest(self) -> str:
        """Digest all that the campaign knows: the same log and position give the same digest."""
        cursors = (self.decided, *self.cursors)
        digest = hashlib.sha256(repr(cursors).encode() + fingerprint(self.state))
        digest.update(repr(self.counters.counts).encode())
        for counted in (self.counters.seen, self.counters.paid, self.counters.grains):
            digest.update(counted.tobytes())
        return digest.hexdigest()[:32]


def _was_read(running: Running, delivered: Outcome) -> bool:
    """Return whether a stream has read the signal of a decision that is void now, or will."""
    return not running.void_in_time or delivered[0] is not None


def _turn(turn: tuple[int, int, Running | None]) -> tuple[int, int]:
    return turn[0], turn[1]
