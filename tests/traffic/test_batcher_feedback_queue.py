"""Feedback waits for its round or its moment, and some of it comes twice."""

from __future__ import annotations

from collections import Counter

import numpy as np

from foretell.protocol import FeedbackItem
from foretell.traffic.batcher import FeedbackQueue
from foretell.traffic.faults import MAX_COPY_DELAY, Faults


def event(number: int) -> FeedbackItem:
    return FeedbackItem("d", f"event-{number}", value=1.0)


def test_every_event_goes_out_once_in_its_round_in_any_order() -> None:
    queue = FeedbackQueue(Faults(), np.random.default_rng(0))
    for number in range(100):
        queue.after_round(number // 10, event(number))
    shuffled = False
    for t in range(10):
        numbers = [int(str(one.event_id).partition("-")[2]) for one in queue.due(t, 0.0)]
        assert sorted(numbers) == list(range(10 * t, 10 * t + 10))
        shuffled |= numbers != sorted(numbers)
    assert shuffled


def test_what_is_held_goes_out_when_the_clock_of_the_server_has_passed_its_moment() -> None:
    queue = FeedbackQueue(Faults(), np.random.default_rng(0))
    queue.after_moment(50.0, event(0))
    assert queue.due(1000, 49.9) == []
    assert queue.due(1001, 50.0) == [event(0)]


def test_the_second_copy_comes_with_the_first_or_some_rounds_later() -> None:
    queue = FeedbackQueue(Faults(duplicates=1.0), np.random.default_rng(0))
    for number in range(50):
        queue.after_round(0, event(number))
    first = queue.due(0, 0.0)
    later = queue.due(MAX_COPY_DELAY, 0.0)
    assert len(first) > 50
    assert len(later) > 0
    assert set(Counter(one.event_id for one in first + later).values()) == {2}
