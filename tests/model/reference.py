"""What a campaign must come to, worked out from scratch from a plain list of events."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

from foretell.policies.registry import policy, start
from foretell.policies.theta_spec import declare
from foretell.policies.verbs import credit, elapse, has, observe, play, unplay, wait
from foretell.types import Problem

GRID = 10_000


@dataclass
class FeedbackEvent:
    """Feedback as the server took it in."""

    at: int
    kind: str
    event_id: str
    signal: int = 0
    value: float = 0.0
    target: str | None = None
    occurred: int | None = None


@dataclass
class Decision:
    decided_at: int
    action: int
    events: list[FeedbackEvent] = field(default_factory=list)
    longest: dict[str, float] = field(default_factory=dict)
    """Of each window that closed before it was made longer, how long it was then."""


def is_void(decision: Decision) -> bool:
    """Return whether a decision was never shown, as somebody said at some time."""
    return any(event.kind == "void" for event in decision.events)


@dataclass
class Reference:
    """A campaign: how it is set, and what happened. Windows in microseconds."""

    policy: str
    actions: int
    signals: int
    signal_window: int
    reward_window: int
    signal_silence: str
    reward_silence: str
    default_reward: float
    low: float
    high: float
    typical_delay: float | None = None
    decisions: list[Decision] = field(default_factory=list)

    def closes(self, decision: Decision, kind: str) -> int:
        """Return when a window closes: that of the signal or of the reward."""
        window: int = getattr(self, f"{kind}_window")
        window = int(min(window, decision.longest.get(kind, math.inf)))
        return -(-(decision.decided_at + window) // GRID) * GRID

    def changed(self, rules: dict[str, Any], now: int) -> Reference:
        """Set a campaign otherwise: what has closed stays so, while silence is an outcome."""
        after = replace(self, **rules)
        for one in self.decisions:
            for kind in ("signal", "reward"):
                silences = {getattr(rule, f"{kind}_silence") for rule in (self, after)}
                if "unknown" in silences:
                    one.longest.pop(kind, None)
                elif now >= self.closes(one, kind):
                    before: int = getattr(self, f"{kind}_window")
                    one.longest[kind] = min(before, one.longest.get(kind, math.inf))
        return after

    def is_late(self, decision: Decision, event: FeedbackEvent) -> bool:
        if event.kind == "void":
            return False
        kind = "signal" if event.kind == "signal" else "reward"
        return event.at >= self.closes(decision, kind)

    def signal(self, decision: Decision, now: int) -> int | None:
        """Return the signal that counts."""
        if is_void(decision):
            return None
        if self.signal_silence == "default" and now < self.closes(decision, "signal"):
            return None
        events = [event for event in decision.events if event.kind == "signal"]
        for late in (False, True):
            found = [event.signal for event in events if self.is_late(decision, event) is late]
            if found:
                return max(found)
        return 0 if self.signal_silence == "default" else None

    def reward(self, decision: Decision, now: int) -> float | None:
        """Return the reward that counts."""
        if self.signal(decision, now) is None:
            return None
        waits = self.reward_silence != "unknown"
        if waits and now < self.closes(decision, "reward"):
            return None
        total = self.total(decision)
        return self.default_reward if total is None and waits else total

    def waited_for(self, decision: Decision, now: int) -> tuple[int, int, int, float, bool] | None:
        """Return what a policy that corrects for silence knows of a reward, by its age."""
        signal, total = self.signal(decision, now), self.total(decision)
        if signal is None or self.reward_silence != "corrected":
            return None
        closes, made = self.closes(decision, "reward"), decision.decided_at // 1000
        first = min((event.at for event in decision.events if event.kind == "reward"), default=now)
        if total is not None and first < closes:
            return made, signal, first // 1000 - made, self.unit(total), now >= closes
        return None if now >= closes else (made, signal, -1, 0.0, False)

    def total(self, decision: Decision) -> float | None:
        values: dict[str | None, float | None] = {
            event.event_id: event.value for event in decision.events if event.kind == "reward"
        }
        corrections = [event for event in decision.events if event.kind in {"adjust", "retract"}]
        corrections.sort(
            key=lambda event: (
                event.at if event.occurred is None else event.occurred,
                event.event_id,
            )
        )
        for event in corrections:
            if event.target in values:
                values[event.target] = event.value if event.kind == "adjust" else None
        left = [value for value in values.values() if value is not None]
        return math.fsum(left) if left else None

    def parked(self, decision: Decision) -> int:
        known = {event.event_id for event in decision.events if event.kind == "reward"}
        return sum(
            event.kind in {"adjust", "retract"} and event.target not in known
            for event in decision.events
        )

    def unit(self, reward: float) -> float:
        clipped = min(max(reward, self.low), self.high)
        return math.floor((clipped - self.low) / (self.high - self.low) * 2**30 + 0.5) / 2**30

    def spec(self) -> Any:
        """Return its policy, with what a campaign declares about signals and rewards."""
        nothing: tuple[float | None, ...] = (None,) * self.signals
        spec: Any = declare(policy(self.policy), ordered=True, values=nothing, weight=0.0)
        if self.reward_silence == "corrected":
            spec = replace(spec, censored=True, typical_delay=1000 * (self.typical_delay or 0.0))
        return spec

    def begun(self) -> Any:
        """Return what its policy knows before the first decision."""
        return start(self.spec(), Problem(self.actions, self.signals))

    def state(self, now: int) -> Any:
        """Return what a policy knows to which the outcome of every decision is delivered."""
        state = self.begun()
        for t, decision in enumerate(self.decisions):
            play(state, t, decision.action)
            elapse(state, decision.decided_at // 1000)
            if is_void(decision) and has(unplay, state):
                unplay(state, t, decision.action)
        for t, decision in enumerate(self.decisions):
            signal, reward = self.signal(decision, now), self.reward(decision, now)
            if signal is not None:
                observe(state, t, decision.action, signal)
            if signal is not None and reward is not None:
                credit(state, t, decision.action, signal, self.unit(reward))
            waited = self.waited_for(decision, now)
            if waited is not None:
                wait(state, *waited)
        return state

    def counts(self, now: int) -> dict[str, int]:
        """Return what the report counts, but for what leaves no record."""
        events = [(one, event) for one in self.decisions for event in one.events]
        rewards = [self.reward(one, now) for one in self.decisions]
        shown = [one for one in self.decisions if not is_void(one)]
        return {
            "decisions": len(self.decisions),
            "signals": sum(event.kind == "signal" for _, event in events),
            "rewards": sum(event.kind not in {"signal", "void"} for _, event in events),
            "late": sum(self.is_late(one, event) for one, event in events),
            "parked": sum(self.parked(one) for one in self.decisions),
            "clipped": sum(
                reward is not None and not self.low <= reward <= self.high for reward in rewards
            ),
            "voided": len(self.decisions) - len(shown),
            "open_signals": sum(self.signal(one, now) is None for one in shown),
            "open_rewards": sum(self.reward(one, now) is None for one in shown),
        }

    def signal_rows(self, now: int) -> list[tuple[int, int, float]]:
        """Return of each signal how often it was seen and paid, and the sum in unit rewards."""
        rows = [(0, 0, 0.0)] * self.signals
        for one in self.decisions:
            signal, reward = self.signal(one, now), self.reward(one, now)
            if signal is not None:
                seen, paid, total = rows[signal]
                more = (0, 0.0) if reward is None else (1, self.unit(reward))
                rows[signal] = (seen + 1, paid + more[0], total + more[1])
        return rows
