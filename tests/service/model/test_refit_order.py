"""What came of decisions is handed over in the order of time, however it was read."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from foretell.service.model.refit_order import RefitOrder

Event = tuple[Any, ...]


@pytest.fixture(autouse=True)
def log_engine() -> None:
    """Need no log."""


class Heard:
    """Keeps what it is handed: signals apart, as nothing else depends on when they came."""

    def __init__(self) -> None:
        self.signals: list[int] = []
        self.others: list[Event] = []

    def settle_all(
        self, now: list[int], rewards: list[tuple[int, int, float]], silent: list[int]
    ) -> None:
        for at, reward, was_silent in zip(now, rewards, silent, strict=True):
            self.others.append((at, 0, *reward, bool(was_silent)))

    def rewards_came(self, now: Sequence[int]) -> None:
        self.others += [(one, 1) for one in now]

    def signals_came(self, now: Sequence[int]) -> None:
        self.signals += now


@pytest.mark.parametrize("together", [1, 7, 1000])
def test_order_is_that_of_time_and_then_of_decisions(together: int) -> None:
    """Where a moment has several, what settled comes first, in the order of decisions."""
    rng = random.Random(together)  # noqa: S311
    order, heard = RefitOrder(), Heard()
    settled: list[Event] = []
    rewards: list[int] = []
    signals: list[int] = []
    for first in range(0, 5000, together):
        at = 10 * first
        order.replay(heard, at)
        assert all(event[0] < at for event in heard.others)
        some = [_outcome(rng, at) for _ in range(min(together, 5000 - first))]
        if together == 1:
            now, action, signal, reward, silent = some[0]
            order.settle(now, action, signal, reward, silent=silent)
        else:
            order.settle_all(*(np.array(column) for column in zip(*some, strict=True)))
        settled += [(now, 0, *rest) for now, *rest in some]
        for moments, came in ((order.rewards, rewards), (order.signals, signals)):
            new = [at + rng.randrange(400) for _ in some if rng.random() < 0.5]
            moments.extend(new)
            came.extend(new)
    order.replay(heard)
    expected = settled + [(now, 1) for now in rewards]
    assert heard.others == sorted(expected, key=lambda event: event[:2])
    assert heard.signals == sorted(signals)


def _outcome(rng: random.Random, at: int) -> Event:
    now = at + rng.randrange(400)
    return now, rng.randrange(10_000), rng.randrange(100), rng.random(), rng.random() < 0.5
