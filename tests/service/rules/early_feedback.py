"""A stationary campaign as products see it: what happens comes early, what does not never comes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from tests.service.engine_driver import SECOND, Served

CLICK = (0.3, 0.5)
"""How likely a click is, by action."""
CONVERSION = (0.05, 0.4)
"""How likely a conversion is, without and with a click."""
SIGNAL_WINDOW, REWARD_WINDOW = 8.0, 16.0
TICKS, PER_TICK = 45, 16


class Visit(NamedTuple):
    """A decision and what becomes of it, and when; known to the test alone."""

    decided_at: int
    action: int
    click: bool
    conversion: bool
    clicked_at: int
    converted_at: int

    def signal_closed(self, now: int) -> bool:
        return now >= self.decided_at + SIGNAL_WINDOW * SECOND

    def reward_closed(self, now: int) -> bool:
        return now >= self.decided_at + REWARD_WINDOW * SECOND


class Arrival(NamedTuple):
    """Something that the product reports."""

    at: int
    t: int
    what: str


class Early:
    """Drives a server second by second, and knows the truth.

    Actions are drawn here as well, so that all that happens depends on the seed alone.
    """

    def __init__(self, served: Served, policy: str, seed: int, **fields: Any) -> None:
        self.served = served
        self.rng = np.random.default_rng(seed)
        self.visits: list[Visit] = []
        self.ids: list[str] = []
        self.waiting: list[Arrival] = []
        self.arrivals: list[Arrival] = []
        served.create(
            signals=["click"],
            policy=policy,
            signal_window=SIGNAL_WINDOW,
            reward_window=REWARD_WINDOW,
            **fields,
        )

    def ticks(self) -> Iterator[int]:
        """Let the seconds pass, and yield the time after each."""
        for _ in range(TICKS):
            now = self.served.machine.time
            first = int(self.rng.binomial(PER_TICK, 0.5))
            for action, count in ((0, first), (1, PER_TICK - first)):
                for answer in self.served.decide_many(count, eligible=["ab"[action]]):
                    self._draw(now, answer.decision_id, action)
            self.served.pass_time(1.0)
            self._deliver(self.served.machine.time)
            yield self.served.machine.time

    def _draw(self, now: int, decision_id: str, action: int) -> None:
        click = bool(self.rng.random() < CLICK[action])
        conversion = bool(self.rng.random() < CONVERSION[click])
        clicked = now + int(self.rng.random() * 2 * SECOND)
        converted = clicked + int(self.rng.random() * 4 * SECOND)
        t = len(self.ids)
        self.ids.append(decision_id)
        self.visits.append(Visit(now, action, click, conversion, clicked, converted))
        self.waiting += [Arrival(clicked, t, "click")] * click
        self.waiting += [Arrival(converted, t, "conversion")] * conversion

    def _deliver(self, now: int) -> None:
        ready = sorted(one for one in self.waiting if one.at <= now)
        self.waiting = [one for one in self.waiting if one.at > now]
        self.arrivals += ready
        self.served.batch(
            [
                {"decision_id": self.ids[one.t], "event_id": f"{one.t}-{one.what}"}
                | ({"signal": "click"} if one.what == "click" else {"value": 1.0})
                for one in ready
            ]
        )


def deviation(hits: int, count: int, share: float) -> float:
    """Return by how many standard deviations a share of hits is off."""
    if count == 0:
        return 0.0
    return abs(hits - count * share) / np.sqrt(count * share * (1 - share))
