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

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from foretell.evaluation.reading import Reader
from foretell.service.model.counters import UNCOUNTED
from foretell.service.model.decision_cache import NEVER, DecisionCache
from foretell.service.model.delivered import View, delivered_once, unread, was_read
from foretell.service.model.digest import LogProgress, digest_of
from foretell.service.model.early_feedback import EarlyFeedback
from foretell.service.model.events import (
    SLOTS,
    CampaignConfig,
    Configured,
    Decided,
    DecisionRecords,
    Feedback,
    Record,
    moment,
)
from foretell.service.model.imported_rows import ImportedRows
from foretell.service.model.learner import Learner
from foretell.service.model.open_reward import OpenReward, open_reward
from foretell.service.model.outcome import Closed, Outcome, Rules
from foretell.service.model.refit_columns import RefitColumns
from foretell.service.model.running import LastRefit, Running

FOLD_VERSION = 8
"""Changes when the same log gives another state: then every campaign is refit at its next start."""
STAGES_OF_COLUMNS = 2
"""Stages of a campaign whose decisions are columns: a signal and a reward."""
IN_TURN = -1
"""When a decision is due whose signal has come, to a policy that reads signals in their order."""


class Needs(NamedTuple):
    """What a campaign must know before it can go on."""

    numbers: tuple[int, ...] = ()
    """Decisions, by number."""
    after: tuple[int, ...] = ()
    """The next decisions after each of these numbers."""


NOTHING = Needs()


class Campaign(Learner):
    """The state of one campaign, at a position in the log."""

    def __init__(self, config: CampaignConfig) -> None:
        """Begin with nothing known."""
        super().__init__(config)
        self.rules = Rules.of(config)
        stages = len(self.rules.stages)
        self.version = 0
        """The version of its configuration."""
        self.position = self._closing = 0
        """Up to where its state is; up to where windows are closed, or are being closed."""
        self.decided = 0
        self.cursors = [0] * stages
        """For each stage, the rank of the first decision whose window is open."""
        self.passed = [0] * stages
        """For each stage, the number of the decision before it."""
        self.last_refit = LastRefit(0, 0)
        self.corrects = config.reward_stage.silence == "corrected"
        """Whether its policy corrects for the silence of rewards."""
        self.tracked = tuple(
            stage
            for stage, rule in enumerate(self.rules.stages)
            if rule.waits or (stage == 0 and not self.undoes)
        )
        """The stages whose decisions have a turn: a window that closes, or a place in a stream."""
        self._in_order = stages == STAGES_OF_COLUMNS and all(
            rule.waits for rule in self.rules.stages
        )
        """Whether what comes in time is delivered as it counts, when its window closes."""
        self.early = EarlyFeedback(self.rules, corrects=self.corrects)
        self.cache = DecisionCache(stages, evicted=self.early.stored.add)
        self._next: list[Running | None] = [None] * stages
        nothing: Outcome = (None,) * stages
        self._unseen = None if self.corrects else View(nothing, nothing, 0, UNCOUNTED, None)
        """A decision of which nothing has come, and no window is closed."""
        self._next_due = 0
        """Nothing is due below this seq; 0 where that is not known."""

    @property
    def as_of(self) -> int:
        """The moment of the position, in microseconds."""
        return moment(self.position)

    @property
    def whole(self) -> bool:
        """Whether the state is that of its position: not while some windows are closed of many."""
        return self.position >= self._closing

    def needs(self, record: Record | None = None) -> Needs:
        """Return what must be known before windows close, and before a record is applied."""
        self.tell()  # while somebody fetches it, others may look at the state
        after = tuple(
            self.passed[stage]
            for stage in self.tracked
            if self.cursors[stage] < self.decided and self._at_cursor(stage) is None
        )
        numbers = (record.decision,) if record is not None and self.lacks(record) else ()
        return Needs(numbers, after) if after or numbers else NOTHING

    def knows(self, number: int) -> bool:
        """Return whether a decision is at hand."""
        return self.at_hand(number) is not None

    def lacks(self, record: Record) -> bool:
        """Return whether a record is feedback about a decision that must be at hand, and is not."""
        known = not isinstance(record.event, Feedback) or self.knows(record.decision)
        return not (known or self._only_count((record,)))

    def _only_count(self, records: Sequence[Record]) -> bool:
        """Return whether feedback only counts, as long as nothing of its decisions is settled."""
        return self.early.only_count(records, self.passed[0], self.counters.parked)

    def close_windows(self, until: int, known: Iterable[DecisionRecords] = ()) -> bool:
        """Close every window that is due by a seq, in the order of closing.

        Returns whether that was all: if not, more must be known, and `needs` says what. The next
        call then goes on at least as far: some windows are closed already.
        """
        if known:
            self.learn(known)
        until = self._closing = max(self._closing, until)
        while until >= self._next_due:
            due, turn = NEVER, None
            for stage in self.tracked:
                if self.cursors[stage] >= self.decided:
                    continue
                running = self._at_cursor(stage)
                if running is None:
                    return False
                comes = self._due(stage, running) * SLOTS
                if comes < due:  # of one moment, the first stage comes first
                    due, turn = comes, (stage, running)
            if turn is None or due > until:
                self._next_due = due
                break
            self._close(*turn)
        self.position = max(self.position, until)
        return True

    def apply(self, record: Record) -> None:
        """Take in a record; windows are closed up to it, and what it needs is known."""
        event = record.event
        if isinstance(event, Decided):
            self._decide(record.seq, event)
        elif isinstance(event, Feedback):
            self._take(record)
        elif isinstance(event, Configured):
            self.configure(event.config)
            self.version = event.version
            if event.evidence is not None:
                self.ledger.carry(event.evidence)
        self.position = record.seq + 1

    def apply_early(self, records: Sequence[Record]) -> bool:
        """Take in records at once, if all of them only count, and no window closes before them."""
        until, about = records[-1].seq, {record.decision for record in records}
        if until >= self._next_due or not self.whole or type(records[0].event) is Decided:
            return False
        known = self.cache.has_any(about) or any(one and one.number in about for one in self._next)
        if known or not self._count_early(records):
            return False
        self._closing, self.position = until, until + 1
        return True

    def learn(self, known: Iterable[DecisionRecords]) -> None:
        """Take note of decisions that were asked for; records above the position are ignored."""
        for records in known:
            if records.rank < self.decided and self.at_hand(records.number) is None:
                before = records.before(self.position)
                self.cache.add(Running.of(self.rules, before, self.last_refit))

    def at_hand(self, number: int) -> Running | None:
        """Return a decision with its outcome so far; None for one that must be read first."""
        found = self.cache.find(number)
        return found or next((one for one in self._next if one and one.number == number), None)

    def _at_cursor(self, stage: int) -> Running | None:
        """Return the first decision whose window is open, if it is at hand."""
        rank, running = self.cursors[stage], self._next[stage]
        if running is None or running.rank != rank:
            running = self.cache.at_rank(rank)
            if running is None:
                running = next((one for one in self._next if one and one.rank == rank), None)
            self._next[stage] = running
        return running

    def _due(self, stage: int, running: Running) -> int:
        if stage == 0 and not self.rules.stages[0].waits and running.signals[0].first is not None:
            return IN_TURN
        return running.dues[stage]

    def _close(self, stage: int, running: Running) -> None:
        """Let the turn of a decision come at a stage."""
        before = self._known(running)
        self.cursors[stage] += 1
        self.passed[stage] = running.number
        self._next[stage] = None
        self._move(running, before, running.dues[stage])

    def _decide(self, number: int, event: Decided) -> None:
        running = self.cache.add_new(Running(self.rules, number, self.decided, event))
        running.view = self._unseen
        self.play(running, event.propensity)
        if self.decided in self.cursors:
            self._next_due = 0
        self.decided += 1

    def _take(self, record: Record) -> None:
        event, running = record.event, self.at_hand(record.decision)
        assert isinstance(event, Feedback)  # noqa: S101  (apply has asked)
        if running is None:
            self.counters.count("parked", not self._count_early((record,)))
            return
        before = self._known(running)
        unmatched, was_void = running.reward.unmatched, running.void
        running.add(record, self.last_refit)
        if not self.rules.stages[0].waits:
            self._next_due = 0  # its turn may have come
        after = self._move(running, before, record.recorded_at)
        self.count_feedback(record, event)
        if running.void and not was_void:
            self.void(running, read=not self.undoes and was_read(running, after.delivered))
        if running.reward.unmatched != unmatched:
            self.counters.count("parked", running.reward.unmatched - unmatched)
        if running.is_late(record):
            self.counters.count("late")

    def _count_early(self, records: Sequence[Record]) -> bool:
        """Count feedback, if all of it only counts."""
        if not self._only_count(records):
            return False
        signals, rewards, late = self.early.take(records)
        self.count_observed(signals, rewards)
        self.counters.count("late", late)
        return True

    def _known(self, running: Running) -> View:
        """Return a decision as it was last seen: nothing has changed it since then."""
        known: View | None = running.view
        return self._view(running) if known is None else known

    def _counts_nothing(self, rank: int) -> bool:
        """Return whether nothing counts of a decision, whatever came: its first window is open."""
        return rank >= self.cursors[0] and self.rules.stages[0].waits

    def _view(self, running: Running) -> View:
        rank = running.rank
        if self._unseen is not None and self._counts_nothing(rank):
            return self._unseen
        closed = tuple([rank < cursor for cursor in self.cursors])
        outcome = running.outcome(closed)
        counted = self.counted(running, outcome)
        if self.undoes or (self._in_order and running.is_in_time(self.last_refit)):
            return View(outcome, outcome, 0, counted, self._open(running, outcome, closed))
        delivered = delivered_once(
            running, self.last_refit, self.undoes_rewards, read=closed[0], closed=closed[-1]
        )
        missed = unread(delivered, outcome, passed=closed[0])
        return View(outcome, delivered, missed, counted, self._open(running, delivered, closed))

    def _open(self, running: Running, delivered: Outcome, closed: Closed) -> OpenReward | None:
        return open_reward(running, delivered, closed=closed[-1]) if self.corrects else None

    def _move(self, running: Running, before: View, now: int) -> View:
        """Move a decision from what it was to what it is, for the policy and the counters."""
        after = running.view = self._view(running)
        if after is before:
            return after
        self.deliver(running, before.delivered, after.delivered)
        self.deliver_open(before.open_reward, after.open_reward)
        self.count_outcome(running, before.counted, after.counted, now)
        if after.unread != before.unread:
            self.counters.count("revisions", after.unread - before.unread)
        return after

    @classmethod
    def refit(
        cls,
        config: CampaignConfig,
        decisions: Iterable[DecisionRecords],
        position: int,
        imported: ImportedRows | None = None,
    ) -> Campaign:
        """Read what was imported, then every decision in order, with its outcome at a position."""
        campaign = cls(config)
        if imported is not None:
            campaign.read_history(imported)
        for records in decisions:
            campaign.refit_one(records, position)
        campaign.end_refit(position)
        return campaign

    def refit_one(self, records: DecisionRecords, position: int) -> int:
        """Read the next decision of a refit, with its outcome at a later position.

        Returns how many records of feedback it had by then.
        """
        now, is_next = moment(position), self.cursors[0] == self.decided
        running = Running(self.rules, records.number, records.rank, records.decided)
        self.ledger.refit_up_to(running.decided_at)
        self.play(running, records.decided.propensity)
        self.decided += 1
        nothing: Outcome = (None,) * len(self.rules.stages)
        feedback = records.before(position).feedback
        for record in feedback:
            running.add(record, self.last_refit)
            self.count_feedback(record, record.event)  # type: ignore[arg-type]
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
        self.deliver(running, nothing, delivered)
        self.deliver_open(None, self._open(running, delivered, closed))
        self.count_outcome(running, UNCOUNTED, self.counted(running, outcome), running.settled_at)
        if running.void:
            self.void(running, read=False)
        self.counters.count("parked", running.reward.unmatched)
        return len(feedback)

    @property
    def has_columns(self) -> bool:
        """Whether a refit may read many decisions at a time: not where open ones are counted."""
        return not self.corrects and len(self.rules.stages) == STAGES_OF_COLUMNS

    def refit_columns(self, columns: RefitColumns, reader: Reader | None = None) -> None:
        """Read the decisions that were added to columns, as `refit_one` reads each of them."""
        self.decided += columns.take(self.cursors, self.passed, self.decided, reader)

    def end_refit(self, position: int, parked: int = 0) -> None:
        """End a refit, after every decision was given to `refit_one`.

        `parked` is how much feedback the log holds about decisions that it does not hold.
        """
        self.counters.count("parked", parked)
        self.ledger.end_refit()
        self.last_refit = LastRefit(position, self.cursors[0])
        self.position = position

    def digest(self) -> str:
        """Digest all that the campaign knows: the same log and position give the same digest."""
        return digest_of(self.config, self.progress(), self.state, self.counters, self.ledger)

    def progress(self) -> LogProgress:
        """Return how far the campaign has come with its log."""
        cursors, passed = tuple(self.cursors), tuple(self.passed)
        return LogProgress(self.version, self.decided, cursors, passed, self.last_refit)
