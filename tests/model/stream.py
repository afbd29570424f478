"""What a policy that reads a stream must know: its whole life lived again, moment by moment.

Unlike the service this keeps a note of everything that the policy was told, and never works out
from a decision's facts what must have been told about it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

from foretell.policies.registry import policy, start
from foretell.policies.state import grow
from foretell.policies.verbs import credit, has, observe, play, uncredit
from foretell.types import Problem
from tests.model.reference import Decision, Fact, Reference


@dataclass(frozen=True)
class Moment:
    """Something that happened: `decide`, `fact`, `grow` or `refit`."""

    at: int
    what: str
    body: Any


@dataclass
class Told:
    """What the policy was told about one decision, and which of its turns have come."""

    read: bool = False
    closed: bool = False
    signal: int | None = None
    reward: float | None = None


@dataclass
class Life:
    """One life of a policy, from the first decision on."""

    now: Reference
    told: list[Told] = field(default_factory=list)
    clock: int = 0

    def __post_init__(self) -> None:
        self.state: Any = self._begun()
        self.corrects = has(uncredit, self.state)

    def _begun(self) -> Any:
        return start(policy(self.now.policy), Problem(self.now.actions, self.now.signals))

    def live(self, moments: list[Moment], until: int) -> Life:
        for moment in moments:
            self._close_windows(moment.at)
            getattr(self, moment.what)(moment.body)
        self._close_windows(until)
        return self

    # --- what happens --------------------------------------------------------------------------

    def decide(self, action: int) -> None:
        play(self.state, len(self.told), action)
        self.now.decisions.append(Decision(self.clock, action))
        self.told.append(Told())

    def fact(self, body: tuple[int, Fact]) -> None:
        t, fact = body
        self.now.decisions[t].facts.append(fact)
        self._pay(t)
        self._read_on()

    def grow(self, actions: int) -> None:
        known, self.now.actions = self.now.actions, actions
        problem = Problem(actions, self.now.signals)
        self.state = grow(policy(self.now.policy), self.state, known, problem)

    def refit(self, rules: dict[str, Any]) -> None:
        """Read everything anew, in the order of decisions, as things stand."""
        self.now = self.now.changed(rules, self.clock)
        self.state, self.told = self._begun(), []
        waiting = False
        for t, one in enumerate(self.now.decisions):
            play(self.state, t, one.action)
            told = Told(closed=self.clock >= self.now.closes(one, "reward"))
            self.told.append(told)
            told.read = not waiting and (
                self.clock >= self.now.closes(one, "signal")
                or (self.now.signal_silence == "unknown" and self._stands(t)[0] is not None)
            )
            waiting = not told.read
            if told.read:
                told.signal, told.reward = self._stands(t)
                if told.signal is not None:
                    observe(self.state, t, one.action, told.signal)
                if told.signal is not None and told.reward is not None:
                    unit = self.now.unit(told.reward)
                    credit(self.state, t, one.action, told.signal, unit)

    # --- what the policy is told ---------------------------------------------------------------

    def _close_windows(self, until: int) -> None:
        while True:
            closings = [
                (self.now.closes(one, kind), kind != "signal", t)
                for t, (one, told) in enumerate(zip(self.now.decisions, self.told, strict=True))
                for kind, done in (("signal", told.read), ("reward", told.closed))
                if not done
            ]
            due = min(closings, default=(math.inf, False, 0))
            if due[0] > until:
                break
            self.clock, (_, of_reward, t) = int(due[0]), due
            if of_reward:
                self.told[t].closed = True
                self._pay(t)
            else:
                self._read(t)
                self._read_on()
        self.clock = until

    def _read_on(self) -> None:
        """Where silence is unknown, a signal is read when it is there and its turn has come."""
        while self.now.signal_silence == "unknown":
            unread = [t for t, told in enumerate(self.told) if not told.read]
            if not unread or not self._timely_signals(unread[0]):
                break
            self._read(unread[0])

    def _read(self, t: int) -> None:
        told, seen = self.told[t], self._timely_signals(t)
        told.read = True
        if self.now.signal_silence == "default":
            told.signal = max(seen, default=0)
        elif seen:
            told.signal = seen[0]
        if told.signal is not None:
            observe(self.state, t, self.now.decisions[t].action, told.signal)
        self._pay(t)

    def _pay(self, t: int) -> None:
        """Tell the reward once its turn has come; a policy that can is told of corrections."""
        told, one = self.told[t], self.now.decisions[t]
        if told.signal is None or (self.now.reward_silence == "default" and not told.closed):
            return
        reward = self.now.total(one) if self.corrects else self._first_total(one)
        if reward is None and self.now.reward_silence == "default":
            reward = self.now.default_reward
        if reward == told.reward or (told.reward is not None and not self.corrects):
            return
        if told.reward is not None:
            uncredit(self.state, t, one.action, told.signal, self.now.unit(told.reward))
        if reward is not None:
            credit(self.state, t, one.action, told.signal, self.now.unit(reward))
        told.reward = reward

    def _first_total(self, one: Decision) -> float | None:
        """Return the reward when there first was one; by the close of the window by default."""
        if self.now.reward_silence == "default":
            timely = [fact for fact in one.facts if not self.now.is_late(one, fact)]
            return self.now.total(replace(one, facts=timely))
        for count in range(len(one.facts) + 1):
            total = self.now.total(replace(one, facts=one.facts[:count]))
            if total is not None:
                return total
        return None

    def _timely_signals(self, t: int) -> list[int]:
        one = self.now.decisions[t]
        return [
            fact.signal
            for fact in one.facts
            if fact.kind == "signal" and not self.now.is_late(one, fact)
        ]

    def _stands(self, t: int) -> tuple[int | None, float | None]:
        one = self.now.decisions[t]
        return self.now.signal(one, self.clock), self.now.reward(one, self.clock)

    def revisions(self) -> int:
        """Count the decisions of which the policy knows something else than what they stand at."""
        return sum(
            told.read
            and (
                told.signal != self._stands(t)[0]
                or (told.reward is not None and told.reward != self._stands(t)[1])
            )
            for t, told in enumerate(self.told)
        )
