"""What a policy that reads a stream must know: its whole life again, moment by moment.

Unlike the service this keeps a note of everything that was delivered to the policy, and never
works out from a decision's events what must have been delivered of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

from foretell.policies.state import grow
from foretell.policies.verbs import credit, has, observe, play, uncredit, unplay
from foretell.types import Problem
from tests.model.reference import Decision, FeedbackEvent, Reference, is_void


@dataclass(frozen=True)
class Moment:
    """Something that happened: `decide`, `event`, `grow` or `refit`."""

    at: int
    what: str
    body: Any


@dataclass
class Delivered:
    """What was delivered of one decision, and which of its turns have come."""

    read: bool = False
    closed: bool = False
    signal: int | None = None
    reward: float | None = None
    void: bool = False
    """Whether it was voided before its turn, or before the last refit."""
    since: int = 0
    """How many of its events the last refit has read."""


@dataclass
class Life:
    """One life of a policy, from the first decision on."""

    now: Reference
    delivered: list[Delivered] = field(default_factory=list)
    clock: int = 0

    def __post_init__(self) -> None:
        self.state: Any = self._begun()
        self.corrects = has(uncredit, self.state)

    def _begun(self) -> Any:
        return self.now.begun()

    def live(self, moments: list[Moment], until: int) -> Life:
        for moment in moments:
            self._close_windows(moment.at)
            getattr(self, moment.what)(moment.body)
        self._close_windows(until)
        return self

    # --- what happens --------------------------------------------------------------------------

    def decide(self, action: int) -> None:
        play(self.state, len(self.delivered), action)
        self.now.decisions.append(Decision(self.clock, action))
        self.delivered.append(Delivered())

    def event(self, body: tuple[int, FeedbackEvent]) -> None:
        t, event = body
        one, delivered = self.now.decisions[t], self.delivered[t]
        if event.kind == "void" and not is_void(one):
            waits = self.now.signal_silence == "default"
            in_time = not (delivered.read if waits else self._timely_signals(t))
            delivered.void |= in_time
            if in_time and delivered.signal is None:
                self._unplay(t)
        one.events.append(event)
        self._pay(t)
        self._read_on()

    def _unplay(self, t: int) -> None:
        if has(unplay, self.state):
            unplay(self.state, t, self.now.decisions[t].action)

    def grow(self, actions: int) -> None:
        known, self.now.actions = self.now.actions, actions
        problem = Problem(actions, self.now.signals)
        self.state = grow(self.now.spec(), self.state, known, problem)

    def refit(self, rules: dict[str, Any]) -> None:
        """Read everything again, in the order of decisions, with the present outcomes."""
        self.now = self.now.changed(rules, self.clock)
        self.state, self.delivered = self._begun(), []
        waiting = False
        for t, one in enumerate(self.now.decisions):
            play(self.state, t, one.action)
            delivered = Delivered(closed=self.clock >= self.now.closes(one, "reward"))
            self.delivered.append(delivered)
            delivered.read = not waiting and (
                self.clock >= self.now.closes(one, "signal")
                or (self.now.signal_silence == "unknown" and self._outcome(t)[0] is not None)
            )
            waiting = not delivered.read
            delivered.void = is_void(one)
            if delivered.void:
                self._unplay(t)
            if delivered.read:
                delivered.since = len(one.events)
                delivered.signal, delivered.reward = self._outcome(t)
                if delivered.signal is not None:
                    observe(self.state, t, one.action, delivered.signal)
                if delivered.signal is not None and delivered.reward is not None:
                    unit = self.now.unit(delivered.reward)
                    credit(self.state, t, one.action, delivered.signal, unit)

    # --- what is delivered to the policy ----------------------------------------------------------

    def _close_windows(self, until: int) -> None:
        while True:
            closings = [
                (self.now.closes(one, kind), kind != "signal", t)
                for t, (one, delivered) in enumerate(
                    zip(self.now.decisions, self.delivered, strict=True)
                )
                for kind, done in (("signal", delivered.read), ("reward", delivered.closed))
                if not done
            ]
            due = min(closings, default=(math.inf, False, 0))
            if due[0] > until:
                break
            self.clock, (_, of_reward, t) = int(due[0]), due
            if of_reward:
                self.delivered[t].closed = True
                self._pay(t)
            else:
                self._read(t)
                self._read_on()
        self.clock = until

    def _read_on(self) -> None:
        """Where silence is unknown, a signal is read when it is there and its turn has come."""
        while self.now.signal_silence == "unknown":
            unread = [t for t, delivered in enumerate(self.delivered) if not delivered.read]
            if not unread or not self._timely_signals(unread[0]):
                break
            self._read(unread[0])

    def _read(self, t: int) -> None:
        delivered, seen = self.delivered[t], self._timely_signals(t)
        delivered.read = True
        if delivered.void:
            return
        if self.now.signal_silence == "default":
            delivered.signal = max(seen, default=0)
        elif seen:
            delivered.signal = seen[0]
        if delivered.signal is not None:
            observe(self.state, t, self.now.decisions[t].action, delivered.signal)
        self._pay(t)

    def _pay(self, t: int) -> None:
        """Deliver the reward once its turn has come; corrections too, if the policy can undo."""
        delivered, one = self.delivered[t], self.now.decisions[t]
        if delivered.signal is None or (
            self.now.reward_silence == "default" and not delivered.closed
        ):
            return
        if self.corrects:
            reward = None if is_void(one) else self._or_default(self.now.total(one))
        else:
            reward = self._first_total(one, delivered.since)
        if reward == delivered.reward or (delivered.reward is not None and not self.corrects):
            return
        if delivered.reward is not None:
            uncredit(self.state, t, one.action, delivered.signal, self.now.unit(delivered.reward))
        if reward is not None:
            credit(self.state, t, one.action, delivered.signal, self.now.unit(reward))
        delivered.reward = reward

    def _or_default(self, reward: float | None) -> float | None:
        silent = reward is None and self.now.reward_silence == "default"
        return self.now.default_reward if silent else reward

    def _first_total(self, one: Decision, since: int) -> float | None:
        """Return the reward when there first was one; by the close of the window by default."""
        if self.now.reward_silence == "default":
            close = self.now.closes(one, "reward")
            timely = [event for event in one.events if event.at < close]
            before = replace(one, events=timely)
            return None if is_void(before) else self._or_default(self.now.total(before))
        for count in range(since, len(one.events) + 1):
            before = replace(one, events=one.events[:count])
            total = None if is_void(before) else self.now.total(before)
            if total is not None:
                return total
        return None

    def _timely_signals(self, t: int) -> list[int]:
        one = self.now.decisions[t]
        return [
            event.signal
            for event in one.events
            if event.kind == "signal" and not self.now.is_late(one, event)
        ]

    def _outcome(self, t: int) -> tuple[int | None, float | None]:
        one = self.now.decisions[t]
        return self.now.signal(one, self.clock), self.now.reward(one, self.clock)

    def revisions(self) -> int:
        """Count the decisions of which the policy knows another outcome than the present one."""
        return sum(
            delivered.read
            and (
                delivered.signal != self._outcome(t)[0]
                or (delivered.reward is not None and delivered.reward != self._outcome(t)[1])
            )
            for t, delivered in enumerate(self.delivered)
        )
