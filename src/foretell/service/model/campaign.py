"""One campaign: what its policy is told, and when. A machine without clock, socket or database.

The log is folded in its order, and between two lines every window closes that is due by then, in
the order of closing: so the same log gives the same state, whenever and however often it is
read. Of its open decisions a campaign remembers two places only, the first whose signal window
is open and the first whose reward window is: windows close in the order of decisions. The lines
of a decision are handed in when they are needed.

A policy that can undo (`unobserve`, `uncredit`) and reads in any order is told at every moment
what each decision stands at. One that reads a stream is told each signal once, in the order of
decisions; what it has read stays read, until the next re-fold.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from foretell.policies.registry import policy, start
from foretell.policies.state import fingerprint, grow
from foretell.policies.verbs import credit, observe, play, uncredit, unobserve
from foretell.service.model.capabilities import manner_of, problem_of
from foretell.service.model.counters import Tally
from foretell.service.model.delivered import Refold, told_once, unread
from foretell.service.model.events import Decided, Rewarded, Setup, Signalled
from foretell.service.model.outcome import (
    NOTHING,
    Facts,
    Line,
    Rules,
    Standing,
    first_signal,
    lacks_target,
    rewards,
    standing,
    unmatched,
)
from foretell.service.model.prefetch import Ahead, Load
from foretell.types import Bools, RewardScale

NEVER = 2**62
"""A moment that does not come."""


class Campaign:
    """The state of one campaign, up to a line of the log and a moment."""

    def __init__(self, setup: Setup) -> None:
        """Begin with nothing known."""
        self.setup = setup
        self.spec = policy(setup.policy)
        self.rules = Rules.of(setup)
        self.scale = RewardScale("bounded", *setup.reward_range)
        self.state: Any = start(self.spec, problem_of(setup))
        self.tally = Tally(len(setup.actions), len(setup.signals))
        self.seq = 0
        self.as_of = 0
        self.decided = 0
        self.signal_place = 0
        self.reward_place = 0
        self.signal_next = NEVER
        self.reward_next = NEVER
        self.refold = Refold(0, 0, 0)
        self.blind, self.undoes_rewards, self.undoes = manner_of(self.spec, problem_of(setup))
        self.waits_for_signals = self.rules.signal_default or not self.undoes

    def change(self, setup: Setup) -> None:
        """Take another setup in which the policy, the windows and the rewards are the same."""
        old = self.setup
        self.setup = setup
        if len(setup.actions) > len(old.actions) or len(setup.signals) > len(old.signals):
            self.state = grow(self.spec, self.state, len(old.actions), problem_of(setup))
            self.tally.grow(len(setup.actions), len(setup.signals))

    def decide(self, event: Decided) -> None:
        """Take in a decision; `advance` was called up to its time."""
        play(self.state, event.round, event.action)
        self.tally.decide(event.at, event.action)
        if self.signal_place == self.decided and self.waits_for_signals:
            self.signal_next = self.rules.signal_due(event.at)
        if self.reward_place == self.decided and self.rules.reward_default:
            self.reward_next = self.rules.reward_due(event.at)
        self.decided += 1
        self.as_of = event.at

    def take(self, line: Line, facts: Facts | None, load: Load) -> str:
        """Take in feedback on a decision that stood at `facts`; None is a decision not known.

        Gives what becomes of it: accepted, late or parked.
        """
        event = line.event
        signal = isinstance(event, Signalled)
        self.as_of = event.at
        if facts is None:
            self.tally.count("parked")
            return "parked"
        self.tally.count("signals" if signal else "rewards")
        made = facts.decided.at
        due = self.rules.signal_due(made) if signal else self.rules.reward_due(made)
        now = Facts(facts.decided, [*facts.lines, line])
        if self._settles(made, event.at, signal=signal):
            self._move(facts, now, event.at)
        if not signal:
            waiting = unmatched(rewards(now.lines)) - unmatched(rewards(facts.lines))
            self.tally.count("parked", waiting)
        reads = facts.decided.round == self.signal_place and not self.rules.signal_default
        if signal and reads and not self.undoes:
            self._read_on(event.at, load)
        late = event.at >= due
        self.tally.count("late", late)
        if isinstance(event, Rewarded) and lacks_target(event, rewards(facts.lines)):
            return "parked"
        return "late" if late else "accepted"

    def _settles(self, made: int, now: int, *, signal: bool) -> bool:
        """Tell whether feedback can change what a decision stands at before a window closes."""
        if self.rules.signal_default and now < self.rules.signal_due(made):
            return False
        return signal or not self.rules.reward_default or now >= self.rules.reward_due(made)

    def advance(self, now: int, load: Load) -> None:
        """Close every window that is due, in the order of closing."""
        self.as_of = max(self.as_of, now)
        if now < self.signal_next and now < self.reward_next:
            return
        signals, rewarded = Ahead(load), Ahead(load)
        while min(self.signal_next, self.reward_next) <= now:
            if self.signal_next <= self.reward_next:
                moment, facts = self.signal_next, signals.at(self.signal_place)
                self.signal_place += 1
                closes = self.rules.signal_default
                self._move(facts, facts, moment, reads=True, signal_closes=closes)
                if not closes:
                    self._read_on(moment, load)
                self.signal_next = self._due_of_signal(signals)
            else:
                moment, facts = self.reward_next, rewarded.at(self.reward_place)
                self.reward_place += 1
                self._move(facts, facts, moment, reward_closes=True)
                self.reward_next = self._due_of_reward(rewarded)

    def refolded(self, seq: int, now: int, stored: int) -> None:
        """End a re-fold: every decision was given to `refold_one`, as it stood then.

        `stored` is how many decisions, signals and rewards the log held.
        """
        known = sum(self.tally.counts[:3])
        self.tally.count("parked", stored - known)
        self.refold = Refold(seq, now, self.signal_place)
        self.seq, self.as_of = seq, now

    def refold_one(self, facts: Facts, now: int) -> None:
        """Read the next decision, with what it stands at at a moment after it."""
        made, t = facts.decided.at, facts.decided.round
        reached = t == self.signal_place
        self.decide(facts.decided)
        stands = standing(self.rules, facts, now)
        told = stands
        if self.waits_for_signals and now < self.rules.signal_due(made):
            early = not self.rules.signal_default and stands.signal is not None
            if not (reached and early):
                told = NOTHING
        closed = told.signal is not None or now >= self.rules.signal_due(made)
        if self.waits_for_signals and reached and closed:
            self.signal_place = t + 1
            self.signal_next = NEVER
        if self.rules.reward_default and now >= self.rules.reward_due(made):
            self.reward_place = t + 1
            self.reward_next = NEVER
        self._tell(facts, NOTHING, told)
        self._count(facts, NOTHING, stands)
        self.tally.count("signals", sum(isinstance(one.event, Signalled) for one in facts.lines))
        self.tally.count("rewards", len(rewards(facts.lines)))
        self.tally.count("parked", unmatched(rewards(facts.lines)))
        self.tally.count("late", sum(self._late(facts, one) for one in facts.lines))

    def _late(self, facts: Facts, line: Line) -> bool:
        made = facts.decided.at
        signal = isinstance(line.event, Signalled)
        due = self.rules.signal_due(made) if signal else self.rules.reward_due(made)
        return line.event.at >= due

    def _read_on(self, now: int, load: Load) -> None:
        """Read the next decisions of the stream, as far as their signals are there."""
        ahead = Ahead(load)
        while self.signal_place < self.decided:
            facts = ahead.at(self.signal_place)
            if first_signal(self.rules, facts) is None:
                break
            self.signal_place += 1
            self._move(facts, facts, now, reads=True)
        self.signal_next = self._due_of_signal(ahead)

    def _due_of_signal(self, ahead: Ahead) -> int:
        if self.signal_place >= self.decided or not self.waits_for_signals:
            return NEVER
        return self.rules.signal_due(ahead.at(self.signal_place).decided.at)

    def _due_of_reward(self, ahead: Ahead) -> int:
        if self.reward_place >= self.decided:
            return NEVER
        return self.rules.reward_due(ahead.at(self.reward_place).decided.at)

    def _move(
        self,
        before: Facts,
        after: Facts,
        now: int,
        *,
        reads: bool = False,
        signal_closes: bool = False,
        reward_closes: bool = False,
    ) -> None:
        """Let a decision go from one standing to the next, for the policy and for the counts.

        `reads` is whether it is its turn in the stream.
        """
        t, closes = before.decided.round, signal_closes or reward_closes
        stood = standing(self.rules, before, now - signal_closes, now - closes)
        stands = standing(self.rules, after, now, now - signal_closes)
        if self.undoes:
            had, has_now = stood, stands
        else:
            known = (self.rules, self.refold, self.undoes_rewards)
            was_read = t < self.signal_place - reads
            was_closed = t < self.reward_place - reward_closes
            had = told_once(*known, before, now, read=was_read, closed=was_closed)
            is_read, is_closed = t < self.signal_place, t < self.reward_place
            has_now = told_once(*known, after, now, read=is_read, closed=is_closed)
            self.tally.count("revisions", unread(has_now, stands, passed=is_read))
            self.tally.count("revisions", -unread(had, stood, passed=was_read))
        self._tell(before, had, has_now)
        self._count(before, stood, stands)

    def _tell(self, facts: Facts, before: Standing, after: Standing) -> None:
        if before == after:
            return
        t, action = facts.decided.round, facts.decided.action
        if before.reward is not None and before.signal is not None:
            uncredit(self.state, t, action, before.signal, self._unit(before.reward))
        if before.signal != after.signal:
            if before.signal is not None:
                unobserve(self.state, t, action, before.signal)
            if after.signal is not None:
                observe(self.state, t, action, after.signal)
        if after.reward is not None and after.signal is not None:
            credit(self.state, t, action, after.signal, self._unit(after.reward))

    def _count(self, facts: Facts, before: Standing, after: Standing) -> None:
        if before == after:
            return
        units = (self._unit(before.reward or 0.0), self._unit(after.reward or 0.0))
        made, action = facts.decided.at, facts.decided.action
        self.tally.move(made, action, before, after, units)
        clipped = self._outside(after) - self._outside(before)
        self.tally.count("clipped", clipped)

    def _outside(self, stands: Standing) -> int:
        low, high = self.setup.reward_range
        return int(stands.reward is not None and not low <= stands.reward <= high)

    def _unit(self, reward: float) -> float:
        low, high = self.setup.reward_range
        return self.scale.unit(min(max(reward, low), high))

    def waited_for(self) -> Bools:
        """Mark the actions of which the policy was told nothing yet."""
        return np.logical_not((self.tally.paid if self.blind else self.tally.seen).any(axis=1))

    def digest(self) -> str:
        """Digest all that the campaign knows: the same log and moment give the same digest."""
        places = (self.decided, self.signal_place, self.reward_place)
        digest = hashlib.sha256(repr(places).encode() + fingerprint(self.state))
        digest.update(repr(self.tally.counts).encode())
        for counted in (self.tally.seen, self.tally.paid, self.tally.grains):
            digest.update(counted.tobytes())
        return digest.hexdigest()[:32]
